//! `ldmatrix`: matrices from shared memory to registers (PTX ISA 9.7.14.5.15).

#[cfg(doc)]
use crate::matrix::Trans;
use crate::matrix::{B16, Count, CountRegisters, Transposition, X1, X2, X4};
use crate::site::Site;
use crate::target::{AtLeast, BuildTarget, Supports};
use crate::{PerLane, RowAddr, Warp};
use core::marker::PhantomData;

/// `ldmatrix.sync.aligned.m8n8{.x1,.x2,.x4}{.trans}.shared.b16`: loads one, two or four 8x8 matrices.
///
/// Lane `8 * i + r` gives the address of row `r` of matrix `i`; each lane gets, in register `i`, two neighbouring
/// elements of matrix `i`: of its row `lane / 4` from column `lane % 4 * 2` on, or, with [`Trans`], of its column
/// `lane / 4` from row `lane % 4 * 2` on. The lower element is in the lower half.
///
/// Needs sm_75. A [`Fragment`](crate::Fragment) is loaded with the right form by its own `load`; this one is
/// for everything else.
///
/// ```
/// use ptx_matrix::*;
///
/// #[kernel(threads = 32)]
/// fn load(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     tile.fill(warp, |row, col| (row * 8 + col) as u16);
///     warp.sync();
///     let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
///     let registers = LdMatrix::<X1, Trans, B16>::load(warp, rows);
///     warp.each(|lane| d.set(lane.id(), lane.get(&registers)[0]));
/// }
///
/// let mut d = [0; 32];
/// load::simulate(1, &mut d).unwrap();
/// assert_eq!(d[5], (3 * 8 + 1) << 16 | (2 * 8 + 1)); // column 1, rows 2 and 3
/// ```
pub struct LdMatrix<N, Tr, E, Target = BuildTarget>(PhantomData<(N, Tr, E, Target)>);

/// The forms of `ldmatrix` for one count of matrices: as they lie, and transposed.
#[doc(hidden)]
pub trait LdMatrixForms: CountRegisters {
    /// The instructions, as in PTX.
    const PTX: [&'static str; 2];

    /// # Safety
    /// As the form's function in `raw`.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn issue(transposed: bool, address: u32) -> Self::Registers;
}

macro_rules! forms {
    ($($count:ident $matrices:literal: $plain:ident $plain_ptx:literal, $trans:ident $trans_ptx:literal;)*) => {$(
        impl LdMatrixForms for $count {
            const PTX: [&'static str; 2] = [$plain_ptx, $trans_ptx];

            #[cfg(target_arch = "nvptx64")]
            #[inline(always)]
            unsafe fn issue(transposed: bool, address: u32) -> [u32; $matrices] {
                // SAFETY: the caller's.
                unsafe {
                    if transposed { crate::raw::$trans(address) } else { crate::raw::$plain(address) }
                }
            }
        }
    )*};
}

forms! {
    X1 1:
        ldmatrix_sync_aligned_m8n8_x1_shared_b16 "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16 "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16";
    X2 2:
        ldmatrix_sync_aligned_m8n8_x2_shared_b16 "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
        ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16 "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16";
    X4 4:
        ldmatrix_sync_aligned_m8n8_x4_shared_b16 "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16 "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
}

impl<N: Count, Tr: Transposition, Target> LdMatrix<N, Tr, B16, Target> {
    /// The instruction, as in PTX.
    pub const PTX: &'static str = <N as LdMatrixForms>::PTX[Tr::TRANSPOSED as usize];

    /// Loads the matrices whose rows the lanes name: lanes 0 to 7 those of the first, 8 to 15 those of the second, and so
    /// on. What the lanes beyond name is not read (it is a valid row all the same, as sm_75 wants).
    #[inline(always)]
    #[track_caller]
    pub fn load(warp: Warp<'_>, rows: PerLane<RowAddr>) -> PerLane<N::Registers>
    where
        Target: Supports<AtLeast<75>>,
    {
        Self::load_at(warp, rows, Site::here())
    }

    #[inline(always)]
    pub(crate) fn load_at(_: Warp<'_>, rows: PerLane<RowAddr>, site: Site) -> PerLane<N::Registers> {
        #[cfg(target_arch = "nvptx64")]
        return {
            let _ = site;
            // SAFETY: warp scope is converged; a row is 16 aligned bytes of shared memory.
            PerLane::from_own(unsafe { <N as LdMatrixForms>::issue(Tr::TRANSPOSED, rows.own().address()) })
        };
        #[cfg(not(target_arch = "nvptx64"))]
        return crate::sim::load_matrices(site, Self::PTX, &rows, Tr::TRANSPOSED);
    }
}
