//! Asynchronous matrix multiply-accumulate of a warpgroup: `wgmma` (PTX ISA 9.7.15). sm_90a. PTX
//! 8.0; 8.2 with a sparse A.

#[cfg(not(target_arch = "nvptx64"))]
use crate::{engine::wgmma as sim, lane::Site};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The body of a function: the instruction.
#[cfg(target_arch = "nvptx64")]
macro_rules! body {
    ([$($form:tt)*] [$d:ident $b:ident $scale_d:ident] [$first:ident $($r:ident)*]
        [$a_text:literal $($a_operand:tt)*] [$sparse_text:literal $($sparse_operand:tt)*]
        [$behind:literal $($immediate:tt)*] $simulated:tt $options:tt) => {{
        let [mut $first, $(mut $r),*] = $d;
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!(
                concat!(
                    "{{.reg .pred p; setp.ne.b32 p, {scale_d}, 0; ", crate::wgmma_ptx!($($form)*),
                    " {{{",
                    stringify!($first), "}", $(", {", stringify!($r), "}",)* "}}, ", $a_text,
                    ", {b}", $sparse_text, ", p", $behind, ";}}"
                ),
                $first = inout(reg32) $first,
                $($r = inout(reg32) $r,)*
                $($a_operand)*
                b = in(reg64) $b,
                $($sparse_operand)*
                scale_d = in(reg32) $scale_d as u32,
                $($immediate)*
                options(nostack)
            );
        }
        [$first, $($r),*]
    }};
}

/// The body of a function: the simulation of one lane's part.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! body {
    ([$($form:tt)*] [$d:ident $b:ident $scale_d:ident] $registers:tt $a_text:tt $sparse_text:tt
        $behind:tt [$a:expr, $metadata:expr]
        [$transposes_b:tt ($negates_a:tt, $negates_b:tt) $selector:expr]) => {{
        let operation = sim::Operation {
            form: body!(@form $($form)*),
            b: $b,
            transposes_b: $transposes_b,
            accumulates: $scale_d,
            negates_a: $negates_a,
            negates_b: $negates_b,
            selector: $selector,
        };
        sim::multiply_in_lane(Site::here(), operation, $d, $a, $metadata)
    }};
    (@form $selectors:tt $n:tt $d:ident $a:ident $b:ident $k:tt $option:ident) => {
        const {
            sim::Form::of(
                crate::wgmma_ptx!($selectors "N" $d $a $b $k $option),
                crate::wgmma_ptx!($selectors $n $d $a $b $k $option),
                $n,
            )
        }
    };
}

