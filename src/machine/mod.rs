//! The seam between the GPU and the CPU: the two implementations of each operation.
//!
//! Each function stands for one operation. On the device it calls an instruction of
//! [`raw`](crate::raw); on the host it calls the simulator's engine. `scope/`, `memory/`, `sync/`,
//! `copy/`, `mma/` and `launch/` call these functions, and are written once for both. The folders
//! below do not depend on this one.
//!
//! | file | contents |
//! | --- | --- |
//! | `scope.rs`, `shuffle.rs` | block, warp and lanes; `shfl.sync` |
//! | `global.rs`, `shared.rs`, `names.rs` | global and shared memory; names for reports |
//! | `copy.rs`, `map_ref.rs` | `cp.async`; tensor maps |
//! | `mbarrier.rs`, `dependent.rs` | mbarriers; programmatic dependent launch |
//! | `matrix.rs`, `mma.rs`, `wgmma.rs` | matrix instructions |
//! | `hints.rs` | optimisation barriers |
//! | `check.rs`, `cast.rs`, `round.rs` | checks, conversions |

/// Items of an implementation that exist only in the CPU's build.
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
mod math;
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
pub(crate) use hints::{fixed, opaque, uniform};
pub(crate) use map_ref::MapRef;
pub(crate) use math::fma;
pub use names::SharedName;
pub(crate) use names::{SharedField, name_fields};
pub(crate) use round::f16_pair;
pub(crate) use scope::BlockRef;
pub(crate) use shared::{check_swizzle, load_shared_pair, note_row, note_written};
pub(crate) use shuffle::{broadcast, shuffle, shuffle_down, shuffle_up, shuffle_xor};
