//! The parts of `cargo ptx` that the repository's own commands use too.

pub mod build;
pub mod doctor;
#[cfg(feature = "forms")]
pub mod layout;
