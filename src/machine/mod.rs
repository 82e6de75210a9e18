//! The one seam: what an operation does on a GPU, and what it does on the CPU.
//!
//! Each function here stands for one operation. On the device it is an instruction of [`raw`](crate::raw); on the host it
//! is a call of the simulator's engine. What is above is written once.

mod cast;
mod check;
mod hints;
mod map_ref;
mod shared;

pub(crate) use cast::cast;
pub(crate) use check::check;
#[cfg(target_arch = "nvptx64")]
pub(crate) use hints::{all, uniform};
pub(crate) use hints::{fixed, opaque};
pub(crate) use map_ref::MapRef;
pub(crate) use shared::load_shared_pair;
