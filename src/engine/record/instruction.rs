//! An instruction that a warp has executed, for the profile and the trace.

use core::panic::Location;
use std::vec::Vec;

/// The kind of memory access of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// None: it computes or waits.
    None,
    GlobalRead,
    GlobalWrite,
    SharedRead,
    SharedWrite,
    /// Shared memory of any block of the cluster.
    ClusterRead,
    ClusterWrite,
    /// To shared memory, asynchronously.
    Copy,
    /// From shared to global memory, asynchronously.
    Store,
}

impl Traffic {
    /// The PTX name of one element's load or store by a lane.
    pub(crate) fn of_an_element(self, bytes: usize) -> &'static str {
        match (self, bytes) {
            (Traffic::GlobalRead, 1) => "ld.global.b8",
            (Traffic::GlobalRead, 2) => "ld.global.b16",
            (Traffic::GlobalRead, 4) => "ld.global.b32",
            (Traffic::GlobalRead, 8) => "ld.global.b64",
            (Traffic::GlobalRead, 16) => "ld.global.v2.b64",
            (Traffic::GlobalWrite, 1) => "st.global.b8",
            (Traffic::GlobalWrite, 2) => "st.global.b16",
            (Traffic::GlobalWrite, 4) => "st.global.b32",
            (Traffic::GlobalWrite, 8) => "st.global.b64",
            (Traffic::SharedRead, 1) => "ld.shared.u8",
            (Traffic::SharedRead, 2) => "ld.shared.b16",
            (Traffic::SharedRead, 4) => "ld.shared.b32",
            (Traffic::SharedRead, 8) => "ld.shared.b64",
            (Traffic::SharedRead, 16) => "ld.shared.v4.b32",
            (Traffic::SharedWrite, 1) => "st.shared.u8",
            (Traffic::SharedWrite, 2) => "st.shared.b16",
            (Traffic::SharedWrite, 4) => "st.shared.b32",
            (Traffic::SharedWrite, 8) => "st.shared.b64",
            (Traffic::SharedWrite, 16) => "st.shared.v4.b32",
            (Traffic::ClusterRead, 1) => "ld.shared::cluster.u8",
            (Traffic::ClusterRead, 2) => "ld.shared::cluster.b16",
            (Traffic::ClusterRead, 4) => "ld.shared::cluster.b32",
            (Traffic::ClusterRead, 8) => "ld.shared::cluster.b64",
            (Traffic::ClusterRead, 16) => "ld.shared::cluster.v4.b32",
            (Traffic::ClusterWrite, 1) => "st.shared::cluster.u8",
            (Traffic::ClusterWrite, 2) => "st.shared::cluster.b16",
            (Traffic::ClusterWrite, 4) => "st.shared::cluster.b32",
            (Traffic::ClusterWrite, 8) => "st.shared::cluster.b64",
            (Traffic::ClusterWrite, 16) => "st.shared::cluster.v4.b32",
            _ => unreachable!("elements have 1, 2, 4 or 8 bytes, and chunks 16"),
        }
    }
}

/// An instruction and its source position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Code {
    pub(crate) location: &'static Location<'static>,
    /// The instruction, as in PTX.
    pub(crate) form: &'static str,
}

/// The memory access of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaneAccess {
    pub(crate) lane: usize,
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

/// An instruction of one warp.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: Code,
    pub(crate) traffic: Traffic,
    /// Number of lanes that execute it.
    pub(crate) lanes: usize,
    /// In lane order. For a collective, only the lanes whose addresses it uses.
    pub(crate) accesses: Vec<LaneAccess>,
}
