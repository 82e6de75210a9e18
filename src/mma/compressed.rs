//! Whole sparse matrices, compressed on the host.

use super::compress::parts_with;
use super::{Kept, Metadata};
use crate::element::Element;
use crate::engine::findings::allowed;
use crate::fragment::SparseWidth;
use crate::lane::LANES;
use core::ops::RangeInclusive;
use std::fmt;
use std::string::ToString;
use std::vec;
use std::vec::Vec;

/// A compressed sparse matrix: the kept elements and their positions.
///
/// ```
/// use ptx_matrix::{fragment::Kept, mma::Compressed};
///
/// let dense = [0u8, 5, 0, 7, 9, 0, 0, 0];
/// let sparse = Compressed::of(&dense, 1, 8)?;
/// assert_eq!(sparse.values(), [5, 7, 9, 0]);
/// assert_eq!(sparse.kept(), [Kept::parts(1, 3).unwrap(), Kept::parts(0, 1).unwrap()]);
/// assert_eq!(sparse.dense(), dense);
///
/// let error = Compressed::of(&[1u8, 2, 0, 4], 1, 4).unwrap_err().to_string();
/// assert_eq!(
///     error,
///     "row 0, columns 0 to 3: columns 0, 1, 3 are not zero; of these 4 elements at most 2 may be \
///      other than zero"
/// );
/// # Ok::<(), ptx_matrix::mma::CompressError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Compressed<T> {
    rows: usize,
    cols: usize,
    values: Vec<T>,
    kept: Vec<Kept>,
}

/// An error: a matrix is not structured sparse as `mma.sp` requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompressError {
    /// The element count is not rows x columns, or the columns are no multiple of a chunk.
    Size {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
        /// The number of elements given.
        len: usize,
        /// Columns of a chunk.
        chunk: usize,
    },
    /// More than half of a chunk is nonzero.
    NotSparse {
        /// The row.
        row: usize,
        /// The columns of the chunk.
        cols: RangeInclusive<usize>,
        /// The nonzero columns.
        found: Vec<usize>,
    },
}

impl std::error::Error for CompressError {}

impl fmt::Display for CompressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompressError::Size { rows, cols, len, chunk } => write!(
                f,
                "a matrix of {rows} x {cols} in {len} elements: there must be rows x columns of \
                 them, and the columns a multiple of {chunk}"
            ),
            CompressError::NotSparse { row, cols, found } => {
                let found: Vec<_> = found.iter().map(usize::to_string).collect();
                write!(
                    f,
                    "row {row}, columns {} to {}: columns {} are not zero; {}",
                    cols.start(),
                    cols.end(),
                    found.join(", "),
                    allowed(cols.clone().count())
                )
            }
        }
    }
}

impl<T: Element<Width: SparseWidth> + PartialEq> Compressed<T> {
    /// Compresses a row-major matrix. Zeros, of either sign, can be dropped.
    ///
    /// # Errors
    /// If the number of elements is not `rows * cols`, if `cols` is no multiple of a chunk, or if
    /// more than half of a chunk is nonzero.
    pub fn of(dense: &[T], rows: usize, cols: usize) -> Result<Self, CompressError> {
        let (chunk, len) = (T::Width::CHUNK, dense.len());
        if rows.checked_mul(cols) != Some(len) || !cols.is_multiple_of(chunk) {
            return Err(CompressError::Size { rows, cols, len, chunk });
        }
        let (mut values, mut kept) = (Vec::with_capacity(len / 2), Vec::with_capacity(len / chunk));
        for (index, elements) in dense.chunks(chunk).enumerate() {
            let parts = parts_with::<T::Width>(|col| elements[col] != T::zeroed());
            let Some(code) = Kept::at_least(parts) else {
                let (row, first) = (index / (cols / chunk), index % (cols / chunk) * chunk);
                let found = (0..chunk)
                    .filter(|&col| elements[col] != T::zeroed())
                    .map(|col| first + col)
                    .collect();
                return Err(CompressError::NotSparse {
                    row,
                    cols: first..=first + chunk - 1,
                    found,
                });
            };
            values
                .extend((0..T::Width::KEPT).map(|index| elements[code.column::<T::Width>(index)]));
            kept.push(code);
        }
        Ok(Compressed { rows, cols, values, kept })
    }

    /// The kept elements: a row-major matrix with half of the columns.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The positions of the kept elements: row by row, one [`Kept`] for each chunk.
    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// The metadata as [`Metadata::load`] reads it: 32 words for each block of 16 rows x
    /// [`Metadata::COLS`] columns. Blocks are in row-major order. Chunks beyond the matrix keep
    /// their first half.
    pub fn metadata(&self) -> Vec<u32> {
        let (down, right) = (Metadata::<T::Width>::ROWS, Metadata::<T::Width>::CHUNKS);
        let chunks = self.cols / T::Width::CHUNK;
        let (tall, wide) = (self.rows.div_ceil(down), chunks.div_ceil(right));
        let mut words = vec![0; tall * wide * LANES];
        for row in 0..tall * down {
            for chunk in 0..wide * right {
                let there = row < self.rows && chunk < chunks;
                let kept = if there { self.kept[row * chunks + chunk] } else { Kept::half(0) };
                let (lane, index) = Metadata::<T::Width>::owner(row % down, chunk % right);
                let block = row / down * wide + chunk / right;
                words[block * LANES + lane] |= u32::from(kept.code()) << (4 * index);
            }
        }
        words
    }

