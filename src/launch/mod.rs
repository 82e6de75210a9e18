//! How a kernel is entered and launched: the grid, the kernel's description, its parameters, and the devices
//! that run it. `#[kernel]` writes the code that uses this module.

mod early;
mod fingerprint;
mod param;
mod tensor;

#[cfg(not(target_arch = "nvptx64"))]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
mod error;

pub use crate::element::TypeName;
pub use crate::lane::Grid;
pub use early::{AheadEnded, Early, asks, begin_early, end_early};
#[doc(hidden)]
pub use fingerprint::{Text, fingerprint, type_name};
pub use param::KernelParam;
#[cfg(not(target_arch = "nvptx64"))]
pub use {
    device::{Device, KernelBody, Launch},
    error::LaunchError,
    param::{ParamValue, Params},
    tensor::{EncodedMap, EncodedMapMut, Im2colTensor, Tensor},
};

use crate::memory::{MAX_SHARED_BYTES, MAX_STATIC_BYTES, SharedLayout};

/// What is known of a kernel before it runs.
#[derive(Debug, Clone, Copy)]
pub struct KernelInfo {
    /// The name of its entry in the PTX.
    pub name: &'static str,
    /// Threads in a block.
    pub threads: u32,
    /// Blocks that are to fit a multiprocessor together; 0 where the kernel does not say.
    pub min_blocks: u32,
    /// The most registers that a thread may take; 0 where the kernel does not say.
    pub max_registers: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Alignment of the shared memory.
    pub shared_align: u32,
    /// The blocks of a cluster; one, where the kernel does not say.
    pub cluster: Grid,
    /// Whether it waits by itself for the kernels ahead, so that its blocks may come before these have ended.
    pub early: bool,
    /// The line that the host compares with the PTX's: parameters, launch bounds, shared memory,
    /// and a hash of the crate's sources. A launch on a GPU fails where the two differ.
    ///
    /// ```
    /// # use ptx_matrix::*;
    /// #[kernel(threads = 64)]
    /// fn scale(block: &Block, data: GlobalMut<f32>, factor: f32) {}
    ///
    /// let fields: Vec<&str> = scale::INFO.fingerprint.split("; ").collect();
    /// assert_eq!(fields[..2], ["param data=GlobalMut<f32>", "param factor=f32"]);
    /// assert_eq!(fields[2..4], ["shared=0 aligned to 1", "threads=64"]);
    /// ```
    #[cfg(not(target_arch = "nvptx64"))]
    pub fingerprint: &'static str,
}

impl KernelInfo {
    /// The description of a kernel whose shared memory is `S`; a kernel with more than any GPU has does not compile.
    #[doc(hidden)]
    pub const fn new<S: SharedLayout>(
        name: &'static str,
        threads: u32,
        min_blocks: u32,
        max_registers: u32,
        [x, y, z]: [u32; 3],
        early: bool,
    ) -> Self {
        assert!(
            S::BYTES <= MAX_SHARED_BYTES,
            "the kernel's shared memory is more than any GPU has for a block: 227 KiB"
        );
        KernelInfo {
            name,
            threads,
            min_blocks,
            max_registers,
            shared_bytes: S::BYTES as u32,
            shared_align: S::ALIGN as u32,
            cluster: Grid { x, y, z },
            early,
            #[cfg(not(target_arch = "nvptx64"))]
            fingerprint: "",
        }
    }

    /// The same with a fingerprint.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    pub const fn with_fingerprint<const CAPACITY: usize>(self, text: &'static Text<CAPACITY>) -> Self {
        KernelInfo { fingerprint: text.as_str(), ..self }
    }

    /// Bytes of shared memory that the launch must ask for: all of it, if it is more than a kernel has by itself.
    pub const fn dynamic_shared_bytes(&self) -> u32 {
        if self.shared_bytes as usize > MAX_STATIC_BYTES { self.shared_bytes } else { 0 }
    }

    /// The words that the builder reads beside the kernel's entry: the format's version first; then, a bit for each PTX parameter, which
    /// of them are grid constants; and last the cluster, a byte for each dimension, or 0. `params`: how many PTX parameters each parameter
    /// becomes, and whether the first of them is one.
    #[doc(hidden)]
    pub const fn metadata(&self, params: &[(usize, bool)]) -> [u32; 9] {
        let (mut constants, mut first, mut index) = (0u64, 0, 0);
        while index < params.len() {
            let (count, by_value) = params[index];
            if by_value {
                assert!(first < 64, "a kernel's tensor maps are among its first parameters");
                constants |= 1 << first;
            }
            first += count;
            index += 1;
        }
        let KernelInfo { threads, min_blocks, max_registers, shared_bytes, shared_align, cluster, .. } = *self;
        let cluster = if cluster.blocks() == 1 { 0 } else { cluster.x | cluster.y << 8 | cluster.z << 16 };
        let (low, high) = (constants as u32, (constants >> 32) as u32);
        [3, threads, min_blocks, max_registers, shared_bytes, shared_align, low, high, cluster]
    }
}
