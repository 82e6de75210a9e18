//! `griddepcontrol`: kernels that begin before those ahead have ended. Elsewhere they begin behind
//! them anyway.

/// Lets the blocks of the kernel behind come.
#[inline(always)]
pub(crate) fn launch() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    crate::raw::griddepcontrol_launch_dependents();
}

/// Waits until the kernels ahead have ended.
#[inline(always)]
pub(crate) fn wait() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    crate::raw::griddepcontrol_wait();
}
