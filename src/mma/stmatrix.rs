//! `stmatrix`: stores matrices from registers to shared memory (PTX ISA 9.7.14.5.16).

use crate::fragment::RowAddr;
use crate::lane::{PerLane, Site};
use crate::machine::matrix;
use crate::mma::{B8, B16, Count, CountRegisters, NoTrans, Trans, Transposition, X1, X2, X4};
use crate::scope::Warp;
use crate::target::{ArchSpecific, AtLeast, BuildTarget, Supports};
use core::marker::PhantomData;

/// Stores one, two or four 8x8 matrices of 16-bit elements from registers to shared memory.
///
/// PTX: `stmatrix.sync.aligned.m8n8{.x1,.x2,.x4}{.trans}.shared.b16` (PTX ISA 9.7.14.5.16). Needs
/// sm_90.
///
/// It is the reverse of [`LdMatrix`](crate::mma::LdMatrix). Lane `8 * i + r` gives the address of
/// row `r` of matrix `i`. Register `i` of lane `l` holds two elements of matrix `i`, the first in
/// the lower half:
///
/// | form | rows | columns |
/// | --- | --- | --- |
/// | [`NoTrans`](crate::mma::NoTrans) | `l / 4` | `l % 4 * 2`, and the next |
/// | [`Trans`] | `l % 4 * 2`, and the next | `l / 4` |
///
/// With [`B8`], it is another instruction: see [`StMatrixBytes`].
///
/// ```
/// use ptx_matrix::{mma::{B16, NoTrans, StMatrix, X1}, prelude::*};
///
/// #[kernel(threads = 32, target = "sm_90")]
/// fn store(block: &Block, #[shared] tile: SharedTile<u16, 8, 8>, d: GlobalMut<u16>) {
///     let warp = block.warp();
///     let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
///     let registers = warp.each(|lane| [(lane.id() * 2 + 1 << 16 | lane.id() * 2) as u32]);
///     StMatrix::<X1, NoTrans, B16>::store(warp, rows, registers);
///     warp.sync();
///     tile.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let mut d = [0; 64];
/// store::simulate(1, &mut d).unwrap();
/// assert_eq!(d, core::array::from_fn(|i| i as u16));
/// ```
pub struct StMatrix<N, Tr, E, Target = BuildTarget>(PhantomData<(N, Tr, E, Target)>);

/// The two forms of `stmatrix` for one count of matrices: without and with `.trans`.
#[doc(hidden)]
pub trait StMatrixForms: CountRegisters {
    /// The PTX instructions.
    const PTX: [&'static str; 2];

    /// # Safety
    /// As for the form's function in `raw`.
    unsafe fn issue(
        site: Site,
        transposed: bool,
        rows: PerLane<RowAddr>,
        registers: PerLane<Self::Registers>,
    );
}

macro_rules! forms {
    (
        $(
            $count:ident $matrices:literal: $plain:ident $plain_ptx:literal,
            $trans:ident $trans_ptx:literal;
        )*
    ) => {$(
        impl StMatrixForms for $count {
            const PTX: [&'static str; 2] = [$plain_ptx, $trans_ptx];

            #[inline]
            unsafe fn issue(
                site: Site,
                transposed: bool,
                rows: PerLane<RowAddr>,
                registers: PerLane<[u32; $matrices]>,
            ) {
                // SAFETY: the caller upholds the same contract.
                unsafe {
                    if transposed {
                        matrix::$trans(site, rows, registers);
                    } else {
                        matrix::$plain(site, rows, registers);
                    }
                }
            }
        }
    )*};
}

forms! {
    X1 1:
        stmatrix_sync_aligned_m8n8_x1_shared_b16 "stmatrix.sync.aligned.m8n8.x1.shared.b16",
        stmatrix_sync_aligned_m8n8_x1_trans_shared_b16
            "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16";
    X2 2:
        stmatrix_sync_aligned_m8n8_x2_shared_b16 "stmatrix.sync.aligned.m8n8.x2.shared.b16",
        stmatrix_sync_aligned_m8n8_x2_trans_shared_b16
            "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16";
    X4 4:
        stmatrix_sync_aligned_m8n8_x4_shared_b16 "stmatrix.sync.aligned.m8n8.x4.shared.b16",
        stmatrix_sync_aligned_m8n8_x4_trans_shared_b16
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
}

impl<N: Count, Tr: Transposition, Target> StMatrix<N, Tr, B16, Target> {
    /// The PTX instruction.
    pub const PTX: &'static str = <N as StMatrixForms>::PTX[Tr::TRANSPOSED as usize];

    /// Stores the registers to the matrices whose row addresses the lanes give.
    ///
    /// Lanes 0 to 7 give the rows of the first matrix, lanes 8 to 15 those of the second, and so
    /// on. Nothing is written at the addresses of the remaining lanes.
    #[inline]
    #[track_caller]
    pub fn store(warp: Warp<'_>, rows: PerLane<RowAddr>, registers: PerLane<N::Registers>)
    where
        Target: Supports<AtLeast<90>>,
    {
        Self::store_at(warp, rows, registers, Site::here());
    }

    #[inline]
    pub(crate) fn store_at(
        _: Warp<'_>,
        rows: PerLane<RowAddr>,
        registers: PerLane<N::Registers>,
        site: Site,
    ) {
        // SAFETY: at warp scope the lanes are converged. A row is 16 aligned bytes of shared
        // memory.
        unsafe { <N as StMatrixForms>::issue(site, Tr::TRANSPOSED, rows, registers) }
    }
}

/// The forms of `stmatrix` with elements of one byte: `StMatrix<N, Trans, B8>`, for `X1`, `X2` and
/// `X4`.
///
/// In PTX they are `.m16n8`. A matrix of 16 rows and 8 columns is stored transposed, as eight rows
/// of 16 bytes. Eight lanes give their addresses. A lane's register holds the same elements as an
/// accumulator of `mma` (`.m16n8`), in bytes. In shared memory these are, for lane `l`:
///
/// | bytes of the register | rows in shared memory | element of the row |
/// | --- | --- | --- |
/// | 0, 1 | `l % 4 * 2`, and the next | `l / 4` |
/// | 2, 3 | `l % 4 * 2`, and the next | `l / 4 + 8` |
///
/// Needs sm_100a, sm_100f or the like, and PTX 8.6 (PTX ISA 9.7.14.5.16). These forms are only
/// assembled and simulated: no run on a GPU has checked them.
///
/// ```
/// use ptx_matrix::{mma::{B8, StMatrix, Trans, X1}, prelude::*};
///
/// #[kernel(threads = 32, target = "sm_100a or sm_120a")]
/// fn store(block: &Block, #[shared] tile: SharedTile<u8, 8, 16>, d: GlobalMut<u8>) {
///     let warp = block.warp();
///     let rows = warp.each(|lane| tile.row((lane.id() % 8, 0)));
///     let registers = warp.each(|lane| {
///         [u32::from_le_bytes([0, 1, 2, 3].map(|byte| (lane.id() * 4) as u8 + byte))]
///     });
///     StMatrix::<X1, Trans, B8>::store(warp, rows, registers);
///     warp.sync();
///     tile.for_each(warp, |row, col, value| d.set(row * 16 + col, value));
/// }
///
/// let mut d = [0; 128];
/// store::simulate(1, &mut d).unwrap();
/// assert_eq!(d[3 * 16 + 2 + 8], 4 * (4 * 2 + 1) + 3); // row 3, column 10: lane 9, byte 3
/// ```
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`StMatrix<N, Tr, E>` exists for `X1`, `X2` and `X4`, of `B16` with `Trans` and \
            `NoTrans`, of `B8` with `Trans`"
)]
pub trait StMatrixBytes: crate::lane::Sealed {
    /// The registers of a lane.
    type Registers: crate::fragment::Registers<Register = u32>;
    /// The PTX instruction.
    const PTX: &'static str;

