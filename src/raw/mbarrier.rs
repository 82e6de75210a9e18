//! `mbarrier`: barriers in shared memory that count arrivals and bytes (PTX ISA 9.7.13.15), and
//! proxy fences (9.7.13.4). sm_90, PTX 8.0.
//!
//! `arrive` returns a state: a token of the phase of the arrival. A parity is that of a phase's
//! number, counted from 0.
//!
//! `try_wait` may give up after a system-dependent time, and return false. In the simulator, the
//! seed decides whether it gives up at once. It also gives up if no warp can continue.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::mbarrier as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Forms that return nothing: function, operands, PTX, description, safety, and the simulator's
/// function.
macro_rules! plain {
    (
        $(
            $name:ident($($operand:ident)*) $ptx:literal, $doc:literal, $safety:literal,
            $simulated:ident;
        )*
    ) => {$(
        #[doc = concat!("`", $ptx, " [address]", $(", ", stringify!($operand),)* ";`: ", $doc)]
        ///
        /// # Safety
        #[doc = $safety]
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32, $($operand: u32)*) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{address}]", $(", {", stringify!($operand), "}",)* ";"),
                    address = in(reg32) address,
                    $($operand = in(reg32) $operand,)* options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::$simulated(Site::here(), $ptx, address, $($operand)*);
        }
    )*};
}

plain! {
    mbarrier_init_shared_cta_b64(count) "mbarrier.init.shared::cta.b64",
        "makes a barrier whose phases need so many arrivals.",
        "`address` is that of eight bytes of shared memory, a multiple of eight, that nobody else \
         touches, and that are no barrier.",
        init;
    mbarrier_inval_shared_cta_b64() "mbarrier.inval.shared::cta.b64",
        "the memory is a barrier no more.", "`address` is that of a barrier that nobody uses.",
        invalidate;
    mbarrier_expect_tx_relaxed_cta_shared_cta_b64(bytes)
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64",
        "the phase waits for so many bytes more.", "`address` is that of a barrier.", expect_bytes;
    mbarrier_complete_tx_relaxed_cta_shared_cta_b64(bytes)
        "mbarrier.complete_tx.relaxed.cta.shared::cta.b64",
        "so many bytes have come.", "`address` is that of a barrier.", complete_bytes;
    cp_async_mbarrier_arrive_shared_cta_b64() "cp.async.mbarrier.arrive.shared::cta.b64",
        "the phase needs one arrival more, which comes when the copies by `cp.async` that the \
         thread has started have landed.",
        "`address` is that of a barrier.", hold_until_copied;
    cp_async_mbarrier_arrive_noinc_shared_cta_b64()
        "cp.async.mbarrier.arrive.noinc.shared::cta.b64",
        "an arrival comes when the copies by `cp.async` that the thread has started have landed.",
        "`address` is that of a barrier.",
        arrive_when_copied;
}

/// Forms of `arrive`: function, operands, PTX, and the simulator's arguments.
macro_rules! arrivals {
    ($($name:ident($($operand:ident)*) $ptx:literal { $($field:ident: $value:expr),* };)*) => {$(
        /// Arrives at a barrier, and returns the state of its phase.
        ///
        #[doc = concat!("`", $ptx, " state, [address]", $(", ", stringify!($operand),)* ";`")]
        ///
        /// # Safety
        /// `address` is the address of a barrier.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32, $($operand: u32)*) -> u64 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let state;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(concat!($ptx, " {state}, [{address}]",
                        $(", {", stringify!($operand), "}",)* ";"),
                        state = lateout(reg64) state, address = in(reg32) address,
                        $($operand = in(reg32) $operand,)*
                        options(nostack));
                }
                state
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return sim::arrive(
                Site::here(),
                $ptx,
                address,
                sim::Arrival { $($field: $value,)* ..sim::Arrival::ONE },
            );
        }
    )*};
}

arrivals! {
    mbarrier_arrive_shared_cta_b64() "mbarrier.arrive.shared::cta.b64" {};
    mbarrier_arrive_shared_cta_b64_count(count) "mbarrier.arrive.shared::cta.b64" { count: count };
    mbarrier_arrive_expect_tx_shared_cta_b64(bytes) "mbarrier.arrive.expect_tx.shared::cta.b64"
        { expect: bytes };
    mbarrier_arrive_drop_shared_cta_b64() "mbarrier.arrive_drop.shared::cta.b64" { drop: true };
    mbarrier_arrive_drop_shared_cta_b64_count(count) "mbarrier.arrive_drop.shared::cta.b64"
        { count: count, drop: true };
    mbarrier_arrive_drop_expect_tx_shared_cta_b64(bytes)
        "mbarrier.arrive_drop.expect_tx.shared::cta.b64" { expect: bytes, drop: true };
}

