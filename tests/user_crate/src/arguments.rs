//! Kernels with structs as parameters, and instances of a generic function.

use ptx_matrix::prelude::*;

/// Plain data, with padding.
#[derive(Clone, Copy, KernelArgs)]
#[repr(C)]
pub struct Line {
    pub is_negative: bool,
    pub factor: f32,
    pub term: f64,
    pub shifts: [u16; 8],
}

/// Arguments with slices and plain data.
#[derive(Clone, Copy, KernelArgs)]
pub struct ScaleArgs<'k> {
    pub a: Global<'k, f32>,
    pub d: GlobalMut<'k, f32>,
    pub line: Line,
    pub table: &'k [u16; 8],
}

/// Reads an element of an array with a run-time index.
#[kernel(threads = 64)]
pub fn scale_by_struct(block: &Block, args: ScaleArgs, which: u32) {
    let ScaleArgs { a, d, line, table } = args;
    let shift = f32::from(table[which as usize % 8] + line.shifts[3]);
    let sign = if line.is_negative { -1.0 } else { 1.0 };
    let first = block.index().x as usize * 64 + block.warp().index() * 32;
    block.warp().each(|lane| {
        let i = first + lane.id();
        d.set(i, sign * a.get(i) * line.factor + line.term as f32 + shift);
    });
}

/// The same with plain data, by reference.
#[kernel(threads = 32)]
pub fn line_by_struct(block: &Block, line: &Line, which: u32, d: GlobalMut<f64>) {
    let shift = f64::from(line.shifts[which as usize % 8]);
    block.warp().each(|lane| d.set(lane.id(), line.term * f64::from(line.factor) + shift));
}

/// The configuration of an instance.
pub trait Config {
    const THREADS: u32;
    type Element: Element;
}

pub struct Narrow;
pub struct Wide;

impl Config for Narrow {
    const THREADS: u32 = 32;
    type Element = u32;
}

impl Config for Wide {
    const THREADS: u32 = 256;
    type Element = u64;
}

#[kernel(threads = C::THREADS, cluster = BLOCKS, target = "sm_90", instances(
    copy_narrow_1 = <Narrow, 1>,
    copy_narrow_2(min_blocks = 2) = <Narrow, 2>,
    copy_wide_4 = <Wide, { 2 * 2 }>,
))]
pub fn copy<C: Config, const BLOCKS: usize>(
    block: &ClusterBlock<BLOCKS>,
    a: Global<C::Element>,
    d: GlobalMut<C::Element>,
    flags: [bool; 4],
) {
    block.cluster().sync();
    let first = block.index().x as usize * C::THREADS as usize + block.warp().index() * 32;
    if flags[block.cluster().rank()] {
        block.warp().each(|lane| d.set(first + lane.id(), a.get(first + lane.id())));
    }
}

/// The box of the tensor map in the struct.
type Tile = SharedTile<f32, 8, 32, Swizzle128>;

#[derive(Clone, Copy, KernelArgs)]
pub struct BoxArgs<'k> {
    pub origin: [i32; 2],
    pub map: TensorMapMut<'k, Tile, 2>,
}

#[kernel(threads = 32, target = "sm_90")]
pub fn store_by_struct(block: &Block, #[shared] tile: Tile, args: BoxArgs) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 32 + col) as f32);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, args.map.at(args.origin));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}
