//! Sparse matrices, as `mma.sp` takes them (PTX ISA 9.7.14.6.1): half of each chunk of a row is zero. What is kept is a matrix of
//! half as many columns; where it was, the metadata says.

mod compress;
#[cfg(not(target_arch = "nvptx64"))]
mod compressed;
mod metadata;

#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use compressed::allowed;
#[cfg(not(target_arch = "nvptx64"))]
pub use compressed::{CompressError, Compressed};
pub use metadata::{Kept, Metadata};
