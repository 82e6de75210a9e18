//! GEMMs on `wgmma`: blocks with several tiles, and all epilogues.

use super::case::{Case, PLAIN, check, check_kernels, check_kernels_there};
use ptx_matrix::element::{F8E4M3, bf16, f16};
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply};
use ptx_matrix_gemm::parts::TileShape;

/// One kernel. The others of its kind differ only in the tiles of A and B.
fn one(kernel: &&Kernel) -> bool {
    kernel.name == "sm90_bf16_nt_128x256x64"
}

/// More steps of K than stages, and D ends within tiles. (`large_tiles` has all layouts.)
#[test]
fn more_tiles_than_blocks() {
    let case = Case { size: (140, 24, 330), padding: 8, start: 8, alpha: 2, ..PLAIN };
    check_kernels!(bf16 bf16, |kernel| kernel.name == "sm90_bf16_tn_128x256x64", case);
}

#[test]
fn c_bias_and_activation() {
    let case =
        Case { size: (70, 24, 72), beta: -3, bias: true, activation: Activation::Relu, ..PLAIN };
    check_kernels!(bf16 bf16, one, case);
    check_kernels!(bf16 bf16, one, Case { bias_per_row: true, beta: 0, ..case });
    // A kernel with narrower epilogue sub-tiles.
    let narrower = |kernel: &&Kernel| kernel.name == "sm90_bf16_nn_128x160x64_c2";
    check_kernels!(bf16 bf16, narrower, Case { size: (70, 136, 24), ..case });
}

#[test]
fn batches_and_parts() {
    let case = Case { size: (65, 24, 200), batches: 2, padding: 8, beta: 1, ..PLAIN };
    check_kernels!(bf16 bf16, one, case);
    check_kernels!(bf16 bf16, one, case, 2);
}

/// Threads store a D that no tensor map can describe, with all epilogues and every width of
/// sub-tiles.
#[test]
fn unaligned_d() {
    let case =
        Case { size: (70, 37, 72), unaligned_d: true, batches: 2, padding: 8, start: 8, ..PLAIN };
    check_kernels!(bf16 bf16, one, Case { start: 16, schedules: 3, ..case });
    check_kernels!(bf16 bf16, one, Case { beta: 2, bias: true, ..case });
    let several_tiles = Case { size: (130, 261, 70), batches: 1, ..case };
    check_kernels!(bf16 bf16, |kernel| kernel.uses_tma, several_tiles);
    check_kernels!(i8 i32, |kernel| kernel.uses_tma, Case { padding: 16, start: 16, ..case });
}

#[test]
fn three_schedules() {
    check_kernels!(bf16 bf16, one, Case { size: (20, 24, 330), schedules: 3, ..PLAIN });
}

/// 8-bit GEMMs: with promotion to f32 in each step, for more steps than stages, and with fast
/// accumulation.
#[test]
fn sums_taken_out() {
    let case = Case { size: (140, 24, 700), alpha: 2, schedules: 2, ..PLAIN };
    check_kernels!(F8E4M3 f16, |kernel| kernel.name == "sm90_e4m3_f16_nt_128x256x128_c2", case);
    check_kernels!(F8E4M3 f16, |kernel| kernel.fast_accumulation, case);
}

/// Multicast. Blocks of a cluster that are adjacent along M load parts of B for each other. Blocks
/// that are adjacent along N load parts of A for each other. One direction has three tiles, so the
/// last block of a cluster has no part of D. The other direction has two.
#[test]
fn multicasts_along_m_and_n() {
    for kernel in <bf16 as Multiply<bf16>>::KERNELS
        .iter()
        .filter(|kernel| kernel.info.cluster.blocks() > 1 && kernel.blocks_per_tile == 1)
    {
        let TileShape { m: height, n: width, .. } = kernel.tile;
        for (m, n) in [(2 * height + 14, width + 8), (height + 14, 2 * width + 8)] {
            for along_n in [true, false] {
                check::<bf16, bf16>(
                    kernel,
                    Case { size: (m, n, 70), cluster_along_n: Some(along_n), ..PLAIN },
                    1,
                );
            }
        }
    }
}

