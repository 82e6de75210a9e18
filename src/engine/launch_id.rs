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
    /// The launch of the block that this thread simulates; none outside of blocks.
    static CURRENT: Cell<LaunchId> = const { Cell::new(LaunchId(0)) };
    /// The launch whose arguments this thread binds. A kernel binds none: the buffer might not
    /// exist until the kernel's end.
    static BINDING: Cell<LaunchId> = const { Cell::new(LaunchId(0)) };
    /// Whether an argument of it has atomic elements.
    static TAKES_TURNS: Cell<bool> = const { Cell::new(false) };
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

    /// Stops the kernel if the thread simulates no block of this launch. Outside of blocks, a
    /// handle may have the address of a buffer on a GPU.
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
    previous: (LaunchId, bool),
    takes_turns: Cell<bool>,
}

impl Binding {
    /// Begins a new launch.
    pub fn begin() -> Self {
        static LAUNCHES: AtomicU64 = AtomicU64::new(1);
        let launch = LaunchId(LAUNCHES.fetch_add(1, Ordering::Relaxed));
        let previous = (BINDING.replace(launch), TAKES_TURNS.replace(false));
        Binding { launch, previous, takes_turns: Cell::new(false) }
    }

    /// Ends the binding. Only the launch's blocks use the handles.
    pub fn bound(&self) {
        if BINDING.get() == self.launch {
            let (launch, takes_turns) = self.previous;
            BINDING.set(launch);
            self.takes_turns.set(TAKES_TURNS.replace(takes_turns));
        }
    }

    /// An argument of the launch that is bound has atomic elements.
    pub(crate) fn take_turns() {
        TAKES_TURNS.set(true);
    }

    /// Whether the launch's clusters take turns: they share atomic elements.
    pub(crate) fn takes_turns(&self) -> bool {
        self.takes_turns.get()
    }

    /// The launch.
    pub fn launch(&self) -> LaunchId {
        self.launch
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.bound();
    }
}

#[cfg(test)]
mod tests {
    use super::{Binding, LaunchId};

    /// A panic hook, for example, runs while arguments are bound. It must not use their buffers,
    /// which may be on a GPU.
    #[test]
    fn new_handles_are_refused_before_a_block_runs() {
        let binding = Binding::begin();
        let handle = LaunchId::of_new_handles();
        assert!(handle == binding.launch());
        let is_refused = || std::panic::catch_unwind(|| handle.check("a")).is_err();
        assert!(is_refused());
        binding.bound();
        assert!(is_refused() && LaunchId::of_new_handles() != handle);
        let previous = handle.replace();
        handle.check("a");
        previous.replace();
        assert!(is_refused());
    }
}
