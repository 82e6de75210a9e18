//! A program with this crate starts anywhere, and reports a missing driver in one line.

use std::fs;
use std::path::Path;

use ptx_matrix_host::{Gpu, GpuError};

/// Whether the driver's library is loaded in this process.
fn driver_is_mapped() -> bool {
    fs::read_to_string("/proc/self/maps").unwrap().contains("libcuda.so")
}

// No other test of this program calls the driver: once opened, it stays in the process.
#[test]
fn missing_driver_is_a_one_line_error_on_first_use() {
    assert!(!driver_is_mapped(), "the program was linked against the driver");
    match Gpu::open(0) {
        Err(GpuError::NoDriver(error)) => {
            let line = error.to_string();
            assert!(line.starts_with("no NVIDIA driver on this machine: libcuda.so.1: "), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert!(matches!(Gpu::list(), Err(GpuError::NoDriver(_))));
        }
        // Here is a driver, which is loaded by now, whatever it returned.
        _ => assert!(driver_is_mapped()),
    }
}

#[test]
fn stub_of_libcuda_is_empty() {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("cuda/lib64/libcuda.a");
    assert_eq!(fs::read(archive).unwrap(), b"!<arch>\n");
}
