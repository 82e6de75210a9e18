//! The forms of `wgmma`, as the simulator computes them.

use super::Operands;
use super::land::{Land, land, land_sparse};
use super::start::check_metadata;
use crate::element::{Element, Width};
use crate::engine::arithmetic::MmaArithmetic;
use crate::fragment::{FragmentShape, RoleA, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::isa::ptx;
use crate::lane::Site;
use crate::{wgmma_arithmetic, wgmma_forms, wgmma_ptx, wgmma_shape, wgmma_sparse_forms};

/// Forms that differ only in N.
///
/// All families are in one table. Their code is compiled once, here, and not in each program with
/// `wgmma` kernels.
#[derive(Debug)]
pub(crate) struct Family {
    /// The instruction, as in PTX, for any N.
    pub(super) ptx: &'static str,
    /// K: columns of A and rows of B.
    pub(super) k: usize,
    /// Stored columns of A; half of K for a sparse A.
    pub(super) kept: usize,
    /// Bits of an element of A or B.
    pub(super) bits: usize,
    /// Reports errors in the metadata of a sparse A.
    pub(crate) check: fn(Site, &Operands),
    pub(crate) land: Land,
}

/// A form.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The instruction, as in PTX, with its N.
    pub(crate) ptx: &'static str,
    /// N: columns of B and D.
    pub(crate) n: usize,
    pub(crate) family: &'static Family,
}

/// N and K of a form. M is 64.
pub(super) type FormShape = (usize, usize);

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.ptx == other.ptx
    }
}

impl Form {
    /// The form of this family with `n` columns.
    pub(crate) const fn of(family: &str, ptx: &'static str, n: usize) -> Self {
        let family = match find(&DENSE, family) {
            Some(family) => family,
            None => find(&SPARSE, family).expect("every family is in one of the tables"),
        };
        Self { ptx, n, family }
    }

    pub(super) fn shape(&self) -> FormShape {
        (self.n, self.family.k)
    }
}

const fn find(families: &'static [Family], ptx: &str) -> Option<&'static Family> {
    let mut index = 0;
    while index < families.len() {
        if is_same(families[index].ptx, ptx) {
            return Some(&families[index]);
        }
        index += 1;
    }
    None
}

/// Whether two names are equal. (`==` on strings is not available in constants.)
///
/// The names begin alike, and the compiler compares thousands of pairs. So the comparison begins at
/// their ends.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut end = one.len();
    while end > 0 && one[end - 1] == other[end - 1] {
        end -= 1;
    }
    end == 0
}

impl Family {
    /// A family with a dense A.
    const fn dense<S, Left, Right, D, O>(ptx: &'static str) -> Self
    where
        S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
        Left: Element + MmaArithmetic<Right, D, O, D = D>,
        Right: Element,
        D: Element,
    {
        let kept = <S as FragmentShape<RoleA, Left::Width>>::LAYOUT.cols();
        let (check, land): (fn(Site, &Operands), Land) = (|_, _| {}, land::<S, Left, Right, D, O>);
        Self { ptx, k: S::K, kept, bits: Left::Width::BITS, check, land }
    }

    /// A family with a sparse A.
    const fn sparse<S, Left, Right, D, O>(ptx: &'static str) -> Self
    where
        S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
        Left: Element<Width: SparseWidth> + MmaArithmetic<Right, D, O, D = D>,
        Right: Element<Width = Left::Width>,
        D: Element,
    {
        let kept = <S as FragmentShape<RoleSparseA, Left::Width>>::LAYOUT.cols();
        let (check, land): (fn(Site, &Operands), Land) =
            (check_metadata::<S, Left::Width>, land_sparse::<S, Left, Right, D, O>);
        Self { ptx, k: S::K, kept, bits: Left::Width::BITS, check, land }
    }
}

macro_rules! families {
    ([$name:ident $of:ident] $($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident
        $columns:ident $per:tt $behind:ident $selectors:tt $version:literal;)*) => {
        description!($name: [Family; [$($(stringify!($a $b)),*),*].len()] = [$($(
            Family::$of::<
                wgmma_shape!($selectors $a), ptx::$a, ptx::$b, ptx::$d,
                wgmma_arithmetic!($a $option)
            >(
                wgmma_ptx!($selectors "N" $d $a $b $k $option),
            )
        ),*),*]);
    };
}
wgmma_forms!(families[DENSE dense]);
wgmma_sparse_forms!(families[SPARSE sparse]);
