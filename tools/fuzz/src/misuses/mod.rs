//! Kernels with one misuse each, and their corrected versions: the simulator's findings, and the
//! messages of compute-sanitizer on a GPU.

mod cases;
mod launch;
mod recording;
mod sanitizer;

pub use cases::{CASES, Case, Found};
pub use launch::{on_gpu, on_simulator};
pub use recording::{Recording, Said};
pub use sanitizer::{Sanitizer, Tool};
