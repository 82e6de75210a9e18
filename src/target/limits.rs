//! What a block can have at most.

/// The most shared memory that a kernel has without asking the driver for more (48 KiB, on every
/// GPU). A kernel with more uses dynamic shared memory, which the launch asks for.
pub const MAX_STATIC_BYTES: usize = 48 * 1024;

/// The most shared memory that a block has on any GPU (sm_90, sm_100): 227 KiB.
pub const MAX_SHARED_BYTES: usize = 227 * 1024;
