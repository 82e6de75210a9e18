//! TMA copies of boxes, for each rank and swizzle: load, read, store.

pub use crate::tensor_part::tensor_2d_from_row_3;
use ptx_matrix::copy::{BoxTile, TmaCoord, reduction};
use ptx_matrix::fragment::Order;
use ptx_matrix::memory::{TensorSwizzle, Unswizzled128};
use ptx_matrix::prelude::*;

/// The tile without a swizzle.
pub type Plain = SharedTile<u16, 8, 40, Unswizzled128>;
/// The tile with the 32-byte swizzle.
pub type Of32 = SharedTile<u32, 24, 8, Swizzle32>;
/// The tile with the 64-byte swizzle, column-major.
pub type Of64 = SharedTile<u16, 32, 24, Swizzle64, ColMajor>;
/// The tile with the 128-byte swizzle.
pub type Of128 = SharedTile<u16, 24, 64, Swizzle128>;
/// A tile of one row.
pub type Line = SharedTile<u32, 1, 96, Unswizzled128>;

/// Loads the box at the first coordinates, writes its elements to the output, row by row, and
/// stores it at the coordinates after those.
#[inline]
fn copy<
    T: Element,
    const ROWS: usize,
    const COLS: usize,
    S: TensorSwizzle,
    O: Order,
    const RANK: usize,
>(
    block: &Block,
    tile: SharedTile<T, ROWS, COLS, S, O>,
    full: BarrierMemory,
    from: TensorMap<SharedTile<T, ROWS, COLS, S, O>, RANK>,
    to: TensorMapMut<SharedTile<T, ROWS, COLS, S, O>, RANK>,
    at: Global<i32>,
    out: GlobalMut<T>,
) where
    [i32; RANK]: TmaCoord,
{
    let full = full.init(block, 1);
    let warp = block.warp();
    if warp.index() == 0 {
        warp.elect(|lane| {
            from.prefetch(lane);
            to.prefetch(lane);
            let at = core::array::from_fn(|dimension| at.get(dimension));
            from.at(at).prefetch(lane);
            full.arrive_expecting(lane, SharedTile::<T, ROWS, COLS, S, O>::BOX_BYTES);
            tile.load_tma(lane, from.at(at), full);
        });
    }
    full.wait(warp, Phase::FIRST);
    tile.for_each(block, |row, col, value| out.set(row * COLS + col, value));
    if warp.index() == 1 {
        warp.elect(|lane| {
            tile.store_tma(lane, to.at(core::array::from_fn(|dimension| at.get(RANK + dimension))));
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
        });
    }
}

/// Makes copy kernels, from names, tiles and ranks.
macro_rules! copies {
    ($($name:ident $tile:ty, $rank:literal;)*) => {$(
        /// Loads the box at the first coordinates, writes its elements to the output, row by row,
        /// and stores it at the coordinates after those.
        #[kernel(threads = 64, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: $tile,
            #[shared] full: BarrierMemory,
            from: TensorMap<$tile, $rank>,
            to: TensorMapMut<$tile, $rank>,
            at: Global<i32>,
            out: GlobalMut<<$tile as BoxTile>::Element>,
        ) {
            copy(block, tile, full, from, to, at, out);
        }
    )*};
}

copies! {
    tensor_1d Line, 1;
    tensor_2d Plain, 2;
    tensor_2d_swizzle_32 Of32, 2;
    tensor_2d_swizzle_64 Of64, 2;
    tensor_2d_swizzle_128 Of128, 2;
    tensor_3d Of128, 3;
    tensor_4d Of64, 4;
    tensor_5d Of32, 5;
}

/// Reduces the box at these coordinates by the source's elements.
#[inline]
fn reduce<
    T: Element,
    R,
    const ROWS: usize,
    const COLS: usize,
    S: TensorSwizzle,
    const RANK: usize,
>(
    block: &Block,
    tile: SharedTile<T, ROWS, COLS, S>,
    reduction: R,
    source: Global<T>,
    at: Global<i32>,
    out: TensorMapMut<SharedTile<T, ROWS, COLS, S>, RANK>,
) where
    R: reduction::Reduction<T> + reduction::Operates + LaneCapture,
    [i32; RANK]: TmaCoord,
{
    let warp = block.warp();
    tile.fill(warp, |row, col| source.get(row * COLS + col));
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.reduce_tma(
            lane,
            reduction,
            out.at(core::array::from_fn(|dimension| at.get(dimension))),
        );
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

/// As `Of32`, with other elements.
pub type Reduced<T> = SharedTile<T, 24, 8, Swizzle32>;

/// As `Reduced`, of 64-bit elements.
pub type Reduced64<T> = SharedTile<T, 24, 4, Swizzle32>;

/// Makes reduction kernels, from names, tiles, ranks and reductions.
macro_rules! reductions {
    ($($name:ident $tile:ty, $rank:literal: $($reduction:ident)*;)*) => {$(
        /// Reduces the box at these coordinates by the source's elements.
        #[kernel(threads = 32, target = "sm_90")]
        pub fn $name(
            block: &Block,
            #[shared] tile: $tile,
            operation: u32,
            source: Global<<$tile as BoxTile>::Element>,
            at: Global<i32>,
            out: TensorMapMut<$tile, $rank>,
        ) {
            $(if operation == reduction::Operation::$reduction as u32 {
                reduce(block, tile, reduction::$reduction, source, at, out);
            })*
        }
    )*};
}

reductions! {
    tensor_reduce_1d Line, 1: Add;
    tensor_reduce_2d Of32, 2: Add Inc Dec And Or Xor;
    tensor_reduce_3d Of32, 3: Add;
    tensor_reduce_4d Of32, 4: Add;
    tensor_reduce_5d Of32, 5: Add;
    tensor_reduce_s32 Reduced<i32>, 2: Min Max;
    tensor_reduce_u64 Reduced64<u64>, 2: Add Min Max And Or Xor;
    tensor_reduce_s64 Reduced64<i64>, 2: Min Max;
    tensor_reduce_f32 Reduced<f32>, 2: Add;
    tensor_reduce_f64 Reduced64<f64>, 2: Add;
}
