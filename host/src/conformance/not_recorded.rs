//! Checks of what an H200 has that were not run on one yet, and so have no records in `tests/recorded/`.
//!
//! Each is to be run by `cargo xtask conformance --on gpu --filter PART --record FILE`, and then taken off this list, which has no others:
//! `tests/replay.rs` sees to that.

/// Their names.
pub const NOT_RECORDED: [&str; 22] = [
    "%cluster_ctarank and its like",
    "ld and st.shared::cluster, 8 bits",
    "ld and st.shared::cluster, 16 bits",
    "ld and st.shared::cluster, 32 bits",
    "ld and st.shared::cluster, 64 bits",
    "mbarrier of another block, rows through stages",
    "mbarrier of another block, every form, few arrivals",
    "mbarrier of another block, every form, many arrivals",
    "barrier.cluster, mapa and getctarank, of lanes",
    "cp.async.bulk, to another block",
    "cp.async.bulk, to several blocks",
    "cp.async.bulk.tensor.1d, to several blocks",
    "cp.async.bulk.tensor.2d, to several blocks",
    "cp.async.bulk.tensor.3d, to several blocks",
    "cp.async.bulk.tensor.4d, to several blocks",
    "cp.async.bulk.tensor.5d, to several blocks",
    "cp.async.bulk.L2::cache_hint",
    "cp.async.bulk.tensor.1d.L2::cache_hint",
    "cp.async.bulk.tensor.2d.L2::cache_hint",
    "cp.async.bulk.tensor.3d.L2::cache_hint",
    "cp.async.bulk.tensor.4d.L2::cache_hint",
    "cp.async.bulk.tensor.5d.L2::cache_hint",
];
