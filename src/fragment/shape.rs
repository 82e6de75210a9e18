//! The shapes of `mma`, the roles of matrices in it, and the layout of each (PTX ISA 9.7.14.5.7 and .8).

use super::layout::{Bit, Layout};
use crate::element::{Bits16, Bits32, Width};
use crate::sealed::Sealed;

/// The shape of a matrix multiplication: A is M x K, B is K x N, C and D are M x N.
pub trait Shape: Sealed + Copy + 'static {
    /// Rows of A, C and D.
    const M: usize;
    /// Columns of B, C and D.
    const N: usize;
    /// Columns of A, rows of B.
    const K: usize;
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
    M16N8K8 16 8 8;
    M16N8K16 16 8 16;
}

/// What a matrix is in a multiplication: [`RoleA`], [`RoleB`] or [`RoleC`].
pub trait Role: Sealed + Copy + 'static {
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
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = true;
}

/// The right factor, K x N.
#[derive(Debug, Clone, Copy)]
pub struct RoleB;
impl Sealed for RoleB {}
impl Role for RoleB {
    const PACKS_ROWS: bool = false;
    const RUNS_DOWN: bool = false;
}

/// The accumulator, M x N: C and D.
#[derive(Debug, Clone, Copy)]
pub struct RoleC;
impl Sealed for RoleC {}
impl Role for RoleC {
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = false;
}

/// The shape has fragments of role `R` with elements of width `W`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no fragments of role `{R}` with elements of width `{W}`")]
pub trait FragmentShape<R: Role, W: Width>: Shape {
    /// The registers of one lane.
    type Registers: Registers;
    /// Which lane holds which element.
    const LAYOUT: Layout;
}

/// 32-bit registers of one lane.
pub trait Registers: Sealed + bytemuck::Pod + crate::LaneCapture + AsRef<[u32]> + AsMut<[u32]> {
    /// How many.
    const COUNT: usize;
}
impl<const N: usize> Sealed for [u32; N] {}
impl<const N: usize> Registers for [u32; N]
where
    [u32; N]: bytemuck::Pod,
{
    const COUNT: usize = N;
}

/// The layouts, a row each: shape, role, width, registers, and the bits of the coordinate that the bits of the
/// lane and of the index are, lowest first (`R3`: bit 3 of the row).
macro_rules! layouts {
    ($($shape:ident $role:ident $width:ident $registers:literal [$($lane:ident)*] [$($index:ident)*];)*) => {$(
        impl FragmentShape<$role, $width> for $shape {
            type Registers = [u32; $registers];
            const LAYOUT: Layout = Layout::new([$($lane),*], &[$($index),*]);
        }
    )*};
}

const R0: Bit = Bit::Row(0);
const R1: Bit = Bit::Row(1);
const R2: Bit = Bit::Row(2);
const R3: Bit = Bit::Row(3);
const C0: Bit = Bit::Col(0);
const C1: Bit = Bit::Col(1);
const C2: Bit = Bit::Col(2);
const C3: Bit = Bit::Col(3);

layouts! {
    M16N8K8  RoleA Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K8  RoleB Bits16 1 [R1 R2 C0 C1 C2] [R0];
    M16N8K8  RoleC Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K8  RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K16 RoleA Bits16 4 [C1 C2 R0 R1 R2] [C0 R3 C3];
    M16N8K16 RoleB Bits16 2 [R1 R2 C0 C1 C2] [R0 R3];
    M16N8K16 RoleC Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K16 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn all() -> Vec<(&'static str, Layout, usize, usize)> {
        fn row<S: FragmentShape<R, W>, R: Role, W: Width>() -> (&'static str, Layout, usize, usize) {
            let name = std::any::type_name::<(S, R, W)>();
            (name, S::LAYOUT, S::Registers::COUNT, 4 / W::BYTES)
        }
        vec![
            row::<M16N8K8, RoleA, Bits16>(),
            row::<M16N8K8, RoleB, Bits16>(),
            row::<M16N8K8, RoleC, Bits16>(),
            row::<M16N8K8, RoleC, Bits32>(),
            row::<M16N8K16, RoleA, Bits16>(),
            row::<M16N8K16, RoleB, Bits16>(),
            row::<M16N8K16, RoleC, Bits16>(),
            row::<M16N8K16, RoleC, Bits32>(),
        ]
    }

    #[test]
    fn every_layout_is_a_bijection_and_its_inverse_is_its_inverse() {
        for (name, layout, registers, per_register) in all() {
            assert_eq!(layout.elements(), registers * per_register, "{name}");
            let mut seen = vec![false; layout.rows() * layout.cols()];
            for lane in 0..32 {
                for index in 0..layout.elements() {
                    let (row, col) = layout.position(lane, index);
                    assert!(
                        !std::mem::replace(&mut seen[row * layout.cols() + col], true),
                        "{name}: ({row}, {col}) twice"
                    );
                    assert_eq!(layout.owner(row, col), (lane, index), "{name}");
                }
            }
            assert!(seen.iter().all(|&seen| seen), "{name}");
        }
    }

    /// The formulas as the PTX ISA prints them, with groupID and threadID_in_group.
    #[test]
    fn the_layouts_are_those_of_the_ptx_isa() {
        for lane in 0..32 {
            let (group, thread) = (lane >> 2, lane % 4);
            for i in 0..8 {
                let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
                let col = thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
                assert_eq!(<M16N8K16 as FragmentShape<RoleA, Bits16>>::LAYOUT.position(lane, i), (row, col));
            }
            for i in 0..4 {
                let a = (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1));
                assert_eq!(<M16N8K8 as FragmentShape<RoleA, Bits16>>::LAYOUT.position(lane, i), a);
                let b = (thread * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, group);
                assert_eq!(<M16N8K16 as FragmentShape<RoleB, Bits16>>::LAYOUT.position(lane, i), b);
                let c = (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1));
                assert_eq!(<M16N8K16 as FragmentShape<RoleC, Bits32>>::LAYOUT.position(lane, i), c);
                assert_eq!(<M16N8K16 as FragmentShape<RoleC, Bits16>>::LAYOUT.position(lane, i), c);
                assert_eq!(<M16N8K8 as FragmentShape<RoleC, Bits32>>::LAYOUT.position(lane, i), c);
                assert_eq!(<M16N8K8 as FragmentShape<RoleC, Bits16>>::LAYOUT.position(lane, i), c);
            }
            for i in 0..2 {
                assert_eq!(
                    <M16N8K8 as FragmentShape<RoleB, Bits16>>::LAYOUT.position(lane, i),
                    (thread * 2 + i, group)
                );
            }
        }
    }
}
