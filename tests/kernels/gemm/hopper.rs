//! The products on `wgmma`: blocks that compute several tiles, and all that becomes of the sums.

use super::case::{Case, PLAIN, check, check_kernels};
use ptx_matrix::element::{F8E4M3, bf16, f16};
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply};
use ptx_matrix_gemm::parts::TileShape;

/// One kernel: the others differ from it in the tiles of A and B alone.
fn one(kernel: &&Kernel) -> bool {
    kernel.name == "sm90_bf16_nt_128x256x64"
}

/// Of more steps than there are stages; D ends within tiles. (`large_tiles` has all orders.)
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
    check_kernels!(bf16 bf16, one, Case { bias_of_rows: true, beta: 0, ..case });
    // Its strips are narrower.
    check_kernels!(bf16 bf16, |kernel| kernel.name == "sm90_bf16_nt_128x224x64_c2", Case { size: (70, 136, 24), ..case });
}

#[test]
fn batches_and_parts() {
    let case = Case { size: (65, 24, 200), batches: 2, padding: 8, beta: 1, ..PLAIN };
    check_kernels!(bf16 bf16, one, case);
    check_kernels!(bf16 bf16, one, case, 2);
}

/// Threads store D where no tensor map of it can be: with all that becomes of sums, and strips of
/// each width.
#[test]
fn d_that_lies_anyhow() {
    let case =
        Case { size: (70, 37, 72), d_anyhow: true, batches: 2, padding: 8, start: 8, ..PLAIN };
    check_kernels!(bf16 bf16, one, Case { start: 16, schedules: 3, ..case });
    check_kernels!(bf16 bf16, one, Case { beta: 2, bias: true, ..case });
    check_kernels!(bf16 bf16, |kernel| kernel.uses_tma, Case { size: (130, 261, 70), batches: 1, ..case });
    check_kernels!(i8 i32, |kernel| kernel.uses_tma, Case { padding: 16, start: 16, ..case });
}

#[test]
fn three_schedules() {
    check_kernels!(bf16 bf16, one, Case { size: (20, 24, 330), schedules: 3, ..PLAIN });
}

/// Products of 8 bits, whose sums are taken out step by step, of which there are more than stages;
/// and those that are not.
#[test]
fn sums_taken_out() {
    let case = Case { size: (140, 24, 700), alpha: 2, schedules: 2, ..PLAIN };
    check_kernels!(F8E4M3 f16, |kernel| kernel.name == "sm90_e4m3_f16_nt_128x256x128_c2", case);
    check_kernels!(F8E4M3 f16, |kernel| kernel.fast_accumulation, case);
}

/// Blocks of a cluster bring parts of B to each other where they lie below each other, and of A
/// where they lie beside each other. There are three tiles in one direction, so that the last block
/// of a cluster has nothing of D, and two in the other.
#[test]
fn shares() {
    for kernel in <bf16 as Multiply<bf16>>::KERNELS
        .iter()
        .filter(|kernel| kernel.info.cluster.blocks() > 1 && kernel.blocks_per_tile == 1)
    {
        let TileShape { m: height, n: width, .. } = kernel.tile;
        for (m, n) in [(2 * height + 14, width + 8), (height + 14, 2 * width + 8)] {
            for across in [true, false] {
                check::<bf16, bf16>(
                    kernel,
                    Case { size: (m, n, 70), across: Some(across), ..PLAIN },
                    1,
                );
            }
        }
    }
}

/// Of tiles that are beyond the product in part, only what is inside comes again, once all stages
/// have been filled: to one block, or to both.
#[test]
fn tiles_that_are_filled_in_part() {
    let names = [
        "sm90_bf16_nt_208x128x64_swap_c2",
        "sm90_bf16_nn_208x128x64_swap_c2",
        "sm90_bf16_nn_200x128x64_swap_c2",
        "sm90_bf16_nn_176x192x64_swap_c2",
        "sm90_bf16_nt_160x192x64_swap_c2",
        "sm90_bf16_nn_160x256x64_swap_c2",
        "sm90_bf16_nt_128x224x64_c2",
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

/// Kernels of transposes: all that becomes of sums, where D's rows, and columns, end within tiles.
#[test]
fn transposes() {
    let these = |kernel: &&Kernel| kernel.swaps_ab;
    assert!(<bf16 as Multiply<bf16>>::KERNELS.iter().any(|kernel| kernel.swaps_ab));
    let case = Case { size: (70, 140, 72), padding: 8, start: 8, ..PLAIN };
    check_kernels!(bf16 bf16, these, Case { alpha: 2, ..case });
    // One step will do where it is about what becomes of the sums.
    let case = Case { size: (70, 140, 40), ..case };
    check_kernels!(bf16 bf16, these, Case { beta: -3, bias: true, activation: Activation::Relu, ..case });
    check_kernels!(bf16 bf16, these, Case { bias: true, bias_of_rows: true, batches: 2, ..case });
    check_kernels!(bf16 bf16, these, Case { size: (65, 24, 200), batches: 2, beta: 1, ..case }, 2);
    check_kernels!(bf16 bf16, these, Case { size: (70, 37, 40), d_anyhow: true, batches: 2, ..case });
    // Strips and parts of sums are of other widths in these than in the others; and consumers of
    // the last are higher, and lie beside each other.
    let names = [
        "sm90_bf16_nt_200x128x64_swap_c2",
        "sm90_bf16_nn_160x192x64_swap_c2",
        "sm90_bf16_nt_176x192x64_swap_c2",
        "sm90_bf16_nt_160x256x64_swap_c2",
    ];
    for kernel in
        <bf16 as Multiply<bf16>>::KERNELS.iter().filter(|kernel| names.contains(&kernel.name))
    {
        check::<bf16, bf16>(kernel, Case { size: (203, 216, 40), beta: 2, bias: true, ..case }, 1);
        check::<bf16, bf16>(
            kernel,
            Case { size: (203, 184, 40), bias: true, bias_of_rows: true, ..case },
            1,
        );
        check::<bf16, bf16>(kernel, Case { size: (203, 136, 200), ..case }, 2);
        check::<bf16, bf16>(kernel, Case { size: (203, 181, 40), d_anyhow: true, ..case }, 1);
    }
}

/// Blocks of a cluster that compute a tile together, each a part of K: of which there are fewer
/// steps than blocks, or as many that a block fills its stages again.
#[test]
fn tiles_of_several_blocks() {
    let these = |kernel: &&Kernel| kernel.blocks_per_tile > 1;
    assert!(<bf16 as Multiply<bf16>>::KERNELS.iter().any(|kernel| kernel.blocks_per_tile > 1));
    let case = Case { size: (70, 136, 1100), padding: 8, start: 8, alpha: 2, ..PLAIN };
    check_kernels!(bf16 bf16, these, Case { schedules: 3, ..case });
    check_kernels!(bf16 bf16, these, Case { size: (130, 24, 40), beta: -3, bias: true, activation: Activation::Relu, ..case });
    check_kernels!(bf16 bf16, these, Case { size: (24, 140, 530), beta: 1, bias: true, bias_of_rows: true, batches: 2, ..case });
    check_kernels!(bf16 bf16, these, Case { size: (65, 24, 600), batches: 2, beta: 1, ..case }, 2);
    check_kernels!(bf16 bf16, these, Case { size: (70, 37, 200), d_anyhow: true, batches: 2, ..case });
}
