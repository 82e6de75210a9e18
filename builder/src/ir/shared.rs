//! Declares shared memory. The kernel names the symbol in its asm.

use super::KernelMetadata;

/// The maximum bytes of static shared memory. A kernel with more requests dynamic shared memory at
/// launch.
pub const STATIC_SHARED_LIMIT: u32 = 48 * 1024;

/// The module-level asm that declares a kernel's shared memory, if it has any.
pub fn declaration(kernel: &str, metadata: &KernelMetadata) -> Option<String> {
    let KernelMetadata { shared_bytes: bytes, shared_align: align, .. } = *metadata;
    let symbol = format!("__ptx_matrix_shared_{kernel}");
    match bytes {
        0 => None,
        1..=STATIC_SHARED_LIMIT => {
            Some(format!("module asm \".shared .align {align} .b8 {symbol}[{bytes}];\"\n"))
        }
        _ => Some(format!("module asm \".extern .shared .align {align} .b8 {symbol}[];\"\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_shared(shared_bytes: u32) -> KernelMetadata {
        KernelMetadata {
            threads: None,
            min_blocks: None,
            max_registers: None,
            shared_bytes,
            shared_align: 128,
            grid_constants: Vec::new(),
            cluster: None,
        }
    }

    #[test]
    fn memory_beyond_the_limit_is_sized_at_launch() {
        assert_eq!(declaration("k", &with_shared(0)), None);
        assert_eq!(
            declaration("k", &with_shared(49152)).unwrap(),
            "module asm \".shared .align 128 .b8 __ptx_matrix_shared_k[49152];\"\n"
        );
        assert_eq!(
            declaration("k", &with_shared(49153)).unwrap(),
            "module asm \".extern .shared .align 128 .b8 __ptx_matrix_shared_k[];\"\n"
        );
    }
}
