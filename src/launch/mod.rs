//! Kernels as programs launch them: parameters, descriptions and devices.
//!
//! [`kernel`](macro@crate::kernel) makes a module for each kernel. Its `launch` takes any `Device`:
//! the simulator here, or a GPU of the crate `ptx-matrix-host`. Its `simulate` is the short form
//! for tests.
//!
//! | item | purpose |
//! | --- | --- |
//! | `Device`, `Launch`, `LaunchError` | devices: memory, copies and launches (on the host) |
//! | `Tensor`, `Im2colTensor` | tensors of which tensor maps are made (on the host) |
//! | [`KernelInfo`] | a kernel's launch bounds, shared memory, cluster and fingerprint |
//! | [`KernelParam`] | the types of parameters |
//! | [`Early`] | programmatic dependent launch (PDL): a parameter that an earlier kernel writes |
//!
//! ```
//! use ptx_matrix::launch::Device;
//! use ptx_matrix::prelude::*;
//! use ptx_matrix::sim::Simulator;
//!
//! #[kernel(threads = 32)]
//! fn double(block: &Block, data: GlobalMut<f32>) {
//!     block.warp().each(|lane| data.set(lane.id(), 2.0 * data.get(lane, lane.id())));
//! }
//!
//! let device = Simulator::default();
//! let mut data = device.upload(&[1.5; 32])?;
//! double::launch(&device, 1, &mut data).check();
//! assert_eq!(device.download(&data)?, [3.0; 32]);
//! assert_eq!(double::INFO.threads, 32);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod args;
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
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use args::Fields;
pub use args::{ByValue, KernelData, KernelField};
#[doc(hidden)]
pub use args::{StoredSlice, any_early};
pub use early::{AheadEnded, Early, asks, begin_early, end_early};
#[doc(hidden)]
pub use fingerprint::{Text, fingerprint, fingerprint_len, type_name};
pub use param::KernelParam;
#[doc(hidden)]
pub use param::ParamInfo;
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
    /// Whether it waits by itself for the kernels ahead, so that its blocks may come before these
    /// have ended.
    pub early: bool,
    /// The line that the host compares with the PTX's: parameters, launch bounds, shared memory,
    /// and a hash of the crate's sources. A launch on a GPU fails where the two differ.
    ///
    /// ```
    /// # use ptx_matrix::prelude::*;
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

/// How a kernel is launched, as `#[kernel]` is told. What it is not told of is 0.
#[doc(hidden)]
pub struct Bounds {
    /// Threads in a block.
    pub threads: u32,
    /// Blocks that are to fit an SM together.
    pub min_blocks: u32,
    /// The most registers of a thread.
    pub max_registers: u32,
    /// Blocks of a cluster along each dimension.
    pub cluster: [u32; 3],
    /// Whether blocks come before the kernels ahead have ended.
    pub early: bool,
}

impl Bounds {
    /// `#[kernel]` has checked numbers; constants are checked here.
    const fn check(&self) {
        let [x, y, z] = self.cluster;
        assert!(
            self.threads > 0 && self.threads <= 1024 && self.threads.is_multiple_of(32),
            "a block has whole warps: its threads are a multiple of 32 from 32 to 1024"
        );
        assert!(self.min_blocks <= 32, "`min_blocks` is from 1 to 32 blocks");
        assert!(self.max_registers <= 255, "`max_registers` is from 1 to 255 registers");
        assert!(x > 0 && y > 0 && z > 0, "a cluster has a block or more along each dimension");
        let blocks = (x as u64).saturating_mul(y as u64).saturating_mul(z as u64);
        assert!(blocks <= 8, "a cluster has at most 8 blocks");
    }
}

impl KernelInfo {
    /// The description of a kernel whose shared memory is `S`; a kernel with more than any GPU has
    /// does not compile.
    #[doc(hidden)]
    pub const fn new<S: SharedLayout>(name: &'static str, bounds: Bounds) -> Self {
        bounds.check();
        let Bounds { threads, min_blocks, max_registers, cluster: [x, y, z], early } = bounds;
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
    pub const fn with_fingerprint<const CAPACITY: usize>(
        self,
        text: &'static Text<CAPACITY>,
    ) -> Self {
        KernelInfo { fingerprint: text.as_str(), ..self }
    }

    /// Bytes of shared memory that the launch must ask for: all of it, if it is more than a kernel
    /// has by itself.
    pub const fn dynamic_shared_bytes(&self) -> u32 {
        if self.shared_bytes as usize > MAX_STATIC_BYTES { self.shared_bytes } else { 0 }
    }

    /// The words that the builder reads beside the kernel's entry: the format's version, the
    /// bounds, shared memory, and the cluster, a byte for each dimension, or 0. Behind them, a word
    /// for each PTX parameter: of a grid constant its bytes, times 256, and its alignment, else 0.
    #[doc(hidden)]
    pub const fn metadata<const WORDS: usize>(&self, params: &[ParamInfo]) -> [u32; WORDS] {
        let KernelInfo {
            threads,
            min_blocks,
            max_registers,
            shared_bytes,
            shared_align,
            cluster,
            ..
        } = *self;
        let cluster =
            if cluster.blocks() == 1 { 0 } else { cluster.x | cluster.y << 8 | cluster.z << 16 };
        let first = [4, threads, min_blocks, max_registers, shared_bytes, shared_align, cluster];
        let mut words = [0; WORDS];
        let (of_kernel, of_params) = words.split_at_mut(KERNEL_WORDS);
        of_kernel.copy_from_slice(&first);
        let (mut word, mut index) = (0, 0);
        while index < params.len() {
            let ParamInfo { head, tail, is_constant, .. } = params[index];
            if is_constant {
                of_params[word] = (head.bytes << 8 | head.align) as u32;
            }
            word += if tail.is_some() { 2 } else { 1 };
            index += 1;
        }
        words
    }
}

/// Words of a kernel's metadata that are about no parameter.
const KERNEL_WORDS: usize = 7;

/// How many words a kernel's metadata has.
#[doc(hidden)]
pub const fn metadata_words(params: &[ParamInfo]) -> usize {
    let (mut words, mut index) = (KERNEL_WORDS, 0);
    while index < params.len() {
        words += if params[index].tail.is_some() { 2 } else { 1 };
        index += 1;
    }
    words
}
