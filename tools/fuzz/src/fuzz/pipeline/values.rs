//! The values of a pipeline's tiles, and its output.

use super::program::{Shape, Tile};
use ptx_matrix_fuzz_kernels::pipeline::{
    BOX_ROWS, COLS, FIRST_ROW, FIRST_SUM, K, LEFT, M, N, STORED_BOXES, WARPS, exact_operand,
    take_in, value,
};

const ROWS_SEED: u32 = 11;
const BOXES_SEED: u32 = 12;
const A_SEED: u32 = 13;
const B_SEED: u32 = 14;

/// Rows of the tensor with the boxes. Half of the last box is out of bounds.
pub const BOXES_ROWS: usize = Shape::Box.sources() * BOX_ROWS - BOX_ROWS / 2;

/// The rows that the kernel loads from global memory.
pub fn rows() -> Vec<u32> {
    (0..Shape::Row.sources() * Shape::Row.elements()).map(|index| value(ROWS_SEED, index)).collect()
}

pub fn boxes() -> Vec<u32> {
    (0..BOXES_ROWS * COLS).map(|index| value(BOXES_SEED, index)).collect()
}

/// The elements of operands, which are small integers: A row by row, B column by column.
pub fn operands(shape: Shape) -> Vec<u32> {
    let seed = if shape == Shape::A { A_SEED } else { B_SEED };
    (0..shape.sources() * shape.elements()).map(|index| exact_operand(seed, index)).collect()
}

/// Words of the tensor that boxes are stored to.
pub fn stored(blocks: usize) -> usize {
    blocks * STORED_BOXES * Shape::Box.elements()
}

/// The tiles of all blocks, and the output.
pub struct Values {
    tiles: Vec<Vec<u32>>,
    acc: Vec<Vec<u32>>,
    pub out: Vec<u32>,
    pub stored: Vec<u32>,
}

const ALL: usize = Shape::Row.slots() + Shape::Box.slots() + Shape::A.slots() + Shape::B.slots();

fn index(rank: usize, Tile { shape, slot }: Tile) -> usize {
    let before = Shape::ALL.iter().take_while(|other| **other != shape).map(|shape| shape.slots());
    rank * ALL + before.sum::<usize>() + slot
}

impl Values {
    pub fn new(blocks: usize) -> Self {
        let tile = |index: usize| {
            let mut slot = index % ALL;
            let shape = Shape::ALL.into_iter().find(|shape| {
                let found = slot < shape.slots();
                slot -= if found { 0 } else { shape.slots() };
                found
            });
            vec![0; shape.expect("each slot is of a shape").elements()]
        };
        Values {
            tiles: (0..blocks * ALL).map(tile).collect(),
            acc: vec![vec![0; M * N]; blocks],
            out: vec![0; blocks * LEFT],
            stored: vec![0; stored(blocks)],
        }
    }

    pub fn fill(&mut self, rank: usize, tile: Tile, seed: u32) {
        for (at, element) in self.tiles[index(rank, tile)].iter_mut().enumerate() {
            *element = value(seed, at);
        }
    }

    /// A warp of a warpgroup fills its part: each thread fills every 128th element.
    pub fn fill_slices(&mut self, rank: usize, tile: Tile, seed: u32, warp: usize) {
        let elements = self.tiles[index(rank, tile)].iter_mut().enumerate();
        for (at, element) in elements.filter(|(at, _)| at / 32 % 4 == warp) {
            *element = exact_operand(seed, at);
        }
    }

    pub fn load(&mut self, rank: usize, tile: Tile, from: usize) {
        let first = from * tile.shape.elements();
        for (at, element) in self.tiles[index(rank, tile)].iter_mut().enumerate() {
            *element = match tile.shape {
                Shape::Row => value(ROWS_SEED, first + at),
                Shape::Box if (first + at) / COLS >= BOXES_ROWS => 0,
                Shape::Box => value(BOXES_SEED, first + at),
                Shape::A => exact_operand(A_SEED, first + at),
                Shape::B => exact_operand(B_SEED, first + at),
            };
        }
    }

    pub fn copy(&mut self, (rank, from): (usize, Tile), (to_rank, to): (usize, Tile)) {
        self.tiles[index(to_rank, to)] = self.tiles[index(rank, from)].clone();
    }

    /// Each lane of a warp reads a row.
    pub fn read(&mut self, rank: usize, tile: Tile, warp: usize) {
        let rows: Vec<u32> = self.tiles[index(rank, tile)]
            .chunks(COLS)
            .map(|row| row.iter().fold(0, |sum: u32, element| sum.rotate_left(1) ^ element))
            .collect();
        let first = rank * LEFT + warp % WARPS * 32;
        for (lane, known) in self.out[first..first + 32].iter_mut().enumerate() {
            *known = take_in(*known, rows[lane % rows.len()]);
        }
    }

    pub fn store(&mut self, rank: usize, tile: Tile, to: usize) {
        let elements = &self.tiles[index(rank, tile)];
        let (into, first) = match tile.shape {
            Shape::Row => (&mut self.out, rank * LEFT + FIRST_ROW + to * elements.len()),
            _ => (&mut self.stored, (rank * STORED_BOXES + to) * elements.len()),
        };
        into[first..first + elements.len()].copy_from_slice(elements);
    }

    pub fn multiply(&mut self, rank: usize, a: usize, b: usize) {
        let (a, b) = (Tile { shape: Shape::A, slot: a }, Tile { shape: Shape::B, slot: b });
        let (a, b) = (&self.tiles[index(rank, a)], &self.tiles[index(rank, b)]);
        for (at, sum) in self.acc[rank].iter_mut().enumerate() {
            let (row, col) = (at / N, at % N);
            *sum += (0..K).map(|k| a[row * K + k] * b[col * K + k]).sum::<u32>();
        }
    }

    /// A warp stores its 16 rows of the accumulators.
    pub fn take_acc(&mut self, rank: usize, to: usize, warp: usize) {
        let (first, own) =
            (rank * LEFT + FIRST_SUM + to * M * N, warp * 16 * N..(warp + 1) * 16 * N);
        self.out[first + own.start..first + own.end].copy_from_slice(&self.acc[rank][own]);
    }
}
