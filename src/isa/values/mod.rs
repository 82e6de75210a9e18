//! Forms as values: options, kernels as text, encodings of tensors. For the host only.

mod selectors;
mod tensor_encoding;
mod tensor_error;
mod text;
mod wgmma_form;
mod wgmma_options;
mod wgmma_text;

pub use selectors::Selectors;
pub use tensor_encoding::{TensorAccess, TensorEncoding};
pub use tensor_error::TensorMapError;
pub use text::{IMAGE_BYTES, Operand};
pub(crate) use wgmma_form::FILLED;
pub use wgmma_form::{WgmmaForm, all as all_wgmma};
pub use wgmma_options::WgmmaOptions;
