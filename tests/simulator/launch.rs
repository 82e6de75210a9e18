//! Launches that every GPU rejects.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, SimError};

#[track_caller]
fn message(error: &SimError) -> &str {
    assert_eq!((&error.place, error.block, error.warp, error.lane), (&None, None, None, None));
    let Misuse::Launch { message } = &error.misuse else { panic!("{error}") };
    message
}

#[kernel(threads = 32)]
fn nothing(_: &Block) {}

#[test]
fn empty_grid_is_an_error() {
    for grid in [(0, 1, 1), (1, 0, 1), (1, 1, 0)] {
        let error = nothing::simulate(grid).unwrap_err();
        let message = message(&error);
        assert!(message.contains(&format!("a grid of {grid:?} has no blocks")), "{message}");
    }
    assert_eq!(nothing::simulate((1, 1, 1)).unwrap().blocks, 1);
}

#[test]
fn too_large_grid_is_an_error() {
    for grid in
        [(1, 65_536, 1), (1, 1, 65_536), (1 << 31, 1, 1), (1, u32::MAX, u32::MAX), (u32::MAX, 1, 1)]
    {
        let error = nothing::simulate(grid).unwrap_err();
        let message = message(&error);
        assert!(
            message.starts_with(&format!("a grid of {grid:?} is larger than any GPU takes")),
            "{message}"
        );
        assert!(message.contains("at most (2147483647, 65535, 65535)"), "{message}");
    }
    assert_eq!(nothing::simulate((1, 65_535, 1)).unwrap().blocks, 65_535);
}

#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn pairs(_: &ClusterBlock<2>) {}

#[test]
fn too_large_grid_of_clusters_is_an_error() {
    let error = pairs::simulate((2, 65_536, 1)).unwrap_err();
    assert!(message(&error).contains("larger than any GPU takes"), "{error}");
    assert_eq!(pairs::simulate((2, 3, 1)).unwrap().blocks, 6);
}

/// A kernel description that `#[kernel]` does not generate.
#[test]
fn rejects_kernels_that_no_gpu_runs() {
    use ptx_matrix::launch::{Device, KernelInfo, Launch, Params};
    let body = |_: &Block| {};
    let launch = |change: fn(&mut KernelInfo)| -> Result<_, String> {
        let kernel = Box::leak(Box::new(nothing::INFO));
        change(kernel);
        let launch = Launch {
            kernel,
            grid: 1.into(),
            params: &Params::new(),
            body: &body,
            id: Default::default(),
            name_byte: |_, _| {},
        };
        // SAFETY: The kernel accesses nothing.
        unsafe { ptx_matrix::sim::Simulator::default().launch(launch) }
            .map_err(|error| message(&error).to_owned())
    };
    launch(|_| {}).unwrap();
    let error = launch(|kernel| kernel.threads = 2048).unwrap_err();
    assert!(
        error
            .contains("a block of 2048 threads, which no GPU runs: a multiple of 32, at most 1024"),
        "{error}"
    );
    assert!(launch(|kernel| kernel.threads = 48).unwrap_err().contains("a multiple of 32"));
    let error = launch(|kernel| kernel.shared_bytes = 227 * 1024 + 16).unwrap_err();
    assert!(
        error.contains("232464 bytes of shared memory, which no GPU has: at most 232448"),
        "{error}"
    );
    let error = launch(|kernel| kernel.cluster.x = 16).unwrap_err();
    assert!(error.contains("a cluster of (16, 1, 1) has 16 blocks: from 1 to 8"), "{error}");
}

#[kernel(threads = 32)]
fn all_shared_memory(_: &Block, #[shared] _tile: SharedTile<u8, { 227 * 64 }, 16>) {}

#[test]
fn block_with_all_shared_memory_runs() {
    all_shared_memory::simulate(1).unwrap();
}
