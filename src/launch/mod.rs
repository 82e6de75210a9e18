//! Kernel launches: parameters, kernel descriptions, devices and tensor maps.
//!
//! [`kernel`](macro@crate::kernel) makes a type for each kernel. Its `launch` takes any `Device`:
//! the simulator of this crate, or a GPU of the crate `ptx-matrix-host`. Its `simulate` is the
//! short form for tests.
//!
//! | item | purpose |
//! | --- | --- |
//! | `Device`, `Launch`, `LaunchError` | devices: memory, copies and launches (on the host) |
//! | `Tensor`, `Im2colTensor` | descriptions of tensors, for tensor maps (on the host) |
//! | [`KernelInfo`] | a kernel's launch bounds, shared memory, cluster and fingerprint |
//! | [`KernelParam`] | the types of kernel parameters |
//! | [`Dependent`] | programmatic dependent launch (PDL): memory that a preceding kernel writes |
//!
//! The types of memory parameters are in [`memory`](crate::memory) and [`copy`](crate::copy).
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
mod dependent;
mod fingerprint;
mod param;
mod tensor;

#[cfg(not(target_arch = "nvptx64"))]
mod device;
#[cfg(not(target_arch = "nvptx64"))]
mod error;
#[cfg(not(target_arch = "nvptx64"))]
mod run;

pub use crate::element::TypeName;
pub use crate::lane::Grid;
pub use args::{ByValue, KernelData, KernelField};
#[doc(hidden)]
pub use args::{StoredSlice, any_early};
pub use dependent::{Dependent, PrecedingEnded, asks, begin_dependent, end_dependent};
#[doc(hidden)]
pub use fingerprint::{Text, fingerprint, fingerprint_len, type_name};
pub use param::KernelParam;
#[doc(hidden)]
pub use param::ParamInfo;
#[cfg(not(target_arch = "nvptx64"))]
pub use {
    device::{Device, Launch},
    error::LaunchError,
    param::Params,
    tensor::{EncodedMap, EncodedMapMut, Im2colTensor, Tensor},
};
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub use {
    param::FieldBytes,
    run::{KernelEntry, KernelParams, launch},
};

use crate::memory::{MAX_SHARED_BYTES, MAX_STATIC_BYTES, SharedLayout};
#[cfg(not(target_arch = "nvptx64"))]
use crate::target::{Arch, Needs};

/// The compile-time description of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct KernelInfo {
    /// The name of the entry in the PTX.
    pub name: &'static str,
    /// Threads in a block.
    pub threads: u32,
    /// Blocks that must fit an SM together (`.minnctapersm`); 0 if the kernel does not set it.
    pub min_blocks: u32,
    /// The most registers of a thread (`.maxnreg`); 0 if the kernel does not set it.
    pub max_registers: u32,
    /// Bytes of shared memory.
    pub shared_bytes: u32,
    /// Alignment of the shared memory, in bytes.
    pub shared_align: u32,
    /// Blocks of a cluster along each dimension; one block if the kernel does not set it.
    pub cluster: Grid,
    /// Whether the kernel itself waits for the preceding kernels, so that its blocks may start
    /// before those have ended (PDL).
    pub dependent: bool,
    /// The targets that `#[kernel(target = ..)]` names; empty for all. See
    /// [`is_for`](Self::is_for).
    pub targets: &'static [&'static str],
    /// The kernel's fingerprint: parameters, launch bounds, shared memory, and a hash of the
    /// crate's sources.
    ///
    /// The host compares it with the PTX's. A launch on a GPU fails if they differ.
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

/// The launch bounds that `#[kernel]` was given; 0 for the ones that it was not. They are long
/// enough for any integer.
#[doc(hidden)]
pub struct Bounds {
    /// Threads in a block.
    pub threads: i128,
    /// Blocks that must fit an SM together.
    pub min_blocks: i128,
    /// The most registers of a thread.
    pub max_registers: i128,
    /// Blocks of a cluster along each dimension.
    pub cluster: [i128; 3],
    /// Whether blocks start before the preceding kernels have ended (PDL).
    pub dependent: bool,
    /// The targets; empty for all.
    pub targets: &'static [&'static str],
}

