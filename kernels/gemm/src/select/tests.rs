//! Which kernels are selected for an H100 or H200: 132 SMs.

use super::*;
use crate::Order;
use crate::kernels::{ClusterAlong, Multiply};
use ptx_matrix::element::bf16;

const KERNELS: &[Kernel] = <bf16 as Multiply<bf16>>::KERNELS;

fn workload(m: usize, n: usize, k: usize) -> Workload {
    let element_bytes = ElementBytes { operand: 2, output: 2, accumulator: 4 };
    Workload {
        m,
        n,
        k,
        batches: 1,
        element_bytes,
        mma_rate: 1024.0,
        sms: 132,
        can_split_k: true,
        starts_with_lines: LINES,
        elements: PerOperand { a: (m * k) as f64, b: (k * n) as f64 },
        tma_stores_d: true,
    }
}

fn named(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).expect("a kernel of the list")
}

/// A kernel, with A and B not repacked.
fn alone(kernel: &'static Kernel) -> Candidate {
    Candidate { kernel, k_splits: 1, repacked: Repacked::None }
}

/// The best candidate for row-major A and B.
fn best(workload: Workload, workspace: usize) -> String {
    let row_major = |kernel: &&Kernel| kernel.takes(Order::RowMajor, Order::RowMajor);
    let kernels = KERNELS.iter().filter(row_major);
    workload.best(kernels.map(alone), workspace).unwrap().choice().to_string()
}

fn chosen(m: usize, n: usize, k: usize, workspace: usize) -> String {
    best(workload(m, n, k), workspace)
}

const LINES: PerOperand<bool> = PerOperand { a: true, b: true };
const NO_LINES: PerOperand<bool> = PerOperand { a: false, b: false };

#[test]
fn large_gemms_take_large_tiles() {
    for side in [2048, 4096, 8192] {
        assert_eq!(chosen(side, side, side, usize::MAX), "sm90_bf16_nn_128x256x64");
    }
    // The width that leaves the fewest SMs without a tile.
    assert_eq!(chosen(1024, 3072, 5120, usize::MAX), "sm90_bf16_nn_128x192x64_c2");
    assert_eq!(chosen(5120, 1344, 3072, usize::MAX), "sm90_bf16_nn_224x128x64_swap_c2");
}

/// Swap-AB kernels have tiles of any multiple of 8 rows.
#[test]
fn swap_ab_tile_fits_m() {
    assert_eq!(chosen(129, 8192, 8192, 0), "sm90_bf16_nn_80x128x64_swap_c2");
    assert_eq!(chosen(257, 8192, 8192, 0), "sm90_bf16_nn_144x128x64_swap_c2");
    assert_eq!(chosen(300, 8192, 8192, 0), "sm90_bf16_nn_160x128x64_swap_c2");
    assert_eq!(chosen(777, 8192, 8192, 0), "sm90_bf16_nn_200x128x64_swap_c2");
    assert_eq!(chosen(820, 8192, 8192, 0), "sm90_bf16_nn_224x128x64_swap_c2");
    assert_eq!(chosen(1900, 4096, 4096, 0), "sm90_bf16_nn_128x256x64");
    assert_eq!(chosen(160, 4096, 2048, 0), "sm90_bf16_nn_80x64x64_swap_c2");
    assert_eq!(chosen(129, 14336, 4096, 0), "sm90_bf16_nn_144x128x64_swap_c4");
    assert_eq!(chosen(5120, 1216, 3072, 0), "sm90_bf16_nn_200x128x64_swap_c2");
    assert_eq!(chosen(384, 8192, 8192, 0), "sm90_bf16_nn_128x192x64_c2");
    assert_eq!(chosen(1000, 8192, 8192, 0), "sm90_bf16_nn_128x256x64");
}

/// The fewer tiles there are, the more blocks of a cluster split the K of each.
#[test]
fn few_tiles_take_cluster_split_k() {
    assert_eq!(chosen(100, 4096, 4096, 0), "sm90_bf16_nn_128x128x64_split2");
    // Smaller tiles are faster where cluster split-K would have all SMs load whole tiles.
    assert_eq!(chosen(208, 4096, 4096, 0), "sm90_bf16_nn_64x128x64_c2");
    assert_eq!(chosen(256, 1856, 4992, 0), "sm90_bf16_nn_128x128x64_split4");
    assert_eq!(chosen(256, 512, 8192, 0), "sm90_bf16_nn_128x128x64_split8");
    // Also with a workspace for split-K.
    assert_eq!(chosen(256, 1856, 4992, usize::MAX), "sm90_bf16_nn_128x128x64_split4");
    assert!(!chosen(256, 1856, 256, 0).contains("_split"));
}

