//! Asynchronous matrix multiply-accumulate of a warpgroup: `wgmma` (PTX ISA 9.7.15). sm_90a. PTX
//! 8.0; 8.2 with a sparse A.

#[cfg(not(target_arch = "nvptx64"))]
use crate::{engine::wgmma as sim, lane::Site};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The body of a function: the instruction. The first arguments are names for D's registers, and
/// their text, as `asm!` operands by position.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    ([$($register:ident)*] $registers:literal $ptx:expr, [$d:ident $b:ident $scale_d:ident]
        ([$($a:tt)*] $a_text:literal) ([$($metadata:tt)*] $metadata_text:literal)
        ([$($immediates:tt)*] $immediates_text:literal)) => {{
        let [$(mut $register),*] = $d;
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!(
                concat!(
                    "{{.reg .pred p; setp.ne.b32 p, {scale_d}, 0; ", $ptx, " {{", $registers,
                    "}}, ", $a_text, ", {b}", $metadata_text, ", p", $immediates_text, ";}}"
                ),
                $(inout(reg32) $register,)*
                $($a)*
                b = in(reg64) $b,
                $($metadata)*
                scale_d = in(reg32) $scale_d as u32,
                $($immediates)*
                options(nostack)
            );
        }
        [$($register),*]
    }};
}

