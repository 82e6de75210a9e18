//! Which kernels are selected for an H100 or H200: 132 SMs.

use ptx_matrix::element::bf16;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::kernels::{ClusterAlong, Kernel, Multiply};
use ptx_matrix_gemm::{Choice, Gemm, Layout, Order, Plan};
use std::collections::BTreeSet;

const KERNELS: &[Kernel] = <bf16 as Multiply<bf16>>::KERNELS;

fn named(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).expect("a kernel of the list")
}

fn planned(gemm: &Gemm<bf16>) -> Plan<bf16> {
    gemm.plan(&Simulator::default()).unwrap()
}

/// The selected kernel, with the splits of K.
fn best(gemm: &Gemm<bf16>) -> String {
    planned(gemm).choice().unwrap().to_string()
}

/// The same for row-major A and B.
fn chosen(m: usize, n: usize, k: usize, workspace: usize) -> String {
    best(&Gemm::new(m, n, k).workspace_up_to(workspace))
}

/// The direction of a kernel's clusters.
fn along(gemm: Gemm<bf16>, name: &str) -> ClusterAlong {
    planned(&gemm.choose(Choice::new(name, 1))).cluster_along()
}

/// Elements of a cache line: 128 bytes of bf16.
const LINE: usize = 64;

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
        let gemm = Gemm::<bf16>::new(side, side, side).repack_workspace_up_to(usize::MAX);
        best(&if row_major_b { gemm } else { gemm.b(Layout::col_major(side)) })
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
    for (m, n, k, kernel) in [
        (4104, 4104, 4104, "sm90_bf16_nn_176x192x64_swap_c2"),
        // A little more than sixteen tiles of 128 rows, in one wave.
        (2056, 2056, 2056, "sm90_bf16_nn_176x192x64_swap_c2"),
        (1032, 4104, 2056, "sm90_bf16_nn_176x192x64_swap_c2"),
        (600, 6000, 6000, "sm90_bf16_nn_176x192x64_swap_c2"),
        (2200, 2200, 2200, "sm90_bf16_nn_160x256x64_swap_c2"),
        (1000, 3000, 5000, "sm90_bf16_nn_128x192x64_c2"),
        (5000, 1200, 3000, "sm90_bf16_nn_200x128x64_swap_c2"),
        (2000, 6000, 1000, "sm90_bf16_nn_128x256x64_c2"),
        // A has whole lines.
        (777, 4000, 2048, "sm90_bf16_nn_200x128x64_swap_c2"),
    ] {
        assert_eq!(chosen(m, n, k, 0), kernel, "{m} x {n} x {k}");
    }
    let gemm = Gemm::new(2300, 2048, 2200).b(Layout::row_major(2056));
    assert_eq!(best(&gemm), "sm90_bf16_nn_192x192x64_swap_c2");
}

/// Clusters along N compute one more column of tiles here, in the same wave, and multicast the
/// operand that takes longer to load.
#[test]
fn clusters_multicast_the_slower_operand() {
    let (name, (m, n, k)) = ("sm90_bf16_nn_224x128x64_swap_c2", (1336, 2672, 4008));
    let tiles = [ClusterAlong::N, ClusterAlong::M]
        .map(|along| named(name).tiles(m as u32, n as u32, along));
    assert_eq!(tiles, [132, 126]);
    let gemm = Gemm::new(m, n, k);
    let lines = |length: usize| Layout::row_major(length.next_multiple_of(LINE));
    let with_lines = gemm.clone().a(lines(k)).b(lines(n));
    assert_eq!((along(gemm, name), along(with_lines, name)), (ClusterAlong::N, ClusterAlong::M));
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
    let along = |name, m, n| along(Gemm::new(m, n, 8192), name);
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
    let chosen = |m: usize, n: usize, k: usize, batches: usize| {
        let lines = k.next_multiple_of(LINE);
        let gemm = Gemm::new(m, n, k)
            .batches(batches)
            .a(Layout::row_major(lines).batch_stride(m * lines))
            .b(Layout::row_major(n).batch_stride(k * n))
            .d(Layout::row_major(n).batch_stride(m * n));
        best(&gemm)
    };
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
    let narrow = |m, n| chosen(m, n, 4096, usize::MAX);
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

/// With every kernel that takes row-major matrices.
#[test]
fn no_split_is_empty() {
    let device = Simulator::default();
    let mut tried = BTreeSet::new();
    for k in 1..2000 {
        let lines = |length: usize| Layout::row_major(length.next_multiple_of(LINE));
        let gemm = Gemm::<bf16>::new(1, 1, k).a(lines(k)).b(lines(1)).d(lines(1));
        for choice in gemm.choices(&device) {
            // Splits have whole steps of K.
            let (kernel, splits) = (named(&choice.kernel), choice.k_splits);
            let k_per_split = k.div_ceil(splits).next_multiple_of(kernel.tile.k);
            assert_eq!(k.div_ceil(k_per_split), splits, "K = {k}, {choice}");
            if k % 293 == 0 {
                let plan = gemm.clone().choose(choice).plan(&device);
                assert!(plan.is_ok(), "K = {k}: {}", plan.unwrap_err());
            }
            tried.insert(kernel.name);
        }
    }
    let row_major = |kernel: &&Kernel| kernel.takes(Order::RowMajor, Order::RowMajor);
    assert_eq!(tried, KERNELS.iter().filter(row_major).map(|kernel| kernel.name).collect());
}
