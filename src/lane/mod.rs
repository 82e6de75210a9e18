//! Values that differ between the lanes of a warp.
//!
//! A kernel runs at warp scope, where a plain value is the same in all 32 lanes. A value that may
//! differ is a [`PerLane`]. A lane closure makes and reads it. Collectives cannot be called
//! there. So the lanes of a warp cannot diverge at a collective.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`Lane`] | the lane that a lane closure runs for; [`Lane::id`] is its number |
//! | [`PerLane`] | a value for each lane; on a GPU, the lane's own `T` in registers |
//! | [`LaneCapture`] | the values that a lane closure may capture |
//! | [`Grid`] | coordinates of blocks in the grid |
//! | [`AccessKind`] | what an access to memory does, in a finding |
//! | [`LANES`] | 32, the lanes of a warp |
//!
//! ```
//! use ptx_matrix::prelude::*;
//!
//! #[kernel(threads = 32)]
//! fn squares(block: &Block, d: GlobalMut<u32>) {
//!     let warp = block.warp();
//!     let square = warp.each(|lane| (lane.id() * lane.id()) as u32); // A `PerLane<u32>`.
//!     warp.each(|lane| d.set(lane.id(), lane.get(&square)));
//! }
//!
//! let mut d = [0; 32];
//! squares::simulate(1, &mut d).check();
//! assert_eq!(d[5], 25);
//! ```

mod access_kind;
mod grid;
#[cfg_attr(target_arch = "nvptx64", path = "device.rs")]
#[cfg_attr(not(target_arch = "nvptx64"), path = "host.rs")]
mod here;
mod sealed;
mod site;

pub use access_kind::AccessKind;
pub use grid::Grid;
pub(crate) use here::Capturable;
pub use here::LaneCapture;
use here::{Line, Number, Stored, caller};
pub(crate) use here::{array, mapped};
pub(crate) use sealed::Sealed;
pub(crate) use site::Site;

use core::marker::PhantomData;

/// Lanes in a warp.
pub const LANES: usize = 32;

/// A value that may differ between the lanes of a warp.
///
/// [`Warp::each`](crate::scope::Warp::each) makes it, and [`Lane::get`] reads it in another lane
/// closure. Outside of lane closures it cannot be read. On the device it is the lane's own `T`, at
/// no cost. On the host it holds the values of all 32 lanes.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// #[kernel(threads = 32)]
/// fn squares(block: &Block, d: GlobalMut<u32>) {
///     let warp = block.warp();
///     let mut numbers: PerLane<u32> = warp.each(|lane| lane.id() as u32);
///     warp.update(&mut numbers, |_, number| *number *= *number);
///     warp.each(|lane| d.set(lane.id(), lane.get(&numbers)));
/// }
///
/// let mut d = [0; 32];
/// squares::simulate(1, &mut d).check();
/// assert_eq!(d[7], 49);
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct PerLane<T>(Stored<T>);

impl<T> PerLane<T> {
    /// The same value in every lane.
    #[inline]
    pub const fn splat(value: T) -> Self
    where
        T: Copy,
    {
        Self::splat_stored(value)
    }
}

// SAFETY: all-zero bytes are a `T` in each lane.
unsafe impl<T: bytemuck::Zeroable> bytemuck::Zeroable for PerLane<T> {}

/// One lane of a warp, in a lane closure.
#[derive(Clone, Copy)]
pub struct Lane<'w> {
    #[allow(dead_code, reason = "the hardware knows it")]
    number: Number,
    _closure: PhantomData<&'w ()>,
}

impl Lane<'_> {
    /// The lane's number in its warp, `0..32`.
    #[inline]
    pub fn id(self) -> usize {
        self.number()
    }

    /// Returns this lane's value.
    #[inline]
    pub fn get<T: Copy>(self, values: &PerLane<T>) -> T {
        *values.lane_ref(self)
    }
}
