//! Reads of unwritten shared memory.

use crate::assert_at;
use ptx_matrix::mma::{B16, LdMatrix, Trans, X1};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, SHARED_BASE};

type Tile = SharedTile<u16, 8, 8>;

/// Writes all elements except for one.
fn fill_but_one(warp: Warp, tile: Tile, hole: (usize, usize)) {
    warp.each(|lane| {
        for col in 0..8 {
            if lane.id() < 8 && (lane.id(), col) != hole {
                tile.set((lane.id(), col), 1);
            }
        }
    });
}

#[kernel(threads = 32)]
fn get(block: &Block, #[shared] tile: Tile, row: usize) {
    fill_but_one(block.warp(), tile, (6, 2));
    block.warp().each(|lane| tile.get(lane, (row, lane.id() % 8))); // <- get
}

#[test]
fn read_by_one_lane_is_an_error() {
    let error = get::simulate(1, 6).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE + 6 * 16 + 2 * 2, bytes: 2 }
    );
    assert_at(&error, "get", (0, 0, 0), 0, Some(2));
    get::simulate(1, 5).unwrap();
}

#[kernel(threads = 32)]
fn ldmatrix(block: &Block, #[shared] tiles: [Tile; 2], hole_in: usize) {
    let warp = block.warp();
    fill_but_one(warp, tiles[hole_in], (6, 2));
    fill_but_one(warp, tiles[1 - hole_in], (9, 0));
    let rows = warp.each(|lane| tiles[0].row((lane.id() % 8, 0)));
    LdMatrix::<X1, Trans, B16>::load(warp, rows); // <- ldmatrix
}

#[test]
fn ldmatrix_is_an_error() {
    let error = ldmatrix::simulate(1, 0).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE + 6 * 16 + 2 * 2, bytes: 2 }
    );
    assert_at(&error, "ldmatrix", (0, 0, 0), 0, Some(6));
    ldmatrix::simulate(1, 1).unwrap();
}

#[kernel(threads = 32)]
fn for_each(block: &Block, #[shared] tiles: [Tile; 2], hole_in: usize) {
    fill_but_one(block.warp(), tiles[hole_in], (6, 2));
    fill_but_one(block.warp(), tiles[1 - hole_in], (9, 0));
    tiles[0].for_each(block.warp(), |_, _, _| ()); // <- for_each
}

#[test]
fn for_each_is_an_error() {
    let error = for_each::simulate(1, 0).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE + 6 * 16 + 2 * 2, bytes: 2 }
    );
    // Element 50 of the tile is the second one that the lane reads.
    assert_at(&error, "for_each", (0, 0, 0), 0, Some(18));
    for_each::simulate(1, 1).unwrap();
}

#[kernel(threads = 32)]
fn fragment(block: &Block, #[shared] tile: SharedTile<bf16, 16, 16>, rows: usize) {
    let warp = block.warp();
    warp.each(|lane| {
        for row in 0..rows {
            if lane.id() < 16 {
                tile.set((row, lane.id()), bf16::ONE);
            }
        }
    });
    FragmentA::<M16N8K16, bf16>::load(warp, &tile, At::<0, 0>); // <- fragment
}

#[test]
fn fragment_load_is_an_error() {
    let error = fragment::simulate(1, 15).unwrap_err();
    assert_eq!(error.misuse, Misuse::SharedUnwritten { address: SHARED_BASE + 15 * 32, bytes: 16 });
    // Row 15 of the first eight columns is row 7 of the second matrix.
    assert_at(&error, "fragment", (0, 0, 0), 0, Some(15));
    fragment::simulate(1, 16).unwrap();
}

#[kernel(threads = 32)]
fn write_in_the_first_block(block: &Block, #[shared] tile: Tile) {
    if block.index().x == 0 {
        tile.fill(block.warp(), |_, _| 1);
    }
    tile.for_each(block.warp(), |_, _, _| ()); // <- next block
}

#[test]
fn write_of_another_block_does_not_count() {
    write_in_the_first_block::simulate(1).unwrap();
    let error = write_in_the_first_block::simulate(2).unwrap_err();
    assert_at(&error, "next block", (1, 0, 0), 0, Some(0));
}
