//! Programmatic dependent launch (`griddepcontrol`): a kernel begins before the preceding kernels
//! have ended.
//!
//! On older targets, and on the CPU, kernels run one after the other, and these functions do
//! nothing. For older targets, the builder leaves out the instructions, which are marked with the
//! first target that has them. So they make no difference to the IR, and the optimiser runs once
//! for a kernel.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Lets the blocks of the next kernel start.
#[inline]
pub(crate) fn launch() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory.
    unsafe {
        asm!("griddepcontrol.launch_dependents; // ptx-matrix: from sm_90", options(nostack));
    }
}

/// Waits until the preceding kernels have ended.
#[inline]
pub(crate) fn wait() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        asm!("griddepcontrol.wait; // ptx-matrix: from sm_90", options(nostack));
    }
}
