//! `red`: atomic reductions of elements in global and in shared memory.

use ptx_matrix::copy::reduction::{self, AtomicReduction};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{BuildTarget, Supports};

/// Elements that a launch reduces.
pub const REDUCED: usize = 8 * 32;

/// Reduces elements of the output, from `to` on, by those of the source.
#[inline]
fn reduce<T: Element, R: AtomicReduction<T> + LaneCapture>(
    block: &Block,
    reduction: R,
    source: Global<T>,
    to: u32,
    out: GlobalMut<T>,
) where
    BuildTarget: Supports<R::Needs>,
{
    block.warp().each(|lane| {
        for i in (lane.id()..REDUCED).step_by(32) {
            out.reduce(lane, reduction, to as usize + i, source.get(i));
        }
    });
}

/// The same in shared memory. Elements of 16 bits share a word with that of another lane.
#[inline]
fn reduce_shared<T: Element, R: AtomicReduction<T> + LaneCapture>(
    block: &Block,
    tile: SharedTile<T, 8, 32>,
    reduction: R,
    (source, to): (Global<T>, u32),
    out: GlobalMut<T>,
) where
    BuildTarget: Supports<R::Needs>,
{
    let (warp, to) = (block.warp(), to as usize);
    warp.each(|lane| {
        for row in 0..8 {
            tile.set((row, lane.id()), out.get(lane, to + row * 32 + lane.id()));
        }
    });
    warp.sync();
    warp.each(|lane| {
        for row in 0..8 {
            let col = 31 - lane.id();
            tile.reduce(lane, reduction, (row, col), source.get(row * 32 + col));
        }
    });
    warp.sync();
    tile.for_each(warp, |row, col, value| out.set(to + row * 32 + col, value));
}

/// Makes the kernels: names for global and for shared memory, elements, reductions, and GPUs.
macro_rules! reductions {
    ($($name:ident $shared:ident $element:ty: $($reduction:ident)*, $target:literal;)*) => {$(
        /// Reduces elements of the output, from `to` on, by those of the source.
        #[kernel(threads = 32, target = $target)]
        pub fn $name(
            block: &Block,
            operation: u32,
            source: Global<$element>,
            to: u32,
            out: GlobalMut<$element>,
        ) {
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce(block, reduction::$reduction, source, to, out);
            })*
        }

        /// The same in shared memory.
        #[kernel(threads = 32, target = $target)]
        pub fn $shared(
            block: &Block,
            #[shared] tile: SharedTile<$element, 8, 32>,
            operation: u32,
            source: Global<$element>,
            to: u32,
            out: GlobalMut<$element>,
        ) {
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce_shared(block, tile, reduction::$reduction, (source, to), out);
            })*
        }
    )*};
}

reductions! {
    red_u32 red_shared_u32 u32: Add Min Max Inc Dec And Or Xor, "sm_75";
    red_s32 red_shared_s32 i32: Add Min Max, "sm_75";
    red_u64 red_shared_u64 u64: Add Min Max And Or Xor, "sm_75";
    red_s64 red_shared_s64 i64: Min Max, "sm_75";
    red_f16 red_shared_f16 f16: Add, "sm_75";
    red_bf16 red_shared_bf16 bf16: Add, "sm_90";
    red_f32 red_shared_f32 f32: Add, "sm_75";
    red_f64 red_shared_f64 f64: Add, "sm_75";
}

/// Elements that all blocks reduce.
pub const SHARED: usize = 5;

/// Each thread of each block reduces one of a few elements of each output by its value.
#[kernel(threads = 64)]
pub fn red_by_all_blocks(
    block: &Block,
    values: Global<u32>,
    sums: GlobalMut<u32>,
    largest: GlobalMut<i32>,
    of_floats: GlobalMut<f32>,
) {
    let first = block.index().x as usize * 64 + block.warp().index() * 32;
    block.warp().each(|lane| {
        let value = values.get(first + lane.id());
        let element = value as usize % SHARED;
        sums.reduce(lane, reduction::Add, element, value);
        largest.reduce(lane, reduction::Max, element, value as i32);
        // Each sum is a whole number that f32 represents, in any order.
        of_floats.reduce(lane, reduction::Add, element, (value % 1024) as f32);
    });
}
