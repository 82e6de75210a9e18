//! Checks of what a kernel does: on the GPU a trap, on the CPU a finding.

/// `check!(condition, site, Misuse { .. })`: where the condition does not hold, the kernel stops:
/// on the host with a report of the misuse, on the device with a trap.
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
