//! What the optimiser and the assembler are told of a number. On the CPU it stays as it is.

/// The same number, of which the compiler knows nothing: a loop from it on is not unrolled to the
/// end, which for a tile would be hundreds of times; nor is what follows from it computed before a
/// loop around that, to be kept in registers.
#[inline(always)]
pub(crate) fn opaque(number: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same: u64;
        // SAFETY: it moves a number.
        unsafe {
            core::arch::asm!("mov.b64 {same}, {number};", same = lateout(reg64) same, number = in(reg64) number as u64, options(nomem, nostack))
        };
        same as usize
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// The same number, which all lanes of the warp have: of that the assembler, to which a thread's
/// index differs by lane, learns by a `shfl.sync` (PTX ISA 9.7.9.6), and keeps what follows from it
/// in uniform registers, and branches on it whole.
///
/// # Safety
/// All lanes of the warp are there, converged, with the same number.
#[inline(always)]
pub(crate) unsafe fn uniform(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same;
        // SAFETY: the caller's.
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

/// Whether it is so in all lanes of the warp (`vote.sync.all`, PTX ISA 9.7.13.9): the assembler,
/// which of an answer of memory's does not know that all lanes have it, learns it so, and branches
/// on it whole.
///
/// # Safety
/// All lanes of the warp are there, converged.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn all(so: bool) -> bool {
    let all: u32;
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred p; setp.ne.b32 p, {so}, 0; vote.sync.all.pred p, p, 0xffffffff; selp.b32 {all}, 1, 0, p; }}",
            all = lateout(reg32) all, so = in(reg32) so as u32, options(nomem, nostack)
        );
    }
    all != 0
}

/// The same number, which the compiler neither computes before a loop, to keep it in a register,
/// nor takes apart.
#[inline(always)]
pub(crate) fn fixed(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    return {
        let same;
        // SAFETY: it moves a number.
        unsafe {
            core::arch::asm!("mov.b32 {same}, {number};", same = lateout(reg32) same, number = in(reg32) number,
                options(nomem, nostack));
        }
        same
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// On the CPU, the number or the most that it may be: on the GPU what is larger is found beyond a
/// slice as well.
#[inline(always)]
pub(crate) fn clamped(number: usize, most: usize) -> usize {
    #[cfg(target_arch = "nvptx64")]
    return {
        let _ = most;
        number
    };
    #[cfg(not(target_arch = "nvptx64"))]
    number.min(most)
}
