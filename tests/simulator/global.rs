//! Slices in global memory.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Misuse, Simulator};

#[kernel(threads = 64)]
fn copy(block: &Block, a: Global<u32>, d: GlobalMut<u32>) {
    let first = block.index().x as usize * 64 + block.warp().index() * 32;
    block.warp().each(|lane| {
        let value = a.get(first + lane.id()); // <- read
        d.set(first + lane.id(), value); // <- write
    });
}

#[test]
fn read_beyond_a_slice_is_an_error() {
    let error = copy::simulate(2, &[1; 127], &mut [0; 128]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Read, name: "a", index: 127, len: 127 }
    );
    assert_at(&error, "read", (1, 0, 0), 1, Some(31));
}

#[test]
fn write_beyond_a_slice_is_an_error() {
    let error = copy::simulate(2, &[1; 128], &mut [0; 100]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Write, name: "d", index: 100, len: 100 }
    );
    assert_at(&error, "write", (1, 0, 0), 1, Some(4));
}

#[test]
fn whole_slice_is_copied() {
    let mut d = [0; 128];
    copy::simulate(2, &[1; 128], &mut d).unwrap();
    assert_eq!(d, [1; 128]);
}

#[kernel(threads = 32)]
fn read_at_warp_scope(_: &Block, a: Global<u32>) {
    a.get(a.len()); // <- uniform read
}

#[test]
fn at_warp_scope_no_lane_is_to_blame() {
    let error = read_at_warp_scope::simulate(1, &[1, 2]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Read, name: "a", index: 2, len: 2 }
    );
    assert_at(&error, "uniform read", (0, 0, 0), 0, None);
}

#[kernel(threads = 32)]
fn read_back(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|lane| d.get(lane, lane.id())); // <- read back
}

#[test]
fn read_beyond_a_mutable_slice_is_an_error() {
    let error = read_back::simulate(1, &mut [0; 20]).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::GlobalOutOfBounds { access: AccessKind::Read, name: "d", index: 20, len: 20 }
    );
    assert_at(&error, "read back", (0, 0, 0), 0, Some(20));
    read_back::simulate(1, &mut [0; 32]).unwrap();
}

#[kernel(threads = 32)]
fn unchecked(block: &Block, a: Global<u32>, d: GlobalMut<u32>) {
    block.warp().each(|lane| {
        // SAFETY: The tests say which arguments are valid.
        let value = unsafe { a.get_unchecked(lane.id()) }; // <- unchecked read
        // SAFETY: The tests say which arguments are valid.
        unsafe { d.set_unchecked(lane.id(), value) } // <- unchecked write
    });
}

#[test]
fn unchecked_access_is_checked_on_the_simulator() {
    let error = unchecked::simulate(1, &[1; 31], &mut [0; 32]).unwrap_err();
    assert_at(&error, "unchecked read", (0, 0, 0), 0, Some(31));
    let error = unchecked::simulate(1, &[1; 32], &mut [0; 31]).unwrap_err();
    assert_at(&error, "unchecked write", (0, 0, 0), 0, Some(31));
    unchecked::simulate(1, &[1; 32], &mut [0; 32]).unwrap();
}

#[kernel(threads = 32)]
fn lend_to_a_thread(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|lane| d.set(lane.id(), 1));
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| std::panic::catch_unwind(|| d.as_ptr()).is_err());
        other.join()
    });
    assert!(other.unwrap(), "another thread used the slice");
}

#[test]
fn another_thread_must_not_use_a_slice() {
    lend_to_a_thread::simulate(1, &mut [0; 32]).unwrap();
}

/// The address of a buffer on a GPU would be none of the host's.
#[test]
fn slice_outside_of_launches_must_not_be_used() {
    use ptx_matrix::launch::KernelParam;

    let bound = <Global<f32> as KernelParam>::bind(&Simulator::default(), &[1.0; 4][..], "a");
    let used = std::panic::catch_unwind(|| bound.get(0));
    let panic = *used.unwrap_err().downcast::<String>().unwrap();
    assert!(panic.contains("is used outside of its launch"), "{panic}");
}

#[kernel(threads = 32)]
fn bind_within(block: &Block, d: GlobalMut<u32>) {
    use ptx_matrix::launch::KernelParam;

    let mut local = vec![0; 32];
    let bound =
        <GlobalMut<u32> as KernelParam>::bind(&Simulator::default(), &mut local[..], "local");
    // The write would come at the block's end.
    block.warp().each(|lane| bound.set(lane.id(), 7));
    drop(local);
    d.set(0, 1);
}

/// A buffer that a kernel binds may be freed before the kernel's end.
#[test]
fn slice_that_a_kernel_binds_must_not_be_used() {
    let error = bind_within::simulate(1, &mut [0]).unwrap_err().to_string();
    assert!(error.contains("`local` is a parameter of a kernel, and is used outside"), "{error}");
}

#[kernel(threads = 32)]
fn lend_to_a_kernel(block: &Block, d: GlobalMut<u32>) {
    use std::sync::Mutex;

    static LENT: Mutex<Option<&(dyn Fn() + Sync)>> = Mutex::new(None);

    #[kernel(threads = 32)]
    fn use_lent(block: &Block) {
        let lent = LENT.lock().unwrap().unwrap();
        block.warp().each(|_| lent());
    }

    /// Lets a static refer to a closure, as `unsafe` code of a host could.
    fn forget_lifetime<'a>(of: &'a (dyn Fn() + Sync)) -> &'static (dyn Fn() + Sync) {
        // SAFETY: it is removed from the static before the closure ends.
        unsafe { core::mem::transmute::<&'a _, &'static _>(of) }
    }

    let set = || d.set(0, 7);
    *LENT.lock().unwrap() = Some(forget_lifetime(&set));
    let same_thread = use_lent::simulate(1);
    let other_thread = std::thread::scope(|scope| scope.spawn(|| use_lent::simulate(1)).join());
    *LENT.lock().unwrap() = None;
    for result in [same_thread, other_thread.unwrap()] {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("`d` is a parameter of a kernel"), "{error}");
    }
    block.warp().each(|lane| d.set(lane.id(), 1));
}

#[test]
fn another_kernel_must_not_use_a_slice() {
    let mut d = [0; 32];
    lend_to_a_kernel::simulate(1, &mut d).unwrap();
    assert_eq!(d, [1; 32]);
}
