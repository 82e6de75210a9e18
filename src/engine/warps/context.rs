//! The warp and the lane that this thread simulates, for operations that receive no scope.

use crate::engine::LaunchId;
use crate::engine::findings::{Misuse, Place};
use crate::engine::record;
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::deadlock;
use crate::engine::warps::lanes::{self, LaneYielder};
use crate::engine::warps::stack::{self, Running, StackOf};
use crate::lane::LANES;
use crate::lane::Site;
use crate::target::Arch;
use core::panic::Location;
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::panic;
use std::rc::Rc;
use std::string::{String, ToString};
use std::sync::Once;

std::thread_local! {
    /// The simulated cluster, and the rank of the block.
    static BLOCK: RefCell<Option<(Rc<ClusterState>, usize)>> = const { RefCell::new(None) };
    static LANE: Cell<usize> = const { Cell::new(NO_LANE) };
    static PANIC: RefCell<Option<(String, Option<Place>)>> = const { RefCell::new(None) };
    /// The error that ended the run, while the waiting warps are unwound. A destructor that fails
    /// then ends the program.
    static ENDED_BY: RefCell<Option<String>> = const { RefCell::new(None) };
}

const NO_LANE: usize = LANES;

/// A misuse that unwinds the kernel.
pub(crate) struct Failure {
    pub(crate) misuse: Misuse,
    pub(crate) location: &'static Location<'static>,
    pub(crate) lane: Option<usize>,
}

/// Runs `work` as a part of the simulation of the block of this rank.
pub(crate) fn in_block<R>(cluster: &Rc<ClusterState>, rank: usize, work: impl FnOnce() -> R) -> R {
    /// The simulation that is interrupted: a kernel may simulate another one.
    struct Restore {
        block: Option<(Rc<ClusterState>, usize)>,
        launch: LaunchId,
        recording: bool,
        lane: usize,
        yielder: LaneYielder,
        stack: StackOf,
        running: Option<Running>,
    }
    impl Drop for Restore {
        fn drop(&mut self) {
            BLOCK.set(self.block.take());
            self.launch.replace();
            record::set_recording(self.recording);
            LANE.set(self.lane);
            lanes::set_yielder(self.yielder);
            stack::run_on(self.stack);
            stack::set_running(self.running);
        }
    }
    hush_panics();
    stack::prepare_thread();
    let block = &cluster.blocks[rank];
    let _restore = Restore {
        block: BLOCK.replace(Some((cluster.clone(), rank))),
        launch: block.launch.replace(),
        recording: record::set_recording(block.recorder.is_some() || block.gpu.is_some()),
        lane: LANE.replace(NO_LANE),
        yielder: lanes::yielder(),
        stack: stack::current(),
        running: stack::set_running(Some(Running::of(block.findings.kernel(), block))),
    };
    work()
}

/// Calls `work` with the simulated block.
pub(crate) fn with_block<R>(work: impl FnOnce(&BlockState) -> R) -> R {
    with_cluster(|_, block| work(block))
}

/// Calls `work` with the simulated block and its cluster.
pub(crate) fn with_cluster<R>(work: impl FnOnce(&ClusterState, &BlockState) -> R) -> R {
    BLOCK.with_borrow(|block| {
        let (cluster, rank) =
            block.as_ref().expect("warps, tiles and slices are only used while their kernel runs");
        work(cluster, &cluster.blocks[*rank])
    })
}

/// The GPU whose arithmetic applies.
pub(crate) fn simulated_gpu() -> Arch {
    with_block(|block| block.gpu).unwrap_or_default()
}

/// Calls `work` with the simulated block, if there is one.
pub(crate) fn try_with_block<R>(work: impl FnOnce(&BlockState) -> R) -> Option<R> {
    BLOCK.with_borrow(|block| block.as_ref().map(|(cluster, rank)| work(&cluster.blocks[*rank])))
}

/// Calls `work` with the simulated cluster, if there is one. `work` itself may return `None`.
pub(crate) fn try_with_cluster<R>(work: impl FnOnce(&ClusterState) -> Option<R>) -> Option<R> {
    BLOCK.with_borrow(|block| block.as_ref().and_then(|(cluster, _)| work(cluster)))
}

/// Makes this lane the running one; `None` means uniform code.
pub(crate) fn set_lane(lane: Option<usize>) {
    LANE.set(lane.unwrap_or(NO_LANE));
}