/// Tiles that are partly out of bounds. After the first pass through the stages, only their inner
/// parts are loaded again, by one block or by both.
#[test]
fn partial_tiles() {
    let names = [
        "sm90_bf16_nt_144x128x64_swap_c2",
        "sm90_bf16_nn_144x128x64_swap_c2",
        "sm90_bf16_nn_200x128x64_swap_c2",
        "sm90_bf16_nn_176x192x64_swap_c2",
        "sm90_bf16_nt_192x192x64_swap_c2",
        "sm90_bf16_nn_160x256x64_swap_c2",
        "sm90_bf16_nt_128x192x64_c2",
        "sm90_bf16_nt_128x256x64",
    ];
    for name in names {
        let mut kernels = <bf16 as Multiply<bf16>>::KERNELS.iter();
        let kernel = kernels.find(|kernel| kernel.name == name).expect(name);
        let TileShape { m: height, n: width, .. } = kernel.tile;
        for (m, n) in [(2 * height + 20, width + 9), (height + 9, 2 * width + 20), (9, 7)] {
            check::<bf16, bf16>(kernel, Case { size: (m, n, 530), padding: 8, ..PLAIN }, 1);
        }
    }
}

/// Swap-AB kernels with all epilogues. D ends within tiles in both directions.
#[test]
fn transposes() {
    let these = |kernel: &&Kernel| kernel.swaps_ab;
    assert!(<bf16 as Multiply<bf16>>::KERNELS.iter().any(|kernel| kernel.swaps_ab));
    let case = Case { size: (70, 140, 72), padding: 8, start: 8, ..PLAIN };
    check_kernels!(bf16 bf16, these, Case { alpha: 2, ..case });
    // One step of K is enough for the tests of epilogues.
    let case = Case { size: (70, 140, 40), ..case };
    let relu = Activation::Relu;
    check_kernels!(bf16 bf16, these, Case { beta: -3, bias: true, activation: relu, ..case });
    check_kernels!(bf16 bf16, these, Case { bias: true, bias_per_row: true, batches: 2, ..case });
    check_kernels!(bf16 bf16, these, Case { size: (65, 24, 200), batches: 2, beta: 1, ..case }, 2);
    let unaligned_d = Case { size: (70, 37, 40), unaligned_d: true, batches: 2, ..case };
    check_kernels!(bf16 bf16, these, unaligned_d);
    // In these kernels, the epilogue sub-tiles and the parts of the accumulators have other widths.
    // In the second and the third, consumers are adjacent along N. In the last one, each has 128
    // rows.
    let names = [
        "sm90_bf16_nt_200x128x64_swap_c2",
        "sm90_bf16_nn_192x192x64_swap_c2",
        "sm90_bf16_nt_176x192x64_swap_c2",
        "sm90_bf16_nt_160x256x64_swap_c2",
    ];
    for kernel in
        <bf16 as Multiply<bf16>>::KERNELS.iter().filter(|kernel| names.contains(&kernel.name))
    {
        check::<bf16, bf16>(kernel, Case { size: (203, 216, 40), beta: 2, bias: true, ..case }, 1);
        check::<bf16, bf16>(
            kernel,
            Case { size: (203, 184, 40), bias: true, bias_per_row: true, ..case },
            1,
        );
        check::<bf16, bf16>(kernel, Case { size: (203, 136, 200), ..case }, 2);
        check::<bf16, bf16>(kernel, Case { size: (203, 181, 40), unaligned_d: true, ..case }, 1);
    }
}

/// Cluster split-K: the blocks of a cluster compute one tile, each a part of K. K has fewer steps
/// than blocks, or enough that each block refills its stages.
#[test]
fn tiles_of_several_blocks() {
    let these = |kernel: &&Kernel| kernel.blocks_per_tile > 1;
    assert!(<bf16 as Multiply<bf16>>::KERNELS.iter().any(|kernel| kernel.blocks_per_tile > 1));
    let case = Case { size: (70, 136, 1100), padding: 8, start: 8, alpha: 2, ..PLAIN };
    check_kernels!(bf16 bf16, these, Case { schedules: 3, ..case });
    let (bias, relu) = (Case { bias: true, ..case }, Activation::Relu);
    let short_k = Case { size: (130, 24, 40), beta: -3, activation: relu, ..bias };
    check_kernels!(bf16 bf16, these, short_k);
    let per_row = Case { size: (24, 140, 530), beta: 1, bias_per_row: true, batches: 2, ..bias };
    check_kernels!(bf16 bf16, these, per_row);
    check_kernels!(bf16 bf16, these, Case { size: (65, 24, 600), batches: 2, beta: 1, ..case }, 2);
    let unaligned_d = Case { size: (70, 37, 200), unaligned_d: true, batches: 2, ..case };
    check_kernels!(bf16 bf16, these, unaligned_d);
}
