//! The functions that `raw` calls. Each runs in one lane.

use super::{A, Operands, Operation, commit, fence, multiply, settle, wait};
use crate::engine::{
    findings::Misuse,
    warps::{context::fail, lanes::collective},
};
use crate::fragment::Registers;
use crate::lane::{PerLane, Site};

/// `wgmma.mma_async`, in one lane.
#[track_caller]
pub(crate) fn multiply_in_lane<R: Registers<Register = u32>>(
    site: Site,
    operation: Operation,
    d: R,
    a: A,
    metadata: u32,
) -> R {
    let form = operation.form.ptx;
    collective(site, form, (d, a, metadata, operation), move |_, site, lanes| {
        let same = |one: &A, other: &A| match (one, other) {
            (A::Shared { descriptor: one, .. }, A::Shared { descriptor: other, .. }) => {
                one == other
            }
            _ => true,
        };
        let (_, a, _, operation) = lanes.array()[0];
        if lanes.array().iter().any(|(_, other, _, of)| *of != operation || !same(&a, other)) {
            fail(site, Misuse::OperandsDiffer { form });
        }
        let a = match a {
            A::Shared { descriptor, transposed } => A::Shared { descriptor, transposed },
            A::Registers(_) => {
                A::Registers(PerLane::from_array(lanes.array().map(|(_, a, ..)| match a {
                    A::Registers(registers) => registers,
                    A::Shared { .. } => unreachable!("one form has A in one place"),
                })))
            }
        };
        let metadata = PerLane::from_array(lanes.array().map(|(_, _, metadata, _)| metadata));
        multiply(
            site,
            Operands { operation, a, metadata },
            PerLane::from_array(lanes.array().map(|(d, ..)| d)),
        )
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

/// Not an instruction, but the lanes execute it together.
pub(crate) fn settle_in_lane<const R: usize>(site: Site, registers: [u32; R]) -> [u32; R] {
    collective(site, "wgmma_registers", registers, |_, site, registers| settle(site, registers))
}
