//! Each kernel but the first differs between the host's and the GPU's build. The sources and the
//! sizes of the parameters are the same in both.

#![no_std]

use ptx_matrix::copy::Im2col;
use ptx_matrix::element::{InByte, e2m1};
use ptx_matrix::launch::Dependent;
use ptx_matrix::prelude::*;

#[cfg(target_arch = "nvptx64")]
mod sizes {
    use ptx_matrix::copy::Im2col;
    use ptx_matrix::memory::Unswizzled128;
    use ptx_matrix::prelude::*;

    pub type Number = u64;
    pub type Signed = i32;
    pub type Half = f16;
    pub type Memory<'k> = GlobalMut<'k, u32>;
    pub type Late<'k> = GlobalMut<'k, u32>;
    pub type Tile = SharedTile<f32, 1024, 32>;
    pub type Aligned = SharedTile<bf16, 8, 64, Swizzle128>;
    pub type OtherTile<'k> = TensorMap<'k, SharedTile<bf16, 8, 64, Swizzle128>, 3>;
    pub type OtherSwizzle<'k> = TensorMap<'k, SharedTile<bf16, 16, 64, Unswizzled128>, 3>;
    pub type OtherRank<'k> = TensorMap<'k, SharedTile<bf16, 16, 64, Swizzle128>, 2>;
    pub type OtherMode<'k> = TensorMap<'k, SharedTile<bf16, 16, 64, Swizzle128>, 3, Im2col>;
    pub type OtherAccess<'k> = TensorMapMut<'k, SharedTile<bf16, 16, 64, Swizzle128>, 3>;
    #[derive(Clone, Copy, KernelArgs)]
    #[repr(C)]
    pub struct Shape {
        pub rows: u32,
        pub cols: u32,
    }
    pub type Maybe<'k> = Option<TensorMap<'k, SharedTile<bf16, 16, 64, Swizzle128>, 3>>;
}

#[cfg(not(target_arch = "nvptx64"))]
mod sizes {
    use ptx_matrix::launch::Dependent;
    use ptx_matrix::prelude::*;

    pub type Number = u32;
    pub type Signed = u32;
    pub type Half = bf16;
    pub type Memory<'k> = Global<'k, u32>;
    pub type Late<'k> = Dependent<GlobalMut<'k, u32>>;
    pub type Tile = SharedTile<f32, 512, 32>;
    pub type Aligned = SharedTile<bf16, 8, 64, Unswizzled>;
    pub type OtherTile<'k> = TensorMap<'k, SharedTile<bf16, 16, 64, Swizzle128>, 3>;
    pub type OtherSwizzle<'k> = OtherTile<'k>;
    pub type OtherRank<'k> = OtherTile<'k>;
    pub type OtherMode<'k> = OtherTile<'k>;
    pub type OtherAccess<'k> = OtherTile<'k>;
    #[derive(Clone, Copy, KernelArgs)]
    #[repr(C)]
    pub struct Shape {
        pub cols: u32,
        pub rows: u32,
    }
    pub type Maybe<'k> = OtherTile<'k>;
}

pub use sizes::Shape;
use sizes::*;

/// A factor that a test changes.
const FACTOR: f32 = 1.0;

/// Scales a vector. The number of blocks per SM is a tuning parameter, and no difference.
#[cfg_attr(target_arch = "nvptx64", kernel(threads = 128, min_blocks = 2))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(threads = 128))]
pub fn scale(block: &Block, data: GlobalMut<f32>, factor: f32) {
    let first = block.index().x as usize * 128;
    let warp = block.warp();
    let first = first + warp.index() * 32;
    warp.each(|lane| {
        let at = first + lane.id();
        if at < data.len() {
            data.set(at, data.get(lane, at) * factor * FACTOR + fingerprint_helper::SHIFT);
        }
    });
}

#[kernel(threads = 32)]
pub fn doubled(block: &Block, d: GlobalMut<Number>) {
    block.warp().each(|lane| {
        let last = d.len() - 1 - lane.id();
        d.set(last, 7);
    });
}

