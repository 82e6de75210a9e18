//! The conformance run: compares every form of every instruction, and whole tiles, with a reference
//! bit for bit. The data is random. The reference follows the definition of the matrices.
//!
//! A [`Check`] is a kernel with its data and its reference. It runs the same on any
//! [`Device`](ptx_matrix::launch::Device): a GPU, or the simulator. A [`FormCheck`] is one of the
//! many forms of `wgmma`, executed by its name.

mod by_name;
mod checks;
mod compare;
pub mod record;
mod run;
mod trials;

pub use by_name::{ByName, Digests, FormCheck, all as all_by_name};
pub use checks::{Check, Checked};
pub use run::{
    Options, Outcome, Selected, Status, Summary, UnknownFilter, run, run_in_schedules, select,
};
pub use trials::{Trials, trials};

use ptx_matrix_reference::{self as reference, data};

/// The buffers of a kernel, in the order of its parameters, as bytes.
pub type Buffers = Vec<Vec<u8>>;

/// The elements of a buffer.
fn elements<T: bytemuck::Pod>(buffer: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(buffer)
}

/// A buffer of elements.
fn bytes<T: bytemuck::Pod>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}
