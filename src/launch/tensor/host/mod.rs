//! The construction of tensor maps on the host.

mod encode;
mod im2col;
mod place;

pub use encode::{EncodedMap, EncodedMapMut, Tensor};
pub use im2col::Im2colTensor;
