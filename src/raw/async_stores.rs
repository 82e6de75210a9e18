//! Asynchronous stores of registers to shared memory of a block of the cluster: `st.async` (PTX ISA
//! 9.7.9.12) and `red.async` (9.7.13.7). sm_90, PTX 8.1.
//!
//! An mbarrier in the destination block counts the stored bytes.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::bulk as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Stores, one row for each form: function, value type, PTX type, the value in PTX's braces,
/// register class and names.
macro_rules! stores {
    (
        $($name:ident $value:ty, $ptx:literal $braces:literal: $class:ident $($register:ident)*;)*
    ) => {$(
        /// Stores a value to shared memory of a block of the cluster, asynchronously.
        ///
        #[doc = concat!(
            "`st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.", $ptx,
            " [to], value, [barrier];`"
        )]
        ///
        /// # Safety
        /// `to` is an address in the `.shared::cluster` window, a multiple of the value's size.
        /// Until a wait for the barrier's phase, nobody else accesses the value's bytes there.
        /// `barrier` is the address of an mbarrier in the same block. That block runs until then.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: u32, value: $value, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            {
                let stores!(@pattern $($register)*) = value;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(concat!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.",
                        $ptx, " [{to}], ", $braces, ", [{barrier}];"),
                        to = in(reg32) to, barrier = in(reg32) barrier,
                        $($register = in($class) $register,)*
                        options(nostack));
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let form = concat!(
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.", $ptx
                );
                sim::send_registers(
                    Site::here(), form, to, bytemuck::bytes_of(&value), barrier, None
                );
            }
        }
    )*};
    (@pattern $one:ident) => { $one };
    (@pattern $($several:ident)*) => { [$($several),*] };
}

stores! {
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32 u32, "b32" "{r0}": reg32 r0;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b64 u64, "b64" "{r0}": reg64 r0;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b32 [u32; 2],
        "v2.b32" "{{{r0}, {r1}}}": reg32 r0 r1;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b64 [u64; 2],
        "v2.b64" "{{{r0}, {r1}}}": reg64 r0 r1;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_b32 [u32; 4],
        "v4.b32" "{{{r0}, {r1}, {r2}, {r3}}}": reg32 r0 r1 r2 r3;
}

/// Reductions, one row for each operation: the simulator's operation, then the element types with
/// value type and register class.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident $value:ident $class:ident),*;)*) => {$($(
        pastey::paste! { reductions! { @one
            [<
                red_async_relaxed_cluster_shared_cluster_mbarrier_complete_tx_bytes_ $operation _
                    $kind
            >]
            (concat!(
                "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.",
                stringify!($operation), ".", stringify!($kind)
            ))
            $simulated $kind $value $class } }
    )*)*};
    (@one $name:ident ($ptx:expr) $simulated:ident $kind:ident $value:ident $class:ident) => {
        /// Reduces an element of shared memory of a block of the cluster, asynchronously.
        ///
        #[doc = concat!(
            "`", $ptx,
            " [to], value, [barrier];`: the element at `to` becomes this of itself and of the \
             value."
        )]
        ///
        /// # Safety
        /// As for [`st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32`]. But others may
        /// reduce the same element.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: u32, value: $value, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], {value}, [{barrier}];"),
                    to = in(reg32) to, value = in($class) value, barrier = in(reg32) barrier,
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let reduction = sim::Reduction {
                    operation: sim::Operation::$simulated, kind: sim::Kind::$kind
                };
                sim::send_registers(
                    Site::here(), $ptx, to, bytemuck::bytes_of(&value), barrier, Some(reduction)
                );
            }
        }
    };
}

reductions! {
    add Add: u32 u32 reg32, s32 u32 reg32, u64 u64 reg64, s64 u64 reg64;
    min Min: u32 u32 reg32, s32 u32 reg32;
    max Max: u32 u32 reg32, s32 u32 reg32;
    inc Inc: u32 u32 reg32;
    dec Dec: u32 u32 reg32;
    and And: b32 u32 reg32;
    or Or: b32 u32 reg32;
    xor Xor: b32 u32 reg32;
}