    /// Decompresses the matrix: row-major, with zeros for the dropped elements.
    pub fn dense(&self) -> Vec<T> {
        let mut dense = vec![T::zeroed(); self.rows * self.cols];
        for (index, (values, kept)) in
            self.values.chunks(T::Width::KEPT).zip(&self.kept).enumerate()
        {
            for (which, &value) in values.iter().enumerate() {
                dense[index * T::Width::CHUNK + kept.column::<T::Width>(which)] = value;
            }
        }
        dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{F8E4M3, InByte, bf16, e2m1, e2m3, f16, s4, tf32};

    /// A random matrix whose nonzero elements `live` selects.
    fn random<T: Element>(rows: usize, cols: usize, value: impl Fn(u8) -> T) -> Vec<T>
    where
        T::Width: SparseWidth,
    {
        let mut rng = fastrand::Rng::with_seed(7);
        let chunk = T::Width::CHUNK;
        let mut dense = vec![T::zeroed(); rows * cols];
        for chunk in dense.chunks_mut(chunk) {
            let (first, second) = (rng.usize(..4), rng.usize(..4));
            for (col, element) in chunk.iter_mut().enumerate() {
                let part = if T::Width::CHUNK < 4 { 2 * col } else { col * 4 / T::Width::CHUNK };
                let is_kept = if T::Width::CHUNK < 4 {
                    part / 2 == first / 2
                } else {
                    part == first || part == second
                };
                if is_kept && rng.u8(..8) > 0 {
                    *element = value(rng.u8(1..8));
                }
            }
        }
        dense
    }

    fn check<T: Element<Width: SparseWidth> + PartialEq + fmt::Debug>(value: impl Fn(u8) -> T) {
        let (rows, cols) = (40, 24 * T::Width::CHUNK);
        let dense = random(rows, cols, value);
        let sparse = Compressed::of(&dense, rows, cols).unwrap();
        assert_eq!(sparse.dense(), dense);
        // Three blocks of rows, the last half empty. Two blocks of columns, the second half empty.
        let words = sparse.metadata();
        assert_eq!(words.len(), 3 * 2 * 32);
        for row in 0..48 {
            for chunk in 0..32 {
                let (lane, index) = Metadata::<T::Width>::owner(row % 16, chunk % 16);
                let code = words[(row / 16 * 2 + chunk / 16) * 32 + lane] >> (4 * index) & 0xf;
                let kept = if row < 40 && chunk < 24 {
                    sparse.kept()[row * 24 + chunk].code()
                } else {
                    0b0100
                };
                assert_eq!(code, u32::from(kept), "row {row}, chunk {chunk}");
            }
        }
    }

    #[test]
    fn compression_round_trips() {
        check(|value| tf32::from_f32(value.into()));
        check(f16::from);
        check(|value| value);
        check(|value| s4::new(value as i8 - 8));
    }

    #[test]
    fn zeros_of_either_sign_are_dropped() {
        fn check<T: Element<Width: SparseWidth> + PartialEq>(convert: impl Fn(f32) -> T) {
            let dense = [-0.0, 1.0, -0.0, 0.0].map(convert);
            let compressed = Compressed::of(&dense, 1, 4).unwrap();
            assert!(compressed.values().contains(&dense[1]));
        }
        check(bf16::from_f32);
        check(F8E4M3::from_f32);
        check(e2m3::from_f32);
        check(|value| InByte::from(e2m1::from_f32(value)));
    }

    #[test]
    fn rejects_dense_chunk_by_position() {
        let error = |result: Result<Compressed<_>, CompressError>| result.unwrap_err().to_string();
        let mut dense = vec![0_u8; 3 * 12];
        for col in [8, 9, 11] {
            dense[2 * 12 + col] = 1;
        }
        let message = error(Compressed::of(&dense, 3, 12));
        assert!(
            message
                .starts_with("row 2, columns 8 to 11: columns 8, 9, 11 are not zero; of these 4 "),
            "{message}"
        );
        let message = error(Compressed::of(&dense, 3, 13));
        assert!(message.starts_with("a matrix of 3 x 13 in 36 elements"), "{message}");
        let pairs = [1, 0, 0, 1, 0, 0, 1, 0].map(s4::new);
        let message = Compressed::of(&pairs, 1, 8).unwrap_err().to_string();
        assert!(
            message.ends_with("of these 4 pairs of elements at most 2 may be other than zero"),
            "{message}"
        );
        let both = [tf32::ONE; 2];
        let message = Compressed::of(&both, 1, 2).unwrap_err().to_string();
        assert!(message.contains("at most 1 may be"), "{message}");
    }
}