/// The running lane, or the lane that ended the kernel by a panic.
pub(crate) fn current_lane() -> Option<usize> {
    Some(LANE.get()).filter(|&lane| lane != NO_LANE)
}

/// Ends the run with a misuse by the running lane, if a lane runs.
pub(crate) fn fail(site: Site, misuse: Misuse) -> ! {
    fail_in_lane(site, current_lane(), misuse)
}

/// Ends the run with a misuse that a collective found in a lane's operand.
pub(crate) fn fail_in_lane(site: Site, lane: Option<usize>, misuse: Misuse) -> ! {
    // A pointer, because rustc follows the calls of each function that it may inline. Every
    // instruction can come here, and the way on goes through all messages.
    static END: fn(Site, Option<usize>, Misuse) -> ! = end;
    END(site, lane, misuse)
}

fn end(site: Site, lane: Option<usize>, misuse: Misuse) -> ! {
    if cfg!(panic = "abort") || std::thread::panicking() {
        tell_what_ended_the_run();
        _ = writeln!(std::io::stderr(), "error: {misuse}\n  --> {}", site.location);
    }
    // Noted now, so that a kernel that catches the unwinding does not hide the misuse. If it does
    // not catch it, the scheduler finds the misuse again, as a known one.
    try_with_block(|block| note_end(block, misuse.clone(), Some(site.location.into()), lane));
    panic::resume_unwind(Box::new(Failure { misuse, location: site.location, lane }))
}

/// Records the misuse that ends the running warp.
fn note_end(block: &BlockState, misuse: Misuse, place: Option<Place>, lane: Option<usize>) {
    let (rank, warp) = (block.rank, Some(block.running()));
    let cause =
        try_with_cluster(|cluster| deadlock::cause(cluster, &misuse, rank, warp, place.as_ref()));
    block.findings.add(block.findings.finding(misuse, cause, place, rank, warp, lane));
}

/// Unwinds the remaining warps of a run that `ended_by` has ended.
pub(crate) fn unwind(ended_by: Option<String>, work: impl FnOnce()) {
    ENDED_BY.set(ended_by);
    work();
    ENDED_BY.set(None);
}

/// Prints the error that ended the run, before a destructor ends the program.
fn tell_what_ended_the_run() {
    ENDED_BY.with_borrow(|ended_by| {
        if let Some(ended_by) = ended_by {
            let text = "While the other warps were unwound, a destructor failed too:";
            _ = writeln!(std::io::stderr(), "{ended_by}\n\n{text}");
        }
    });
}

/// The message and the place of the panic that just ended a kernel.
pub(crate) fn take_panic() -> Option<(String, Option<Place>)> {
    PANIC.take()
}

/// Whether a panic with this message unwinds. `core` aborts after these messages; the hook's stable
/// interface does not tell.
fn can_unwind(message: &str) -> bool {
    const ABORT: [&str; 3] = [
        "panic in a function that cannot unwind",
        "panic in a destructor during cleanup",
        "unsafe precondition(s) violated",
    ];
    !ABORT.iter().any(|start| message.starts_with(start))
}

/// Installs a panic hook for kernels.
///
/// A panic in a kernel becomes a part of the run's error, with its place. Only a panic hook learns
/// the place, so the hook keeps it and prints nothing. All other panics go to the previous hook. So
/// do panics that cannot unwind, because nothing is reported after them.
fn hush_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        stack::install();
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let simulating =
                BLOCK.try_with(|block| block.try_borrow().is_ok_and(|block| block.is_some()));
            if simulating == Ok(true) {
                let place = info.location().map(Place::from);
                let message = info.payload_as_str().unwrap_or("(no message)").to_string();
                let is_ending = ENDED_BY
                    .try_with(|by| by.try_borrow().is_ok_and(|by| by.is_some()))
                    == Ok(true);
                if is_ending {
                    tell_what_ended_the_run();
                    before(info);
                } else if !can_unwind(&message) {
                    before(info);
                } else {
                    let (misuse, lane) =
                        (Misuse::Panic { message: message.clone() }, current_lane());
                    try_with_block(|block| note_end(block, misuse, place.clone(), lane));
                }
                PANIC.set(Some((message, place)));
            } else {
                before(info);
            }
        }));
    });
}
