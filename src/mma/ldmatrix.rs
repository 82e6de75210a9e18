//! `ldmatrix`: loads matrices from shared memory into registers (PTX ISA 9.7.14.5.15).

use crate::fragment::{
    Arrangement::{self, ColumnsOfBytes, RowsOfBytes},
    Packed::{Bytes, Fours, Sixes},
    RowAddr,
};
use crate::lane::{PerLane, Site};
use crate::machine::matrix;
use crate::mma::{
    B4x16P64, B6x16P32, B8, B16, Count, CountRegisters, NoTrans, Trans, Transposition, X1, X2, X4,
};
use crate::scope::Warp;
use crate::target::{ArchSpecific, AtLeast, BuildTarget, Supports};
use core::marker::PhantomData;

/// Loads one, two or four 8x8 matrices of 16-bit elements from shared memory into registers.
///
/// PTX: `ldmatrix.sync.aligned.m8n8{.x1,.x2,.x4}{.trans}.shared.b16` (PTX ISA 9.7.14.5.15). Needs
/// sm_75.
///
/// Lane `8 * i + r` gives the address of row `r` of matrix `i`. Register `i` of lane `l` receives
/// two elements of matrix `i`, the first in the lower half:
///
/// | form | rows | columns |
/// | --- | --- | --- |
/// | [`NoTrans`] | `l / 4` | `l % 4 * 2`, and the next |
/// | [`Trans`] | `l % 4 * 2`, and the next | `l / 4` |
///
/// With other elements than [`B16`], it is another instruction: see [`LdMatrixBytes`].
/// [`Fragment::load`](crate::fragment::Fragment) selects the right form for a fragment. Use this
/// type for everything else.
///
/// ```
/// use ptx_matrix::{mma::{B16, LdMatrix, Trans, X1}, prelude::*};
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

/// The two forms of `ldmatrix` for one count of matrices: without and with `.trans`.
#[doc(hidden)]
pub trait LdMatrixForms: CountRegisters {
    /// The PTX instructions.
    const PTX: [&'static str; 2];

    /// # Safety
    /// As for the form's function in `raw`.
    unsafe fn issue(
        site: Site,
        transposed: bool,
        rows: PerLane<RowAddr>,
    ) -> PerLane<Self::Registers>;
}

macro_rules! forms {
    (
        $(
            $count:ident $matrices:literal: $plain:ident $plain_ptx:literal,
            $trans:ident $trans_ptx:literal;
        )*
    ) => {$(
        impl LdMatrixForms for $count {
            const PTX: [&'static str; 2] = [$plain_ptx, $trans_ptx];

            #[inline]
            unsafe fn issue(
                site: Site, transposed: bool, rows: PerLane<RowAddr>
            ) -> PerLane<[u32; $matrices]> {
                // SAFETY: the caller upholds the same contract.
                unsafe {
                    if transposed { matrix::$trans(site, rows) } else { matrix::$plain(site, rows) }
                }
            }
        }
    )*};
}

forms! {
    X1 1:
        ldmatrix_sync_aligned_m8n8_x1_shared_b16 "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
        ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16
            "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16";
    X2 2:
        ldmatrix_sync_aligned_m8n8_x2_shared_b16 "ldmatrix.sync.aligned.m8n8.x2.shared.b16",
        ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16";
    X4 4:
        ldmatrix_sync_aligned_m8n8_x4_shared_b16 "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
}

impl<N: Count, Tr: Transposition, Target> LdMatrix<N, Tr, B16, Target> {
    /// The PTX instruction.
    pub const PTX: &'static str = <N as LdMatrixForms>::PTX[Tr::TRANSPOSED as usize];

    /// Loads the matrices whose row addresses the lanes give.
    ///
    /// Lanes 0 to 7 give the rows of the first matrix, lanes 8 to 15 those of the second, and so
    /// on. The addresses of the remaining lanes are not read, but must be valid: sm_75 requires it.
    #[inline]
    #[track_caller]
    pub fn load(warp: Warp<'_>, rows: PerLane<RowAddr>) -> PerLane<N::Registers>
    where
        Target: Supports<AtLeast<75>>,
    {
        Self::load_at(warp, rows, Site::here())
    }

    #[inline]
    pub(crate) fn load_at(
        _: Warp<'_>,
        rows: PerLane<RowAddr>,
        site: Site,
    ) -> PerLane<N::Registers> {
        // SAFETY: at warp scope the lanes are converged. A row is 16 aligned bytes of shared
        // memory.
        unsafe { <N as LdMatrixForms>::issue(site, Tr::TRANSPOSED, rows) }
    }
}

/// The forms of `ldmatrix` with elements of one byte, or of 6 or 4 bits.
///
/// They are forms of `LdMatrix<N, Tr, E>`:
///
/// | `E` | `Tr` | `N` | in PTX | registers |
/// | --- | --- | --- | --- | --- |
/// | [`B8`] | [`Trans`] | `X1`, `X2` | `.m16n16` | 2, 4 |
/// | [`B6x16P32`], [`B4x16P64`] | [`NoTrans`] | `X1`, `X2`, `X4` | `.m8n16` | 1, 2, 4 |
/// | [`B6x16P32`], [`B4x16P64`] | [`Trans`] | `X1`, `X2` | `.m16n16` | 2, 4 |
///
/// A row is 16 aligned bytes of shared memory: 16 elements of one byte, or 16 narrower elements and
/// padding. One lane gives the address of each row: eight lanes for a matrix of 8 rows, sixteen for
/// one of 16.
///
/// [`ARRANGEMENT`](Self::ARRANGEMENT) maps the bytes of registers to elements. Lane `l` receives
/// four neighbours:
///
/// | form | register of a matrix | rows | columns |
/// | --- | --- | --- | --- |
/// | [`NoTrans`] | 0 | `l / 4` | `l % 4 * 4` to `l % 4 * 4 + 3` |
/// | [`Trans`] | 0 | `l % 4 * 4` to `l % 4 * 4 + 3` | `l / 4` |
/// | [`Trans`] | 1 | `l % 4 * 4` to `l % 4 * 4 + 3` | `l / 4 + 8` |
///
/// Needs sm_100a, sm_100f or the like, and PTX 8.6 (PTX ISA 9.7.14.5.15). These forms are only
/// assembled and simulated: no run on a GPU has checked them.
///
/// ```
/// use ptx_matrix::{mma::{B8, LdMatrix, Trans, X1}, prelude::*};
///
/// #[kernel(threads = 32, target = "sm_100a or sm_120a")]
/// fn load(block: &Block, #[shared] tile: SharedTile<u8, 16, 16>, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     tile.fill(warp, |row, col| (row * 16 + col) as u8);
///     warp.sync();
///     let rows = warp.each(|lane| tile.row((lane.id() % 16, 0)));
///     let registers = LdMatrix::<X1, Trans, B8>::load(warp, rows);
///     warp.each(|lane| d.set(lane.id(), lane.get(&registers)[1]));
/// }
///
/// let mut d = [0; 32];
/// load::simulate(1, &mut d).unwrap();
/// assert_eq!(d[5].to_le_bytes(), [0x49, 0x59, 0x69, 0x79]); // column 1 + 8, rows 4 to 7
/// ```
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`LdMatrix<N, Tr, E>` exists for `B16` (`X1`, `X2`, `X4`, with `Trans` and `NoTrans`), \
            `B8` (`X1`, `X2`, with `Trans`), `B6x16P32` and `B4x16P64` (`X1`, `X2`, `X4` with \
            `NoTrans`, `X1`, `X2` with `Trans`)"
)]
pub trait LdMatrixBytes: crate::lane::Sealed {
    /// The registers of a lane.
    type Registers: crate::fragment::Registers<Register = u32>;
    /// The PTX instruction.
    const PTX: &'static str;
    /// The arrangement of a matrix in registers and in shared memory.
    const ARRANGEMENT: Arrangement;

