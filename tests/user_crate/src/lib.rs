#![no_std]
use ptx_matrix::prelude::*;

/// Doubles a 16x8 matrix of f16 with `stmatrix`; a build for a GPU without it does not compile.
#[cfg(not(feature = "large"))]
#[kernel(threads = 32)]
pub fn double(
    block: &Block,
    #[shared] tile: SharedTile<f16, 16, 8>,
    a: Global<f16>,
    d: GlobalMut<f16>,
) {
    let warp = block.warp();
    let acc = Accumulator::<M16N8K16, f16>::from_fn(warp, |row, col| a.get(row * 8 + col));
    let doubled = acc.map(warp, |_, _, value| f16::from_f32(value.to_f32() * 2.0));
    doubled.store_matrix(warp, &tile, At::<0, 0>);
    warp.sync();
    tile.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
}

/// Names that are Rust keywords are PTX names as they are.
#[kernel(threads = 32)]
pub fn r#loop(
    block: &Block,
    #[shared] r#box: SharedTile<u8, 1, 16>,
    r#in: Global<u8>,
    r#final: GlobalMut<u8>,
) {
    r#box.fill(block, |_, col| r#in.get(col));
    block.sync();
    r#box.for_each(block, |_, col, value| r#final.set(col, value));
}

/// Each lane gets its own number, and treats it as the block's.
#[cfg(feature = "mutable-static")]
#[kernel(threads = 32)]
pub fn take_a_number(_: &Block, d: GlobalMut<u32>) {
    use core::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    d.set(0, NEXT.fetch_add(1, Ordering::Relaxed));
}

/// Blocks that wait for each other.
#[cfg(feature = "clusters")]
#[kernel(threads = 32, cluster = 2)]
pub fn meet(block: &ClusterBlock<2>) {
    block.cluster().sync();
}

/// Uses more shared memory than GPUs before Hopper have.
#[cfg(feature = "large")]
#[kernel(threads = 32)]
pub fn large(block: &Block, #[shared] tile: SharedTile<u8, 3, 65536>, d: GlobalMut<u8>) {
    tile.fill(block, |_, col| col as u8);
    block.sync();
    tile.for_each(block, |_, col, value| d.set(col, value));
}

#[cfg(feature = "namesakes")]
mod one {
    use ptx_matrix::prelude::*;

    #[kernel(threads = 32)]
    pub fn twin(block: &Block, d: GlobalMut<u32>) {
        block.warp().each(|lane| d.set(lane.id(), 1));
    }
}

#[cfg(feature = "namesakes")]
mod two {
    use ptx_matrix::prelude::*;

    #[kernel(threads = 32)]
    pub fn twin(block: &Block, d: GlobalMut<u32>) {
        block.warp().each(|lane| d.set(lane.id(), 2));
    }
}

#[cfg(feature = "arguments")]
pub mod arguments;
#[cfg(all(feature = "captures", target_arch = "nvptx64"))]
mod captures;
#[cfg(feature = "dynamic")]
mod dynamic;
#[cfg(feature = "statics")]
mod statics;

/// Cube roots by a function of `compiler_builtins` with the same name as this kernel.
#[cfg(feature = "named-as-a-function")]
#[kernel(threads = 32)]
pub fn cbrtf(block: &Block, a: Global<f32>, d: GlobalMut<f32>) {
    block.warp().each(|lane| d.set(lane.id(), a.get(lane.id()).cbrt()));
}
