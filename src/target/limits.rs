//! Limits of the shared memory of a block.

/// The most shared memory of a kernel without a request to the driver: 48 KiB, on every GPU.
///
/// A kernel with more uses dynamic shared memory, which the launch requests.
pub const MAX_STATIC_BYTES: usize = 48 * 1024;

/// The most shared memory of a block on any GPU (sm_90, sm_100): 227 KiB.
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