/// The functions of each form: with A in shared memory (`_ss`), and in registers (`_rs`).
macro_rules! functions {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident $selectors:tt $version:literal;)*) => {$($(
        crate::wgmma_columns! {
            $columns $per => functions ($d $a $b $k $option $per $behind $selectors)
        }
    )*)*};
    (
        @form $n:literal $r:tt (
            $d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $behind:ident $selectors:tt
        )
    ) => {
        crate::wgmma_named! {
            $selectors $n $d $a $b $k $option
                => functions ($behind $selectors $r $n $d $a $b $k $option $per)
        }
    };

    // The immediates after the operands.
    (@named $name:ident (nothing $($form:tt)*)) => {
        pastey::paste! { functions! {
            @function [<$name _ss>] [] [] "" [(false false) false false] @ss $($form)*
        } }
        pastey::paste! { functions! {
            @function [<$name _rs>] [] [] "" [(false false) false false] @rs $($form)*
        } }
    };
    (@named $name:ident (negate $($form:tt)*)) => {
        pastey::paste! { functions! { @function [<$name _ss>]
            [const NEGATE_A: bool, const NEGATE_B: bool]
            [na = const sign(NEGATE_A), nb = const sign(NEGATE_B),]
            ", {na}, {nb}" [(NEGATE_A NEGATE_B) false false] @ss $($form)* } }
        pastey::paste! { functions! { @function [<$name _rs>]
            [const NEGATE_A: bool, const NEGATE_B: bool]
            [na = const sign(NEGATE_A), nb = const sign(NEGATE_B),]
            ", {na}, {nb}" [(NEGATE_A NEGATE_B) false false] @rs $($form)* } }
    };
    (@named $name:ident (transpose $($form:tt)*)) => {
        pastey::paste! { functions! { @function [<$name _ss>]
            [const NEGATE_A: bool, const NEGATE_B: bool, const TRANS_A: bool, const TRANS_B: bool]
            [
                na = const sign(NEGATE_A), nb = const sign(NEGATE_B), ta = const TRANS_A as i32,
                tb = const TRANS_B as i32,
            ]
            ", {na}, {nb}, {ta}, {tb}" [(NEGATE_A NEGATE_B) TRANS_A TRANS_B] @ss $($form)* } }
        pastey::paste! { functions! { @function [<$name _rs>]
            [const NEGATE_A: bool, const NEGATE_B: bool, const TRANS_B: bool]
            [na = const sign(NEGATE_A), nb = const sign(NEGATE_B), tb = const TRANS_B as i32,]
            ", {na}, {nb}, {tb}" [(NEGATE_A NEGATE_B) false TRANS_B] @rs $($form)* } }
    };

    // A's location.
    (
        @function $name:ident $generics:tt $immediate:tt $behind:literal $flags:tt @ss $selectors:tt
            $($form:tt)*
    ) => {
        functions! { @sparsity $selectors $name $generics [a: u64] [a = in(reg64) a,] "{a}"
            $immediate $behind $flags
            [sim::A::Shared { descriptor: a, transposed: functions!(@trans_a $flags) }]
            "a-desc" $($form)* }
    };
    (
        @function $name:ident $generics:tt $immediate:tt $behind:literal $flags:tt @rs $selectors:tt
            $($form:tt)*
    ) => {
        functions! { @sparsity $selectors $name $generics [[a0, a1, a2, a3]: [u32; 4]]
            [a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,]
            "{{{a0}, {a1}, {a2}, {a3}}}"
            $immediate $behind $flags [sim::A::Registers([a0, a1, a2, a3])] "{a..}" $($form)* }
    };
    (@trans_a [$negated:tt $trans_a:tt $trans_b:tt]) => { $trans_a };

    // A's sparsity.
    (@sparsity 0 $name:ident $generics:tt $($form:tt)*) => {
        functions! { @one [0 0] $name $generics [] [] [] "" "" [0] $($form)* }
    };
    (@sparsity $selectors:tt $name:ident [$($generics:tt)*] $($form:tt)*) => {
        functions! { @one [$selectors SELECTOR] $name [const SELECTOR: u32, $($generics)*]
            [
                const {
                    assert!(
                        SELECTOR < $selectors,
                        concat!("the selector of this form is below ", $selectors)
                    )
                };
            ] [metadata: u32,]
            [metadata = in(reg32) metadata, selector = const SELECTOR,]
            ", {metadata}, {selector}" ", metadata, selector" [metadata]
            $($form)* }
    };

    (@one [$selectors:tt $selector:expr] $name:ident [$($generics:tt)*] [$($check:tt)*]
        [$($sparse_parameter:tt)*] [$($sparse_operand:tt)*] $sparse_text:literal $sparse_doc:literal
        [$metadata:expr] [$($a_parameter:tt)*] [$($a_operand:tt)*] $a_text:literal
        [$($immediate:tt)*] $behind:literal [($negate_a:tt $negate_b:tt) $trans_a:tt $trans_b:tt]
        [$a_simulated:expr] $a_doc:literal [$first:ident $($r:ident)*] $n:literal $d:ident $a:ident
        $b:ident $k:literal $option:ident $per:tt) => {
        /// Multiplies A and B, and accumulates, asynchronously: D = A x B + D, or D = A x B if
        /// `scale_d` is false.
        ///
        #[doc = concat!(
            "`", crate::wgmma_ptx!($selectors $n $d $a $b $k $option), " {d..}, ", $a_doc,
            ", b-desc", $sparse_doc, ", scale-d ..;`: sm_90a."
        )]
        ///
        /// # Safety
        /// All lanes of the four warps of a warpgroup execute it, converged. Their operands are
        /// equal, except for registers. The descriptors are of matrices in the block's shared
        /// memory.
        ///
        /// Until a wait for the group, nobody reads or writes the returned registers or A's
        /// registers. After the wait, pass the returned registers through [`wgmma_registers`].
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name<$($generics)*>(
            d: [u32; $n / 8 * $per],
            $($a_parameter)*,
            b: u64,
            $($sparse_parameter)*
            scale_d: bool,
        ) -> [u32; $n / 8 * $per] {
            $($check)*
            body! { [$selectors $n $d $a $b $k $option] [d b scale_d] [$first $($r)*]
                [$a_text $($a_operand)*] [$sparse_text $($sparse_operand)*] [$behind $($immediate)*]
                [$a_simulated, $metadata] [$trans_b ($negate_a, $negate_b) $selector] }
        }
    };
}

