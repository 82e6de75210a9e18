//! Launches that every GPU rejects.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Arch, Misuse, SimError, Simulator};

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
            takes_turns: false,
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

#[kernel(threads = 32, cluster = 2)]
fn pair(_: &Block) {}

#[kernel(threads = 32, target = "sm_90")]
fn since_hopper(_: &Block) {}

#[kernel(threads = 32, target = "sm_90a or sm_120a")]
fn on_hopper_or_geforce(_: &Block) {}

/// What a named GPU lacks.
#[test]
fn simulated_gpu_has_the_kernel_and_its_memory() {
    fn check(
        kernel: &ptx_matrix::launch::KernelInfo,
        launch: impl Fn(&Simulator) -> Result<ptx_matrix::sim::Report, SimError>,
        refusing: &[(Arch, &str)],
    ) {
        for &gpu in Arch::ALL {
            let simulator = Simulator::default().gpu(gpu);
            let launched = launch(&simulator);
            assert_eq!(simulator.can_run(kernel), launched.is_ok(), "{gpu}");
            match refusing.iter().find(|(refuses, _)| *refuses == gpu) {
                Some((_, part)) => {
                    let error = launched.unwrap_err();
                    assert!(message(&error).contains(part), "{gpu}: {error}");
                }
                None => drop(launched.unwrap()),
            }
        }
        assert!(Simulator::default().can_run(kernel));
        launch(&Simulator::default()).unwrap();
    }
    let older = [Arch::SM_70, Arch::SM_75, Arch::SM_80, Arch::SM_86, Arch::SM_87, Arch::SM_89];
    let memory = |gpu| match gpu {
        Arch::SM_70 => (gpu, "sm_70, which is simulated, has at most 98304"),
        Arch::SM_75 => (gpu, "sm_75, which is simulated, has at most 65536"),
        Arch::SM_80 | Arch::SM_87 => (gpu, "which is simulated, has at most 166912"),
        _ => (gpu, "which is simulated, has at most 101376"),
    };
    let small = [&older[..], &[Arch::SM_120, Arch::SM_121]].concat();
    check(
        &all_shared_memory::INFO,
        |simulator| all_shared_memory::launch(simulator, 1),
        &small.into_iter().map(memory).collect::<Vec<_>>(),
    );
    check(
        &pair::INFO,
        |simulator| pair::launch(simulator, 2),
        &older.map(|gpu| (gpu, "a cluster of (2, 1, 1): clusters need sm_90")),
    );
    check(
        &since_hopper::INFO,
        |simulator| since_hopper::launch(simulator, 1),
        &older.map(|gpu| (gpu, "a kernel for sm_90: no build for sm_")),
    );
    let others = [&older[..], &[Arch::SM_100, Arch::SM_103, Arch::SM_110, Arch::SM_121]].concat();
    let refusing: Vec<_> =
        others.into_iter().map(|gpu| (gpu, "a kernel for sm_90a or sm_120a: no build")).collect();
    check(
        &on_hopper_or_geforce::INFO,
        |simulator| on_hopper_or_geforce::launch(simulator, 1),
        &refusing,
    );
}
