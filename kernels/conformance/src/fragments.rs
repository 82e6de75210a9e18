//! Fragments to and from shared tiles: every role, shape, order and swizzle.

use ptx_matrix::element::Bits16;
use ptx_matrix::fragment::{Fragment, FragmentShape, Role};
use ptx_matrix::memory::Swizzle;
use ptx_matrix::prelude::*;

/// Rows and columns of the tiles: more than those of a fragment, and different.
pub const ROWS: usize = 32;
/// See [`ROWS`].
pub const COLS: usize = 64;
/// The position of the fragments in the tile. For both orders, it is a multiple of 8.
pub const AT: (usize, usize) = (8, 24);

/// A tile in both orders.
type Both<S> = (SharedTile<u16, ROWS, COLS, S, RowMajor>, SharedTile<u16, ROWS, COLS, S, ColMajor>);

/// Writes a fragment's elements row by row, from `start` on. Returns the next free index.
#[inline]
fn write<R: Role, S: FragmentShape<R, Bits16>>(
    warp: Warp,
    fragment: &Fragment<R, S, u16>,
    out: GlobalMut<u16>,
    start: usize,
) -> usize {
    fragment.for_each(warp, |row, col, value| {
        out.set(start + row * Fragment::<R, S, u16>::COLS + col, value)
    });
    start + Fragment::<R, S, u16>::ROWS * Fragment::<R, S, u16>::COLS
}

/// Loads A and B of both shapes from both tiles, by `ldmatrix`.
#[inline]
fn load<S: Swizzle>(
    block: &Block,
    (by_row, by_col): Both<S>,
    source: Global<u16>,
    out: GlobalMut<u16>,
) {
    let warp = block.warp();
    by_row.fill(warp, |row, col| source.get(row * COLS + col));
    by_col.fill(warp, |row, col| source.get(row * COLS + col));
    block.sync();
    let mut next = 0;
    next = write(warp, &FragmentA::<M16N8K8, u16>::load(warp, &by_row, AT), out, next);
    next = write(warp, &FragmentA::<M16N8K8, u16>::load(warp, &by_col, AT), out, next);
    next = write(warp, &FragmentA::<M16N8K16, u16>::load(warp, &by_row, AT), out, next);
    next = write(warp, &FragmentA::<M16N8K16, u16>::load(warp, &by_col, AT), out, next);
    next = write(warp, &FragmentB::<M16N8K8, u16>::load(warp, &by_row, AT), out, next);
    next = write(warp, &FragmentB::<M16N8K8, u16>::load(warp, &by_col, AT), out, next);
    next = write(warp, &FragmentB::<M16N8K16, u16>::load(warp, &by_row, AT), out, next);
    write(warp, &FragmentB::<M16N8K16, u16>::load(warp, &by_col, AT), out, next);
}

/// Stores a 16x16 fragment to both tiles, by element or by `stmatrix`; then writes both tiles out.
#[inline]
fn store<S: Swizzle>(
    block: &Block,
    (by_row, by_col): Both<S>,
    source: Global<u16>,
    out: GlobalMut<u16>,
    put: impl Fn(Warp, &FragmentA<M16N8K16, u16>, Both<S>),
) {
    let warp = block.warp();
    by_row.fill(warp, |_, _| 0xffff);
    by_col.fill(warp, |_, _| 0xffff);
    block.sync();
    let fragment = FragmentA::<M16N8K16, u16>::from_fn(warp, |row, col| source.get(row * 16 + col));
    put(warp, &fragment, (by_row, by_col));
    block.sync();
    by_row.for_each(warp, |row, col, value| out.set(row * COLS + col, value));
    by_col.for_each(warp, |row, col, value| out.set((ROWS + row) * COLS + col, value));
}

/// One row per swizzle, with its three kernels.
macro_rules! swizzles {
    ($($swizzle:ident $load:ident $store:ident $store_matrix:ident;)*) => {$(
        #[kernel(threads = 32)]
        pub fn $load(
            block: &Block,
            #[shared] tiles: Both<$swizzle>,
            source: Global<u16>,
            out: GlobalMut<u16>,
        ) {
            load(block, tiles, source, out);
        }

        #[kernel(threads = 32)]
        pub fn $store(
            block: &Block,
            #[shared] tiles: Both<$swizzle>,
            source: Global<u16>,
            out: GlobalMut<u16>,
        ) {
            store(block, tiles, source, out, |warp, fragment, (by_row, by_col)| {
                fragment.store(warp, &by_row, AT);
                fragment.store(warp, &by_col, AT);
            });
        }

        #[kernel(threads = 32, target = "sm_90")]
        pub fn $store_matrix(
            block: &Block,
            #[shared] tiles: Both<$swizzle>,
            source: Global<u16>,
            out: GlobalMut<u16>,
        ) {
            store(block, tiles, source, out, |warp, fragment, (by_row, by_col)| {
                fragment.store_matrix(warp, &by_row, AT);
                fragment.store_matrix(warp, &by_col, AT);
            });
        }
    )*};
}
swizzles! {
    Unswizzled load_unswizzled store_unswizzled store_matrix_unswizzled;
    Swizzle32 load_swizzle_32 store_swizzle_32 store_matrix_swizzle_32;
    Swizzle64 load_swizzle_64 store_swizzle_64 store_matrix_swizzle_64;
    Swizzle128 load_swizzle_128 store_swizzle_128 store_matrix_swizzle_128;
}