crate::wgmma_forms!(functions);
crate::wgmma_sparse_forms!(functions);

/// The immediate of an operand's sign.
#[cfg(target_arch = "nvptx64")]
const fn sign(negated: bool) -> i32 {
    if negated { -1 } else { 1 }
}

/// Orders earlier accesses of registers before the following `wgmma.mma_async` (PTX ISA
/// 9.7.15.7.1).
///
/// PTX: `wgmma.fence.sync.aligned;`
///
/// # Safety
/// All lanes of the four warps of a warpgroup execute it, converged.
#[inline(always)]
#[track_caller]
pub unsafe fn wgmma_fence_sync_aligned() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("wgmma.fence.sync.aligned;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::fence_in_lane(Site::here());
}

/// Closes the warp's current group: all its `wgmma`s since the last group (PTX ISA 9.7.15.7.2).
///
/// PTX: `wgmma.commit_group.sync.aligned;`
///
/// # Safety
/// All lanes of the four warps of a warpgroup execute it, converged.
#[inline(always)]
#[track_caller]
pub unsafe fn wgmma_commit_group_sync_aligned() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("wgmma.commit_group.sync.aligned;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::commit_in_lane(Site::here());
}

/// Waits until at most the warp's `N` newest groups are in flight (PTX ISA 9.7.15.7.3).
///
/// PTX: `wgmma.wait_group.sync.aligned N;`
///
/// # Safety
/// All lanes of the four warps of a warpgroup execute it, converged.
#[inline(always)]
#[track_caller]
pub unsafe fn wgmma_wait_group_sync_aligned<const N: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("wgmma.wait_group.sync.aligned {n};", n = const N, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::wait_in_lane(Site::here(), N as usize);
}

/// Returns the same registers: an optimisation barrier, no instruction.
///
/// The compiler assumes that the registers of a `wgmma.mma_async` are complete. This keeps it from
/// moving code that uses them before this point, or code that computes them past it. In the
/// simulator, the results reach the registers here, after their wait.
#[inline(always)]
#[track_caller]
pub fn wgmma_registers<const COUNT: usize>(registers: [u32; COUNT]) -> [u32; COUNT] {
    #[cfg(target_arch = "nvptx64")]
    return {
        let mut registers = registers;
        for register in &mut registers {
            // SAFETY: it does nothing.
            unsafe {
                asm!("/* {register} */", register = inout(reg32) * register, options(nostack))
            };
        }
        registers
    };
    #[cfg(not(target_arch = "nvptx64"))]
    sim::settle_in_lane(Site::here(), registers)
}
