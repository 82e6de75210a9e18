//! `ldmatrix`: matrices from shared memory to registers (PTX ISA 9.7.14.5.15).

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

/// `ldmatrix.sync.aligned.m8n8{.x1,.x2,.x4}{.trans}.shared.b16`: loads one, two or four 8x8
/// matrices.
///
/// Lane `8 * i + r` gives the address of row `r` of matrix `i`; each lane gets, in register `i`,
/// two neighbouring elements of matrix `i`: of its row `lane / 4` from column `lane % 4 * 2` on,
/// or, with [`Trans`], of its column `lane / 4` from row `lane % 4 * 2` on. The lower element is in
/// the lower half.
///
/// Needs sm_75. With other elements than [`B16`], it is another instruction: see [`LdMatrixBytes`].
/// A [`Fragment`](crate::fragment::Fragment) is loaded with the right form by its own `load`; this
/// one is for everything else.
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

/// The forms of `ldmatrix` for one count of matrices: as they lie, and transposed.
#[doc(hidden)]
pub trait LdMatrixForms: CountRegisters {
    /// The instructions, as in PTX.
    const PTX: [&'static str; 2];

    /// # Safety
    /// As the form's function in `raw`.
    unsafe fn issue(
        site: Site,
        transposed: bool,
        rows: PerLane<RowAddr>,
    ) -> PerLane<Self::Registers>;
}

macro_rules! forms {
    ($($count:ident $matrices:literal: $plain:ident $plain_ptx:literal, $trans:ident $trans_ptx:literal;)*) => {$(
        impl LdMatrixForms for $count {
            const PTX: [&'static str; 2] = [$plain_ptx, $trans_ptx];

            #[inline(always)]
            unsafe fn issue(site: Site, transposed: bool, rows: PerLane<RowAddr>) -> PerLane<[u32; $matrices]> {
                // SAFETY: the caller's.
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

    /// Loads the matrices whose rows the lanes name: lanes 0 to 7 those of the first, 8 to 15 those
    /// of the second, and so on. What the lanes beyond name is not read (it is a valid row all
    /// the same, as sm_75 wants).
    #[inline(always)]
    #[track_caller]
    pub fn load(warp: Warp<'_>, rows: PerLane<RowAddr>) -> PerLane<N::Registers>
    where
        Target: Supports<AtLeast<75>>,
    {
        Self::load_at(warp, rows, Site::here())
    }

    #[inline(always)]
    pub(crate) fn load_at(
        _: Warp<'_>,
        rows: PerLane<RowAddr>,
        site: Site,
    ) -> PerLane<N::Registers> {
        // SAFETY: warp scope is converged; a row is 16 aligned bytes of shared memory.
        unsafe { <N as LdMatrixForms>::issue(site, Tr::TRANSPOSED, rows) }
    }
}

/// The forms of `ldmatrix` with elements of a byte each: `LdMatrix<N, Tr, E>` with
///
/// | `E` | `Tr` | `N` | in PTX | registers |
/// | --- | --- | --- | --- | --- |
/// | [`B8`] | [`Trans`] | `X1`, `X2` | `.m16n16` | 2, 4 |
/// | [`B6x16P32`], [`B4x16P64`] | [`NoTrans`] | `X1`, `X2`, `X4` | `.m8n16` | 1, 2, 4 |
/// | [`B6x16P32`], [`B4x16P64`] | [`Trans`] | `X1`, `X2` | `.m16n16` | 2, 4 |
///
/// A row is 16 aligned bytes of shared memory: 16 elements of a byte, or 16 narrower ones and
/// padding. Of a matrix of 8 rows (16), eight lanes (sixteen) give the addresses of the rows. Which
/// byte of a register is which element of a row is [`ARRANGEMENT`](Self::ARRANGEMENT): not
/// transposed, a register holds four neighbours of row `lane / 4`, from column `lane % 4 * 4` on;
/// transposed, the first register of a matrix holds those of column `lane / 4`, from row `lane % 4
/// * 4` on, and the second those of column `lane / 4 + 8`.
///
/// Needs sm_100a, sm_100f or the like, PTX 8.6 (PTX ISA 9.7.14.5.15). No GPU that has them has run
/// them here: assembled and simulated.
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
    note = "`LdMatrix<N, Tr, E>` exists for `B16` (`X1`, `X2`, `X4`, with `Trans` and `NoTrans`), `B8` (`X1`, `X2`, with `Trans`), `B6x16P32` and `B4x16P64` (`X1`, `X2`, `X4` with `NoTrans`, `X1`, `X2` with `Trans`)"
)]
pub trait LdMatrixBytes: crate::lane::Sealed {
    /// The registers of a lane.
    type Registers: crate::fragment::Registers<Register = u32>;
    /// The instruction, as in PTX.
    const PTX: &'static str;
    /// How a matrix lies in registers and in shared memory.
    const ARRANGEMENT: Arrangement;

    /// # Safety
    /// As the form's function in `raw`.
    #[doc(hidden)]
    unsafe fn issue(site: Site, rows: PerLane<RowAddr>) -> PerLane<Self::Registers>;
}

macro_rules! byte_forms {
    ($($raw:ident $ptx:literal $count:ident $trans:ident $element:ident $registers:tt $arrangement:tt $needs:ident $version:literal
        $nature:ident;)*) => {
        $(byte_forms! { @$element $raw $ptx $count $trans $registers $arrangement })*
    };
    // These have the implementation above.
    (@B16 $($row:tt)*) => {};
    (@$element:ident $raw:ident $ptx:literal $count:ident $trans:ident ($($r:ident)+) [$($arrangement:tt)+]) => {
        impl<Target> crate::lane::Sealed for LdMatrix<$count, $trans, $element, Target> {}
        impl<Target> LdMatrixBytes for LdMatrix<$count, $trans, $element, Target> {
            type Registers = [u32; [$(stringify!($r)),+].len()];
            const PTX: &'static str = $ptx;
            const ARRANGEMENT: Arrangement = $($arrangement)+;

            #[inline(always)]
            unsafe fn issue(site: Site, rows: PerLane<RowAddr>) -> PerLane<Self::Registers> {
                // SAFETY: the caller's.
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
            /// Loads the matrices whose rows the lanes name: the first lanes, eight or sixteen, those of the first matrix, and so on.
            /// What the lanes beyond name is not read.
            #[inline(always)]
            #[track_caller]
            pub fn load(_: Warp<'_>, rows: PerLane<RowAddr>) -> PerLane<<Self as LdMatrixBytes>::Registers>
            where
                Target: Supports<ArchSpecific<100>>,
            {
                // SAFETY: warp scope is converged; a row is 16 aligned bytes of shared memory.
                unsafe { Self::issue(Site::here(), rows) }
            }
        }
    )*};
}
byte_loads!(B8 B6x16P32 B4x16P64);
