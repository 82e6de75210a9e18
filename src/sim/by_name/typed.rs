//! The forms of `mma` as types, selected by name: their execution and their layouts.

use super::HeldMatrix;
use crate::element::{Bits32, Element};
use crate::engine::{MetadataOrder, Product, ScaledProduct, raw};
use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::isa::{Selectors, mma_arithmetic, ptx};
use crate::mma::ScaledKind;
use bytemuck::Pod;
use std::vec;
use std::vec::Vec;

/// A form of `mma`.
pub(crate) struct Typed {
    /// The instruction, as in PTX.
    pub(crate) ptx: &'static str,
    /// Executes the form in a lane of a simulated warp. Returns the lane's registers.
    pub(crate) execute: fn(&'static str, &mut Operands) -> Vec<u32>,
    /// Its matrices.
    pub(crate) matrices: fn() -> Vec<HeldMatrix>,
}

/// The registers of a lane, in the order of the form's kernel.
pub(crate) struct Operands<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) selectors: Selectors,
}

impl Operands<'_> {
    fn take<T: Pod>(&mut self) -> T {
        let (taken, rest) = self.bytes.split_at(size_of::<T>());
        self.bytes = rest;
        bytemuck::pod_read_unaligned(taken)
    }
}

/// The registers of a matrix of role `R` in shape `S`, with elements of type `T`.
type RegistersOf<S, R, T> = <S as FragmentShape<R, <T as Element>::Width>>::Registers;

