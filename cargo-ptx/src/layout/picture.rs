//! A matrix as cells. A cell is a run of elements, adjacent in the matrix and in a register.

use ptx_matrix::forms::{Held, HeldMatrix};
use std::collections::HashMap;

/// A matrix in cells of equal size.
#[derive(Debug, Clone)]
pub struct Picture {
    pub matrix: HeldMatrix,
    /// Elements of a cell. They are in one row or in one column.
    pub run: usize,
    /// Whether a cell is in one row.
    pub in_rows: bool,
    /// The first element of each cell, row by row.
    pub cells: Vec<Held>,
}

impl Picture {
    /// The picture with the fewest cells.
    pub fn of(matrix: &HeldMatrix) -> Self {
        let longest = |in_rows| {
            let lengths = (0..=matrix.per_register.ilog2()).rev().map(|bits| 1 << bits);
            lengths.into_iter().find(|&run| are_runs(matrix, run, in_rows)).unwrap_or(1)
        };
        let (along, across) = (longest(true), longest(false));
        let (run, in_rows) = if along >= across { (along, true) } else { (across, false) };
        let mut cells: Vec<Held> =
            matrix.held.iter().filter(|held| held.index % run == 0).copied().collect();
        cells.sort_by_key(|held| (held.row, held.col));
        Picture { matrix: matrix.clone(), run, in_rows, cells }
    }

    /// Rows and columns of a cell.
    pub fn cell(&self) -> (usize, usize) {
        if self.in_rows { (1, self.run) } else { (self.run, 1) }
    }

    /// Registers of the matrix in a lane.
    pub fn registers(&self) -> usize {
        self.matrix.held.iter().map(|held| held.index / self.matrix.per_register).max().unwrap_or(0)
            + 1
    }

    /// The letter of the PTX ISA for an element, if it has one.
    pub fn letter(&self) -> &'static str {
        match &*self.matrix.name {
            "A" => "a",
            "B" => "b",
            "C" => "c",
            "D" => "d",
            _ => "",
        }
    }
}

/// Whether each aligned run of `run` elements of a lane is in one row (or one column).
fn are_runs(matrix: &HeldMatrix, run: usize, in_rows: bool) -> bool {
    let places: HashMap<_, _> =
        matrix.held.iter().map(|held| ((held.lane, held.index), (held.row, held.col))).collect();
    matrix.held.iter().all(|held| {
        let first = held.index / run * run;
        let Some(&(row, col)) = places.get(&(held.lane, first)) else { return false };
        (0..run).all(|further| {
            let expected = if in_rows { (row, col + further) } else { (row + further, col) };
            places.get(&(held.lane, first + further)) == Some(&expected)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;

    fn picture(form: &str, matrix: &str) -> Picture {
        let form = forms::all().find(|of| of.ptx == form).unwrap();
        Picture::of(form.matrices().iter().find(|of| of.name == matrix).unwrap())
    }

    #[test]
    fn cells_are_adjacent_elements_of_a_register() {
        let bits = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc";
        assert_eq!((picture(bits, "A").cell(), picture(bits, "A").cells.len()), ((1, 32), 128));
        assert_eq!(picture(bits, "B").cell(), (32, 1));
        assert_eq!(picture(bits, "D").cell(), (1, 1));
        let stored = picture("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8", "the matrix");
        assert_eq!(stored.cell(), (2, 1), "and two more, eight columns on");
    }

    /// Each element of a matrix is in one cell, and the cell names its lane and index.
    #[test]
    fn cells_cover_every_matrix() {
        for form in forms::all() {
            for matrix in form.matrices() {
                let picture = Picture::of(&matrix);
                let (down, right) = picture.cell();
                assert_eq!(
                    picture.cells.len() * picture.run,
                    matrix.rows * matrix.cols,
                    "{}",
                    form.ptx
                );
                for held in &matrix.held {
                    let cell = picture.cells.iter().find(|cell| {
                        (cell.row..cell.row + down).contains(&held.row)
                            && (cell.col..cell.col + right).contains(&held.col)
                    });
                    let cell = cell.unwrap();
                    assert_eq!(
                        (cell.lane, cell.index),
                        (held.lane, held.index / picture.run * picture.run),
                        "{}",
                        form.ptx
                    );
                }
            }
        }
    }
}