impl Bounds {
    /// Checks constants; `#[kernel]` has checked literal numbers.
    const fn check(&self) {
        let [x, y, z] = self.cluster;
        assert!(
            self.threads > 0 && self.threads <= 1024 && self.threads % 32 == 0,
            "a block has whole warps: `threads` must be a multiple of 32 from 32 to 1024"
        );
        assert!(
            0 <= self.min_blocks && self.min_blocks <= 32,
            "`min_blocks` must be from 1 to 32 blocks"
        );
        assert!(
            0 <= self.max_registers && self.max_registers <= 255,
            "`max_registers` must be from 1 to 255 registers"
        );
        assert!(x > 0 && y > 0 && z > 0, "a cluster needs at least one block along each dimension");
        let blocks = x.saturating_mul(y).saturating_mul(z);
        assert!(blocks <= 8, "a cluster has at most 8 blocks");
    }
}

impl KernelInfo {
    /// Describes a kernel whose shared memory is `S`. More shared memory than any GPU has does not
    /// compile.
    #[doc(hidden)]
    pub const fn new<S: SharedLayout>(name: &'static str, bounds: Bounds) -> Self {
        bounds.check();
        let Bounds { threads, min_blocks, max_registers, cluster, dependent, targets } = bounds;
        let [x, y, z] = cluster;
        assert!(
            S::BYTES <= MAX_SHARED_BYTES,
            "the kernel's shared memory is more than any GPU has for a block: 227 KiB"
        );
        KernelInfo {
            name,
            threads: threads as u32,
            min_blocks: min_blocks as u32,
            max_registers: max_registers as u32,
            shared_bytes: S::BYTES as u32,
            shared_align: S::ALIGN as u32,
            cluster: Grid { x: x as u32, y: y as u32, z: z as u32 },
            dependent,
            targets,
            #[cfg(not(target_arch = "nvptx64"))]
            fingerprint: "",
        }
    }

    /// Adds the fingerprint.
    #[cfg(not(target_arch = "nvptx64"))]
    #[doc(hidden)]
    pub const fn with_fingerprint<const CAPACITY: usize>(
        self,
        text: &'static Text<CAPACITY>,
    ) -> Self {
        KernelInfo { fingerprint: text.as_str(), ..self }
    }

    /// Whether builds for a GPU contain the kernel: whether the GPU has one of its
    /// [`targets`](Self::targets).
    ///
    /// ```
    /// use ptx_matrix::{prelude::*, sim::Arch};
    ///
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn since_hopper(block: &Block) {}
    ///
    /// #[kernel(threads = 32, target = "sm_90a")]
    /// fn on_hopper(block: &Block) {}
    ///
    /// let on = |gpu: Arch| [since_hopper::INFO.is_for(gpu), on_hopper::INFO.is_for(gpu)];
    /// assert_eq!(on(Arch::SM_80), [false, false]);
    /// assert_eq!(on(Arch::SM_90), [true, true]);
    /// assert_eq!(on(Arch::SM_100), [true, false]);
    /// ```
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn is_for(&self, gpu: Arch) -> bool {
        let has = |target: &&str| {
            let digits = target.trim_start_matches("sm_").trim_end_matches('a');
            let only = target.ends_with('a');
            let needs = |sm| Needs { sm, specific: only, arch: only, only };
            digits.parse().is_ok_and(|sm| gpu.has(needs(sm)))
        };
        self.targets.is_empty() || self.targets.iter().any(has)
    }

    /// The dynamic shared memory of a launch, in bytes: all of the kernel's, if it is more than
    /// static shared memory can have.
    pub const fn dynamic_shared_bytes(&self) -> u32 {
        if self.shared_bytes as usize > MAX_STATIC_BYTES { self.shared_bytes } else { 0 }
    }

    /// The metadata that the builder reads beside the kernel's entry: words, in this order.
    ///
    /// | words | content |
    /// | --- | --- |
    /// | 0 | the version of the format |
    /// | 1 to 5 | threads, `min_blocks`, `max_registers`, bytes and alignment of shared memory |
    /// | 6 | the cluster, `x \| y << 8 \| z << 16`; 0 for one block |
    /// | 7 and on | for each PTX parameter: `bytes << 8 \| alignment` of a grid constant, or 0 |
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

/// The words of the metadata before those of the parameters.
const KERNEL_WORDS: usize = 7;

/// The number of words of a kernel's metadata.
#[doc(hidden)]
pub const fn metadata_words(params: &[ParamInfo]) -> usize {
    let (mut words, mut index) = (KERNEL_WORDS, 0);
    while index < params.len() {
        words += if params[index].tail.is_some() { 2 } else { 1 };
        index += 1;
    }
    words
}
