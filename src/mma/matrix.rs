//! Types that `ldmatrix`, `stmatrix` and `movmatrix` share.
//!
//! The instructions move one, two or four 8x8 matrices of 16-bit elements. Lane `l` holds two
//! elements of row `l / 4`, at the columns `l % 4 * 2` and `l % 4 * 2 + 1`. With `.trans`, it holds
//! two elements of column `l / 4`, at the rows `l % 4 * 2` and `l % 4 * 2 + 1`.

use crate::fragment::Arrangement;
use crate::fragment::Registers;
use crate::lane::Sealed;
use crate::mma::LdMatrixForms;
use crate::mma::StMatrixForms;

/// The number of matrices that an instruction moves: [`X1`], [`X2`] or [`X4`].
pub trait Count: CountRegisters + LdMatrixForms + StMatrixForms {}

/// The registers of a [`Count`] of matrices: one for each matrix, in each lane.
pub trait CountRegisters: Sealed + Copy + 'static {
    /// The registers of a lane.
    type Registers: CountOf<Count = Self>;
}

/// Registers, as many as a [`Count`] of matrices has.
pub trait CountOf: Registers<Register = u32> {
    /// The count.
    type Count: Count<Registers = Self>;
}

macro_rules! counts {
    ($($count:ident $matrices:literal $name:literal;)*) => {$(
        #[doc = concat!("`", $name, "`")]
        #[derive(Debug, Clone, Copy)]
        pub struct $count;
        impl Sealed for $count {}
        impl Count for $count {}
        impl CountRegisters for $count {
            type Registers = [u32; $matrices];
        }
        impl CountOf for [u32; $matrices] {
            type Count = $count;
        }
    )*};
}
counts! {
    X1 1 ".x1";
    X2 2 ".x2";
    X4 4 ".x4";
}

/// Whether an instruction transposes the matrices: [`Trans`] or [`NoTrans`].
pub trait Transposition: Sealed + Copy + 'static {
    /// Whether it transposes them.
    const TRANSPOSED: bool;
    /// The arrangement of matrices of 16-bit elements in registers.
    const ARRANGEMENT: Arrangement =
        if Self::TRANSPOSED { Arrangement::Columns } else { Arrangement::Rows };
}

/// No transposition: a lane's register holds neighbours of a row.
#[derive(Debug, Clone, Copy)]
pub struct NoTrans;
impl Sealed for NoTrans {}
impl Transposition for NoTrans {
    const TRANSPOSED: bool = false;
}

/// Transposition (`.trans`): a lane's register holds neighbours of a column.
#[derive(Debug, Clone, Copy)]
pub struct Trans;
impl Sealed for Trans {}
impl Transposition for Trans {
    const TRANSPOSED: bool = true;
}

/// Elements of 16 bits, of any type (`.b16`).
#[derive(Debug, Clone, Copy)]
pub struct B16;

/// Elements of 8 bits, of any type (`.b8`).
#[derive(Debug, Clone, Copy)]
pub struct B8;

/// Elements of 6 bits, unpacked to the lower bits of a byte each (`.b8x16.b6x16_p32`).
///
/// In shared memory, 16 elements have 12 bytes, followed by 4 bytes of padding.
#[derive(Debug, Clone, Copy)]
pub struct B6x16P32;

/// Elements of 4 bits, unpacked to the lower bits of a byte each (`.b8x16.b4x16_p64`).
///
/// In shared memory, 16 elements have 8 bytes, followed by 8 bytes of padding.
#[derive(Debug, Clone, Copy)]
pub struct B4x16P64;
