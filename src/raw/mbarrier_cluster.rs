//! `mbarrier` in shared memory of any block of the cluster (PTX ISA 9.7.13.15). sm_90, PTX 8.0.
//!
//! Arrivals return no state, and only the barrier's own block can wait.
//!
//! An arrival with `.release.cluster` publishes all earlier writes to waits with
//! `.acquire.cluster`. An arrival without it has PTX's default, `.release.cta`. To another block it
//! only says that earlier reads are complete.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::mbarrier as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Function, operands, PTX up to the address, description, and the simulator's function.
macro_rules! forms {
    ($($name:ident($($operand:ident)*) $ptx:literal $destination:literal, $doc:literal,
        $simulated:ident($($argument:expr)?);)*) => {$(
        #[doc = concat!(
            "`", $ptx, " ", $destination, "[address]", $(", ", stringify!($operand),)* ";`: ", $doc
        )]
        ///
        /// # Safety
        /// `address` is the address, in the `.shared::cluster` window, of a barrier of a running
        /// block of the cluster.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32, $($operand: u32)*) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " ", $destination, "[{address}]",
                    $(", {", stringify!($operand), "}",)* ";"),
                    address = in(reg32) address,
                    $($operand = in(reg32) $operand,)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::$simulated(Site::here(), $ptx, address, $($argument)?);
        }
    )*};
}

forms! {
    mbarrier_arrive_shared_cluster_b64() "mbarrier.arrive.shared::cluster.b64" "_, ",
        "one arrival.",
        arrive_at_peer(sim::Arrival { ..sim::Arrival::ONE });
    mbarrier_arrive_shared_cluster_b64_count(count) "mbarrier.arrive.shared::cluster.b64" "_, ",
        "as many arrivals.",
        arrive_at_peer(sim::Arrival { count, ..sim::Arrival::ONE });
    mbarrier_arrive_expect_tx_shared_cluster_b64(bytes)
        "mbarrier.arrive.expect_tx.shared::cluster.b64" "_, ",
        "the phase waits for so many bytes more, and one has arrived.",
        arrive_at_peer(sim::Arrival { expect: bytes, ..sim::Arrival::ONE });
    mbarrier_arrive_drop_shared_cluster_b64() "mbarrier.arrive_drop.shared::cluster.b64" "_, ",
        "one arrival, and later phases need one fewer.",
        arrive_at_peer(sim::Arrival { drop: true, ..sim::Arrival::ONE });
    mbarrier_arrive_drop_shared_cluster_b64_count(count) "mbarrier.arrive_drop.shared::cluster.b64"
        "_, ",
        "as many arrivals, and later phases need as many fewer.",
        arrive_at_peer(sim::Arrival { count, drop: true, ..sim::Arrival::ONE });
    mbarrier_arrive_drop_expect_tx_shared_cluster_b64(bytes)
        "mbarrier.arrive_drop.expect_tx.shared::cluster.b64" "_, ",
        "the phase waits for so many bytes more, one has arrived, and later phases need one fewer.",
        arrive_at_peer(sim::Arrival { expect: bytes, drop: true, ..sim::Arrival::ONE });
    mbarrier_arrive_release_cluster_shared_cluster_b64()
        "mbarrier.arrive.release.cluster.shared::cluster.b64" "_, ",
        "one arrival, by which those learn of what was written before it who wait with \
         `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival { scope: sim::Scope::Cluster, ..sim::Arrival::ONE });
    mbarrier_arrive_release_cluster_shared_cluster_b64_count(count)
        "mbarrier.arrive.release.cluster.shared::cluster.b64" "_, ",
        "as many arrivals, by which those learn of what was written before it who wait with \
         `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival { count, scope: sim::Scope::Cluster, ..sim::Arrival::ONE });
    mbarrier_arrive_expect_tx_release_cluster_shared_cluster_b64(bytes)
        "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64" "_, ",
        "the phase waits for so many bytes more, and one has arrived, by which those learn of what \
         was written before it who wait with `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival {
            expect: bytes, scope: sim::Scope::Cluster, ..sim::Arrival::ONE
        });
    mbarrier_arrive_drop_release_cluster_shared_cluster_b64()
        "mbarrier.arrive_drop.release.cluster.shared::cluster.b64" "_, ",
        "one arrival, and later phases need one fewer, by which those learn of what was written \
         before it who wait with `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival {
            drop: true, scope: sim::Scope::Cluster, ..sim::Arrival::ONE
        });
    mbarrier_arrive_drop_release_cluster_shared_cluster_b64_count(count)
        "mbarrier.arrive_drop.release.cluster.shared::cluster.b64" "_, ",
        "as many arrivals, and later phases need as many fewer, by which those learn of what was \
         written before it who wait with `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival {
            count, drop: true, scope: sim::Scope::Cluster, ..sim::Arrival::ONE
        });
    mbarrier_arrive_drop_expect_tx_release_cluster_shared_cluster_b64(bytes)
        "mbarrier.arrive_drop.expect_tx.release.cluster.shared::cluster.b64" "_, ",
        "the phase waits for so many bytes more, one has arrived, and later phases need one fewer, \
         by which those learn of what was written before it who wait with `.acquire.cluster`.",
        arrive_at_peer(sim::Arrival {
            expect: bytes, drop: true, scope: sim::Scope::Cluster, ..sim::Arrival::ONE
        });
    mbarrier_expect_tx_relaxed_cluster_shared_cluster_b64(bytes)
        "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64" "",
        "the phase waits for so many bytes more.", expect_bytes_at_peer(bytes);
    mbarrier_complete_tx_relaxed_cluster_shared_cluster_b64(bytes)
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64" "",
        "so many bytes have come.", complete_bytes_at_peer(bytes);
}
