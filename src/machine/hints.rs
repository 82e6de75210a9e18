//! Optimisation barriers: hints for the compiler and the assembler. On the CPU they do nothing.

/// Returns the number, and hides its value from the compiler.
///
/// A loop that depends on it is not fully unrolled, which for a tile would mean hundreds of copies.
/// Values that depend on it are not hoisted out of a surrounding loop into registers.
#[inline]
pub(crate) fn opaque(number: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same: u64;
        // SAFETY: it only moves a number.
        unsafe {
            core::arch::asm!(
                "mov.b64 {same}, {number};", same = lateout(reg64) same,
                number = in(reg64) number as u64, options(nomem, nostack)
            )
        };
        same as usize
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// Returns the number of lane 0 in all lanes, and tells the assembler that it is the same. (On the
/// CPU, the lanes have the same number.)
///
/// The assembler assumes that values derived from a thread's index differ between lanes. After a
/// `shfl.sync` (PTX ISA 9.7.9.6) it keeps derived values in uniform registers, and treats branches
/// on them as uniform.
///
/// # Safety
/// All lanes of the warp are converged.
#[inline]
pub(crate) unsafe fn uniform(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same;
        // SAFETY: guaranteed by the caller.
        unsafe {
            core::arch::asm!(
                "shfl.sync.idx.b32 {same}, {number}, 0, 31, 0xffffffff;",
                same = lateout(reg32) same, number = in(reg32) number, options(nomem, nostack)
            );
        }
        same
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// Whether the condition holds in all lanes of the warp (`vote.sync.all`, PTX ISA 9.7.13.9).
///
/// The assembler cannot know that a result from memory is equal in all lanes. After the vote it
/// treats branches on it as uniform.
///
/// # Safety
/// All lanes of the warp are converged.
#[cfg(target_arch = "nvptx64")]
#[inline]
pub(crate) unsafe fn all(so: bool) -> bool {
    let all: u32;
    // SAFETY: guaranteed by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred p; setp.ne.b32 p, {so}, 0; vote.sync.all.pred p, p, 0xffffffff; \
             selp.b32 {all}, 1, 0, p; }}",
            all = lateout(reg32) all, so = in(reg32) so as u32, options(nomem, nostack)
        );
    }
    all != 0
}

/// Returns the number. The compiler neither hoists it out of a loop into a register, nor splits it.
#[inline]
pub(crate) fn fixed(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same;
        // SAFETY: it only moves a number.
        unsafe {
            core::arch::asm!("mov.b32 {same}, {number};", same = lateout(reg32) same,
                number = in(reg32) number,
                options(nomem, nostack));
        }
        same
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number
}
