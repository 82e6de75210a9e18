//! Programmatic dependent launch (`griddepcontrol`): a kernel begins before the preceding kernels
//! have ended. On other targets these functions do nothing, since kernels run one after the other.

/// Lets the blocks of the next kernel start.
#[inline]
pub(crate) fn launch() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    crate::raw::griddepcontrol_launch_dependents();
}

/// Waits until the preceding kernels have ended.
#[inline]
pub(crate) fn wait() {
    #[cfg(all(target_arch = "nvptx64", target_feature = "sm_90"))]
    crate::raw::griddepcontrol_wait();
}
