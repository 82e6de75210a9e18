//! `st.async` (PTX ISA 9.7.9.12) and `red.async` (9.7.13.7): registers go to shared memory of a
//! block of the cluster, which an mbarrier there is told of. sm_90, PTX 8.1.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::bulk as sim;
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Stores, one row a form: the function, its value's type, PTX's type, the value in PTX's braces,
/// the registers' class and names.
macro_rules! stores {
    ($($name:ident $value:ty, $ptx:literal $braces:literal: $class:ident $($register:ident)*;)*) => {$(
        #[doc = concat!("`st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.", $ptx, " [to], value, [barrier];`")]
        ///
        /// # Safety
        /// From now until a wait for the barrier's phase, `to` is the address, in the `.shared::cluster` window, of as many bytes as the value
        /// has, a multiple of their number, that nobody else touches. `barrier` is that of an mbarrier in the block of `to`, which runs until
        /// then.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(to: u32, value: $value, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            {
                let stores!(@pattern $($register)*) = value;
                // SAFETY: the caller's.
                unsafe {
                    asm!(concat!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.", $ptx, " [{to}], ", $braces, ", [{barrier}];"),
                        to = in(reg32) to, barrier = in(reg32) barrier, $($register = in($class) $register,)*
                        options(nostack));
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let form = concat!("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.", $ptx);
                sim::send_registers(Site::here(), form, to, bytemuck::bytes_of(&value), barrier, None);
            }
        }
    )*};
    (@pattern $one:ident) => { $one };
    (@pattern $($several:ident)*) => { [$($several),*] };
}

stores! {
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32 u32, "b32" "{r0}": reg32 r0;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b64 u64, "b64" "{r0}": reg64 r0;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b32 [u32; 2], "v2.b32" "{{{r0}, {r1}}}": reg32 r0 r1;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v2_b64 [u64; 2], "v2.b64" "{{{r0}, {r1}}}": reg64 r0 r1;
    st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_v4_b32 [u32; 4], "v4.b32" "{{{r0}, {r1}, {r2}, {r3}}}": reg32 r0 r1 r2 r3;
}

/// Reductions, one row an operation: what it is for the simulator; of what, with the value's type
/// and the register's class.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident $value:ident $class:ident),*;)*) => {$($(
        reductions!(@one
            ${concat(red_async_relaxed_cluster_shared_cluster_mbarrier_complete_tx_bytes_, $operation, _, $kind)}
            (concat!("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.", stringify!($operation), ".",
                stringify!($kind)))
            $simulated $kind $value $class);
    )*)*};
    (@one $name:ident ($ptx:expr) $simulated:ident $kind:ident $value:ident $class:ident) => {
        #[doc = concat!("`", $ptx, " [to], value, [barrier];`: the element at `to` becomes this of itself and of the value.")]
        ///
        /// # Safety
        /// As [`st_async_weak_shared_cluster_mbarrier_complete_tx_bytes_b32`], but that others may reduce the same element.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(to: u32, value: $value, barrier: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller's.
            unsafe {
                asm!(concat!($ptx, " [{to}], {value}, [{barrier}];"),
                    to = in(reg32) to, value = in($class) value, barrier = in(reg32) barrier, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let reduction = sim::Reduction { operation: sim::Operation::$simulated, kind: sim::Kind::$kind };
                sim::send_registers(Site::here(), $ptx, to, bytemuck::bytes_of(&value), barrier, Some(reduction));
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