    /// # Safety
    /// As for the form's function in `raw`.
    #[doc(hidden)]
    unsafe fn issue(site: Site, rows: PerLane<RowAddr>, registers: PerLane<Self::Registers>);
}

macro_rules! byte_forms {
    ($($raw:ident $ptx:literal $count:ident $trans:ident $element:ident $registers:tt
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(byte_forms! { @$element $raw $ptx $count $trans $registers })*
    };
    // These have the implementation above: one for each count and transposition. A second row of
    // these conflicts here, and a new count lacks the trait.
    (@B16 $raw:ident $ptx:literal $count:ident $trans:ident $($row:tt)*) => {
        impl<Target> crate::lane::Sealed for StMatrix<$count, $trans, B16, Target> {}
        const _: [&str; 2] = <$count as StMatrixForms>::PTX;
    };
    (@$element:ident $raw:ident $ptx:literal $count:ident $trans:ident ($($r:ident)+)) => {
        impl<Target> crate::lane::Sealed for StMatrix<$count, $trans, $element, Target> {}
        impl<Target> StMatrixBytes for StMatrix<$count, $trans, $element, Target> {
            type Registers = [u32; [$(stringify!($r)),+].len()];
            const PTX: &'static str = $ptx;

            #[inline]
            unsafe fn issue(
                site: Site, rows: PerLane<RowAddr>, registers: PerLane<Self::Registers>
            ) {
                // SAFETY: the caller upholds the same contract.
                unsafe { matrix::$raw(site, rows, registers) }
            }
        }
    };
}
crate::stmatrix_forms!(byte_forms);

impl<N, Tr, Target> StMatrix<N, Tr, B8, Target>
where
    Self: StMatrixBytes,
{
    /// Stores the registers to the matrices whose row addresses the lanes give.
    ///
    /// Lanes 0 to 7 give the rows of the first matrix, lanes 8 to 15 those of the second, and so
    /// on. Nothing is written at the addresses of the remaining lanes.
    #[inline]
    #[track_caller]
    pub fn store(
        _: Warp<'_>,
        rows: PerLane<RowAddr>,
        registers: PerLane<<Self as StMatrixBytes>::Registers>,
    ) where
        Target: Supports<ArchSpecific<100>>,
    {
        // SAFETY: at warp scope the lanes are converged. A row is 16 aligned bytes of shared
        // memory.
        unsafe { Self::issue(Site::here(), rows, registers) }
    }
}
