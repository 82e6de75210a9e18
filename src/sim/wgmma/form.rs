//! What the simulator knows of a form of `wgmma`.

use super::Operands;
use super::land::{Land, land, land_sparse};
use super::start::check_metadata;
use crate::fragment::{FragmentShape, RoleA, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::sim::arithmetic::Product;
use crate::site::Site;
use crate::{Element, Width};

/// A form, as it is computed.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The instruction, as in PTX, of which there is one form.
    pub(crate) ptx: &'static str,
    /// Columns of B and D.
    pub(crate) n: usize,
    /// Columns of A, rows of B.
    pub(super) k: usize,
    /// Columns of A that are there.
    pub(super) kept: usize,
    /// Bits of an element of A or B.
    pub(super) bits: usize,
    /// Notes what is wrong with a sparse A's metadata.
    pub(super) check: fn(Site, &Operands),
    pub(super) land: Land,
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.ptx == other.ptx
    }
}

impl Form {
    /// With a dense A.
    pub(crate) const fn dense<S, Left, Right, D, O>(ptx: &'static str, n: usize) -> Self
    where
        S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
        Left: Element + Product<Right, D, O, D = D>,
        Right: Element,
        D: Element,
    {
        let kept = <S as FragmentShape<RoleA, Left::Width>>::LAYOUT.cols();
        let (check, land): (fn(Site, &Operands), Land) = (|_, _| {}, land::<S, Left, Right, D, O>);
        Self { ptx, n, k: S::K, kept, bits: Left::Width::BITS, check, land }
    }

    /// With a sparse A.
    pub(crate) const fn sparse<S, Left, Right, D, O>(ptx: &'static str, n: usize) -> Self
    where
        S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
        Left: Element<Width: SparseWidth> + Product<Right, D, O, D = D>,
        Right: Element<Width = Left::Width>,
        D: Element,
    {
        let kept = <S as FragmentShape<RoleSparseA, Left::Width>>::LAYOUT.cols();
        let (check, land): (fn(Site, &Operands), Land) =
            (check_metadata::<S, Left::Width>, land_sparse::<S, Left, Right, D, O>);
        Self { ptx, n, k: S::K, kept, bits: Left::Width::BITS, check, land }
    }
}
