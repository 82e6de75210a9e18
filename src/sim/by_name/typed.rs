//! The forms of `mma` as types, selected by name: their execution and their layouts.

use super::held::MatrixForm;
use crate::element::{Bits32, Element};
use crate::engine::{MetadataOrder, MmaArithmetic, MmaDescription, ScaledMmaArithmetic};
use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::isa::{mma_arithmetic, ptx};
use crate::mma::ScaledKind;

/// A form of `mma`.
pub(crate) struct Typed {
    /// The instruction, as in PTX.
    pub(crate) ptx: &'static str,
    /// What the simulator executes.
    pub(crate) description: &'static MmaDescription,
    /// Its matrices.
    pub(crate) matrices: &'static [MatrixForm],
}

const fn dense<S, A, B, C, D, O>(ptx: &'static str) -> Typed
where
    S: Shape
        + FragmentShape<RoleA, A::Width>
        + FragmentShape<RoleB, B::Width>
        + FragmentShape<RoleC, C::Width>
        + FragmentShape<RoleC, D::Width>,
    A: Element + MmaArithmetic<B, C, O, D = D>,
    B: Element,
    C: Element,
    D: Element,
{
    Typed {
        ptx,
        description: const { &MmaDescription::dense::<S, A, B, C, D, O>() },
        matrices: const {
            &[
                MatrixForm::fragment::<S, RoleA, A>("A"),
                MatrixForm::fragment::<S, RoleB, B>("B"),
                MatrixForm::fragment::<S, RoleC, C>("C"),
                MatrixForm::fragment::<S, RoleC, D>("D"),
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
    A: Element + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element,
    K: ScaledKind,
{
    Typed {
        ptx,
        description: const { &MmaDescription::scaled::<S, A, B, K>() },
        matrices: const {
            &[
                MatrixForm::fragment::<S, RoleA, A>("A"),
                MatrixForm::fragment::<S, RoleB, B>("B"),
                MatrixForm::fragment::<S, RoleC, f32>("C"),
                MatrixForm::fragment::<S, RoleC, f32>("D"),
                MatrixForm::scales::<RoleA, K>("scales of A"),
                MatrixForm::scales::<RoleB, K>("scales of B"),
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
    A: Element<Width: SparseWidth> + MmaArithmetic<B, C, O, D = C>,
    B: Element<Width = A::Width>,
    C: Element,
    Order: MetadataOrder,
{
    Typed {
        ptx,
        description: const { &MmaDescription::sparse::<S, A, B, C, O, Order>() },
        matrices: const {
            &[
                MatrixForm::fragment::<S, RoleSparseA, A>("A"),
                MatrixForm::fragment::<S, RoleB, B>("B"),
                MatrixForm::fragment::<S, RoleC, C>("C"),
                MatrixForm::fragment::<S, RoleC, C>("D"),
                MatrixForm::metadata::<A::Width>(),
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
    A: Element<Width: SparseWidth> + ScaledMmaArithmetic<B, K, Scale = K::Scale>,
    B: Element<Width = A::Width>,
    K: ScaledKind,
{
    Typed {
        ptx,
        description: const { &MmaDescription::sparse_scaled::<S, A, B, K>() },
        matrices: const {
            &[
                MatrixForm::fragment::<S, RoleSparseA, A>("A"),
                MatrixForm::fragment::<S, RoleB, B>("B"),
                MatrixForm::fragment::<S, RoleC, f32>("C"),
                MatrixForm::fragment::<S, RoleC, f32>("D"),
                MatrixForm::metadata::<A::Width>(),
                MatrixForm::scales::<RoleA, K>("scales of A"),
                MatrixForm::scales::<RoleB, K>("scales of B"),
            ]
        },
    }
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
