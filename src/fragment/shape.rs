//! The shapes of `mma`, and the roles of matrices in it.

use super::layout::Layout;
use crate::element::Width;
use crate::sealed::Sealed;
use core::marker::PhantomData;

/// The shape of a matrix multiplication: A is M x K, B is K x N, C and D are M x N.
pub trait Shape: Sealed + Copy + 'static {
    /// Rows of A, C and D.
    const M: usize;
    /// Columns of B, C and D.
    const N: usize;
    /// Columns of A, rows of B.
    const K: usize;
    /// Multiplications at once: fragments of A and C hold so many matrices, each below the one before, those of B each beside it.
    const COUNT: usize = 1;
}

macro_rules! shapes {
    ($($shape:ident $m:literal $n:literal $k:literal;)*) => {$(
        #[doc = concat!("`.m", $m, "n", $n, "k", $k, "`")]
        #[derive(Debug, Clone, Copy)]
        pub struct $shape;
        impl Sealed for $shape {}
        impl Shape for $shape {
            const M: usize = $m;
            const N: usize = $n;
            const K: usize = $k;
        }
    )*};
}
shapes! {
    M8N8K4 8 8 4;
    M8N8K16 8 8 16;
    M8N8K32 8 8 32;
    M8N8K128 8 8 128;
    M16N8K4 16 8 4;
    M16N8K8 16 8 8;
    M16N8K16 16 8 16;
    M16N8K32 16 8 32;
    M16N8K64 16 8 64;
    M16N8K128 16 8 128;
    M16N8K256 16 8 256;
}

/// `.m8n8k4` with f16, which is four multiplications at once, each by eight lanes (four, and those 16 farther on), with A and B of
/// the [`Order`](crate::Order)s `OrderA` and `OrderB` (PTX ISA 9.7.14.5.1).
///
/// Its fragments hold four matrices: of A and C 32 rows, those of one multiplication below those of the one before; of B 32
/// columns. A row-major A is the one whose registers hold neighbours of a row; it need not lie so in memory.
#[derive(Debug, Clone, Copy)]
pub struct M8N8K4Quad<OrderA, OrderB>(PhantomData<(OrderA, OrderB)>);
impl<OrderA, OrderB> Sealed for M8N8K4Quad<OrderA, OrderB> {}
impl<OrderA: Copy + 'static, OrderB: Copy + 'static> Shape for M8N8K4Quad<OrderA, OrderB> {
    const M: usize = 8;
    const N: usize = 8;
    const K: usize = 4;
    const COUNT: usize = 4;
}

/// What a matrix is in a multiplication: [`RoleA`], [`RoleB`] or [`RoleC`].
pub trait Role: Sealed + Copy + 'static {
    /// Its letter: `A`, `B` or `C`.
    const NAME: char;
    /// Whether a register's elements are neighbours in a row; else in a column.
    const PACKS_ROWS: bool;
    /// Whether of fragments that are loaded together each lies below the one before; else beside it. (They have K in
    /// common.)
    const RUNS_DOWN: bool;
}

/// The left factor, M x K.
#[derive(Debug, Clone, Copy)]
pub struct RoleA;
impl Sealed for RoleA {}
impl Role for RoleA {
    const NAME: char = 'A';
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = true;
}

/// The right factor, K x N.
#[derive(Debug, Clone, Copy)]
pub struct RoleB;
impl Sealed for RoleB {}
impl Role for RoleB {
    const NAME: char = 'B';
    const PACKS_ROWS: bool = false;
    const RUNS_DOWN: bool = false;
}

/// The accumulator, M x N: C and D.
#[derive(Debug, Clone, Copy)]
pub struct RoleC;
impl Sealed for RoleC {}
impl Role for RoleC {
    const NAME: char = 'C';
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = false;
}

/// The shape has fragments of role `R` with elements of width `W`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no fragments of role `{R}` with elements of width `{W}`")]
pub trait FragmentShape<R: Role, W: Width>: Shape {
    /// The registers of one lane.
    type Registers: Registers<Register = W::Register>;
    /// Which lane holds which element.
    const LAYOUT: Layout;
}

/// The registers of a fragment in one lane.
pub trait Registers:
    Sealed + bytemuck::Pod + crate::LaneCapture + AsRef<[Self::Register]> + AsMut<[Self::Register]>
{
    /// One of them: `u32`, or `u64`.
    type Register: bytemuck::Pod + crate::LaneCapture;
    /// How many.
    const COUNT: usize;
}

macro_rules! registers {
    ($($register:ty)*) => {$(
        impl<const N: usize> Sealed for [$register; N] {}
        impl<const N: usize> Registers for [$register; N]
        where
            [$register; N]: bytemuck::Pod,
        {
            type Register = $register;
            const COUNT: usize = N;
        }
    )*};
}
registers!(u32 u64);
