//! What the functions of `raw` call: each is one lane's.

use super::{A, Operands, Operation, commit, fence, multiply, multiply_sparse, settle, wait};
use crate::fragment::{FragmentShape, RoleA, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::sim::arithmetic::Product;
use crate::sim::findings::Misuse;
use crate::sim::warps::context::fail;
use crate::sim::warps::lanes::collective;
use crate::site::Site;
use crate::{Element, PerLane};

/// `wgmma.mma_async`.
#[track_caller]
pub(crate) fn multiply_in_lane<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operation: Operation,
    d: [u32; R],
    a: A,
) -> [u32; R]
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    in_lane(site, (d, a, 0, operation), multiply::<S, Left, Right, D, O, R>)
}

/// `wgmma.mma_async.sp`.
#[track_caller]
pub(crate) fn multiply_sparse_in_lane<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operation: Operation,
    d: [u32; R],
    a: A,
    metadata: u32,
) -> [u32; R]
where
    S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element<Width: SparseWidth> + Product<Right, D, O, D = D>,
    Right: Element<Width = Left::Width>,
    D: Element,
{
    in_lane(site, (d, a, metadata, operation), multiply_sparse::<S, Left, Right, D, O, R>)
}

/// What one lane has of a multiplication: D, A, the metadata, and what is the same in all lanes.
type OfLane<const R: usize> = ([u32; R], A, u32, Operation);

/// What starts a multiplication.
type Start<const R: usize> = fn(Site, Operands, PerLane<[u32; R]>) -> PerLane<[u32; R]>;

/// One lane's part of a multiplication, which `multiply` starts for the whole warp.
fn in_lane<const R: usize>(site: Site, of_lane: OfLane<R>, multiply: Start<R>) -> [u32; R] {
    let form = of_lane.3.form;
    collective(site, form, of_lane, move |_, site, lanes| {
        let same = |one: &A, other: &A| match (one, other) {
            (A::Shared { descriptor: one, .. }, A::Shared { descriptor: other, .. }) => one == other,
            _ => true,
        };
        let (_, a, _, operation) = lanes.array()[0];
        if lanes.array().iter().any(|(_, other, _, of)| *of != operation || !same(&a, other)) {
            fail(site, Misuse::OperandsDiffer { form });
        }
        let a = match a {
            A::Shared { descriptor, transposed } => A::Shared { descriptor, transposed },
            A::Registers(_) => A::Registers(PerLane::from_array(lanes.array().map(|(_, a, ..)| match a {
                A::Registers(registers) => registers,
                A::Shared { .. } => unreachable!("one form has A in one place"),
            }))),
        };
        let metadata = PerLane::from_array(lanes.array().map(|(_, _, metadata, _)| metadata));
        multiply(site, Operands { operation, a, metadata }, PerLane::from_array(lanes.array().map(|(d, ..)| d)))
    })
}

/// `wgmma.fence`.
pub(crate) fn fence_in_lane(site: Site) {
    collective(site, "wgmma.fence.sync.aligned", (), |_, site, nothing| {
        fence(site);
        nothing
    });
}

/// `wgmma.commit_group`.
pub(crate) fn commit_in_lane(site: Site) {
    collective(site, "wgmma.commit_group.sync.aligned", (), |_, site, nothing| {
        commit(site);
        nothing
    });
}

/// `wgmma.wait_group`.
pub(crate) fn wait_in_lane(site: Site, newest: usize) {
    collective(site, "wgmma.wait_group.sync.aligned", newest, |warp, site, newest| {
        wait(warp, site, newest.array()[0]);
        PerLane::splat(())
    });
}

/// No instruction, but the lanes do it together.
pub(crate) fn settle_in_lane<const R: usize>(site: Site, registers: [u32; R]) -> [u32; R] {
    collective(site, "wgmma_registers", registers, |_, site, registers| settle(site, registers))
}
