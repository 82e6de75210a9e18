//! A kernel that fails. It has its own process, because nothing more runs in a process after a
//! failure.

mod stand_in;

use ptx_matrix_host::{Gpu, LaunchRequest};

#[test]
fn ignored_tests_pass_on_the_stand_in() {
    stand_in::run_ignored_tests();
}

#[test]
#[ignore = "needs a GPU"]
fn errors_name_the_failed_kernel() {
    let gpu = Gpu::open(0).unwrap();
    let module = gpu.load(stand_in::KERNELS).unwrap();
    let buffer = gpu.upload(&[1_u8]).unwrap();
    let request = LaunchRequest {
        kernel: "traps",
        grid: [2, 1, 1],
        threads: 32,
        dynamic_shared_bytes: 0,
        dependent: false,
        params: &[],
    };
    let earlier = LaunchRequest {
        kernel: "scale",
        threads: 128,
        params: &[&[0; 8], &[0; 8], &[0; 4]],
        ..request
    };
    // SAFETY: this launch of `scale` has no elements.
    unsafe { gpu.stream().launch(&module, &earlier) }.unwrap();
    // SAFETY: `traps` takes no parameters.
    let message = unsafe { gpu.launch(&module, &request) }.unwrap_err().to_string();
    assert!(message.starts_with("kernel `traps` failed on device 0 ("), "{message}");
    assert!(message.contains("launched with 2x1x1 blocks of 32 threads"), "{message}");
    assert!(message.contains("a trap"), "{message}");
    assert!(
        message.ends_with(
            "; or one of the kernels failed that were launched before it and not waited for: scale"
        ),
        "{message}"
    );

    let later = buffer.download().unwrap_err().to_string();
    assert!(
        later.starts_with("nothing more can run on this device until the process starts again"),
        "{later}"
    );
    assert!(later.contains("kernel `traps` failed"), "{later}");
}
