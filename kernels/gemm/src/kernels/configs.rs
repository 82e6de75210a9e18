//! Every GEMM kernel has a row here.
//!
//! Kernels of f64 with TMA are instances of `sm90_mma::gemm_f64`. `split_k_reduce` and `repack`
//! list their own instances.

#[cfg(not(target_arch = "nvptx64"))]
use super::host;
#[cfg(not(target_arch = "nvptx64"))]
use super::host::{Buffers, GemmLaunch, Kernel, LaunchError, Multiply};
use super::repack::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
use super::sm90_mma::*;
use super::split_k_reduce::*;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
use super::table::boxes;
use super::*;
use crate::parts::mma::*;
use crate::parts::source::*;
use crate::parts::*;
use ptx_matrix::copy::{TileReader, UnalignedReader};
use ptx_matrix::fragment::Shape;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::prelude::*;

elements! {
    bf16 => bf16: 1024.0 per cycle, repack_bf16, split_k_reduce_bf16, [Sm80Mma Sm90Wgmma Sm90SwapAb Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    f16 => f16: 1024.0 per cycle, repack_f16, split_k_reduce_f16, [Sm80Mma Sm90Wgmma Sm90SwapAb Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    bf16 => f32: 1024.0 per cycle, repack_bf16, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
    f16 => f32: 1024.0 per cycle, repack_f16, split_k_reduce_f32, [Sm80Mma Sm90Wgmma];
    f32 => f32: 512.0 per cycle, repack_f32, split_k_reduce_f32, [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    f64 => f64: 128.0 per cycle, repack_f64, split_k_reduce_f64, [Sm80Mma Sm90Mma];
    i8 => i32: 2048.0 per cycle, repack_s8, split_k_reduce_s32, [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    F8E4M3 => bf16: 1024.0 per cycle, repack_e4m3, split_k_reduce_bf16, [Sm80Mma Sm90Wgmma Sm90SplitK], grouped [Sm80Grouped Sm90Grouped];
    F8E4M3 => f16: 1024.0 per cycle, repack_e4m3, split_k_reduce_f16, [Sm80Mma Sm90Wgmma];
    F8E4M3 => f32: 1024.0 per cycle, repack_e4m3, split_k_reduce_f32, [Sm80Mma];
    F8E5M2 => bf16: 1024.0 per cycle, repack_e5m2, split_k_reduce_bf16, [Sm80Mma Sm90Wgmma], grouped [Sm80Grouped Sm90Grouped];
    F8E5M2 => f16: 1024.0 per cycle, repack_e5m2, split_k_reduce_f16, [Sm80Mma Sm90Wgmma];
    F8E5M2 => f32: 1024.0 per cycle, repack_e5m2, split_k_reduce_f32, [Sm80Mma];
}

sm80_mma! {
    Sm80Mma by gemm:
    bf16 => bf16 {
        sm80_bf16_nn_128x256x64: RowMajor x RowMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_nt_128x256x64: RowMajor x ColMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_tn_128x256x64: ColMajor x RowMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_tt_128x256x64: ColMajor x ColMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_nt_128x128x64: RowMajor x ColMajor, 128 x 128 x 64, 3 stages, Bits16Op<bf16>, warp 64 x 64, 128 threads, 2 per SM, aligned, "sm_80", rate 0.8;
        sm80_bf16_nn_16x64x64: RowMajor x RowMajor, 16 x 64 x 64, 8 stages, Bits16Op<bf16>, warp 16 x 16, 128 threads, 2 per SM, aligned, "sm_80", rate 0.25;
        sm80_bf16_nt_16x64x64: RowMajor x ColMajor, 16 x 64 x 64, 8 stages, Bits16Op<bf16>, warp 16 x 16, 128 threads, 2 per SM, aligned, "sm_80", rate 0.25;
        sm80_bf16_nn_16x128x64: RowMajor x RowMajor, 16 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 16 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.25;
        sm80_bf16_nt_16x128x64: RowMajor x ColMajor, 16 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 16 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.25;
        sm80_bf16_nn_64x128x64: RowMajor x RowMajor, 64 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 32 x 32, 256 threads, 2 per SM, aligned, "sm_80", rate 0.7;
        sm80_bf16_nt_64x128x64: RowMajor x ColMajor, 64 x 128 x 64, 4 stages, Bits16Op<bf16>, warp 32 x 32, 256 threads, 2 per SM, aligned, "sm_80", rate 0.7;
        sm80_bf16_nn_64x64x128: RowMajor x RowMajor, 64 x 64 x 128, 6 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 1 per SM, aligned, "sm_90", rate 0.44;
        sm80_bf16_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 6 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 1 per SM, aligned, "sm_90", rate 0.44;
        sm80_bf16_nn_64x64x64: RowMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_nt_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_tn_64x64x64: ColMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_tt_64x64x64: ColMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_unaligned_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<bf16>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    f16 => f16 {
        sm80_f16_nn_128x256x64: RowMajor x RowMajor, 128 x 256 x 64, 4 stages, Bits16Op<f16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f16_nt_128x256x64: RowMajor x ColMajor, 128 x 256 x 64, 4 stages, Bits16Op<f16>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f16_nn_16x64x64: RowMajor x RowMajor, 16 x 64 x 64, 8 stages, Bits16Op<f16>, warp 16 x 16, 128 threads, 2 per SM, aligned, "sm_80", rate 0.25;
        sm80_f16_nt_16x64x64: RowMajor x ColMajor, 16 x 64 x 64, 8 stages, Bits16Op<f16>, warp 16 x 16, 128 threads, 2 per SM, aligned, "sm_80", rate 0.25;
        sm80_f16_nn_16x128x64: RowMajor x RowMajor, 16 x 128 x 64, 4 stages, Bits16Op<f16>, warp 16 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.25;
        sm80_f16_nt_16x128x64: RowMajor x ColMajor, 16 x 128 x 64, 4 stages, Bits16Op<f16>, warp 16 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.25;
        sm80_f16_nn_64x128x64: RowMajor x RowMajor, 64 x 128 x 64, 4 stages, Bits16Op<f16>, warp 32 x 32, 256 threads, 2 per SM, aligned, "sm_80", rate 0.7;
        sm80_f16_nt_64x128x64: RowMajor x ColMajor, 64 x 128 x 64, 4 stages, Bits16Op<f16>, warp 32 x 32, 256 threads, 2 per SM, aligned, "sm_80", rate 0.7;
        sm80_f16_nn_64x64x128: RowMajor x RowMajor, 64 x 64 x 128, 6 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 1 per SM, aligned, "sm_90", rate 0.44;
        sm80_f16_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 6 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 1 per SM, aligned, "sm_90", rate 0.44;
        sm80_f16_nn_64x64x64: RowMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_nt_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_tn_64x64x64: ColMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_tt_64x64x64: ColMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm75_f16_nn_64x64x32: RowMajor x RowMajor, 64 x 64 x 32, 2 stages, F16OnTuring, warp 32 x 32, 128 threads, 3 per SM, registers, "sm_75", rate 0.2;
        sm75_f16_nt_64x64x32: RowMajor x ColMajor, 64 x 64 x 32, 2 stages, F16OnTuring, warp 32 x 32, 128 threads, 3 per SM, registers, "sm_75", rate 0.2;
        sm75_f16_tn_64x64x32: ColMajor x RowMajor, 64 x 64 x 32, 2 stages, F16OnTuring, warp 32 x 32, 128 threads, 3 per SM, registers, "sm_75", rate 0.2;
        sm75_f16_tt_64x64x32: ColMajor x ColMajor, 64 x 64 x 32, 2 stages, F16OnTuring, warp 32 x 32, 128 threads, 3 per SM, registers, "sm_75", rate 0.2;
        sm80_f16_unaligned_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<f16>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    bf16 => f32 {
        sm80_bf16_f32_nn_128x256x64: RowMajor x RowMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16, f32>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_f32_nt_128x256x64: RowMajor x ColMajor, 128 x 256 x 64, 4 stages, Bits16Op<bf16, f32>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_bf16_f32_nn_64x64x64: RowMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_f32_nt_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_f32_tn_64x64x64: ColMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_f32_tt_64x64x64: ColMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<bf16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_bf16_f32_unaligned_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<bf16, f32>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    f16 => f32 {
        sm80_f16_f32_nn_128x256x64: RowMajor x RowMajor, 128 x 256 x 64, 4 stages, Bits16Op<f16, f32>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f16_f32_nt_128x256x64: RowMajor x ColMajor, 128 x 256 x 64, 4 stages, Bits16Op<f16, f32>, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f16_f32_nn_64x64x64: RowMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_f32_nt_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_f32_tn_64x64x64: ColMajor x RowMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_f32_tt_64x64x64: ColMajor x ColMajor, 64 x 64 x 64, 3 stages, Bits16Op<f16, f32>, warp 32 x 32, 128 threads, 4 per SM, aligned, "sm_80", rate 0.5;
        sm80_f16_f32_unaligned_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<f16, f32>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    f32 => f32 {
        sm80_tf32_nt_128x256x32: RowMajor x ColMajor, 128 x 256 x 32, 4 stages, Tf32, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_tf32_nn_128x128x32: RowMajor x RowMajor, 128 x 128 x 32, 4 stages, Tf32, warp 64 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.7;
        sm80_tf32_nn_64x64x32: RowMajor x RowMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_tf32_nt_64x64x32: RowMajor x ColMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_tf32_tn_64x64x32: ColMajor x RowMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_tf32_tt_64x64x32: ColMajor x ColMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_tf32_unaligned_64x64x32: RowMajor x ColMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 2 per SM, unaligned32, "sm_80", rate 0.3;
    }
    f64 => f64 {
        sm80_f64_nn_128x64x16: RowMajor x RowMajor, 128 x 64 x 16, 4 stages, F64KMajor, warp 32 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f64_nt_128x64x16: RowMajor x ColMajor, 128 x 64 x 16, 4 stages, F64KMajor, warp 32 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f64_tn_128x64x32: ColMajor x RowMajor, 128 x 64 x 32, 4 stages, F64, warp 32 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f64_tt_128x64x32: ColMajor x ColMajor, 128 x 64 x 32, 4 stages, F64, warp 32 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_f64_nn_64x64x16: RowMajor x RowMajor, 64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_f64_nt_64x64x16: RowMajor x ColMajor, 64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_f64_tn_64x64x16: ColMajor x RowMajor, 64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_f64_tt_64x64x16: ColMajor x ColMajor, 64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_f64_unaligned_64x64x16: RowMajor x ColMajor, 64 x 64 x 16, 3 stages, F64OnAmpere, warp 32 x 32, 128 threads, 2 per SM, unaligned64, "sm_80", rate 0.3;
    }
    i8 => i32 {
        sm80_s8_nt_128x256x128: RowMajor x ColMajor, 128 x 256 x 128, 4 stages, S8, warp 64 x 64, 256 threads, 1 per SM, aligned, "sm_90", rate 0.9;
        sm80_s8_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, S8, warp 32 x 32, 128 threads, 3 per SM, aligned, "sm_80", rate 0.5;
        sm80_s8_unaligned_128x128x64: RowMajor x ColMajor, 128 x 128 x 64, 4 stages, S8, warp 64 x 32, 256 threads, 1 per SM, unaligned8, "sm_80", rate 0.3;
    }
    F8E4M3 => bf16 {
        sm80_e4m3_bf16_nt_128x64x128: RowMajor x ColMajor, 128 x 64 x 128, 4 stages, Fp8<F8E4M3, bf16>, warp 32 x 32, 256 threads, 1 per SM, aligned, "sm_90", rate 0.55;
        sm80_e4m3_bf16_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32, 128 threads, 2 per SM, aligned, "sm_89", rate 0.5;
        sm80_e4m3_bf16_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E4M3 => f16 {
        sm80_e4m3_f16_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, f16>, warp 32 x 32, 128 threads, 2 per SM, aligned, "sm_89", rate 0.5;
        sm80_e4m3_f16_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, f16>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E4M3 => f32 {
        sm80_e4m3_f32_nt_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, f32>, warp 32 x 32, 128 threads, 2 per SM, aligned, "sm_89", rate 0.5;
        sm80_e4m3_f32_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E4M3, f32>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E5M2 => bf16 {
        sm80_e5m2_bf16_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E5M2, bf16>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E5M2 => f16 {
        sm80_e5m2_f16_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E5M2, f16>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E5M2 => f32 {
        sm80_e5m2_f32_unaligned_64x64x128: RowMajor x ColMajor, 64 x 64 x 128, 3 stages, Fp8<F8E5M2, f32>, warp 32 x 32, 128 threads, 2 per SM, unaligned8, "sm_89", rate 0.3;
    }
}

sm80_mma! {
    Sm80Grouped by grouped_gemm:
    bf16 => bf16 {
        sm80_bf16_grouped_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<bf16>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    f16 => f16 {
        sm80_f16_grouped_128x128x32: RowMajor x ColMajor, 128 x 128 x 32, 4 stages, Bits16Op<f16>, warp 64 x 32, 256 threads, 1 per SM, unaligned16, "sm_80", rate 0.15;
    }
    f32 => f32 {
        sm80_tf32_grouped_64x64x32: RowMajor x ColMajor, 64 x 64 x 32, 3 stages, Tf32, warp 32 x 32, 128 threads, 1 per SM, unaligned32, "sm_80", rate 0.3;
    }
    i8 => i32 {
        sm80_s8_grouped_128x128x64: RowMajor x ColMajor, 128 x 128 x 64, 4 stages, S8, warp 64 x 32, 256 threads, 1 per SM, unaligned8, "sm_80", rate 0.3;
    }
    F8E4M3 => bf16 {
        sm80_e4m3_bf16_grouped_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Fp8<F8E4M3, bf16>, warp 32 x 32, 128 threads, 1 per SM, unaligned8, "sm_89", rate 0.3;
    }
    F8E5M2 => bf16 {
        sm80_e5m2_bf16_grouped_64x64x64: RowMajor x ColMajor, 64 x 64 x 64, 3 stages, Fp8<F8E5M2, bf16>, warp 32 x 32, 128 threads, 1 per SM, unaligned8, "sm_89", rate 0.3;
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
    host_table! { Sm90Mma: f64 => f64, host::TmaKernel, launch_tma, sm90_f64_nn_128x128x16 sm90_f64_tt_128x128x16 }
}

/// Kernels on `wgmma`, one in each row:
///
/// ```text
/// name: order of A x order of B => order of D,
///     tile M x N x K in TMA boxes of rows of A x columns of B, stages,
///     consumers x mainloop, blocks of a cluster,
///     staging tiles x columns of each, swizzle,
///     by columns of accumulators that an epilogue with C, bias or activation stores at once,
///     function, rate as a multiple of `mma.sync`'s throughput;
/// ```
///
/// The boxes are those of K-major operands. Boxes of MN-major operands are 128 bytes wide. A
/// mainloop is `Accumulate<M64_TILES, N, T>` or `Promote<N, N_SLICE, T>`.
/// `docs/ARCHITECTURE.md` says how to add a row.
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod sm90a {
    use super::*;
    use crate::kernels::sm90_grouped::grouped;
    use crate::kernels::sm90_promotion::Promote;
    use crate::kernels::sm90_wgmma::{Accumulate, run as gemm};
    use crate::kernels::sm90_wgmma_split_k::run as split_k;

    sm90_wgmma! {
        Sm90Wgmma:
        bf16 => bf16 {
            sm90_bf16_nn_128x256x64: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_bf16_nt_128x256x64: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_bf16_nn_128x256x64_c2: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_bf16_nt_128x256x64_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_bf16_tn_128x256x64: ColMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_tt_128x256x64: ColMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_nn_128x224x64_c2: RowMajor x RowMajor => RowMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.675;
            sm90_bf16_nt_128x224x64_c2: RowMajor x ColMajor => RowMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.675;
            sm90_bf16_nn_128x192x64_c2: RowMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_nt_128x192x64_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_tn_128x192x64_c2: ColMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_tt_128x192x64_c2: ColMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_nn_128x160x64_c2: RowMajor x RowMajor => RowMajor, 128 x 160 x 64 in 64 x 80, 4 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.56;
            sm90_bf16_nt_128x160x64_c2: RowMajor x ColMajor => RowMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.56;
            sm90_bf16_nn_128x128x64_c2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_nt_128x128x64_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_tn_128x128x64_c2: ColMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_tt_128x128x64_c2: ColMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_nn_64x128x64_c2: RowMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_nt_64x128x64_c2: RowMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_tn_64x128x64_c2: ColMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_tt_64x128x64_c2: ColMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_nn_64x64x64: RowMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_nt_64x64x64: RowMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_tn_64x64x64: ColMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_tt_64x64x64: ColMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
        }
        f16 => f16 {
            sm90_f16_nn_128x256x64: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_f16_nt_128x256x64: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_f16_nn_128x256x64_c2: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_f16_nt_128x256x64_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.715;
            sm90_f16_tn_128x256x64: ColMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_tt_128x256x64: ColMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_nn_128x224x64_c2: RowMajor x RowMajor => RowMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.675;
            sm90_f16_nt_128x224x64_c2: RowMajor x ColMajor => RowMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.675;
            sm90_f16_nn_128x192x64_c2: RowMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_nt_128x192x64_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_tn_128x192x64_c2: ColMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_tt_128x192x64_c2: ColMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_nn_128x160x64_c2: RowMajor x RowMajor => RowMajor, 128 x 160 x 64 in 64 x 80, 4 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.56;
            sm90_f16_nt_128x160x64_c2: RowMajor x ColMajor => RowMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 4 x 32 Swizzle64 by 32, gemm, 1.56;
            sm90_f16_nn_128x128x64_c2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_nt_128x128x64_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_tn_128x128x64_c2: ColMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_tt_128x128x64_c2: ColMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_nn_64x128x64_c2: RowMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_nt_64x128x64_c2: RowMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_tn_64x128x64_c2: ColMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_tt_64x128x64_c2: ColMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_nn_64x64x64: RowMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_nt_64x64x64: RowMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_tn_64x64x64: ColMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_tt_64x64x64: ColMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 0.7;
        }
        bf16 => f32 {
            sm90_bf16_f32_nn_128x256x64: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_f32_nt_128x256x64: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_f32_tn_128x256x64: ColMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_f32_tt_128x256x64: ColMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_bf16_f32_nn_128x192x64_c2: RowMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_f32_nt_128x192x64_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_f32_tn_128x192x64_c2: ColMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_f32_tt_128x192x64_c2: ColMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_bf16_f32_nn_128x128x64_c2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_f32_nt_128x128x64_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_f32_tn_128x128x64_c2: ColMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_f32_tt_128x128x64_c2: ColMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_bf16_f32_nn_64x128x64_c2: RowMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_f32_nt_64x128x64_c2: RowMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_f32_tn_64x128x64_c2: ColMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_f32_tt_64x128x64_c2: ColMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_bf16_f32_nn_64x64x64: RowMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_f32_nt_64x64x64: RowMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_f32_tn_64x64x64: ColMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_bf16_f32_tt_64x64x64: ColMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
        }
        f16 => f32 {
            sm90_f16_f32_nn_128x256x64: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_f32_nt_128x256x64: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_f32_tn_128x256x64: ColMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_f32_tt_128x256x64: ColMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_f16_f32_nn_128x192x64_c2: RowMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_f32_nt_128x192x64_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_f32_tn_128x192x64_c2: ColMajor x RowMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_f32_tt_128x192x64_c2: ColMajor x ColMajor => RowMajor, 128 x 192 x 64 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.66;
            sm90_f16_f32_nn_128x128x64_c2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_f32_nt_128x128x64_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_f32_tn_128x128x64_c2: ColMajor x RowMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_f32_tt_128x128x64_c2: ColMajor x ColMajor => RowMajor, 128 x 128 x 64 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_f16_f32_nn_64x128x64_c2: RowMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_f32_nt_64x128x64_c2: RowMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_f32_tn_64x128x64_c2: ColMajor x RowMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_f32_tt_64x128x64_c2: ColMajor x ColMajor => RowMajor, 64 x 128 x 64 in 32 x 64, 8 stages, 1 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.35;
            sm90_f16_f32_nn_64x64x64: RowMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_f32_nt_64x64x64: RowMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_f32_tn_64x64x64: ColMajor x RowMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
            sm90_f16_f32_tt_64x64x64: ColMajor x ColMajor => RowMajor, 64 x 64 x 64 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
        }
        f32 => f32 {
            sm90_tf32_nt_128x256x32_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 32 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.7;
            sm90_tf32_nt_128x128x32_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 32 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.65;
            sm90_tf32_nt_64x64x32: RowMajor x ColMajor => RowMajor, 64 x 64 x 32 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.7;
        }
        i8 => i32 {
            sm90_s8_nt_128x256x128_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, i32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.65;
            sm90_s8_nt_128x128x128_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 2, staging 2 x 32 Swizzle128 by 32, gemm, 1.6;
            sm90_s8_nt_64x64x128: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, i32>, cluster 1, staging 2 x 32 Swizzle128 by 32, gemm, 0.65;
        }
        F8E4M3 => bf16 {
            sm90_e4m3_bf16_nt_128x256x128_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e4m3_bf16_nt_128x192x128_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.07;
            sm90_e4m3_bf16_nt_128x128x128_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 2.9;
            sm90_e4m3_bf16_nt_64x64x128: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.1;
            sm90_e4m3_bf16_nt_128x256x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.6;
            sm90_e4m3_bf16_nt_128x192x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.45;
            sm90_e4m3_bf16_nt_128x128x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e4m3_bf16_nt_64x64x128_fast: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.3;
        }
        F8E4M3 => f16 {
            sm90_e4m3_f16_nt_128x256x128_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e4m3_f16_nt_128x192x128_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.07;
            sm90_e4m3_f16_nt_128x128x128_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 2.9;
            sm90_e4m3_f16_nt_64x64x128: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.1;
            sm90_e4m3_f16_nt_128x256x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.6;
            sm90_e4m3_f16_nt_128x192x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.45;
            sm90_e4m3_f16_nt_128x128x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e4m3_f16_nt_64x64x128_fast: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.3;
        }
        F8E5M2 => bf16 {
            sm90_e5m2_bf16_nt_128x256x128_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e5m2_bf16_nt_128x192x128_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.07;
            sm90_e5m2_bf16_nt_128x128x128_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 2.9;
            sm90_e5m2_bf16_nt_64x64x128: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.1;
            sm90_e5m2_bf16_nt_128x256x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.6;
            sm90_e5m2_bf16_nt_128x192x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.45;
            sm90_e5m2_bf16_nt_128x128x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e5m2_bf16_nt_64x64x128_fast: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.3;
        }
        F8E5M2 => f16 {
            sm90_e5m2_f16_nt_128x256x128_c2: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Promote<256, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e5m2_f16_nt_128x192x128_c2: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Promote<192, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.07;
            sm90_e5m2_f16_nt_128x128x128_c2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 2.9;
            sm90_e5m2_f16_nt_64x64x128: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Promote<64, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.1;
            sm90_e5m2_f16_nt_128x256x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 64 x 128, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.6;
            sm90_e5m2_f16_nt_128x192x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 192 x 128 in 64 x 96, 4 stages, 2 x Accumulate<1, 192, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.45;
            sm90_e5m2_f16_nt_128x128x128_c2_fast: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 64 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, gemm, 3.2;
            sm90_e5m2_f16_nt_64x64x128_fast: RowMajor x ColMajor => RowMajor, 64 x 64 x 128 in 32 x 32, 12 stages, 1 x Accumulate<1, 64, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, gemm, 1.3;
        }
    }

    // Swap-AB kernels compute Dᵀ = BᵀAᵀ, so that M maps to wgmma's N, any multiple of 8. The rows
    // are of Bᵀ, Aᵀ and Dᵀ; the names, of A, B and D.
    sm90_wgmma! {
        Sm90SwapAb:
        bf16 => bf16 {
            sm90_bf16_nn_160x256x64_swap_c2: ColMajor x ColMajor => ColMajor, 256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.654;
            sm90_bf16_nt_160x256x64_swap_c2: RowMajor x ColMajor => ColMajor, 256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.654;
            sm90_bf16_nn_192x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2, staging 6 x 16 Swizzle128 by 16, gemm, 1.695;
            sm90_bf16_nt_192x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2, staging 6 x 16 Swizzle128 by 16, gemm, 1.695;
            sm90_bf16_nn_176x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2, staging 11 x 8 Swizzle128 by 8, gemm, 1.695;
            sm90_bf16_nt_176x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2, staging 11 x 8 Swizzle128 by 8, gemm, 1.695;
            sm90_bf16_nn_160x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 160 x 64 in 96 x 80, 4 stages, 2 x Accumulate<3, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.685;
            sm90_bf16_nt_160x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 160 x 64 in 96 x 80, 4 stages, 2 x Accumulate<3, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.685;
            sm90_bf16_nn_240x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 240 x 64 in 64 x 120, 4 stages, 2 x Accumulate<1, 240, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.705;
            sm90_bf16_nt_240x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 240 x 64 in 64 x 120, 4 stages, 2 x Accumulate<1, 240, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.705;
            sm90_bf16_nn_224x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.69;
            sm90_bf16_nt_224x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.69;
            sm90_bf16_nn_208x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 208 x 64 in 64 x 104, 5 stages, 2 x Accumulate<1, 208, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.68;
            sm90_bf16_nt_208x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 208 x 64 in 64 x 104, 5 stages, 2 x Accumulate<1, 208, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.68;
            sm90_bf16_nn_200x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2, staging 2 x 40 Swizzle128 by 8, gemm, 1.675;
            sm90_bf16_nt_200x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2, staging 2 x 40 Swizzle128 by 8, gemm, 1.675;
            sm90_bf16_nn_176x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.665;
            sm90_bf16_nt_176x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.665;
            sm90_bf16_nn_160x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.644;
            sm90_bf16_nt_160x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.644;
            sm90_bf16_nn_144x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_bf16_nt_144x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_bf16_nn_144x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_bf16_nt_144x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_bf16_nn_112x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nt_112x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nn_112x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nt_112x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nn_80x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nt_80x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nn_80x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nt_80x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_bf16_nn_168x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2, staging 16 x 8 Swizzle128 by 8, gemm, 1.2;
            sm90_bf16_nt_168x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2, staging 16 x 8 Swizzle128 by 8, gemm, 1.2;
            sm90_bf16_nn_144x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 144 x 64 in 32 x 72, 8 stages, 1 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 0.9;
            sm90_bf16_nt_144x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 144 x 64 in 32 x 72, 8 stages, 1 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 0.9;
            sm90_bf16_nn_80x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 0.88;
            sm90_bf16_nt_80x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 0.88;
        }
        f16 => f16 {
            sm90_f16_nn_160x256x64_swap_c2: ColMajor x ColMajor => ColMajor, 256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.654;
            sm90_f16_nt_160x256x64_swap_c2: RowMajor x ColMajor => ColMajor, 256 x 160 x 64 in 128 x 80, 4 stages, 2 x Accumulate<2, 160, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.654;
            sm90_f16_nn_192x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2, staging 6 x 16 Swizzle128 by 16, gemm, 1.695;
            sm90_f16_nt_192x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 192 x 64 in 96 x 96, 4 stages, 2 x Accumulate<3, 96, f32>, cluster 2, staging 6 x 16 Swizzle128 by 16, gemm, 1.695;
            sm90_f16_nn_176x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2, staging 11 x 8 Swizzle128 by 8, gemm, 1.695;
            sm90_f16_nt_176x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 176 x 64 in 96 x 88, 4 stages, 2 x Accumulate<3, 88, f32>, cluster 2, staging 11 x 8 Swizzle128 by 8, gemm, 1.695;
            sm90_f16_nn_160x192x64_swap_c2: ColMajor x ColMajor => ColMajor, 192 x 160 x 64 in 96 x 80, 4 stages, 2 x Accumulate<3, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.685;
            sm90_f16_nt_160x192x64_swap_c2: RowMajor x ColMajor => ColMajor, 192 x 160 x 64 in 96 x 80, 4 stages, 2 x Accumulate<3, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.685;
            sm90_f16_nn_240x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 240 x 64 in 64 x 120, 4 stages, 2 x Accumulate<1, 240, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.705;
            sm90_f16_nt_240x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 240 x 64 in 64 x 120, 4 stages, 2 x Accumulate<1, 240, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.705;
            sm90_f16_nn_224x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.69;
            sm90_f16_nt_224x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 224 x 64 in 64 x 112, 4 stages, 2 x Accumulate<1, 224, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.69;
            sm90_f16_nn_208x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 208 x 64 in 64 x 104, 5 stages, 2 x Accumulate<1, 208, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.68;
            sm90_f16_nt_208x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 208 x 64 in 64 x 104, 5 stages, 2 x Accumulate<1, 208, f32>, cluster 2, staging 4 x 16 Swizzle128 by 16, gemm, 1.68;
            sm90_f16_nn_200x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2, staging 2 x 40 Swizzle128 by 8, gemm, 1.675;
            sm90_f16_nt_200x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 200 x 64 in 64 x 40, 5 stages, 2 x Accumulate<1, 200, f32>, cluster 2, staging 2 x 40 Swizzle128 by 8, gemm, 1.675;
            sm90_f16_nn_176x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.665;
            sm90_f16_nt_176x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 176 x 64 in 64 x 88, 5 stages, 2 x Accumulate<1, 176, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.665;
            sm90_f16_nn_160x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.644;
            sm90_f16_nt_160x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 160 x 64 in 64 x 80, 5 stages, 2 x Accumulate<1, 160, f32>, cluster 2, staging 8 x 16 Swizzle128 by 32, gemm, 1.644;
            sm90_f16_nn_144x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_f16_nt_144x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_f16_nn_144x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_f16_nt_144x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 144 x 64 in 64 x 72, 5 stages, 2 x Accumulate<1, 144, f32>, cluster 4, staging 8 x 16 Swizzle128 by 16, gemm, 1.61;
            sm90_f16_nn_112x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nt_112x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 2, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nn_112x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nt_112x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 112 x 64 in 64 x 56, 6 stages, 2 x Accumulate<1, 112, f32>, cluster 4, staging 7 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nn_80x128x64_swap_c2: ColMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nt_80x128x64_swap_c2: RowMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nn_80x128x64_swap_c4: ColMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nt_80x128x64_swap_c4: RowMajor x ColMajor => ColMajor, 128 x 80 x 64 in 64 x 40, 8 stages, 1 x Accumulate<2, 80, f32>, cluster 4, staging 5 x 16 Swizzle128 by 16, gemm, 1.5;
            sm90_f16_nn_168x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2, staging 16 x 8 Swizzle128 by 8, gemm, 1.2;
            sm90_f16_nt_168x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 168 x 64 in 32 x 56, 7 stages, 1 x Accumulate<1, 168, f32>, cluster 2, staging 16 x 8 Swizzle128 by 8, gemm, 1.2;
            sm90_f16_nn_144x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 144 x 64 in 32 x 72, 8 stages, 1 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 0.9;
            sm90_f16_nt_144x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 144 x 64 in 32 x 72, 8 stages, 1 x Accumulate<1, 144, f32>, cluster 2, staging 8 x 16 Swizzle128 by 16, gemm, 0.9;
            sm90_f16_nn_80x64x64_swap_c2: ColMajor x ColMajor => ColMajor, 64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 0.88;
            sm90_f16_nt_80x64x64_swap_c2: RowMajor x ColMajor => ColMajor, 64 x 80 x 64 in 32 x 40, 12 stages, 1 x Accumulate<1, 80, f32>, cluster 2, staging 5 x 16 Swizzle128 by 16, gemm, 0.88;
        }
    }

    // Cluster split-K: each block reduces and stores so many columns.
    sm90_wgmma! {
        Sm90SplitK:
        bf16 => bf16 {
            sm90_bf16_nn_128x128x64_split2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, split_k<64 of 128>, 1.6;
            sm90_bf16_nt_128x128x64_split2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, split_k<64 of 128>, 1.6;
            sm90_bf16_nn_128x128x64_split4: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4, staging 4 x 32 Swizzle64 by 32, split_k<32 of 128>, 1.6;
            sm90_bf16_nt_128x128x64_split4: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4, staging 4 x 32 Swizzle64 by 32, split_k<32 of 128>, 1.6;
            sm90_bf16_nn_128x128x64_split8: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8, staging 8 x 16 Swizzle32 by 16, split_k<16 of 128>, 1.6;
            sm90_bf16_nt_128x128x64_split8: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8, staging 8 x 16 Swizzle32 by 16, split_k<16 of 128>, 1.6;
        }
        f16 => f16 {
            sm90_f16_nn_128x128x64_split2: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, split_k<64 of 128>, 1.6;
            sm90_f16_nt_128x128x64_split2: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, split_k<64 of 128>, 1.6;
            sm90_f16_nn_128x128x64_split4: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4, staging 4 x 32 Swizzle64 by 32, split_k<32 of 128>, 1.6;
            sm90_f16_nt_128x128x64_split4: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4, staging 4 x 32 Swizzle64 by 32, split_k<32 of 128>, 1.6;
            sm90_f16_nn_128x128x64_split8: RowMajor x RowMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8, staging 8 x 16 Swizzle32 by 16, split_k<16 of 128>, 1.6;
            sm90_f16_nt_128x128x64_split8: RowMajor x ColMajor => RowMajor, 128 x 128 x 64 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 8, staging 8 x 16 Swizzle32 by 16, split_k<16 of 128>, 1.6;
        }
        f32 => f32 {
            sm90_tf32_nt_128x128x32_split2: RowMajor x ColMajor => RowMajor, 128 x 128 x 32 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 2, staging 2 x 32 Swizzle128 by 32, split_k<64 of 128>, 1.65;
            sm90_tf32_nt_128x128x32_split4: RowMajor x ColMajor => RowMajor, 128 x 128 x 32 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, f32>, cluster 4, staging 2 x 32 Swizzle128 by 32, split_k<32 of 128>, 1.65;
        }
        i8 => i32 {
            sm90_s8_nt_128x128x128_split2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 2, staging 2 x 32 Swizzle128 by 32, split_k<64 of 128>, 1.2;
            sm90_s8_nt_128x128x128_split4: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 32 x 64, 6 stages, 2 x Accumulate<1, 128, i32>, cluster 4, staging 2 x 32 Swizzle128 by 32, split_k<32 of 128>, 1.2;
        }
        F8E4M3 => bf16 {
            sm90_e4m3_bf16_nt_128x128x128_split2: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 32 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 2, staging 2 x 64 Swizzle128 by 32, split_k<64 of 128>, 2.2;
            sm90_e4m3_bf16_nt_128x128x128_split4: RowMajor x ColMajor => RowMajor, 128 x 128 x 128 in 32 x 64, 6 stages, 2 x Promote<128, 128, f32>, cluster 4, staging 4 x 32 Swizzle64 by 32, split_k<32 of 128>, 2.2;
        }
    }

    sm90_wgmma! {
        Sm90Grouped:
        bf16 => bf16 {
            sm90_bf16_nn_128x256x64_grouped: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 1.7;
            sm90_bf16_nt_128x256x64_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 1.7;
        }
        f16 => f16 {
            sm90_f16_nn_128x256x64_grouped: RowMajor x RowMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 1.7;
            sm90_f16_nt_128x256x64_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 64 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 1.7;
        }
        f32 => f32 {
            sm90_tf32_nt_128x256x32_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 32 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, f32>, cluster 1, staging 2 x 32 Swizzle128 by 32, grouped, 1.7;
        }
        i8 => i32 {
            sm90_s8_nt_128x256x128_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 128 x 256, 4 stages, 2 x Accumulate<1, 256, i32>, cluster 1, staging 2 x 32 Swizzle128 by 32, grouped, 1.65;
        }
        F8E4M3 => bf16 {
            sm90_e4m3_bf16_nt_128x256x128_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 128 x 256, 4 stages, 2 x Promote<256, 128, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 3.2;
        }
        F8E5M2 => bf16 {
            sm90_e5m2_bf16_nt_128x256x128_grouped: RowMajor x ColMajor => RowMajor, 128 x 256 x 128 in 128 x 256, 4 stages, 2 x Promote<256, 128, f32>, cluster 1, staging 2 x 64 Swizzle128 by 32, grouped, 3.2;
        }
    }
}
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub use sm90a::*;
