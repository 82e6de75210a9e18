//! Atomic operations with a result: `atom` (PTX ISA 9.7.13.5), in global memory with an order, and
//! in shared memory. Loads and stores of global memory with an order: `ld`, `st` (9.7.9.8,
//! 9.7.9.11). sm_70, PTX 6.0; sm_90, 7.8 for bf16.
//!
//! In global memory, the simulator runs these only in a launch with a
//! [`GlobalAtomic`](crate::memory::GlobalAtomic), on its elements.

use super::red::of_each_reduction;
#[cfg(not(target_arch = "nvptx64"))]
use crate::{
    engine::{bulk as sim, raw as engine},
    isa::Semantics,
    lane::Site,
};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Makes one function for each of these semantics.
macro_rules! with_semantics {
    ([$($semantics:ident $value:ident),*] $make:ident $rest:tt) => {
        $($make! { $semantics $value $rest })*
    };
}

/// Reductions in global memory, in each order.
macro_rules! in_global {
    ($($operation:ident $simulated:ident: $(
        $kind:ident $noftz:literal $bits:ident $class:ident
    ),*;)*) => {$($(
        with_semantics! {
            [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
            operation [
                $operation
                (engine::AtomicOperation::reduce(sim::Operation::$simulated, sim::Kind::$kind))
                (value) [$kind $noftz $bits $class]
            ]
        }
    )*)*};
}

/// An operation in global memory, in one order.
macro_rules! operation {
    (
        $semantics:ident $value:ident [
            $operation:ident ($simulated:expr) ($($operand:ident),*)
            [$kind:ident $noftz:literal $bits:ident $class:ident]
        ]
    ) => { pastey::paste! {
        /// Changes an element of global memory, atomically for all threads of the GPU. Returns its
        /// value before.
        ///
        #[doc = concat!(
            "`atom.", stringify!($semantics), ".gpu.global.", stringify!($operation), $noftz, ".",
            stringify!($kind), " result, [at]" $(, ", ", stringify!($operand))*, ";`"
        )]
        ///
        /// # Safety
        /// `at` is the address of an aligned, valid element there. Meanwhile, others access it only
        /// by atomic instructions.
        #[inline]
        #[track_caller]
        pub unsafe fn [<atom_ $semantics _gpu_global_ $operation _ $kind>](
            at: *mut u8, $($operand: $bits),*
        ) -> $bits {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let result: $bits;
                asm!(
                    concat!(
                        "atom.", stringify!($semantics), ".gpu.global.", stringify!($operation),
                        $noftz, ".", stringify!($kind), " {result}, [{at}]"
                        $(, ", {", stringify!($operand), "}")*, ";"
                    ),
                    result = out($class) result, at = in(reg64) at,
                    $($operand = in($class) $operand,)* options(nostack),
                );
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let form = concat!(
                    "atom.", stringify!($semantics), ".gpu.global.", stringify!($operation),
                    $noftz, ".", stringify!($kind)
                );
                let (site, operands) = (Site::here(), [$($operand),*]);
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    engine::atomic(site, form, at, $simulated, &operands, Semantics::$value)
                }
            }
        }
    }};
}

/// Reductions in the block's shared memory.
macro_rules! in_shared {
    ($($operation:ident $simulated:ident: $(
        $kind:ident $noftz:literal $bits:ident $class:ident
    ),*;)*) => { pastey::paste! {$($(
        /// Reduces an element of the block's shared memory, atomically for its threads. Returns its
        /// value before.
        ///
        #[doc = concat!(
            "`atom.relaxed.cta.shared.", stringify!($operation), $noftz, ".", stringify!($kind),
            " result, [at], value;`"
        )]
        ///
        /// # Safety
        /// `at` is the address of an aligned, valid element there. Meanwhile, others access it only
        /// by atomic instructions.
        #[inline]
        #[track_caller]
        pub unsafe fn [<atom_relaxed_cta_shared_ $operation _ $kind>](
            at: u32, value: $bits
        ) -> $bits {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let result: $bits;
                asm!(
                    concat!(
                        "atom.relaxed.cta.shared.", stringify!($operation), $noftz, ".",
                        stringify!($kind), " {result}, [{at}], {value};"
                    ),
                    result = out($class) result, at = in(reg32) at, value = in($class) value,
                    options(nostack),
                );
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let form = concat!(
                    "atom.relaxed.cta.shared.", stringify!($operation), $noftz, ".",
                    stringify!($kind)
                );
                let reduction = sim::Reduction {
                    operation: sim::Operation::$simulated, kind: sim::Kind::$kind
                };
                engine::fetch_shared(Site::here(), form, at, reduction, value)
            }
        }
    )*)*}};
}

