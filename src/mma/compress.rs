//! Compresses dense elements to sparse fragments, on the device.

use super::{Kept, Metadata};
use crate::element::Element;
use crate::fragment::{FragmentShape, FragmentSparseA, RoleSparseA, SparseWidth};
use crate::lane::{LaneCapture, Site};
use crate::machine::check;
use crate::scope::Warp;

impl<S, T> FragmentSparseA<S, T>
where
    S: FragmentShape<RoleSparseA, T::Width>,
    T: Element<Width: SparseWidth> + PartialEq,
{
    /// Compresses the M x K matrix `value(row, col)` to a sparse fragment and its metadata.
    ///
    /// An element that is zero, of either sign, can be dropped. The metadata is the same for every
    /// selector.
    ///
    /// # Panics
    /// If more than half of a chunk is nonzero. On the device this is a trap. On the host it is a
    /// finding that names the chunk.
    ///
    /// ```
    /// use ptx_matrix::{fragment::FragmentSparseA, mma::MmaSparse, prelude::*};
    ///
    /// #[kernel(threads = 32, target = "sm_80")]
    /// fn multiply(block: &Block, a: Global<bf16>, b: Global<bf16>, d: GlobalMut<f32>) {
    ///     let warp = block.warp();
    ///     let (a, metadata) =
    ///         FragmentSparseA::<M16N8K16, bf16>::compress(warp, |row, k| a.get(row * 16 + k));
    ///     let b = FragmentB::<M16N8K16, bf16>::from_fn(warp, |k, col| b.get(k * 8 + col));
    ///     let mut acc = Accumulator::<M16N8K16, f32>::zero();
    ///     MmaSparse::<M16N8K16, bf16, bf16, f32>::accumulate::<0>(
    ///         warp, &mut acc, &a, &b, &metadata,
    ///     );
    ///     acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
    /// }
    ///
    /// // The second and the fourth of each four elements of a row are nonzero.
    /// let a: Vec<bf16> = (0..256).map(|i| bf16::from_f32((i % 2 * i) as f32)).collect();
    /// let b: Vec<bf16> = (0..128).map(|i| bf16::from_f32((i % 5) as f32)).collect();
    /// let mut d = vec![0.0; 128];
    /// multiply::simulate(1, &a, &b, &mut d).check();
    /// let expected: f32 = (0..16).map(|k| a[3 * 16 + k].to_f32() * b[k * 8 + 2].to_f32()).sum();
    /// assert_eq!(d[3 * 8 + 2], expected);
    ///
    /// let report =
    ///     multiply::simulate(1, &vec![bf16::ONE; 256], &b, &mut d).unwrap_err().to_string();
    /// assert!(report.starts_with("error: not sparse: row 0, columns 0 to 3: "), "{report}");
    /// ```
    #[inline]
    #[track_caller]
    pub fn compress(
        warp: Warp<'_>,
        value: impl Fn(usize, usize) -> T + LaneCapture,
    ) -> (Self, Metadata<T::Width>) {
        let site = Site::here();
        let chunk_of =
            |row: usize, chunk: usize| kept::<T>(site, row, chunk, |col| value(row, col));
        let kept_cols = T::Width::KEPT;
        let values = Self::from_fn(warp, |row, col| {
            let (chunk, index) = (col / kept_cols, col % kept_cols);
            value(row, chunk * T::Width::CHUNK + chunk_of(row, chunk).column::<T::Width>(index))
        });
        let chunks = Self::COLS / kept_cols;
        (values, Metadata::from_fn(warp, |row, chunk| chunk_of(row, chunk % chunks)))
    }
}

/// Selects the elements of a chunk to keep.
#[inline]
fn kept<T: Element<Width: SparseWidth> + PartialEq>(
    site: Site,
    row: usize,
    chunk: usize,
    value: impl Fn(usize) -> T,
) -> Kept {
    // Only the simulator's finding names the row.
    let _ = row;
    let first = chunk * T::Width::CHUNK;
    let parts = parts_with::<T::Width>(|col| value(first + col) != T::zeroed());
    let Some(kept) = Kept::at_least(parts) else {
        check!(false, site, NotSparse { row, cols: first..=first + T::Width::CHUNK - 1, parts });
        return Kept::half(0);
    };
    kept
}

/// The parts of a chunk with a nonzero element: one bit each.
#[inline]
pub(super) fn parts_with<W: SparseWidth>(is_there: impl Fn(usize) -> bool) -> usize {
    let mut parts = 0;
    for col in 0..W::CHUNK {
        if is_there(col) {
            // Each tf32 is two parts, one for each half.
            parts |= if W::CHUNK < 4 { 0b11 << (2 * col) } else { 1 << (col * 4 / W::CHUNK) };
        }
    }
    parts
}