/// The functions of each form: with A in shared memory (`_ss`), and in registers (`_rs`).
///
/// A row of the table becomes lists that its functions share, one for each aspect. A list has
/// everything about its aspect: parameters, operands of `asm!` and their text, and the simulator's
/// expressions.
macro_rules! functions {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $immediates:ident $selectors:tt $version:literal;)*) => {$($(
        functions! { @$immediates $selectors $columns $per [$d $a $b $k $option] }
    )*)*};

    // The immediates after the operands, for A in shared memory and in registers.
    (@nothing $($row:tt)*) => {
        functions! { @sparsity
            ([] ([] "") [false false false false])
            ([] ([] "") [false false false false])
            $($row)* }
    };
    (@negate $($row:tt)*) => {
        functions! { @sparsity
            ([const NEGATE_A: bool, const NEGATE_B: bool]
                ([na = const sign(NEGATE_A), nb = const sign(NEGATE_B),] ", {na}, {nb}")
                [NEGATE_A NEGATE_B false false])
            ([const NEGATE_A: bool, const NEGATE_B: bool]
                ([na = const sign(NEGATE_A), nb = const sign(NEGATE_B),] ", {na}, {nb}")
                [NEGATE_A NEGATE_B false false])
            $($row)* }
    };
    (@transpose $($row:tt)*) => {
        functions! { @sparsity
            ([const NEGATE_A: bool, const NEGATE_B: bool, const TRANS_A: bool, const TRANS_B: bool]
                ([na = const sign(NEGATE_A), nb = const sign(NEGATE_B), ta = const TRANS_A as i32,
                    tb = const TRANS_B as i32,] ", {na}, {nb}, {ta}, {tb}")
                [NEGATE_A NEGATE_B TRANS_A TRANS_B])
            ([const NEGATE_A: bool, const NEGATE_B: bool, const TRANS_B: bool]
                ([na = const sign(NEGATE_A), nb = const sign(NEGATE_B), tb = const TRANS_B as i32,]
                    ", {na}, {nb}, {tb}")
                [NEGATE_A NEGATE_B false TRANS_B])
            $($row)* }
    };

    // A's sparsity.
    (@sparsity $shared:tt $registers:tt 0 $columns:ident $($row:tt)*) => {
        crate::wgmma_columns! { $columns =>
            functions ($shared $registers ([] [] [] ([] "") "" [0, 0]) 0 $($row)*) }
    };
    (@sparsity $shared:tt $registers:tt $selectors:tt $columns:ident $($row:tt)*) => {
        crate::wgmma_columns! { $columns => functions ($shared $registers (
            [const SELECTOR: u32,]
            [
                const {
                    assert!(
                        SELECTOR < $selectors,
                        concat!("the selector of this form is below ", $selectors)
                    )
                };
            ]
            [metadata: u32,]
            (
                [metadata = in(reg32) metadata, selector = const SELECTOR,]
                ", {metadata}, {selector}"
            )
            ", metadata, selector"
            [metadata, SELECTOR]
        ) $selectors $($row)*) }
    };

    (@form $n:literal (
        $shared:tt $registers:tt $sparsity:tt $selectors:tt $per:tt [$($form:tt)*]
    )) => {
        crate::wgmma_named! { $selectors $n $($form)* =>
            functions ($n [$($form)*] ($shared $registers $sparsity $selectors $per)) }
    };
    (@named $name:ident (
        $n:literal $form:tt ($shared:tt $registers:tt $sparsity:tt $selectors:tt $per:tt)
    )) => { pastey::paste! {
        functions! { @function [<$name _ss>] $selectors $n $per $form $shared $sparsity (
            [a: u64] ([a = in(reg64) a,] "{a}") "a-desc"
            [sim::A::Shared { descriptor: a, transposed: functions!(@trans_a $shared) }]
        ) }
        functions! { @function [<$name _rs>] $selectors $n $per $form $registers $sparsity (
            [[a0, a1, a2, a3]: [u32; 4]]
            (
                [a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,]
                "{{{a0}, {a1}, {a2}, {a3}}}"
            )
            "{a..}"
            [sim::A::Registers([a0, a1, a2, a3])]
        ) }
    } };
    (@trans_a ($generics:tt $text:tt [$negate_a:tt $negate_b:tt $trans_a:tt $trans_b:tt])) => {
        $trans_a
    };

    (@function $name:ident $selectors:tt $n:literal $per:tt
        [$d:ident $a:ident $b:ident $k:literal $option:ident]
        ([$($generics:tt)*] $immediates:tt [$negate_a:tt $negate_b:tt $trans_a:tt $trans_b:tt])
        ([$($selector:tt)*] [$($check:tt)*] [$($metadata_parameter:tt)*] $metadata:tt
            $metadata_doc:literal [$metadata_simulated:expr, $selector_simulated:expr])
        ([$($a_parameter:tt)*] $a_operand:tt $a_doc:literal [$a_simulated:expr])
    ) => {
        /// Multiplies A and B, and accumulates, asynchronously: D = A x B + D, or D = A x B if
        /// `scale_d` is false.
        ///
        #[doc = concat!(
            "`", crate::wgmma_ptx!($selectors $n $d $a $b $k $option), " {d..}, ", $a_doc,
            ", b-desc", $metadata_doc, ", scale-d ..;`: sm_90a."
        )]
        ///
        /// # Safety
        /// All lanes of the four warps of a warpgroup execute it, converged. Their operands are
        /// equal, except for registers. The descriptors are of matrices in the block's shared
        /// memory.
        ///
        /// Until a wait for the group, nobody reads or writes the returned registers or A's
        /// registers. After the wait, pass the returned registers through [`wgmma_registers`].
        #[inline]
        #[track_caller]
        pub unsafe fn $name<$($selector)* $($generics)*>(
            d: [u32; $n / 8 * $per],
            $($a_parameter)*,
            b: u64,
            $($metadata_parameter)*
            scale_d: bool,
        ) -> [u32; $n / 8 * $per] {
            $($check)*
            #[cfg(target_arch = "nvptx64")]
            return ptx_matrix_macros::registers! { $n $per instruction
                crate::wgmma_ptx!($selectors $n $d $a $b $k $option), [d b scale_d] $a_operand
                $metadata $immediates };
            #[cfg(not(target_arch = "nvptx64"))]
            return sim::multiply_in_lane(
                Site::here(),
                sim::Operation {
                    form: const { sim::Form::of(
                        crate::wgmma_ptx!($selectors "N" $d $a $b $k $option),
                        crate::wgmma_ptx!($selectors $n $d $a $b $k $option),
                        $n,
                    ) },
                    b,
                    transposes_b: $trans_b,
                    accumulates: scale_d,
                    negates_a: $negate_a,
                    negates_b: $negate_b,
                    selector: $selector_simulated,
                },
                d,
                $a_simulated,
                $metadata_simulated,
            );
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
#[inline]
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
#[inline]
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
#[inline]
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
#[inline]
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
