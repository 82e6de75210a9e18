//! Coordinates in shared tiles that are known only at run time.

use crate::assert_at;
use ptx_matrix::memory::TileSize;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Misuse;

type Tile = SharedTile<bf16, 20, 24>;

/// The size of [`Tile`].
const TILE: TileSize = TileSize { rows: 20, cols: 24 };

/// The size of a fragment.
const FRAGMENT: TileSize = TileSize { rows: 16, cols: 16 };

/// The size of a matrix row.
const ROW: TileSize = TileSize { rows: 1, cols: 8 };

#[kernel(threads = 32)]
fn fragment(block: &Block, #[shared] tile: Tile, row: usize, col: usize) {
    let warp = block.warp();
    tile.fill(warp, |_, _| bf16::ONE);
    FragmentA::<M16N8K16, bf16>::load(warp, &tile, (row, col)); // <- load
}

#[test]
fn fragment_out_of_range_is_an_error() {
    for at in [(5, 0), (0, 16), (usize::MAX, 0), (0, usize::MAX - 7)] {
        let error = fragment::simulate(1, at.0, at.1).unwrap_err();
        assert_eq!(error.misuse, Misuse::TileOutOfBounds { at, size: FRAGMENT, tile: TILE });
        assert_at(&error, "load", (0, 0, 0), 0, None);
    }
}

#[test]
fn misaligned_fragment_is_an_error() {
    let error = fragment::simulate(1, 4, 4).unwrap_err();
    assert_eq!(error.misuse, Misuse::TileMisaligned { at: (4, 4), step: ROW });
    assert_at(&error, "load", (0, 0, 0), 0, None);
}

#[test]
fn fragment_in_the_last_corner_is_valid() {
    fragment::simulate(1, 4, 8).unwrap();
}

#[kernel(threads = 32)]
fn store(block: &Block, #[shared] tile: Tile, row: usize, col: usize) {
    FragmentA::<M16N8K16, bf16>::zero().store(block.warp(), &tile, (row, col)); // <- store
}

#[kernel(threads = 32)]
fn store_matrix(block: &Block, #[shared] tile: Tile, row: usize, col: usize) {
    FragmentA::<M16N8K16, bf16>::zero().store_matrix(block.warp(), &tile, (row, col));
    // <- store_matrix
}

#[test]
fn fragment_stored_out_of_range_is_an_error() {
    let misuse = Misuse::TileOutOfBounds { at: (5, 8), size: FRAGMENT, tile: TILE };
    let error = store::simulate(1, 5, 8).unwrap_err();
    assert_eq!(error.misuse, misuse);
    assert_at(&error, "store", (0, 0, 0), 0, None);
    let error = store_matrix::simulate(1, 5, 8).unwrap_err();
    assert_eq!(error.misuse, misuse);
    assert_at(&error, "store_matrix", (0, 0, 0), 0, None);

    store::simulate(1, 4, 8).unwrap();
    store_matrix::simulate(1, 4, 8).unwrap();
}

#[kernel(threads = 32)]
fn row_of_each_lane(block: &Block, #[shared] tile: Tile, first_row: usize, col: usize) {
    block.warp().each(|lane| tile.row((first_row + lane.id() % 8, col))); // <- row
}

#[test]
fn row_out_of_range_is_an_error() {
    let error = row_of_each_lane::simulate(1, 15, 16).unwrap_err();
    assert_eq!(error.misuse, Misuse::TileOutOfBounds { at: (20, 16), size: ROW, tile: TILE });
    assert_at(&error, "row", (0, 0, 0), 0, Some(5));
}

#[test]
fn misaligned_row_is_an_error() {
    let error = row_of_each_lane::simulate(1, 0, 12).unwrap_err();
    assert_eq!(error.misuse, Misuse::TileMisaligned { at: (0, 12), step: ROW });
    assert_at(&error, "row", (0, 0, 0), 0, Some(0));
}

#[test]
fn row_in_the_last_corner_is_valid() {
    row_of_each_lane::simulate(1, 12, 16).unwrap();
}

#[kernel(threads = 32)]
fn column(
    block: &Block,
    #[shared] tile: SharedTile<bf16, 24, 3, Unswizzled, ColMajor>,
    row: usize,
    col: usize,
) {
    block.warp().each(|_| tile.row((row, col))); // <- column
}

#[test]
fn col_major_tile_is_aligned_by_rows() {
    let column_of_matrix = TileSize { rows: 8, cols: 1 };
    let error = column::simulate(1, 4, 0).unwrap_err();
    assert_eq!(error.misuse, Misuse::TileMisaligned { at: (4, 0), step: column_of_matrix });
    let error = column::simulate(1, 16, 3).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::TileOutOfBounds {
            at: (16, 3),
            size: column_of_matrix,
            tile: TileSize { rows: 24, cols: 3 }
        }
    );
    assert_at(&error, "column", (0, 0, 0), 0, Some(0));
    column::simulate(1, 16, 2).unwrap();
}

#[kernel(threads = 32)]
fn single_elements(
    block: &Block,
    #[shared] tile: Tile,
    row: usize,
    read_col: usize,
    write_col: usize,
) {
    tile.set((row, write_col), bf16::ONE); // <- set
    block.warp().each(|lane| tile.get(lane, (row, read_col))); // <- get
}

#[test]
fn element_out_of_range_is_an_error() {
    let misuse =
        |at| Misuse::TileOutOfBounds { at, size: TileSize { rows: 1, cols: 1 }, tile: TILE };
    let error = single_elements::simulate(1, 20, 0, 0).unwrap_err();
    assert_eq!(error.misuse, misuse((20, 0)));
    assert_at(&error, "set", (0, 0, 0), 0, None);
    let error = single_elements::simulate(1, 19, 24, 23).unwrap_err();
    assert_eq!(error.misuse, misuse((19, 24)));
    assert_at(&error, "get", (0, 0, 0), 0, Some(0));
    single_elements::simulate(1, 19, 23, 23).unwrap();
}