    /// # Safety
    /// As for the form's function in `raw`.
    #[doc(hidden)]
    unsafe fn issue(site: Site, rows: PerLane<RowAddr>) -> PerLane<Self::Registers>;
}

macro_rules! byte_forms {
    ($($raw:ident $ptx:literal $count:ident $trans:ident $element:ident $registers:tt
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(byte_forms! { @$element $raw $ptx $count $trans $registers $arrangement })*
    };
    // These have the implementation above: one for each count and transposition. A second row of
    // these conflicts here, and a new count lacks the trait.
    (@B16 $raw:ident $ptx:literal $count:ident $trans:ident $($row:tt)*) => {
        impl<Target> crate::lane::Sealed for LdMatrix<$count, $trans, B16, Target> {}
        const _: [&str; 2] = <$count as LdMatrixForms>::PTX;
    };
    (
        @$element:ident $raw:ident $ptx:literal $count:ident $trans:ident ($($r:ident)+)
            [$($arrangement:tt)+]
    ) => {
        impl<Target> crate::lane::Sealed for LdMatrix<$count, $trans, $element, Target> {}
        impl<Target> LdMatrixBytes for LdMatrix<$count, $trans, $element, Target> {
            type Registers = [u32; [$(stringify!($r)),+].len()];
            const PTX: &'static str = $ptx;
            const ARRANGEMENT: Arrangement = $($arrangement)+;

            #[inline]
            unsafe fn issue(site: Site, rows: PerLane<RowAddr>) -> PerLane<Self::Registers> {
                // SAFETY: the caller upholds the same contract.
                unsafe { matrix::$raw(site, rows) }
            }
        }
    };
}
crate::ldmatrix_forms!(byte_forms);

macro_rules! byte_loads {
    ($($element:ident)*) => {$(
        impl<N, Tr, Target> LdMatrix<N, Tr, $element, Target>
        where
            Self: LdMatrixBytes,
        {
            /// Loads the matrices whose row addresses the lanes give.
            ///
            /// The first eight or sixteen lanes give the rows of the first matrix, and so on. The
            /// addresses of the remaining lanes are not read.
            #[inline]
            #[track_caller]
            pub fn load(
                _: Warp<'_>, rows: PerLane<RowAddr>
            ) -> PerLane<<Self as LdMatrixBytes>::Registers>
            where
                Target: Supports<ArchSpecific<100>>,
            {
                // SAFETY: at warp scope the lanes are converged. A row is 16 aligned bytes of
                // shared memory.
                unsafe { Self::issue(Site::here(), rows) }
            }
        }
    )*};
}
byte_loads!(B8 B6x16P32 B4x16P64);