of_each_reduction!(in_global);
of_each_reduction!(in_shared);
with_semantics! {
    [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
    operation [exch (engine::AtomicOperation::Exchange) (value) [b32 "" u32 reg32]]
}
with_semantics! {
    [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
    operation [exch (engine::AtomicOperation::Exchange) (value) [b64 "" u64 reg64]]
}
with_semantics! {
    [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
    operation [cas (engine::AtomicOperation::CompareExchange) (expected, value) [b32 "" u32 reg32]]
}
with_semantics! {
    [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
    operation [cas (engine::AtomicOperation::CompareExchange) (expected, value) [b64 "" u64 reg64]]
}

/// A load with an order.
macro_rules! load {
    ($semantics:ident $value:ident [$kind:ident $bits:ident $class:ident]) => { pastey::paste! {
        /// Loads an element of global memory that other threads of the GPU may change.
        ///
        #[doc = concat!(
            "`ld.", stringify!($semantics), ".gpu.global.", stringify!($kind), " result, [from];`"
        )]
        ///
        /// # Safety
        /// `from` is the address of an aligned, valid element there. Meanwhile, others access it
        /// only by atomic instructions.
        #[inline]
        #[track_caller]
        pub unsafe fn [<ld_ $semantics _gpu_global_ $kind>](from: *const u8) -> $bits {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                let result: $bits;
                asm!(
                    concat!(
                        "ld.", stringify!($semantics), ".gpu.global.", stringify!($kind),
                        " {result}, [{from}];"
                    ),
                    result = out($class) result, from = in(reg64) from, options(nostack),
                );
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let form =
                    concat!("ld.", stringify!($semantics), ".gpu.global.", stringify!($kind));
                let (site, operation) = (Site::here(), engine::AtomicOperation::Load);
                let from = from.cast_mut();
                // SAFETY: the caller upholds the function's contract.
                unsafe { engine::atomic(site, form, from, operation, &[], Semantics::$value) }
            }
        }
    }};
}
with_semantics! { [relaxed Relaxed, acquire Acquire] load [b32 u32 reg32] }
with_semantics! { [relaxed Relaxed, acquire Acquire] load [b64 u64 reg64] }

/// A store with an order.
macro_rules! store {
    ($semantics:ident $value:ident [$kind:ident $bits:ident $class:ident]) => {
        pastey::paste! {
            /// Stores an element of global memory that other threads of the GPU may access.
            ///
            #[doc = concat!(
                "`st.", stringify!($semantics), ".gpu.global.", stringify!($kind), " [to], value;`"
            )]
            ///
            /// # Safety
            /// `to` is the address of an aligned, valid element there. Meanwhile, others access it
            /// only by atomic instructions.
            #[inline]
            #[track_caller]
            pub unsafe fn [<st_ $semantics _gpu_global_ $kind>](to: *mut u8, value: $bits) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!(
                            "st.", stringify!($semantics), ".gpu.global.", stringify!($kind),
                            " [{to}], {value};"
                        ),
                        to = in(reg64) to, value = in($class) value, options(nostack),
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let form =
                        concat!("st.", stringify!($semantics), ".gpu.global.", stringify!($kind));
                    let (site, operation) = (Site::here(), engine::AtomicOperation::Store);
                    // SAFETY: the caller upholds the function's contract.
                    unsafe {
                        engine::atomic(site, form, to, operation, &[value], Semantics::$value);
                    }
                }
            }
        }
    };
}
with_semantics! { [relaxed Relaxed, release Release] store [b32 u32 reg32] }
with_semantics! { [relaxed Relaxed, release Release] store [b64 u64 reg64] }
