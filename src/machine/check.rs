//! Checks of a kernel's operations: a trap on the GPU, a finding on the CPU.

/// `check!(condition, site, Misuse { .. })` stops the kernel if the condition is false.
///
/// The host reports the misuse; the device traps.
macro_rules! check {
    ($condition:expr, $site:expr, $misuse:ident { $($field:tt)* }) => {
        if !$condition {
            #[cfg(target_arch = "nvptx64")]
            {
                let _ = $site;
                crate::raw::trap();
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::engine::fail($site, crate::engine::Misuse::$misuse { $($field)* });
        }
    };
}
pub(crate) use check;