#[test]
fn operands_that_tma_cannot_load_are_repacked() {
    let chosen = |side: usize, row_major_b: bool| {
        let gemm = crate::Gemm::<bf16>::new(side, side, side).repack_workspace(usize::MAX);
        let gemm = if row_major_b { gemm } else { gemm.b(crate::Layout::col_major(side)) };
        gemm.plan(&ptx_matrix::sim::Simulator::default()).unwrap().choice().unwrap().to_string()
    };
    assert_eq!(chosen(8191, true), "sm90_bf16_nn_128x256x64+a+b");
    assert_eq!(chosen(8191, false), "sm90_bf16_nn_128x256x64+a+b");
    assert_eq!(chosen(1001, true), "sm90_bf16_nn_64x128x64_c2+a+b");
    // Threads store D, which takes longer for large tiles than another wave.
    assert_eq!(chosen(2050, true), "sm90_bf16_nn_128x160x64_c2+a+b");
    assert_eq!(chosen(8192, true), "sm90_bf16_nn_128x256x64");
    // Rows start at multiples of 16 bytes: repacking would cost more than it saves.
    assert_eq!(chosen(4104, true), "sm90_bf16_nn_176x192x64_swap_c2");
}

#[test]
fn tiles_are_small_enough_to_fill_the_device() {
    assert_eq!(chosen(1024, 1024, 1024, usize::MAX), "sm90_bf16_nn_64x128x64_c2");
    assert_eq!(chosen(256, 8192, 1024, usize::MAX), "sm90_bf16_nn_128x128x64_c2");
    assert_eq!(chosen(512, 512, 512, usize::MAX), "sm90_bf16_nn_64x64x64");
}

#[test]
fn clusters_multicast_misaligned_operands() {
    let chosen =
        |m, n, k, lines| best(Workload { starts_with_lines: lines, ..workload(m, n, k) }, 0);
    assert_eq!(chosen(4104, 4104, 4104, NO_LINES), "sm90_bf16_nn_176x192x64_swap_c2");
    // A little more than sixteen tiles of 128 rows, in one wave.
    assert_eq!(chosen(2056, 2056, 2056, NO_LINES), "sm90_bf16_nn_176x192x64_swap_c2");
    assert_eq!(chosen(1032, 4104, 2056, NO_LINES), "sm90_bf16_nn_176x192x64_swap_c2");
    assert_eq!(chosen(600, 6000, 6000, NO_LINES), "sm90_bf16_nn_176x192x64_swap_c2");
    assert_eq!(chosen(2200, 2200, 2200, NO_LINES), "sm90_bf16_nn_160x256x64_swap_c2");
    assert_eq!(chosen(2300, 2048, 2200, NO_LINES), "sm90_bf16_nn_192x192x64_swap_c2");
    assert_eq!(chosen(1000, 3000, 5000, NO_LINES), "sm90_bf16_nn_128x192x64_c2");
    assert_eq!(chosen(5000, 1200, 3000, NO_LINES), "sm90_bf16_nn_200x128x64_swap_c2");
    assert_eq!(chosen(2000, 6000, 1000, NO_LINES), "sm90_bf16_nn_128x256x64_c2");
    assert_eq!(
        chosen(777, 4000, 2048, PerOperand { a: true, b: false }),
        "sm90_bf16_nn_200x128x64_swap_c2"
    );
}

/// Clusters along N compute one more column of tiles here, in the same wave, and multicast the
/// operand that takes longer to load.
#[test]
fn clusters_multicast_the_slower_operand() {
    let kernel = named("sm90_bf16_nn_224x128x64_swap_c2");
    let tiles = [ClusterAlong::N, ClusterAlong::M].map(|along| kernel.tiles(1336, 2672, along));
    assert_eq!(tiles, [132, 126]);
    let along = |starts_with_lines| {
        let workload = Workload { starts_with_lines, ..workload(1336, 2672, 4008) };
        workload.cluster_along(alone(kernel))
    };
    assert_eq!((along(NO_LINES), along(LINES)), (ClusterAlong::N, ClusterAlong::M));
}

/// Clusters of four hold all tiles of a column, if they fit one wave; else clusters of two.
#[test]
fn clusters_of_four_take_one_wave() {
    assert_eq!(chosen(300, 5120, 5120, 0), "sm90_bf16_nn_112x128x64_swap_c4");
    assert_eq!(chosen(320, 4096, 4096, 0), "sm90_bf16_nn_80x128x64_swap_c2");
    assert_eq!(named("sm90_bf16_nn_80x128x64_swap_c4").at_once(132), 120);
    assert_eq!(named("sm90_bf16_nn_80x128x64_swap_c2").at_once(132), 132);
    assert_eq!(named("sm90_bf16_nn_128x128x64_split8").at_once(1), 8);
}

