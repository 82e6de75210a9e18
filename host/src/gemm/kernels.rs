//! The kernels that there are: the one list that everything here goes by.

use bytemuck::Pod;
use ptx_matrix::launch::Device;
use ptx_matrix::{Rounded, bf16, f16};
use ptx_matrix_kernels::gemm::{self, split_k};

use super::Order::{self, ColMajor, RowMajor};

/// A kernel that multiplies matrices into a row-major D.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// How A lies.
    pub a: Order,
    /// How B lies.
    pub b: Order,
    /// Rows and columns of D that a block computes, and the K of its steps.
    pub tile: [usize; 3],
    /// Whether it can cut K in parts.
    pub splits: bool,
    /// How much of a multiprocessor's tensor throughput it reaches where nothing else is in the way.
    pub(super) rate: f64,
}

/// What a launch is given beside buffers.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Numbers {
    pub(super) sides: [u32; 3],
    pub(super) k_part: u32,
    pub(super) parts: u32,
    pub(super) batches: u32,
    /// Leading dimensions of A, B and D, where they start, and their batch strides.
    pub(super) strides: [u32; 3],
    pub(super) starts: [usize; 3],
    pub(super) batch_strides: [usize; 3],
    pub(super) alpha: f32,
    pub(super) beta: f32,
    pub(super) relu: u32,
}

/// The buffers of a launch; those without elements are not used.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "buffers of any device")]
pub struct Buffers<'a, D: Device, T: Pod> {
    pub(super) a: &'a D::Buffer<T>,
    pub(super) b: &'a D::Buffer<T>,
    pub(super) c: &'a D::Buffer<T>,
    pub(super) bias: &'a D::Buffer<T>,
    pub(super) d: &'a mut D::Buffer<T>,
    pub(super) sums: &'a mut D::Buffer<f32>,
}

/// An element of the matrices that kernels multiply.
pub trait GemmElement: Rounded + Pod {
    /// The kernels that multiply it.
    const KERNELS: &'static [Kernel];

    /// Launches a kernel of [`KERNELS`](Self::KERNELS).
    #[doc(hidden)]
    fn multiply<D: Device>(
        device: &D,
        kernel: &Kernel,
        buffers: Buffers<'_, D, Self>,
        numbers: Numbers,
    ) -> Result<D::Report, D::Error>;

    /// Launches the kernel that adds the parts of K.
    #[doc(hidden)]
    fn add_parts<D: Device>(device: &D, buffers: Buffers<'_, D, Self>, numbers: Numbers)
    -> Result<D::Report, D::Error>;
}

/// A row a kernel: its name, how A and B lie, its tile and its rate, as measured on an H200. `whole` ones cannot cut K in parts, those
/// that `split` can.
macro_rules! kernels {
    ($($element:ident {
        add $add:ident;
        $(whole $whole:ident $wa:ident x $wb:ident, $wm:literal x $wn:literal x $wk:literal, $wr:literal;)*
        $(split $split:ident $sa:ident x $sb:ident, $sm:literal x $sn:literal x $sk:literal, $sr:literal;)*
    })*) => {$(
        impl GemmElement for $element {
            const KERNELS: &'static [Kernel] = &[
                $(Kernel {
                    name: stringify!($whole), a: $wa, b: $wb, tile: [$wm, $wn, $wk], splits: false, rate: $wr
                },)*
                $(Kernel {
                    name: stringify!($split), a: $sa, b: $sb, tile: [$sm, $sn, $sk], splits: true, rate: $sr
                },)*
            ];

            fn multiply<D: Device>(
                device: &D,
                kernel: &Kernel,
                Buffers { a, b, c, bias, d, sums }: Buffers<'_, D, Self>,
                numbers: Numbers,
            ) -> Result<D::Report, D::Error> {
                let Numbers { sides: [m, n, k], k_part, parts, batches, alpha, beta, relu, .. } = numbers;
                let [lda, ldb, ldd] = numbers.strides;
                let ([start_a, start_b, start_d], [batch_a, batch_b, batch_d]) = (numbers.starts, numbers.batch_strides);
                let blocks = gemm::blocks(m as usize, n as usize, (kernel.tile[0], kernel.tile[1]));
                match kernel.name {
                    $(stringify!($whole) => gemm::$whole::launch(
                        device, (blocks, batches), a, b, c, bias, d, m, n, k, lda, ldb, ldd, start_a, start_b, start_d,
                        batch_a, batch_b, batch_d, alpha, beta, relu,
                    ),)*
                    $(stringify!($split) => split_k::$split::launch(
                        device, (blocks, batches, parts), a, b, c, bias, d, sums, m, n, k, k_part, batches, lda, ldb, ldd,
                        start_a, start_b, start_d, batch_a, batch_b, batch_d, alpha, beta, relu,
                    ),)*
                    other => unreachable!("`{other}` is not in the list that kernels are chosen from"),
                }
            }

            fn add_parts<D: Device>(
                device: &D,
                Buffers { c, bias, d, sums, .. }: Buffers<'_, D, Self>,
                numbers: Numbers,
            ) -> Result<D::Report, D::Error> {
                let Numbers { sides: [m, n, _], parts, batches, alpha, beta, relu, .. } = numbers;
                let blocks = m * n.div_ceil(split_k::ADDED_COLS as u32);
                split_k::$add::launch(
                    device, (blocks, batches), sums, c, bias, d, m, n, parts, batches, numbers.strides[2],
                    numbers.starts[2], numbers.batch_strides[2], alpha, beta, relu,
                )
            }
        }
    )*};
}

