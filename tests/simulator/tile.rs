//! Coordinates in shared tiles that are known only at run time.

use crate::assert_at;
use ptx_matrix::memory::{GlobalMatrix, TileSize};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Memory, Misuse, SHARED_BASE};

type Tile = SharedTile<bf16, 20, 24>;

/// The size of [`Tile`].
const TILE: TileSize = TileSize { rows: 20, cols: 24 };

/// The size of a fragment.
const FRAGMENT: TileSize = TileSize { rows: 16, cols: 16 };

/// The size of a matrix row.
const ROW: TileSize = TileSize { rows: 1, cols: 8 };

/// An access beyond the only [`Tile`] of a kernel.
fn out_of_bounds(at: (usize, usize), size: TileSize) -> Misuse {
    let memory = Memory::Shared { address: SHARED_BASE };
    Misuse::TileOutOfBounds { memory, at, size, tile: TILE }
}

fn misaligned(at: (usize, usize), step: TileSize) -> Misuse {
    Misuse::TileMisaligned { address: SHARED_BASE, at, step }
}

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
        assert_eq!(error.misuse, out_of_bounds(at, FRAGMENT));
        assert_at(&error, "load", (0, 0, 0), 0, None);
    }
}

#[test]
fn misaligned_fragment_is_an_error() {
    let error = fragment::simulate(1, 4, 4).unwrap_err();
    assert_eq!(error.misuse, misaligned((4, 4), ROW));
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
    let misuse = out_of_bounds((5, 8), FRAGMENT);
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
    assert_eq!(error.misuse, out_of_bounds((20, 16), ROW));
    assert_at(&error, "row", (0, 0, 0), 0, Some(5));
}

#[test]
fn misaligned_row_is_an_error() {
    let error = row_of_each_lane::simulate(1, 0, 12).unwrap_err();
    assert_eq!(error.misuse, misaligned((0, 12), ROW));
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
    assert_eq!(error.misuse, misaligned((4, 0), column_of_matrix));
    let error = column::simulate(1, 16, 3).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::TileOutOfBounds {
            memory: Memory::Shared { address: SHARED_BASE },
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
    let misuse = |at| out_of_bounds(at, TileSize { rows: 1, cols: 1 });
    let error = single_elements::simulate(1, 20, 0, 0).unwrap_err();
    assert_eq!(error.misuse, misuse((20, 0)));
    assert_at(&error, "set", (0, 0, 0), 0, None);
    let error = single_elements::simulate(1, 19, 24, 23).unwrap_err();
    assert_eq!(error.misuse, misuse((19, 24)));
    assert_at(&error, "get", (0, 0, 0), 0, Some(0));
    single_elements::simulate(1, 19, 23, 23).unwrap();
}

#[kernel(threads = 32)]
fn named(
    block: &Block,
    #[shared] _first: Tile,
    #[shared] stages: SharedRing<(Tile, Tile), 2>,
    a: Global<f32>,
    how: usize,
) {
    let a = GlobalMatrix::<f32>::new(a, 4, 5, 5);
    match how {
        0 => stages.part(1).1.set((20, 3), bf16::ONE),
        1 => _ = FragmentA::<M16N8K16, bf16>::load(block.warp(), &stages.part(0).0, (8, 0)),
        2 => _ = block.warp().each(|_| stages.part(0).1.row((0, 4))),
        3 => _ = stages.part(2),
        _ => _ = a.get(3, 5),
    }
}

#[test]
fn report_names_the_tile_the_ring_and_the_matrix() {
    let expected = [
        "out of bounds: element (20, 3) of `stages[1].1`, a tile of 20 x 24",
        "out of bounds: 16 x 16 elements at (8, 0) of `stages[0].0`, a tile of 20 x 24",
        "misaligned: no matrix row or vector starts at (0, 4) of `stages[0].1`",
        "out of bounds: part 2 of `stages`, a ring of 2",
        "out of bounds: element (3, 5) of `a`, a matrix of 4 x 5",
    ];
    for (how, title) in expected.into_iter().enumerate() {
        let error = named::simulate(1, &[0.0; 20], how).unwrap_err().to_string();
        assert!(error.starts_with(&format!("error: {title}\n")), "{error}");
        assert!(error.contains("\n   = help: "), "{error}");
    }
}
