//! Forms as values: options, kernels as PTX text, encodings of tensor maps. On the host only.
//!
//! | file | contents |
//! | --- | --- |
//! | `text.rs`, `selectors.rs` | kernels and selectors of warp forms |
//! | `wgmma_form.rs`, `wgmma_options.rs`, `wgmma_text.rs` | `wgmma` forms, options, kernels |
//! | `tensor_encoding.rs`, `tensor_error.rs` | tensor maps |
//!
//! `sim/by_name/` executes these forms; `copy/`, `launch/` and the engine use the tensor maps.

mod selectors;
mod tensor_encoding;
mod tensor_error;
mod text;
mod wgmma_form;
mod wgmma_options;
mod wgmma_text;

pub use selectors::Selectors;
pub use tensor_encoding::{TensorAccess, TensorEncoding};
pub use tensor_error::{BoxLines, TensorMapError};
pub use text::{IMAGE_BYTES, Operand};
pub(crate) use wgmma_form::FILLED;
pub use wgmma_form::{WgmmaForm, all as all_wgmma};
pub use wgmma_options::WgmmaOptions;