#[kernel(threads = 32)]
pub fn halved(block: &Block, #[shared] tile: Tile) {
    tile.fill(block, |_, _| 1.0);
}

#[kernel(threads = 32)]
pub fn aligned(block: &Block, #[shared] tile: Aligned) {
    tile.fill(block, |_, _| bf16::ONE);
}

#[cfg_attr(target_arch = "nvptx64", kernel(threads = 64))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(threads = 32))]
pub fn narrow(_: &Block) {}

#[cfg_attr(target_arch = "nvptx64", kernel(threads = 32))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(threads = 32, cluster = 2))]
pub fn paired(_: &Block) {}

#[cfg_attr(target_arch = "nvptx64", kernel(threads = 32))]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(threads = 32, dependent = true))]
pub fn ahead(_: &Block, _d: GlobalMut<u32>) {}

#[cfg(target_arch = "nvptx64")]
pub mod for_gpu {
    use ptx_matrix::prelude::*;

    #[kernel(threads = 32)]
    pub fn elsewhere(_: &Block) {}
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod for_host {
    use ptx_matrix::prelude::*;

    #[kernel(threads = 32)]
    pub fn elsewhere(_: &Block) {}
}

#[kernel(threads = 32, dependent = true)]
pub fn late(_: &Block, _d: Late) {}

#[cfg(target_arch = "nvptx64")]
#[kernel(threads = 32)]
pub fn swapped(_: &Block, _a: f32, _b: u32) {}

#[cfg(not(target_arch = "nvptx64"))]
#[kernel(threads = 32)]
pub fn swapped(_: &Block, _a: u32, _b: f32) {}

#[cfg(target_arch = "nvptx64")]
#[kernel(threads = 32)]
pub fn split(_: &Block, _d: u64, _len: usize) {}

#[cfg(not(target_arch = "nvptx64"))]
#[kernel(threads = 32)]
pub fn split(_: &Block, _d: GlobalMut<u32>) {}

#[kernel(threads = 32)]
pub fn written(_: &Block, _d: Memory) {}

#[kernel(threads = 32)]
pub fn signed(_: &Block, _d: GlobalMut<Signed>) {}

#[kernel(threads = 32)]
pub fn rounded(_: &Block, _d: GlobalMut<Half>) {}

#[kernel(threads = 32)]
pub fn other_tile(_: &Block, _map: OtherTile) {}

#[kernel(threads = 32)]
pub fn other_swizzle(_: &Block, _map: OtherSwizzle) {}

#[kernel(threads = 32)]
pub fn other_rank(_: &Block, _map: OtherRank) {}

#[kernel(threads = 32)]
pub fn other_mode(_: &Block, _map: OtherMode) {}

#[kernel(threads = 32)]
pub fn other_access(_: &Block, _map: OtherAccess) {}

#[kernel(threads = 32)]
pub fn maybe(_: &Block, _map: Maybe) {}

#[kernel(threads = 32)]
pub fn shaped(_: &Block, _shape: Shape) {}

/// The same struct in both builds, in instances that differ in their threads.
#[derive(Clone, Copy, KernelArgs)]
pub struct SameArgs<'k> {
    pub d: GlobalMut<'k, f32>,
    pub is_added: bool,
    pub terms: [f64; 2],
}

#[kernel(threads = THREADS, instances(same_32 = <32>, same_64 = <64>))]
pub fn same_args<const THREADS: usize>(_: &Block, _args: SameArgs) {}

/// A column-major tile.
type Columns = SharedTile<u8, 16, 32, Swizzle32, ColMajor>;

/// The same in both builds, with a parameter type of each kind. All fields that a launch compares
/// are equal.
#[kernel(threads = 32, cluster = (2, 1, 1), dependent = true, target = "sm_90")]
pub fn same(
    _: &Block,
    #[shared] _tile: SharedTile<bf16, 8, 64, Swizzle128>,
    _a: Dependent<Global<InByte<e2m1>>>,
    _b: Dependent<Option<TensorMapMut<Columns, 5, Im2col>>>,
    größe: u16,
) {
    let _ = größe;
}
