//! Passes the driver's status codes to `cust`.

use std::cell::Cell;

/// `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED`: every function returns it if there is no driver.
pub(super) const NO_LIBRARY: u32 = 303;
/// `CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND`: a function that this driver lacks returns it.
pub(super) const NO_SYMBOL: u32 = 302;

const SUCCESS: u32 = 0;
const UNKNOWN: u32 = 999;

thread_local! {
    static LAST_FAILURE: Cell<u32> = const { Cell::new(SUCCESS) };
}

/// Stores a failure for [`last_failure`], and converts any status to one that `cust` can hold.
///
/// `cust` declares the status as a Rust enum with the codes of CUDA 11.4. A newer driver's code
/// must not reach it, because an enum outside its values is undefined behaviour.
pub(super) fn pass_on(status: u32) -> u32 {
    if status != SUCCESS {
        LAST_FAILURE.set(status);
    }
    if is_known_to_cust(status) { status } else { UNKNOWN }
}

/// Returns the driver's own code for this thread's last failed call.
pub(super) fn last_failure() -> u32 {
    LAST_FAILURE.get()
}

fn is_known_to_cust(status: u32) -> bool {
    matches!(
        status,
        0..=8
            | 34
            | 100..=102
            | 200..=202
            | 205..=224
            | 300..=304
            | 400..=401
            | 500
            | 600
            | 700..=705
            | 708..=720
            | 800..=809
            | 900..=911
            | UNKNOWN
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_a_newer_driver_is_unknown_and_kept() {
        let invalid_cluster_size = 912;
        assert_eq!(pass_on(invalid_cluster_size), UNKNOWN);
        assert_eq!(last_failure(), invalid_cluster_size);
    }

    #[test]
    fn success_keeps_the_last_failure() {
        pass_on(700);
        assert_eq!(pass_on(SUCCESS), SUCCESS);
        assert_eq!(last_failure(), 700);
    }
}
