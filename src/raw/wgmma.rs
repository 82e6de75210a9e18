//! Asynchronous matrix multiply-accumulate of a warpgroup: `wgmma` (PTX ISA 9.7.15). sm_90a. PTX
//! 8.0; 8.2 with a sparse A.

#[cfg(not(target_arch = "nvptx64"))]
use crate::{engine::wgmma as sim, lane::Site};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use ptx_matrix_macros::wgmma_functions;

/// A function of a form. [`wgmma_functions`] calls it with the parts in which the functions differ.
macro_rules! function {
    ($name:ident $doc:literal [$($generics:tt)*] $words:literal [$($register:ident)*]
        [$($parameters:tt)*] $instruction:literal [$($operands:tt)*]
        ($family:literal $ptx:literal $n:literal $selectors:tt)
        [$b:expr, $transposes_b:expr, $accumulates:expr, $negates_a:expr, $negates_b:expr,
         $metadata:expr, $selector:expr, $a:expr]) => {
        /// Multiplies A and B, and accumulates, asynchronously: D = A x B + D, or D = A x B if
        /// `scale_d` is false.
        ///
        #[doc = $doc]
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
        pub unsafe fn $name<$($generics)*>(d: [u32; $words], $($parameters)*) -> [u32; $words] {
            function! { @check $selectors }
            #[cfg(target_arch = "nvptx64")]
            {
                let [$(mut $register),*] = d;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        $instruction,
                        $(inout(reg32) $register,)*
                        $($operands)*
                        options(nostack)
                    );
                }
                [$($register),*]
            }
            #[cfg(not(target_arch = "nvptx64"))]
            sim::multiply_in_lane(
                Site::here(),
                sim::Operation {
                    form: const { sim::Form::of($family, $ptx, $n) },
                    b: $b,
                    transposes_b: $transposes_b,
                    accumulates: $accumulates,
                    negates_a: $negates_a,
                    negates_b: $negates_b,
                    selector: $selector,
                },
                d,
                $a,
                $metadata,
            )
        }
    };
    (@check 0) => {};
    (@check $selectors:literal) => {
        const {
            assert!(
                SELECTOR < $selectors,
                concat!("the selector of this form is below ", $selectors)
            )
        };
    };
}

/// The functions of each form: with A in shared memory (`_ss`), and in registers (`_rs`).
macro_rules! functions {
    ($($d:ident $elements:tt $k:literal $option:ident $columns:ident $per:tt $immediates:ident
        $selectors:tt $version:literal;)*) => {$(
        crate::wgmma_columns! { $columns =>
            [wgmma_functions] ($d $elements $k $option $per $immediates $selectors) }
    )*};
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
