//! What `ldmatrix`, `stmatrix` and `movmatrix` have in common: 8x8 matrices of 16-bit elements,
//! one, two or four of them, each spread over the lanes so that lane `l` holds two elements of row
//! `l / 4`, from column `l % 4 * 2` on (transposed: of column `l / 4`).

use crate::fragment::Arrangement;
use crate::fragment::Registers;
use crate::lane::Sealed;
use crate::mma::LdMatrixForms;
use crate::mma::StMatrixForms;

/// How many matrices an instruction moves: [`X1`], [`X2`] or [`X4`].
pub trait Count: CountRegisters + LdMatrixForms + StMatrixForms {}

/// The registers of a [`Count`] of matrices: one a matrix, in each lane.
pub trait CountRegisters: Sealed + Copy + 'static {
    /// A lane's registers.
    type Registers: CountOf<Count = Self>;
}

/// Registers that are as many as some [`Count`] of matrices.
pub trait CountOf: Registers<Register = u32> {
    /// That count.
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

/// Whether the matrices are transposed on the way: [`Trans`] or [`NoTrans`].
pub trait Transposition: Sealed + Copy + 'static {
    /// Whether they are.
    const TRANSPOSED: bool;
    /// How matrices of 16-bit elements lie in registers.
    const ARRANGEMENT: Arrangement =
        if Self::TRANSPOSED { Arrangement::Columns } else { Arrangement::Rows };
}

/// As they lie in memory: a lane's register holds neighbours of a row.
#[derive(Debug, Clone, Copy)]
pub struct NoTrans;
impl Sealed for NoTrans {}
impl Transposition for NoTrans {
    const TRANSPOSED: bool = false;
}

/// `.trans`: a lane's register holds neighbours of a column.
#[derive(Debug, Clone, Copy)]
pub struct Trans;
impl Sealed for Trans {}
impl Transposition for Trans {
    const TRANSPOSED: bool = true;
}

/// `.b16`: elements of 16 bits, of whatever type.
#[derive(Debug, Clone, Copy)]
pub struct B16;

/// `.b8`: elements of 8 bits, of whatever type.
#[derive(Debug, Clone, Copy)]
pub struct B8;

/// `.b8x16.b6x16_p32`: elements of 6 bits, 16 in 12 bytes of shared memory and 4 bytes of padding,
/// unpacked to the lower bits of a byte each.
#[derive(Debug, Clone, Copy)]
pub struct B6x16P32;

/// `.b8x16.b4x16_p64`: elements of 4 bits, 16 in 8 bytes of shared memory and 8 bytes of padding,
/// unpacked to the lower bits of a byte each.
#[derive(Debug, Clone, Copy)]
pub struct B4x16P64;
