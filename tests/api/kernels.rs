//! Legal places and names of kernels.

use ptx_matrix::launch;
use ptx_matrix::prelude::*;

mod inner {
    use ptx_matrix::prelude::*;

    const TERM: u32 = 1;

    fn add(value: u32) -> u32 {
        value + TERM
    }

    #[kernel(threads = 32)]
    pub fn next(_: &Block, a: Global<u32>, d: GlobalMut<u32>) {
        d.set(0, add(a.get(0)));
    }
}

#[test]
fn kernel_sees_private_items_of_its_module() {
    let mut d = [0];
    inner::next::simulate(1, &[6], &mut d).unwrap();
    assert_eq!(d, [7]);
}

#[test]
fn kernel_in_function_sees_local_items() {
    const TERM: u32 = 5;
    type Tile = SharedTile<u32, 1, 4>;

    #[kernel(threads = 32)]
    fn sum(block: &Block, #[shared] tile: Tile, d: GlobalMut<u32>) {
        tile.fill(block, |_, col| col as u32 + TERM);
        block.sync();
        block.warp().each(|lane| {
            if lane.id() < 4 {
                d.set(lane.id(), tile.get(lane, (0, lane.id())));
            }
        });
    }

    let mut d = [0; 4];
    sum::simulate(1, &mut d).unwrap();
    assert_eq!(d, [5, 6, 7, 8]);
}

#[kernel(threads = 32)]
fn block(a: &Block, block: GlobalMut<u32>) {
    block.set(0, a.warp().index() as u32 + 7);
}

#[kernel(threads = 32)]
fn put(_: &Block, put: u32, entry: GlobalMut<u32>) {
    entry.set(0, put);
}

#[test]
fn parameters_may_have_the_names_of_kernel_and_block() {
    let mut d = [0];
    block::simulate(1, &mut d).unwrap();
    assert_eq!(d, [7]);
    put::simulate(1, 9, &mut d).unwrap();
    assert_eq!(d, [9]);
}

#[kernel(threads = 32)]
fn called_by_a_kernel(_: &Block, d: GlobalMut<u32>, value: u32) {
    d.set(0, value);
}

#[kernel(threads = 32)]
fn calls_a_kernel(block: &Block, d: GlobalMut<u32>) {
    called_by_a_kernel(block, d, 3);
}

#[test]
fn kernel_is_callable_as_function() {
    let mut d = [0];
    calls_a_kernel::simulate(1, &mut d).unwrap();
    assert_eq!(d, [3]);
}

#[kernel(threads = 1024, min_blocks = 2, max_registers = 32, target = "sm_90")]
fn described(_: &Block, #[shared] _tile: SharedTile<u8, 3, 16>) {}

#[test]
fn kernel_info_has_the_bounds_and_the_memory() {
    let launch::KernelInfo {
        name,
        threads,
        min_blocks,
        max_registers,
        shared_bytes,
        shared_align,
        cluster,
        dependent,
        targets,
        fingerprint,
    } = described::INFO;
    assert_eq!((name, threads, min_blocks, max_registers), ("described", 1024, 2, 32));
    assert_eq!((shared_bytes, shared_align, cluster.blocks()), (48, 16, 1));
    assert!(!dependent);
    assert_eq!(targets, ["sm_90"]);
    let start = "shared=48 aligned to 16; threads=1024; module=api::kernels; crate=";
    assert!(
        fingerprint.starts_with(start),
        "how a kernel is tuned is no part of it: {fingerprint}"
    );
    assert_eq!(described::simulate(2).unwrap().warps, 64);
}

#[kernel(threads = 32)]
fn per_lane(block: &Block, d: GlobalMut<u32>) {
    let warp = block.warp();
    let mut values = warp.each(|lane| lane.id() as u32);
    warp.update(&mut values, |lane, value| *value = *value * 10 + lane.id() as u32 % 10);
    let offset = PerLane::splat(1000);
    warp.each(|lane| d.set(lane.id(), lane.get(&values) + lane.get(&offset)));
}

#[test]
fn each_lane_keeps_its_own_value() {
    let mut d = [0; 32];
    per_lane::simulate(1, &mut d).unwrap();
    assert_eq!(d, std::array::from_fn(|lane| 1000 + lane as u32 * 10 + lane as u32 % 10));
}

/// Kernels whose parameters have the names that `#[kernel]` uses internally, or the kernel's own
/// name.
mod names {
    use ptx_matrix::prelude::*;

    #[kernel(threads = 32)]
    pub fn scale(
        b: &Block,
        scale: u32,
        block: u32,
        grid: u32,
        device: u32,
        params: u32,
        d: GlobalMut<u32>,
    ) {
        d.set(b.index().x as usize, scale + block + grid + device + params);
    }
}

#[test]
fn parameter_may_have_any_name() {
    let mut d = [0; 2];
    names::scale::simulate(2, 1, 10, 100, 1000, 10000, &mut d).unwrap();
    assert_eq!(d, [11111; 2]);
}
