//! Every GEMM kernel by name, below its configuration.
//!
//! Kernels of f64 with TMA are instances of `sm90_mma::gemm_f64`. `split_k_reduce` and `repack`
//! list their own instances.

#[cfg(not(target_arch = "nvptx64"))]
use super::host;
#[cfg(not(target_arch = "nvptx64"))]
use super::host::{Buffers, GemmLaunch, Kernel, Multiply, Table};
use super::repack::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use super::sm90_mma::*;
use super::split_k_reduce::*;
use super::table::threads;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use super::table::{TilesA, TilesB, boxes};
use super::*;
use crate::parts::mma::*;
use crate::parts::source::*;
use crate::parts::*;
#[cfg(not(target_arch = "nvptx64"))]
use crate::slices::{Failed, Launched, OnSlices, Slice};
use ptx_matrix::copy::{TileReader, UnalignedReader};
use ptx_matrix::fragment::Shape;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::LaunchError;
use ptx_matrix::prelude::*;

elements! {
    bf16 => bf16: 1024.0 per cycle, repack_bf16, split_k_reduce_bf16,
        [Sm80Mma Sm90Wgmma Sm90SwapAb Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    f16 => f16: 1024.0 per cycle, repack_f16, split_k_reduce_f16,
        [Sm80Mma Sm90Wgmma Sm90SwapAb Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    bf16 => f32: 1024.0 per cycle, repack_bf16, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
    f16 => f32: 1024.0 per cycle, repack_f16, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
    f32 => f32: 512.0 per cycle, repack_f32, split_k_reduce_f32,
        [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    f64 => f64: 128.0 per cycle, repack_f64, split_k_reduce_f64, [Sm80Mma Sm90Mma];
    i8 => i32: 2048.0 per cycle, repack_s8, split_k_reduce_s32,
        [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    F8E4M3 => bf16: 1024.0 per cycle, repack_e4m3, split_k_reduce_bf16,
        [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    F8E4M3 => f16: 1024.0 per cycle, repack_e4m3, split_k_reduce_f16, [Sm80Mma Sm90Wgmma];
    F8E4M3 => f32: 1024.0 per cycle, repack_e4m3, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
    F8E5M2 => bf16: 1024.0 per cycle, repack_e5m2, split_k_reduce_bf16,
        [Sm80Mma Sm90Wgmma], grouped [Sm80Grouped Sm90Grouped];
    F8E5M2 => f16: 1024.0 per cycle, repack_e5m2, split_k_reduce_f16, [Sm80Mma Sm90Wgmma];
    F8E5M2 => f32: 1024.0 per cycle, repack_e5m2, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
}

// Kernels on `mma.sync`. Kernels that share a configuration follow it, each with the orders of its
// operands: `n` is row-major, `t` is column-major.
//
// [M x N x K, stages, instruction, tile of a warp, blocks that share an SM, loader, oldest GPU,
//  throughput as a multiple of `mma.sync`'s]
//     order of A, order of B, name, ..;
//
// Kernels for "sm_90" also serve sm_100a, and those with at most 99 KiB of shared memory sm_120a:
// these have no `wgmma`.
sm80_mma! {
    Sm80Mma by gemm:
    bf16 => bf16 {
        [128 x 256 x 64, 4 stages, Bits16Op<bf16>, warp 64 x 64, 1 per SM, aligned, "sm_90", 0.9]
            n n sm80_bf16_nn_128x256x64, n t sm80_bf16_nt_128x256x64,
            t n sm80_bf16_tn_128x256x64, t t sm80_bf16_tt_128x256x64;
        [128 x 128 x 64, 3 stages, Bits16Op<bf16>, warp 64 x 64, 2 per SM, aligned, "sm_80", 0.8]
            n t sm80_bf16_nt_128x128x64;
        [16 x 64 x 64, 8 stages, Bits16Op<bf16>, warp 16 x 16, 2 per SM, aligned, "sm_80", 0.25]
            n n sm80_bf16_nn_16x64x64, n t sm80_bf16_nt_16x64x64;
        [16 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 16 x 32, 3 per SM, aligned, "sm_80", 0.25]
            n n sm80_bf16_nn_16x128x64, n t sm80_bf16_nt_16x128x64;
        [64 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 32 x 32, 2 per SM, aligned, "sm_80", 0.7]
            n n sm80_bf16_nn_64x128x64, n t sm80_bf16_nt_64x128x64;
        [64 x 64 x 128, 6 stages, Bits16Op<bf16>, warp 32 x 32, 1 per SM, aligned, "sm_90", 0.44]
            n n sm80_bf16_nn_64x64x128, n t sm80_bf16_nt_64x64x128;
        [64 x 64 x 64, 3 stages, Bits16Op<bf16>, warp 32 x 32, 4 per SM, aligned, "sm_80", 0.5]
            n n sm80_bf16_nn_64x64x64, n t sm80_bf16_nt_64x64x64,
            t n sm80_bf16_tn_64x64x64, t t sm80_bf16_tt_64x64x64;
        [128 x 128 x 32, 4 stages, Bits16Op<bf16>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_bf16_unaligned_128x128x32;
    }
    f16 => f16 {
        [128 x 256 x 64, 4 stages, Bits16Op<f16>, warp 64 x 64, 1 per SM, aligned, "sm_90", 0.9]
            n n sm80_f16_nn_128x256x64, n t sm80_f16_nt_128x256x64;
        [16 x 64 x 64, 8 stages, Bits16Op<f16>, warp 16 x 16, 2 per SM, aligned, "sm_80", 0.25]
            n n sm80_f16_nn_16x64x64, n t sm80_f16_nt_16x64x64;
        [16 x 128 x 64, 4 stages, Bits16Op<f16>, warp 16 x 32, 3 per SM, aligned, "sm_80", 0.25]
            n n sm80_f16_nn_16x128x64, n t sm80_f16_nt_16x128x64;
        [64 x 128 x 64, 4 stages, Bits16Op<f16>, warp 32 x 32, 2 per SM, aligned, "sm_80", 0.7]
            n n sm80_f16_nn_64x128x64, n t sm80_f16_nt_64x128x64;
        [64 x 64 x 128, 6 stages, Bits16Op<f16>, warp 32 x 32, 1 per SM, aligned, "sm_90", 0.44]
            n n sm80_f16_nn_64x64x128, n t sm80_f16_nt_64x64x128;
        [64 x 64 x 64, 3 stages, Bits16Op<f16>, warp 32 x 32, 4 per SM, aligned, "sm_80", 0.5]
            n n sm80_f16_nn_64x64x64, n t sm80_f16_nt_64x64x64,
            t n sm80_f16_tn_64x64x64, t t sm80_f16_tt_64x64x64;
        [64 x 64 x 32, 2 stages, F16OnTuring, warp 32 x 32, 3 per SM, registers, "sm_75", 0.2]
            n n sm75_f16_nn_64x64x32, n t sm75_f16_nt_64x64x32,
            t n sm75_f16_tn_64x64x32, t t sm75_f16_tt_64x64x32;
        [128 x 128 x 32, 4 stages, Bits16Op<f16>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_f16_unaligned_128x128x32;
    }
    bf16 => f32 {
        [128 x 256 x 64, 4 stages, Bits16Op<bf16, f32>, warp 64 x 64,
         1 per SM, aligned, "sm_90", 0.9]
            n n sm80_bf16_f32_nn_128x256x64, n t sm80_bf16_f32_nt_128x256x64;
        [64 x 64 x 64, 3 stages, Bits16Op<bf16, f32>, warp 32 x 32, 4 per SM, aligned, "sm_80", 0.5]
            n n sm80_bf16_f32_nn_64x64x64, n t sm80_bf16_f32_nt_64x64x64,
            t n sm80_bf16_f32_tn_64x64x64, t t sm80_bf16_f32_tt_64x64x64;
        [128 x 128 x 32, 4 stages, Bits16Op<bf16, f32>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_bf16_f32_unaligned_128x128x32;
    }
    f16 => f32 {
        [128 x 256 x 64, 4 stages, Bits16Op<f16, f32>, warp 64 x 64,
         1 per SM, aligned, "sm_90", 0.9]
            n n sm80_f16_f32_nn_128x256x64, n t sm80_f16_f32_nt_128x256x64;
        [64 x 64 x 64, 3 stages, Bits16Op<f16, f32>, warp 32 x 32, 4 per SM, aligned, "sm_80", 0.5]
            n n sm80_f16_f32_nn_64x64x64, n t sm80_f16_f32_nt_64x64x64,
            t n sm80_f16_f32_tn_64x64x64, t t sm80_f16_f32_tt_64x64x64;
        [128 x 128 x 32, 4 stages, Bits16Op<f16, f32>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_f16_f32_unaligned_128x128x32;
    }
    f32 => f32 {
        [128 x 256 x 32, 4 stages, Tf32, warp 64 x 64, 1 per SM, aligned, "sm_90", 0.9]
            n t sm80_tf32_nt_128x256x32;
        [128 x 128 x 32, 4 stages, Tf32, warp 64 x 32, 1 per SM, aligned, "sm_90", 0.7]
            n n sm80_tf32_nn_128x128x32;
        [64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 3 per SM, aligned, "sm_80", 0.5]
            n n sm80_tf32_nn_64x64x32, n t sm80_tf32_nt_64x64x32,
            t n sm80_tf32_tn_64x64x32, t t sm80_tf32_tt_64x64x32;
        [64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 2 per SM, unaligned32, "sm_80", 0.3]
            n t sm80_tf32_unaligned_64x64x32;
    }
    f64 => f64 {
        [128 x 64 x 16, 4 stages, F64KMajor, warp 32 x 32, 1 per SM, aligned, "sm_90", 0.9]
            n n sm80_f64_nn_128x64x16, n t sm80_f64_nt_128x64x16;
        [128 x 64 x 32, 4 stages, F64, warp 32 x 32, 1 per SM, aligned, "sm_90", 0.9]
            t n sm80_f64_tn_128x64x32, t t sm80_f64_tt_128x64x32;
        [64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 3 per SM, aligned, "sm_80", 0.5]
            n n sm80_f64_nn_64x64x16, n t sm80_f64_nt_64x64x16,
            t n sm80_f64_tn_64x64x16, t t sm80_f64_tt_64x64x16;
        [64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 2 per SM, unaligned64, "sm_80", 0.3]
            n t sm80_f64_unaligned_64x64x16;
    }
    i8 => i32 {
        [128 x 256 x 128, 4 stages, S8, warp 64 x 64, 1 per SM, aligned, "sm_90", 0.9]
            n t sm80_s8_nt_128x256x128;
        [64 x 64 x 128, 3 stages, S8, warp 32 x 32, 3 per SM, aligned, "sm_80", 0.5]
            n t sm80_s8_nt_64x64x128;
        [128 x 128 x 64, 4 stages, S8, warp 64 x 32, 1 per SM, unaligned8, "sm_80", 0.3]
            n t sm80_s8_unaligned_128x128x64;
    }
    F8E4M3 => bf16 {
        [128 x 64 x 128, 4 stages, Fp8<F8E4M3, bf16>, warp 32 x 32,
         1 per SM, aligned, "sm_90", 0.55]
            n t sm80_e4m3_bf16_nt_128x64x128;
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32, 2 per SM, aligned, "sm_89", 0.5]
            n t sm80_e4m3_bf16_nt_64x64x128;
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e4m3_bf16_unaligned_64x64x128;
    }
    F8E4M3 => f16 {
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, f16>, warp 32 x 32, 2 per SM, aligned, "sm_89", 0.5]
            n t sm80_e4m3_f16_nt_64x64x128;
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, f16>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e4m3_f16_unaligned_64x64x128;
    }
    F8E4M3 => f32 {
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, f32>, warp 32 x 32, 2 per SM, aligned, "sm_89", 0.5]
            n t sm80_e4m3_f32_nt_64x64x128;
        [64 x 64 x 128, 3 stages, Fp8<F8E4M3, f32>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e4m3_f32_unaligned_64x64x128;
    }
    F8E5M2 => bf16 {
        [64 x 64 x 128, 3 stages, Fp8<F8E5M2, bf16>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e5m2_bf16_unaligned_64x64x128;
    }
    F8E5M2 => f16 {
        [64 x 64 x 128, 3 stages, Fp8<F8E5M2, f16>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e5m2_f16_unaligned_64x64x128;
    }
    F8E5M2 => f32 {
        [64 x 64 x 128, 3 stages, Fp8<F8E5M2, f32>, warp 32 x 32,
         2 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e5m2_f32_unaligned_64x64x128;
    }
}

sm80_mma! {
    Sm80Grouped by grouped_gemm:
    bf16 => bf16 {
        [128 x 128 x 32, 4 stages, Bits16Op<bf16>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_bf16_grouped_128x128x32;
    }
    f16 => f16 {
        [128 x 128 x 32, 4 stages, Bits16Op<f16>, warp 64 x 32,
         1 per SM, unaligned16, "sm_80", 0.15]
            n t sm80_f16_grouped_128x128x32;
    }
    f32 => f32 {
        [64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 1 per SM, unaligned32, "sm_80", 0.3]
            n t sm80_tf32_grouped_64x64x32;
    }
    i8 => i32 {
        [128 x 128 x 64, 4 stages, S8, warp 64 x 32, 1 per SM, unaligned8, "sm_80", 0.3]
            n t sm80_s8_grouped_128x128x64;
    }
    F8E4M3 => bf16 {
        [64 x 64 x 64, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32,
         1 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e4m3_bf16_grouped_64x64x64;
    }
    F8E5M2 => bf16 {
        [64 x 64 x 64, 3 stages, Fp8<F8E5M2, bf16>, warp 32 x 32,
         1 per SM, unaligned8, "sm_89", 0.3]
            n t sm80_e5m2_bf16_grouped_64x64x64;
    }
}

#[cfg(not(target_arch = "nvptx64"))]
mod sm90_f64 {
    use super::*;
    use ptx_matrix::memory::SharedTile;

    type Staging<L> = SharedTile<f64, STAGING_ROWS, 16, Swizzle128, L>;

    tma_kernel! {
        sm90_f64_nn_128x128x16: F64TilesA, F64TilesB, Staging<ColMajor>,
        host::f64_kernel::<ColMajor>(0.95, &sm90_f64_nn_128x128x16::INFO)
    }
    tma_kernel! {
        sm90_f64_tt_128x128x16: F64TilesA, F64TilesB, Staging<RowMajor>,
        host::f64_kernel::<RowMajor>(0.95, &sm90_f64_tt_128x128x16::INFO)
    }
    host_table! {
        Sm90Mma: f64 => f64, host::TmaKernel, launch_tma,
        sm90_f64_nn_128x128x16 sm90_f64_tt_128x128x16
    }
}

/// Kernels on `wgmma`. Kernels that share a configuration follow it, each with the orders of its
/// operands:
///
/// ```text
/// [M x N x K in TMA boxes of rows of A x columns of B, stages,
///  consumers x mainloop, blocks of a cluster,
///  staging tiles x columns of each, swizzle,
///  epi_n: columns of an epilogue sub-tile, for epilogues with C, bias or activation,
///  reduce: columns that a block of cluster split-K reduces and stores,
///  throughput as a multiple of `mma.sync`'s]
///     order of A, order of B, name, ..;
/// ```
///
/// The boxes are those of K-major operands. Boxes of MN-major operands are 128 bytes wide. A
/// mainloop is `Accumulate<M64_TILES, N, T>` or `Promote<N, N_SLICE, T>`. A table has one function
/// and one order of D. `docs/ARCHITECTURE.md` says how to add a kernel.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod sm90a {
    use super::*;
    use crate::kernels::sm90_grouped::grouped;
    use crate::kernels::sm90_promotion::Promote;
    use crate::kernels::sm90_wgmma::Accumulate;
    use crate::kernels::sm90_wgmma_split_k::run as split_k;
    use crate::kernels::table::run_gemm as gemm;

    sm90_wgmma! {
        Sm90Wgmma by gemm into RowMajor:
        bf16 => bf16 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.715]
                n n sm90_bf16_nn_128x256x64, n t sm90_bf16_nt_128x256x64;
            [128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 1.715]
                n n sm90_bf16_nn_128x256x64_c2, n t sm90_bf16_nt_128x256x64_c2;
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.7]
                t n sm90_bf16_tn_128x256x64, t t sm90_bf16_tt_128x256x64;
            [128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.66]
                n n sm90_bf16_nn_128x192x64_c2, n t sm90_bf16_nt_128x192x64_c2,
                t n sm90_bf16_tn_128x192x64_c2, t t sm90_bf16_tt_128x192x64_c2;
            [128 x 160 x 64 in 64 x 80, 4 stages, 2 x Accumulate<1, 160, f32>, cluster 2,
             staging 4 x 32 Swizzle64, epi_n 32, 1.56]
                n n sm90_bf16_nn_128x160x64_c2;
            [128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.6]
                n n sm90_bf16_nn_128x128x64_c2, n t sm90_bf16_nt_128x128x64_c2,
                t n sm90_bf16_tn_128x128x64_c2, t t sm90_bf16_tt_128x128x64_c2;
            [64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.35]
                n n sm90_bf16_nn_64x128x64_c2, n t sm90_bf16_nt_64x128x64_c2,
                t n sm90_bf16_tn_64x128x64_c2, t t sm90_bf16_tt_64x128x64_c2;
            [64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 0.7]
                n n sm90_bf16_nn_64x64x64, n t sm90_bf16_nt_64x64x64,
                t n sm90_bf16_tn_64x64x64, t t sm90_bf16_tt_64x64x64;
        }
        f16 => f16 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.715]
                n n sm90_f16_nn_128x256x64, n t sm90_f16_nt_128x256x64;
            [128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 1.715]
                n n sm90_f16_nn_128x256x64_c2, n t sm90_f16_nt_128x256x64_c2;
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.7]
                t n sm90_f16_tn_128x256x64, t t sm90_f16_tt_128x256x64;
            [128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.66]
                n n sm90_f16_nn_128x192x64_c2, n t sm90_f16_nt_128x192x64_c2,
                t n sm90_f16_tn_128x192x64_c2, t t sm90_f16_tt_128x192x64_c2;
            [128 x 160 x 64 in 64 x 80, 4 stages, 2 x Accumulate<1, 160, f32>, cluster 2,
             staging 4 x 32 Swizzle64, epi_n 32, 1.56]
                n n sm90_f16_nn_128x160x64_c2;
            [128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.6]
                n n sm90_f16_nn_128x128x64_c2, n t sm90_f16_nt_128x128x64_c2,
                t n sm90_f16_tn_128x128x64_c2, t t sm90_f16_tt_128x128x64_c2;
            [64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 1.35]
                n n sm90_f16_nn_64x128x64_c2, n t sm90_f16_nt_64x128x64_c2,
                t n sm90_f16_tn_64x128x64_c2, t t sm90_f16_tt_64x128x64_c2;
            [64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 0.7]
                n n sm90_f16_nn_64x64x64, n t sm90_f16_nt_64x64x64,
                t n sm90_f16_tn_64x64x64, t t sm90_f16_tt_64x64x64;
        }
        bf16 => f32 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.7]
                n n sm90_bf16_f32_nn_128x256x64, n t sm90_bf16_f32_nt_128x256x64,
                t n sm90_bf16_f32_tn_128x256x64, t t sm90_bf16_f32_tt_128x256x64;
            [128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.66]
                n n sm90_bf16_f32_nn_128x192x64_c2, n t sm90_bf16_f32_nt_128x192x64_c2,
                t n sm90_bf16_f32_tn_128x192x64_c2, t t sm90_bf16_f32_tt_128x192x64_c2;
            [128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.6]
                n n sm90_bf16_f32_nn_128x128x64_c2, n t sm90_bf16_f32_nt_128x128x64_c2,
                t n sm90_bf16_f32_tn_128x128x64_c2, t t sm90_bf16_f32_tt_128x128x64_c2;
            [64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.35]
                n n sm90_bf16_f32_nn_64x128x64_c2, n t sm90_bf16_f32_nt_64x128x64_c2,
                t n sm90_bf16_f32_tn_64x128x64_c2, t t sm90_bf16_f32_tt_64x128x64_c2;
            [64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 0.7]
                n n sm90_bf16_f32_nn_64x64x64, n t sm90_bf16_f32_nt_64x64x64,
                t n sm90_bf16_f32_tn_64x64x64, t t sm90_bf16_f32_tt_64x64x64;
        }
        f16 => f32 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.7]
                n n sm90_f16_f32_nn_128x256x64, n t sm90_f16_f32_nt_128x256x64,
                t n sm90_f16_f32_tn_128x256x64, t t sm90_f16_f32_tt_128x256x64;
            [128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.66]
                n n sm90_f16_f32_nn_128x192x64_c2, n t sm90_f16_f32_nt_128x192x64_c2,
                t n sm90_f16_f32_tn_128x192x64_c2, t t sm90_f16_f32_tt_128x192x64_c2;
            [128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.6]
                n n sm90_f16_f32_nn_128x128x64_c2, n t sm90_f16_f32_nt_128x128x64_c2,
                t n sm90_f16_f32_tn_128x128x64_c2, t t sm90_f16_f32_tt_128x128x64_c2;
            [64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.35]
                n n sm90_f16_f32_nn_64x128x64_c2, n t sm90_f16_f32_nt_64x128x64_c2,
                t n sm90_f16_f32_tn_64x128x64_c2, t t sm90_f16_f32_tt_64x128x64_c2;
            [64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 0.7]
                n n sm90_f16_f32_nn_64x64x64, n t sm90_f16_f32_nt_64x64x64,
                t n sm90_f16_f32_tn_64x64x64, t t sm90_f16_f32_tt_64x64x64;
        }
        f32 => f32 {
            [128 x 256 x 32 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.7]
                n t sm90_tf32_nt_128x256x32_c2;
            [128 x 128 x 32 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.65]
                n t sm90_tf32_nt_128x128x32_c2;
            [64 x 64 x 32 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 0.7]
                n t sm90_tf32_nt_64x64x32;
        }
        i8 => i32 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, i32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.65]
                n t sm90_s8_nt_128x256x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 1.6]
                n t sm90_s8_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, i32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 0.65]
                n t sm90_s8_nt_64x64x128;
        }
        F8E4M3 => bf16 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e4m3_bf16_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.07]
                n t sm90_e4m3_bf16_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 2.9]
                n t sm90_e4m3_bf16_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.1]
                n t sm90_e4m3_bf16_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.6]
                n t sm90_e4m3_bf16_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.45]
                n t sm90_e4m3_bf16_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.2]
                n t sm90_e4m3_bf16_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.3]
                n t sm90_e4m3_bf16_nt_64x64x128_fast;
        }
        F8E4M3 => f16 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e4m3_f16_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.07]
                n t sm90_e4m3_f16_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 2.9]
                n t sm90_e4m3_f16_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.1]
                n t sm90_e4m3_f16_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.6]
                n t sm90_e4m3_f16_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.45]
                n t sm90_e4m3_f16_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.2]
                n t sm90_e4m3_f16_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.3]
                n t sm90_e4m3_f16_nt_64x64x128_fast;
        }
        F8E4M3 => f32 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 8, 3.2]
                n t sm90_e4m3_f32_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 16, 3.07]
                n t sm90_e4m3_f32_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 2.9]
                n t sm90_e4m3_f32_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.1]
                n t sm90_e4m3_f32_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.6]
                n t sm90_e4m3_f32_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.45]
                n t sm90_e4m3_f32_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.2]
                n t sm90_e4m3_f32_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.3]
                n t sm90_e4m3_f32_nt_64x64x128_fast;
        }
        F8E5M2 => bf16 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e5m2_bf16_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.07]
                n t sm90_e5m2_bf16_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 2.9]
                n t sm90_e5m2_bf16_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.1]
                n t sm90_e5m2_bf16_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.6]
                n t sm90_e5m2_bf16_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.45]
                n t sm90_e5m2_bf16_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.2]
                n t sm90_e5m2_bf16_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.3]
                n t sm90_e5m2_bf16_nt_64x64x128_fast;
        }
        F8E5M2 => f16 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e5m2_f16_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.07]
                n t sm90_e5m2_f16_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 2.9]
                n t sm90_e5m2_f16_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.1]
                n t sm90_e5m2_f16_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, 3.6]
                n t sm90_e5m2_f16_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.45]
                n t sm90_e5m2_f16_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, 3.2]
                n t sm90_e5m2_f16_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 64, 1.3]
                n t sm90_e5m2_f16_nt_64x64x128_fast;
        }
        F8E5M2 => f32 {
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 8, 3.2]
                n t sm90_e5m2_f32_nt_128x256x128_c2;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 16, 3.07]
                n t sm90_e5m2_f32_nt_128x192x128_c2;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 2.9]
                n t sm90_e5m2_f32_nt_128x128x128_c2;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.1]
                n t sm90_e5m2_f32_nt_64x64x128;
            [128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.6]
                n t sm90_e5m2_f32_nt_128x256x128_c2_fast;
            [128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.45]
                n t sm90_e5m2_f32_nt_128x192x128_c2_fast;
            [128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, 3.2]
                n t sm90_e5m2_f32_nt_128x128x128_c2_fast;
            [64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.3]
                n t sm90_e5m2_f32_nt_64x64x128_fast;
        }
    }

    // Swap-AB kernels compute Dᵀ = BᵀAᵀ, so that M maps to wgmma's N, any multiple of 8. Tiles
    // and orders are those of Bᵀ, Aᵀ and Dᵀ. Names are those of A, B and D.
    sm90_wgmma! {
        Sm90SwapAb by gemm into ColMajor:
        bf16 => bf16 {
            [256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2,
             staging 4 x 16 Swizzle128, epi_n 16, 1.654]
                t t sm90_bf16_nn_160x256x64_swap_c2, n t sm90_bf16_nt_160x256x64_swap_c2;
            [192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2,
             staging 6 x 16 Swizzle128, epi_n 16, 1.695]
                t t sm90_bf16_nn_192x192x64_swap_c2, n t sm90_bf16_nt_192x192x64_swap_c2;
            [192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2,
             staging 11 x 8 Swizzle128, epi_n 8, 1.695]
                t t sm90_bf16_nn_176x192x64_swap_c2, n t sm90_bf16_nt_176x192x64_swap_c2;
            [128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.69]
                t t sm90_bf16_nn_224x128x64_swap_c2, n t sm90_bf16_nt_224x128x64_swap_c2;
            [128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2,
             staging 2 x 40 Swizzle128, epi_n 8, 1.675]
                t t sm90_bf16_nn_200x128x64_swap_c2, n t sm90_bf16_nt_200x128x64_swap_c2;
            [128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.665]
                n t sm90_bf16_nt_176x128x64_swap_c2;
            [128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.644]
                t t sm90_bf16_nn_160x128x64_swap_c2, n t sm90_bf16_nt_160x128x64_swap_c2;
            [128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.61]
                t t sm90_bf16_nn_144x128x64_swap_c2, n t sm90_bf16_nt_144x128x64_swap_c2;
            [128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4,
             staging 8 x 16 Swizzle128, epi_n 16, 1.61]
                t t sm90_bf16_nn_144x128x64_swap_c4, n t sm90_bf16_nt_144x128x64_swap_c4;
            [128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2,
             staging 7 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_bf16_nn_112x128x64_swap_c2;
            [128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4,
             staging 7 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_bf16_nn_112x128x64_swap_c4, n t sm90_bf16_nt_112x128x64_swap_c4;
            [128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2,
             staging 5 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_bf16_nn_80x128x64_swap_c2, n t sm90_bf16_nt_80x128x64_swap_c2;
            [128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4,
             staging 5 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_bf16_nn_80x128x64_swap_c4, n t sm90_bf16_nt_80x128x64_swap_c4;
            [64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2,
             staging 16 x 8 Swizzle128, epi_n 8, 1.2]
                t t sm90_bf16_nn_168x64x64_swap_c2, n t sm90_bf16_nt_168x64x64_swap_c2;
            [64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2,
             staging 5 x 16 Swizzle128, epi_n 16, 0.88]
                t t sm90_bf16_nn_80x64x64_swap_c2, n t sm90_bf16_nt_80x64x64_swap_c2;
        }
        f16 => f16 {
            [256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2,
             staging 4 x 16 Swizzle128, epi_n 16, 1.654]
                t t sm90_f16_nn_160x256x64_swap_c2, n t sm90_f16_nt_160x256x64_swap_c2;
            [192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2,
             staging 6 x 16 Swizzle128, epi_n 16, 1.695]
                t t sm90_f16_nn_192x192x64_swap_c2, n t sm90_f16_nt_192x192x64_swap_c2;
            [192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2,
             staging 11 x 8 Swizzle128, epi_n 8, 1.695]
                t t sm90_f16_nn_176x192x64_swap_c2, n t sm90_f16_nt_176x192x64_swap_c2;
            [128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.69]
                t t sm90_f16_nn_224x128x64_swap_c2, n t sm90_f16_nt_224x128x64_swap_c2;
            [128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2,
             staging 2 x 40 Swizzle128, epi_n 8, 1.675]
                t t sm90_f16_nn_200x128x64_swap_c2, n t sm90_f16_nt_200x128x64_swap_c2;
            [128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.665]
                n t sm90_f16_nt_176x128x64_swap_c2;
            [128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.644]
                t t sm90_f16_nn_160x128x64_swap_c2, n t sm90_f16_nt_160x128x64_swap_c2;
            [128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2,
             staging 8 x 16 Swizzle128, epi_n 16, 1.61]
                t t sm90_f16_nn_144x128x64_swap_c2, n t sm90_f16_nt_144x128x64_swap_c2;
            [128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4,
             staging 8 x 16 Swizzle128, epi_n 16, 1.61]
                t t sm90_f16_nn_144x128x64_swap_c4, n t sm90_f16_nt_144x128x64_swap_c4;
            [128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2,
             staging 7 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_f16_nn_112x128x64_swap_c2;
            [128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4,
             staging 7 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_f16_nn_112x128x64_swap_c4, n t sm90_f16_nt_112x128x64_swap_c4;
            [128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2,
             staging 5 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_f16_nn_80x128x64_swap_c2, n t sm90_f16_nt_80x128x64_swap_c2;
            [128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4,
             staging 5 x 16 Swizzle128, epi_n 16, 1.5]
                t t sm90_f16_nn_80x128x64_swap_c4, n t sm90_f16_nt_80x128x64_swap_c4;
            [64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2,
             staging 16 x 8 Swizzle128, epi_n 8, 1.2]
                t t sm90_f16_nn_168x64x64_swap_c2, n t sm90_f16_nt_168x64x64_swap_c2;
            [64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2,
             staging 5 x 16 Swizzle128, epi_n 16, 0.88]
                t t sm90_f16_nn_80x64x64_swap_c2, n t sm90_f16_nt_80x64x64_swap_c2;
        }
    }

    // Cluster split-K.
    sm90_wgmma! {
        Sm90SplitK by split_k into RowMajor:
        bf16 => bf16 {
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, reduce 64, 1.6]
                n n sm90_bf16_nn_128x128x64_split2, n t sm90_bf16_nt_128x128x64_split2;
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4,
             staging 4 x 32 Swizzle64, epi_n 32, reduce 32, 1.6]
                n n sm90_bf16_nn_128x128x64_split4, n t sm90_bf16_nt_128x128x64_split4;
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8,
             staging 8 x 16 Swizzle32, epi_n 16, reduce 16, 1.6]
                n n sm90_bf16_nn_128x128x64_split8, n t sm90_bf16_nt_128x128x64_split8;
        }
        f16 => f16 {
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 64, reduce 64, 1.6]
                n n sm90_f16_nn_128x128x64_split2, n t sm90_f16_nt_128x128x64_split2;
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4,
             staging 4 x 32 Swizzle64, epi_n 32, reduce 32, 1.6]
                n n sm90_f16_nn_128x128x64_split4, n t sm90_f16_nt_128x128x64_split4;
            [128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8,
             staging 8 x 16 Swizzle32, epi_n 16, reduce 16, 1.6]
                n n sm90_f16_nn_128x128x64_split8, n t sm90_f16_nt_128x128x64_split8;
        }
        f32 => f32 {
            [128 x 128 x 32 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, reduce 64, 1.65]
                n t sm90_tf32_nt_128x128x32_split2;
            [128 x 128 x 32 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4,
             staging 2 x 32 Swizzle128, epi_n 32, reduce 32, 1.65]
                n t sm90_tf32_nt_128x128x32_split4;
        }
        i8 => i32 {
            [128 x 128 x 128 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 2,
             staging 2 x 32 Swizzle128, epi_n 32, reduce 64, 1.2]
                n t sm90_s8_nt_128x128x128_split2;
            [128 x 128 x 128 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 4,
             staging 2 x 32 Swizzle128, epi_n 32, reduce 32, 1.2]
                n t sm90_s8_nt_128x128x128_split4;
        }
        F8E4M3 => bf16 {
            [128 x 128 x 128 in 32 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2,
             staging 2 x 64 Swizzle128, epi_n 32, reduce 64, 2.2]
                n t sm90_e4m3_bf16_nt_128x128x128_split2;
            [128 x 128 x 128 in 32 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 4,
             staging 4 x 32 Swizzle64, epi_n 32, reduce 32, 2.2]
                n t sm90_e4m3_bf16_nt_128x128x128_split4;
        }
    }

    sm90_wgmma! {
        Sm90Grouped by grouped into RowMajor:
        bf16 => bf16 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.7]
                n n sm90_bf16_nn_128x256x64_grouped, n t sm90_bf16_nt_128x256x64_grouped;
        }
        f16 => f16 {
            [128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 32, 1.7]
                n n sm90_f16_nn_128x256x64_grouped, n t sm90_f16_nt_128x256x64_grouped;
        }
        f32 => f32 {
            [128 x 256 x 32 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.7]
                n t sm90_tf32_nt_128x256x32_grouped;
        }
        i8 => i32 {
            [128 x 256 x 128 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, i32>, cluster 1,
             staging 2 x 32 Swizzle128, epi_n 32, 1.65]
                n t sm90_s8_nt_128x256x128_grouped;
        }
        F8E4M3 => bf16 {
            [128 x 256 x 128 in 128 x 256, 4 stages, 2 x Promote<256, 128, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e4m3_bf16_nt_128x256x128_grouped;
        }
        F8E5M2 => bf16 {
            [128 x 256 x 128 in 128 x 256, 4 stages, 2 x Promote<256, 128, f32>, cluster 1,
             staging 2 x 64 Swizzle128, epi_n 16, 3.2]
                n t sm90_e5m2_bf16_nt_128x256x128_grouped;
        }
    }
}
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use sm90a::*;
