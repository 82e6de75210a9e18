//! `movmatrix`: transposes a matrix in the registers of a warp (PTX ISA 9.7.14.5.17).

use crate::lane::{PerLane, Site};
use crate::machine;
use crate::mma::{B16, Trans};
use crate::scope::Warp;
use crate::target::{AtLeast, BuildTarget, Supports};
use core::marker::PhantomData;

/// Transposes an 8x8 matrix of 16-bit elements in the registers of a warp.
///
/// PTX: `movmatrix.sync.aligned.m8n8.trans.b16` (PTX ISA 9.7.14.5.17). Needs sm_75. Lane `l` holds
/// two elements of row `l / 4`, at the columns `l % 4 * 2` and `l % 4 * 2 + 1`.
///
/// ```
/// use ptx_matrix::{mma::{B16, MovMatrix, Trans}, prelude::*};
///
/// #[kernel(threads = 32)]
/// fn transpose(block: &Block, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     let matrix = warp.each(|lane| (lane.id() * 2 + 1 << 16 | lane.id() * 2) as u32);
///     let transposed = MovMatrix::<Trans, B16>::transpose(warp, matrix);
///     warp.each(|lane| d.set(lane.id(), lane.get(&transposed)));
/// }
///
/// let mut d = [0; 32];
/// transpose::simulate(1, &mut d).unwrap();
/// assert_eq!(d[5], (3 * 8 + 1) << 16 | (2 * 8 + 1)); // row 1, once column 1: elements 2, 3
/// ```
pub struct MovMatrix<Tr, E, Target = BuildTarget>(PhantomData<(Tr, E, Target)>);

impl<Target> MovMatrix<Trans, B16, Target> {
    /// The PTX instruction.
    pub const PTX: &'static str = "movmatrix.sync.aligned.m8n8.trans.b16";

    /// Transposes the matrix.
    #[inline]
    #[track_caller]
    pub fn transpose(_: Warp<'_>, matrix: PerLane<u32>) -> PerLane<u32>
    where
        Target: Supports<AtLeast<75>>,
    {
        // SAFETY: at warp scope the lanes are converged.
        unsafe { machine::matrix::movmatrix_sync_aligned_m8n8_trans_b16(Site::here(), matrix) }
    }
}
