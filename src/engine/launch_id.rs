//! The identity of a launch. Only its own blocks use its slices and tensor maps.
//!
//! Handles are `Sync`, so that lane closures may capture them. A kernel could therefore lend one to
//! another thread of the host, even to one that simulates another launch. Each access compares the
//! handle's launch with the thread's.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a launch. The default is that of handles that no launch has made.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchId(u64);

std::thread_local! {
    /// The launch whose arguments this thread passes on, or whose block it simulates.
    static CURRENT: Cell<LaunchId> = const { Cell::new(LaunchId(0)) };
    /// The launch whose arguments this thread binds. A kernel binds none: the buffer might not
    /// exist until the kernel's end.
    static BINDING: Cell<LaunchId> = const { Cell::new(LaunchId(0)) };
}

impl LaunchId {
    /// The launch that new handles belong to; none outside of a launch function.
    pub(crate) fn of_new_handles() -> Self {
        BINDING.get()
    }

    /// Makes this launch the thread's, and returns the one before.
    pub(crate) fn replace(self) -> Self {
        CURRENT.replace(self)
    }

    /// Stops the kernel if the thread does not belong to this launch, or there is none: outside of
    /// launches, a handle may have the address of a buffer on a GPU.
    #[track_caller]
    pub(crate) fn check(self, handle: &str) {
        if self != CURRENT.get() || self == LaunchId(0) {
            refuse(handle);
        }
    }
}

#[cold]
#[track_caller]
fn refuse(handle: &str) -> ! {
    panic!(
        "`{handle}` is a parameter of a kernel, and is used outside of its launch: on another \
         thread, or in a kernel that its kernel simulates"
    );
}

/// Binds the arguments of a launch. The handles that this thread makes until
/// [`bound`](Self::bound) are the launch's.
pub struct Binding {
    launch: LaunchId,
    previous: LaunchId,
    previously_bound: LaunchId,
}

impl Binding {
    /// Begins a new launch.
    pub fn begin() -> Self {
        static LAUNCHES: AtomicU64 = AtomicU64::new(1);
        let launch = LaunchId(LAUNCHES.fetch_add(1, Ordering::Relaxed));
        Binding { launch, previous: launch.replace(), previously_bound: BINDING.replace(launch) }
    }

    /// Ends the binding. This thread may use the handles until it [leaves](Self::leave) the launch.
    pub fn bound(&self) {
        BINDING.set(self.previously_bound);
    }

    /// Leaves the launch: only its blocks use the handles now. While this thread waits for them, it
    /// may run jobs of others, in a block of another launch.
    pub fn leave(&self) {
        self.previous.replace();
    }

    /// The launch.
    pub fn launch(&self) -> LaunchId {
        self.launch
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.bound();
        self.leave();
    }
}
