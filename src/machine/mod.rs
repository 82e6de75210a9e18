//! The one seam: what an operation does on a GPU, and what it does on the CPU.
//!
//! Each function here stands for one operation. On the device it is an instruction of
//! [`raw`](crate::raw); on the host it is a call of the simulator's engine. What is above is
//! written once. What is below does not know of it.

/// Items of an implementation that only the CPU's build has.
macro_rules! host_items {
    ($($item:item)*) => { $(#[cfg(not(target_arch = "nvptx64"))] $item)* };
}
pub(crate) use host_items;

mod cast;
mod check;
mod copy;
pub(crate) mod dependent;
mod global;
mod hints;
mod map_ref;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod mma;
mod names;
mod round;
mod scope;
mod shared;
mod shuffle;
pub(crate) mod wgmma;

pub(crate) use cast::cast;
pub(crate) use check::check;
pub(crate) use copy::{commit_copies, copy_4, copy_8, copy_16, element, further, wait_for_copies};
pub(crate) use global::RawSlice;
#[cfg(target_arch = "nvptx64")]
pub(crate) use hints::all;
pub(crate) use hints::{clamped, fixed, opaque, uniform};
pub(crate) use map_ref::MapRef;
pub use names::SharedName;
pub(crate) use names::{SharedField, name_fields};
pub(crate) use round::f16_pair;
pub(crate) use scope::BlockRef;
pub(crate) use shared::load_shared_pair;
pub(crate) use shuffle::{shuffle, shuffle_down, shuffle_up, shuffle_xor};
