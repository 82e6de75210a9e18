//! Atomic operations on an element of global memory, with a result and an order: `atom` (PTX ISA
//! 9.7.13.5), and loads and stores with an order: `ld`, `st` (9.7.9.8, 9.7.9.11). sm_70, PTX 6.0;
//! sm_90, 7.8 for bf16.
//!
//! The simulator runs these only in a launch with a
//! [`GlobalAtomic`](crate::memory::GlobalAtomic), on its elements.

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

/// Operations that change the element: the operation, its operands and its element types. A type
/// has its name, `.noftz` where PTX requires that, the type of its bits, and their register class.
macro_rules! operations {
    ($($operation:ident $simulated:expr, $operands:tt: $(
        $kind:ident $noftz:literal $bits:ident $class:ident
    ),*;)*) => {$(
        operations! {
            @types $operation ($simulated) $operands $([$kind $noftz $bits $class])*
        }
    )*};
    (@types $operation:ident $simulated:tt $operands:tt $($type:tt)*) => {$(
        with_semantics! {
            [relaxed Relaxed, acquire Acquire, release Release, acq_rel AcquireRelease]
            operation [$operation $simulated $operands $type]
        }
    )*};
}
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
                let operation: fn(sim::Kind) -> sim::AtomicOperation = $simulated;
                let form = concat!(
                    "atom.", stringify!($semantics), ".gpu.global.", stringify!($operation),
                    $noftz, ".", stringify!($kind)
                );
                let operation = operation(sim::Kind::$kind);
                let (site, operands) = (Site::here(), [$($operand),*]);
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    engine::atomic(site, form, at, operation, &operands, Semantics::$value)
                }
            }
        }
    }};
}

operations! {
    add |kind| sim::AtomicOperation::reduce(sim::Operation::Add, kind), (value):
        u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, f32 "" u32 reg32, f64 "" u64 reg64,
        f16 ".noftz" u16 reg16, bf16 ".noftz" u16 reg16;
    min |kind| sim::AtomicOperation::reduce(sim::Operation::Min, kind), (value):
        u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, s64 "" u64 reg64;
    max |kind| sim::AtomicOperation::reduce(sim::Operation::Max, kind), (value):
        u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, s64 "" u64 reg64;
    inc |kind| sim::AtomicOperation::reduce(sim::Operation::Inc, kind), (value): u32 "" u32 reg32;
    dec |kind| sim::AtomicOperation::reduce(sim::Operation::Dec, kind), (value): u32 "" u32 reg32;
    and |kind| sim::AtomicOperation::reduce(sim::Operation::And, kind), (value):
        b32 "" u32 reg32, b64 "" u64 reg64;
    or |kind| sim::AtomicOperation::reduce(sim::Operation::Or, kind), (value):
        b32 "" u32 reg32, b64 "" u64 reg64;
    xor |kind| sim::AtomicOperation::reduce(sim::Operation::Xor, kind), (value):
        b32 "" u32 reg32, b64 "" u64 reg64;
    exch |_| sim::AtomicOperation::Exchange, (value): b32 "" u32 reg32, b64 "" u64 reg64;
    cas |_| sim::AtomicOperation::CompareExchange, (expected, value):
        b32 "" u32 reg32, b64 "" u64 reg64;
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
                let (site, operation) = (Site::here(), sim::AtomicOperation::Load);
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
                    let (site, operation) = (Site::here(), sim::AtomicOperation::Store);
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