/// With few rows, every cluster loads all of A, and few load each row of B: so B is multicast.
/// Likewise with few columns. Otherwise the longer side of the tile is.
#[test]
fn clusters_multicast_rows_that_few_load() {
    let along = |name, m, n| workload(m, n, 8192).cluster_along(alone(named(name)));
    for (name, few_rows, few_cols) in
        [("sm90_bf16_nn_144x128x64_swap_c2", 257, 256), ("sm90_bf16_nn_80x64x64_swap_c2", 129, 128)]
    {
        assert_eq!(along(name, few_rows, 8192), ClusterAlong::M, "{name}");
        assert_eq!(along(name, 8192, few_cols), ClusterAlong::N, "{name}");
    }
    assert_eq!(along("sm90_bf16_nn_224x128x64_swap_c2", 7680, 7680), ClusterAlong::N);
    assert_eq!(along("sm90_bf16_nn_128x256x64_c2", 8192, 8192), ClusterAlong::M);
}

#[test]
fn small_m_selects_low_tiles_and_split_k() {
    let split = chosen(16, 1024, 8192, usize::MAX);
    assert!(split.starts_with("sm80_bf16_nn_16x64x64/"), "{split}");
    // Without a workspace, cluster split-K.
    assert_eq!(chosen(16, 1024, 8192, 0), "sm90_bf16_nn_128x128x64_split8");
    assert_eq!(chosen(16, 8192, 8192, usize::MAX), "sm80_bf16_nn_16x64x64");
    for m in [1, 16] {
        assert_eq!(chosen(m, 8192, 8192, usize::MAX), "sm80_bf16_nn_16x64x64", "{m} rows");
    }
    for m in [24, 32, 48] {
        assert_eq!(chosen(m, 8192, 8192, usize::MAX), "sm90_bf16_nn_64x64x64", "{m} rows");
    }
    // No split-K where tiles fill the device: the second launch would cost more.
    assert_eq!(chosen(64, 8192, 8192, usize::MAX), "sm90_bf16_nn_64x64x64");
}

/// With a short K the epilogue takes longest: large tiles of persistent blocks are fastest.
#[test]
fn short_k_selects_large_persistent_tiles() {
    let chosen = |m, n, k, batches| best(Workload { batches, ..workload(m, n, k) }, 0);
    for (m, n, k, batches) in [
        (2048, 2048, 128, 64),
        (1024, 1024, 64, 64),
        (512, 512, 64, 64),
        (8192, 8192, 32, 1),
        (4096, 4096, 64, 1),
    ] {
        assert_eq!(
            chosen(m, n, k, batches),
            "sm90_bf16_nn_128x256x64",
            "{batches} of {m} x {n} x {k}"
        );
    }
    assert_eq!(chosen(2048, 128, 128, 64), "sm90_bf16_nn_128x128x64_c2");
}

/// Also where a cache line holds several rows of B, which `cp.async` loads slowly.
#[test]
fn few_columns_take_narrow_tiles() {
    let narrow = |m, n| {
        let starts_with_lines = PerOperand { a: true, b: n % 64 == 0 };
        best(Workload { starts_with_lines, ..workload(m, n, 4096) }, usize::MAX)
    };
    for (m, n) in [(4096, 32), (4096, 64), (4096, 128), (16384, 64)] {
        assert_eq!(narrow(m, n), "sm90_bf16_nn_64x64x64", "{n} columns");
    }
    assert_eq!(narrow(16384, 8), "sm90_bf16_nn_144x128x64_swap_c4");
    // A tile of 128 rows would be out of bounds by 28.
    assert_eq!(chosen(100, 4096, 4096, 0), "sm90_bf16_nn_128x128x64_split2");
}

#[test]
fn no_split_k_where_tiles_fill_the_device() {
    assert!(!chosen(4096, 4096, 65536, usize::MAX).contains('/'));
}

#[test]
fn no_split_is_empty() {
    for k in 1..2000 {
        let workload = workload(1, 1, k);
        for kernel in KERNELS {
            for splits in workload.k_splits(kernel) {
                let k_per_split = workload.k_per_split(kernel, splits);
                assert!(
                    (splits - 1) * k_per_split < k && splits * k_per_split >= k,
                    "{k} in {splits} splits of {k_per_split}"
                );
                assert!(k_per_split.is_multiple_of(kernel.tile.k));
            }
        }
    }
}
