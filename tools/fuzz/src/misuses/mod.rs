//! Kernels with one misuse each, and mended: what the simulator finds in them, and what
//! compute-sanitizer says of them on a GPU.

mod cases;
mod launch;
mod recording;
mod sanitizer;

pub use cases::{CASES, Case, Found};
pub use launch::{on_gpu, on_simulator};
pub use recording::{Recording, Said};
pub use sanitizer::{Sanitizer, Tool};