const fn dense<S, A, B, C, D, O>(ptx: &'static str) -> Typed
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>
        + FragmentShape<RoleC, D::Width>,
    A: Element + Product<B, C, O, D = D>,
    B: Element,
    C: Element,
    D: Element,
{
    Typed {
        ptx,
        execute: |form, operands| {
            let (a, b, c) = (operands.take(), operands.take(), operands.take());
            words(raw::multiply_registers::<S, A, B, C, D, O>(form, a, b, c))
        },
        matrices: || {
            vec![
                HeldMatrix::fragment::<S, RoleA, A>("A"),
                HeldMatrix::fragment::<S, RoleB, B>("B"),
                HeldMatrix::fragment::<S, RoleC, C>("C"),
                HeldMatrix::fragment::<S, RoleC, D>("D"),
            ]
        },
    }
}

const fn scaled<S, A, B, K>(ptx: &'static str) -> Typed
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, Bits32>,
    A: Element + ScaledProduct<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    Typed {
        ptx,
        execute: |form, operands| {
            let Selectors { scales_a, scales_b, .. } = operands.selectors;
            let (a, b): (RegistersOf<S, RoleA, A>, RegistersOf<S, RoleB, B>) =
                (operands.take(), operands.take());
            let c = operands.take();
            let (a, b) = ((a, operands.take(), scales_a), (b, operands.take(), scales_b));
            words(raw::multiply_scaled_registers::<S, A, B, K>(form, a, b, c))
        },
        matrices: || {
            vec![
                HeldMatrix::fragment::<S, RoleA, A>("A"),
                HeldMatrix::fragment::<S, RoleB, B>("B"),
                HeldMatrix::fragment::<S, RoleC, f32>("C"),
                HeldMatrix::fragment::<S, RoleC, f32>("D"),
                HeldMatrix::scales::<RoleA, K>("scales of A"),
                HeldMatrix::scales::<RoleB, K>("scales of B"),
            ]
        },
    }
}

const fn sparse<S, A, B, C, O, Order>(ptx: &'static str) -> Typed
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>,
    A: Element<Width: SparseWidth> + Product<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
    Order: MetadataOrder,
{
    Typed {
        ptx,
        execute: |form, operands| {
            let selector = operands.selectors.metadata;
            let (a, b, c, metadata) =
                (operands.take(), operands.take(), operands.take(), operands.take());
            words(raw::multiply_sparse_registers::<S, A, B, C, O, Order>(
                form, selector, a, b, c, metadata,
            ))
        },
        matrices: || {
            vec![
                HeldMatrix::fragment::<S, RoleSparseA, A>("A"),
                HeldMatrix::fragment::<S, RoleB, B>("B"),
                HeldMatrix::fragment::<S, RoleC, C>("C"),
                HeldMatrix::fragment::<S, RoleC, C>("D"),
                HeldMatrix::metadata::<A::Width>(),
            ]
        },
    }
}

const fn sparse_scaled<S, A, B, K>(ptx: &'static str) -> Typed
where
    S: Shape
        + FragmentShape<RoleSparseA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, Bits32>,
    A: Element<Width: SparseWidth> + ScaledProduct<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    Typed {
        ptx,
        execute: |form, operands| {
            let Selectors { scales_a, scales_b, .. } = operands.selectors;
            let (a, b, c, metadata) =
                (operands.take(), operands.take(), operands.take(), operands.take());
            let (a, b) = ((a, metadata, operands.take(), scales_a), (b, operands.take(), scales_b));
            words(raw::multiply_sparse_scaled_registers::<S, A, B, K>(form, a, b, c))
        },
        matrices: || {
            vec![
                HeldMatrix::fragment::<S, RoleSparseA, A>("A"),
                HeldMatrix::fragment::<S, RoleB, B>("B"),
                HeldMatrix::fragment::<S, RoleC, f32>("C"),
                HeldMatrix::fragment::<S, RoleC, f32>("D"),
                HeldMatrix::metadata::<A::Width>(),
                HeldMatrix::scales::<RoleA, K>("scales of A"),
                HeldMatrix::scales::<RoleB, K>("scales of B"),
            ]
        },
    }
}

fn words(registers: impl Pod) -> Vec<u32> {
    bytemuck::bytes_of(&registers).chunks_exact(4).map(bytemuck::pod_read_unaligned).collect()
}

macro_rules! dense_forms {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {
        const DENSE: &[Typed] = &[$($(dense::<
            crate::mma_shape!($shape $la $lb $a),
            crate::mma_element!($q $a),
            crate::mma_element!($q $b),
            ptx::$c,
            ptx::$d,
            mma_arithmetic!($shape $a $q),
        >(crate::mma_ptx!($q $shape $la $lb $d $a $b $c))),*),*];
    };
}
crate::mma_forms!(dense_forms);

macro_rules! scaled_forms {
    ([$name:ident $make:ident $text:ident] $($shape:ident $kind:ident $vec:literal
        $scale:ident [$(($a:ident $b:ident))*] $needs:ident $version:literal;)*) => {
        const $name: &[Typed] = &[$($($make::<
            ptx::$shape,
            crate::mma_element!($kind $a),
            crate::mma_element!($kind $b),
            crate::mma_kind!($kind $vec $scale),
        >(crate::$text!($shape $kind $vec $scale $a $b))),*),*];
    };
    ($($row:tt)*) => { scaled_forms! { [SCALED scaled mma_scaled_ptx] $($row)* } };
}
crate::mma_scaled_forms!(scaled_forms);

macro_rules! sparse_scaled_forms {
    ($($row:tt)*) => {
        scaled_forms! { [SPARSE_SCALED sparse_scaled mma_sparse_scaled_ptx] $($row)* }
    };
}
crate::mma_sparse_scaled_forms!(sparse_scaled_forms);

macro_rules! sparse_forms {
    ([$name:ident $order:ident] $($shape:ident $q:ident $d:ident [$(($a:ident $b:ident))*]
        $c:ident $registers:tt $selectors:literal
        $needs:ident $version:literal $nature:ident;)*) => {
        const $name: &[Typed] = &[$($(sparse::<
            ptx::$shape,
            crate::mma_element!($q $a),
            crate::mma_element!($q $b),
            ptx::$c,
            ptx::$q,
            ptx::$order,
        >(crate::mma_sparse_ptx!($order $q $shape $d $a $b $c))),*),*];
    };
}
crate::mma_sparse_forms!(sparse_forms SPARSE any);
crate::mma_sparse_forms!(sparse_forms SPARSE_ORDERED ordered);
crate::mma_sparse_ordered_forms!(sparse_forms SPARSE_ORDERED_ONLY ordered);

/// The form of this name, if it is a form of `mma`.
pub(crate) fn find(ptx: &str) -> Option<&'static Typed> {
    const ALL: [&[Typed]; 6] =
        [DENSE, SCALED, SPARSE, SPARSE_ORDERED, SPARSE_ORDERED_ONLY, SPARSE_SCALED];
    ALL.into_iter().flatten().find(|form| form.ptx == ptx)
}