kernels! {
    bf16 {
        add add_parts_bf16;
        whole gemm_bf16_nn RowMajor x RowMajor, 128 x 256 x 64, 0.9;
        whole gemm_bf16_nt RowMajor x ColMajor, 128 x 256 x 64, 0.9;
        whole gemm_bf16_tn ColMajor x RowMajor, 128 x 256 x 64, 0.9;
        whole gemm_bf16_tt ColMajor x ColMajor, 128 x 256 x 64, 0.9;
        whole gemm_bf16_nt_128 RowMajor x ColMajor, 128 x 128 x 64, 0.8;
        split gemm_bf16_nn_16x64 RowMajor x RowMajor, 16 x 64 x 64, 0.25;
        split gemm_bf16_nn_16x128 RowMajor x RowMajor, 16 x 128 x 64, 0.25;
        split gemm_bf16_nt_16x64 RowMajor x ColMajor, 16 x 64 x 64, 0.25;
        split gemm_bf16_nt_16x128 RowMajor x ColMajor, 16 x 128 x 64, 0.25;
        split gemm_bf16_nn_64x128 RowMajor x RowMajor, 64 x 128 x 64, 0.7;
        split gemm_bf16_nt_64x128 RowMajor x ColMajor, 64 x 128 x 64, 0.7;
        split gemm_bf16_nn_64x64 RowMajor x RowMajor, 64 x 64 x 64, 0.5;
        split gemm_bf16_nt_64x64 RowMajor x ColMajor, 64 x 64 x 64, 0.5;
        split gemm_bf16_tn_64x64 ColMajor x RowMajor, 64 x 64 x 64, 0.5;
        split gemm_bf16_tt_64x64 ColMajor x ColMajor, 64 x 64 x 64, 0.5;
    }
    f16 {
        add add_parts_f16;
        whole gemm_f16_nn RowMajor x RowMajor, 128 x 256 x 64, 0.9;
        whole gemm_f16_nt RowMajor x ColMajor, 128 x 256 x 64, 0.9;
        split gemm_f16_nn_16x64 RowMajor x RowMajor, 16 x 64 x 64, 0.25;
        split gemm_f16_nn_16x128 RowMajor x RowMajor, 16 x 128 x 64, 0.25;
        split gemm_f16_nt_16x64 RowMajor x ColMajor, 16 x 64 x 64, 0.25;
        split gemm_f16_nt_16x128 RowMajor x ColMajor, 16 x 128 x 64, 0.25;
        split gemm_f16_nn_64x128 RowMajor x RowMajor, 64 x 128 x 64, 0.7;
        split gemm_f16_nt_64x128 RowMajor x ColMajor, 64 x 128 x 64, 0.7;
        split gemm_f16_nn_64x64 RowMajor x RowMajor, 64 x 64 x 64, 0.5;
        split gemm_f16_nt_64x64 RowMajor x ColMajor, 64 x 64 x 64, 0.5;
        split gemm_f16_tn_64x64 ColMajor x RowMajor, 64 x 64 x 64, 0.5;
        split gemm_f16_tt_64x64 ColMajor x ColMajor, 64 x 64 x 64, 0.5;
    }
}