/// Forms of `test_wait` and `try_wait`: function, operands, PTX, the scope of the writes that
/// become visible, the simulator's function, and the phase.
macro_rules! waits {
    (
        $(
            $name:ident(
                $phase:ident: $type:ident $class:ident $(, $hint:ident)?
            ) $ptx:literal $scope:ident $simulated:ident($kind:expr);
        )*
    ) => {$(
        /// Returns whether a phase is complete: `test_wait` at once, `try_wait` after a wait.
        ///
        #[doc = concat!(
            "`", $ptx, " over, [address], ", stringify!($phase), $(", ", stringify!($hint),)? ";`"
        )]
        ///
        /// # Safety
        /// `address` is the address of a barrier.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32, $phase: $type $(, $hint: u32)?) -> bool {
            #[cfg(target_arch = "nvptx64")]
            return {
                let over: u32;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(concat!("{{ .reg .pred p; ", $ptx, " p, [{address}], {phase}",
                        $(", {", stringify!($hint), "}",)?
                        "; selp.b32 {over}, 1, 0, p; }}"),
                        over = lateout(reg32) over, address = in(reg32) address,
                        phase = in($class) $phase,
                        $($hint = in(reg32) $hint,)? options(nostack));
                }
                over != 0
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                $(let _ = $hint;)?
                sim::$simulated(Site::here(), $ptx, address, $kind, sim::Scope::$scope)
            };
        }
    )*};
}

waits! {
    mbarrier_test_wait_shared_cta_b64(state: u64 reg64) "mbarrier.test_wait.shared::cta.b64"
        Block test_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_test_wait_parity_shared_cta_b64(parity: u32 reg32)
        "mbarrier.test_wait.parity.shared::cta.b64"
        Block test_in_lane(sim::AwaitedPhase::Parity(parity));
    mbarrier_try_wait_shared_cta_b64(state: u64 reg64) "mbarrier.try_wait.shared::cta.b64"
        Block wait_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_try_wait_parity_shared_cta_b64(parity: u32 reg32)
        "mbarrier.try_wait.parity.shared::cta.b64"
        Block wait_in_lane(sim::AwaitedPhase::Parity(parity));
    mbarrier_try_wait_shared_cta_b64_hint(state: u64 reg64, nanoseconds)
        "mbarrier.try_wait.shared::cta.b64"
        Block wait_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_try_wait_parity_shared_cta_b64_hint(parity: u32 reg32, nanoseconds)
        "mbarrier.try_wait.parity.shared::cta.b64"
        Block wait_in_lane(sim::AwaitedPhase::Parity(parity));
    mbarrier_test_wait_acquire_cluster_shared_cta_b64(state: u64 reg64)
        "mbarrier.test_wait.acquire.cluster.shared::cta.b64"
        Cluster test_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_test_wait_parity_acquire_cluster_shared_cta_b64(parity: u32 reg32)
        "mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64"
        Cluster test_in_lane(sim::AwaitedPhase::Parity(parity));
    mbarrier_try_wait_acquire_cluster_shared_cta_b64(state: u64 reg64)
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64"
        Cluster wait_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64(parity: u32 reg32)
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"
        Cluster wait_in_lane(sim::AwaitedPhase::Parity(parity));
    mbarrier_try_wait_acquire_cluster_shared_cta_b64_hint(state: u64 reg64, nanoseconds)
        "mbarrier.try_wait.acquire.cluster.shared::cta.b64"
        Cluster wait_in_lane(sim::AwaitedPhase::Of(state));
    mbarrier_try_wait_parity_acquire_cluster_shared_cta_b64_hint(parity: u32 reg32, nanoseconds)
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"
        Cluster wait_in_lane(sim::AwaitedPhase::Parity(parity));
}

/// Returns the number of pending arrivals before the arrival that returned `state`.
///
/// PTX: `mbarrier.pending_count.b64 count, state;`
#[inline]
pub fn mbarrier_pending_count_b64(state: u64) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let count;
        // SAFETY: the instruction only computes.
        unsafe {
            asm!("mbarrier.pending_count.b64 {count}, {state};",
                count = lateout(reg32) count, state = in(reg64) state, options(nomem, nostack));
        }
        count
    };
    #[cfg(not(target_arch = "nvptx64"))]
    return sim::pending(state);
}

/// Fences: function, PTX, the simulator's function, and a description.
macro_rules! fences {
    ($($name:ident $ptx:literal $simulated:ident($($of:expr)?), $doc:literal;)*) => {$(
        #[doc = concat!("`", $ptx, ";`: ", $doc)]
        #[inline]
        #[track_caller]
        pub fn $name() {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: it only orders memory accesses.
            unsafe {
                asm!(concat!($ptx, ";"), options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::$simulated(Site::here(), $ptx $(, $of)?);
        }
    )*};
}

fences! {
    fence_mbarrier_init_release_cluster "fence.mbarrier_init.release.cluster" fence_init(),
        "barriers that the thread has made are there for the cluster, and for what comes \
         asynchronously.";
    fence_proxy_async "fence.proxy.async" fence_proxy(sim::Fenced::All),
        "what the thread did to memory before, instructions that go to memory asynchronously see \
         behind it.";
    fence_proxy_async_shared_cta "fence.proxy.async.shared::cta"
        fence_proxy(sim::Fenced::SharedOfBlock),
        "the same, of the block's own shared memory only.";
    fence_proxy_async_global "fence.proxy.async.global" fence_proxy(sim::Fenced::Global),
        "the same, of global memory only.";
}

/// Elects one lane of the warp: true in one lane, the same one each time.
///
/// PTX: `elect.sync _|elected, 0xffffffff;`
///
/// # Safety
/// All lanes of the warp execute it.
#[inline]
#[track_caller]
pub unsafe fn elect_sync() -> bool {
    #[cfg(target_arch = "nvptx64")]
    return {
        let elected: u32;
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!("{{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 {elected}, 1, 0, p; }}",
                elected = lateout(reg32) elected, options(nomem, nostack));
        }
        elected != 0
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::elect()
}
