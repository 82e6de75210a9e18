//! Runs of fragments hold the elements of the tile, for every width and both orders.

use ptx_matrix::fragment::{Fragment, FragmentShape, M8N8K4, Order, Role, RoleA, RoleB};
use ptx_matrix::memory::{Swizzle, SwizzleWords};
use ptx_matrix::prelude::*;

/// An element of a tile; adjacent elements differ.
fn value<T: From<u8>>(row: usize, col: usize) -> T {
    T::from(((row * 37 + col * 101 + row * col * 3) % 256) as u8)
}

fn same<R: Role, S: FragmentShape<R, T::Width>, T: Element + From<u8> + PartialEq>(
    warp: Warp<'_>,
    fragment: &Fragment<R, S, T>,
    (down, right): (usize, usize),
) {
    fragment.for_each(warp, |row, col, element| assert!(element == value(down + row, right + col)));
}

fn runs<S, T, W: Swizzle, O: Order>(block: &Block, tile: SharedTile<T, 64, 64, W, O>)
where
    T: Element + From<u8> + PartialEq,
    S: FragmentShape<RoleA, T::Width> + FragmentShape<RoleB, T::Width>,
{
    let warp = block.warp();
    tile.fill(block, value);
    block.sync();
    for at in [(0, 0), (16, 32)] {
        let a: [FragmentA<S, T>; 3] = FragmentA::load_run(warp, &tile, at);
        for (index, a) in a.iter().enumerate() {
            same(warp, a, (at.0 + index * S::M, at.1));
        }
        let b: [FragmentB<S, T>; 2] = FragmentB::load_run(warp, &tile, at);
        for (index, b) in b.iter().enumerate() {
            same(warp, b, (at.0, at.1 + index * S::N));
        }
        let pairs: [[FragmentB<S, T>; 2]; 2] = FragmentB::load_pairs(warp, &tile, at);
        for (index, b) in pairs.as_flattened().iter().enumerate() {
            same(warp, b, (at.0, at.1 + index * S::N));
        }
    }
}

macro_rules! tests {
    ($($name:ident $shape:ident $element:ident $swizzle:ident;)*) => {$(
        #[test]
        fn $name() {
            #[kernel(threads = 64)]
            fn rows(
                block: &Block,
                #[shared] tile: SharedTile<$element, 64, 64, $swizzle, RowMajor>,
            ) {
                runs::<$shape, _, _, _>(block, tile);
            }
            #[kernel(threads = 64)]
            fn cols(
                block: &Block,
                #[shared] tile: SharedTile<$element, 64, 64, $swizzle, ColMajor>,
            ) {
                runs::<$shape, _, _, _>(block, tile);
            }
            rows::simulate(1).unwrap();
            cols::simulate(1).unwrap();
        }
    )*};
}

tests! {
    bytes M16N8K32 u8 Swizzle64;
    halves M16N8K16 u16 Swizzle128;
    short_halves M16N8K8 u16 Swizzle128;
    words M16N8K8 u32 Swizzle128;
    words_by_pieces_of_32_bytes M16N8K8 u32 SwizzleWords;
    doubles M16N8K8 u64 SwizzleWords;
    small_doubles M8N8K4 u64 SwizzleWords;
}
