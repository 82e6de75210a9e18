//! Atomic reductions of an element of memory by a register: `red` (PTX ISA 9.7.13.6). PTX 6.0; 7.8
//! for bf16.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{bulk as sim, raw as engine};
#[cfg(not(target_arch = "nvptx64"))]
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The reductions of memory by a register: for each operation its types of elements. A type has its
/// name, `.noftz` where PTX requires that, the type of its bits, and their register class.
macro_rules! of_each_reduction {
    ($make:ident) => {
        $make! {
            add Add: u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, f32 "" u32 reg32,
                f64 "" u64 reg64, f16 ".noftz" u16 reg16, bf16 ".noftz" u16 reg16;
            min Min: u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, s64 "" u64 reg64;
            max Max: u32 "" u32 reg32, s32 "" u32 reg32, u64 "" u64 reg64, s64 "" u64 reg64;
            inc Inc: u32 "" u32 reg32;
            dec Dec: u32 "" u32 reg32;
            and And: b32 "" u32 reg32, b64 "" u64 reg64;
            or Or: b32 "" u32 reg32, b64 "" u64 reg64;
            xor Xor: b32 "" u32 reg32, b64 "" u64 reg64;
        }
    };
}
pub(super) use of_each_reduction;

/// Makes the functions of these reductions.
macro_rules! reductions {
    ($($operation:ident $simulated:ident: $($kind:ident $noftz:literal $bits:ident $class:ident),*;
    )*) => {$($(
        pastey::paste! { reductions! { @one
            [<red_relaxed_gpu_global_ $operation _ $kind>]
            (concat!(
                "red.relaxed.gpu.global.", stringify!($operation), $noftz, ".", stringify!($kind)
            ))
            "global memory, atomically for all threads of the GPU" *mut u8, reg64, reduce_global,
            $simulated $kind $bits $class } }
        pastey::paste! { reductions! { @one
            [<red_relaxed_cta_shared_ $operation _ $kind>]
            (concat!(
                "red.relaxed.cta.shared.", stringify!($operation), $noftz, ".", stringify!($kind)
            ))
            "the block's shared memory, atomically for its threads" u32, reg32, reduce_shared,
            $simulated $kind $bits $class } }
    )*)*};
    (
        @one $name:ident ($ptx:expr) $memory:literal $address:ty, $of_address:ident,
        $reduce:ident, $simulated:ident $kind:ident $bits:ident $class:ident
    ) => {
        #[doc = concat!("Reduces an element of ", $memory, ".")]
        ///
        #[doc = concat!(
            "`", $ptx, " [to], value;`: the element at `to` becomes this of itself and of the \
             value."
        )]
        ///
        /// # Safety
        /// `to` is the address of an aligned, valid element there. Meanwhile, others access it only
        /// by atomic instructions.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(to: $address, value: $bits) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], {value};"),
                    to = in($of_address) to, value = in($class) value, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let reduction = sim::Reduction {
                    operation: sim::Operation::$simulated, kind: sim::Kind::$kind
                };
                engine::$reduce(Site::here(), $ptx, to, reduction, bytemuck::bytes_of(&value));
            }
        }
    };
}

of_each_reduction!(reductions);
