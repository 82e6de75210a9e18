//! Asynchronous copies: what is in flight, and when it lands.
//!
//! A copy lands when its warp waits for it, and no sooner: whoever reads before sees what was there.

use crate::lane::LANES;
use crate::sim::memory::race::Lanes;
use crate::sim::record::{note_copy, note_lane};
use crate::sim::warps::block::BlockState;
use crate::sim::warps::context::{current_lane, fail, with_block};
use crate::sim::warps::polling::note_access;
use crate::site::Site;
use std::ops::Range;
use std::vec::Vec;

/// The copies of one warp.
#[derive(Default)]
pub(in crate::sim) struct WarpCopies {
    /// Those that are in flight, in the order in which they were started.
    in_flight: Vec<Copy>,
    /// The groups that each lane has made.
    groups: [usize; LANES],
}

/// A copy that is in flight.
struct Copy {
    to: u32,
    bytes: Vec<u8>,
    lane: usize,
    /// Which of its lane's groups it is in, or will be.
    group: usize,
}

/// One lane starts a copy of `bytes`, of which the first `read` come from global memory.
pub(crate) fn start_copy(site: Site, form: &'static str, to: u32, bytes: &[u8], read: usize) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_copy(site, form, to, read);
    let started = with_block(|block| {
        block.shared.start_copy(block.access(site), to, bytes.len())?;
        let lane = current_lane().expect("copies are started in lane closures");
        with_copies(block, |copies| {
            let group = copies.groups[lane];
            copies.in_flight.push(Copy { to, bytes: bytes.to_vec(), lane, group });
        });
        Ok(())
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The lanes that execute what is being executed: the one that is running, or, at warp scope, all.
fn executing() -> Range<usize> {
    current_lane().map_or(0..LANES, |lane| lane..lane + 1)
}

/// The running lane, or each of the warp, makes a group of the copies that it started.
pub(crate) fn commit_copies(site: Site) {
    note_lane(site, "cp.async.commit_group");
    with_block(|block| {
        with_copies(block, |copies| copies.groups[executing()].iter_mut().for_each(|groups| *groups += 1));
    });
}

/// The running lane, or each of the warp, waits until at most its `newest` groups are in flight.
pub(crate) fn wait_for_copies(site: Site, newest: usize) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, "cp.async.wait_group");
    with_block(|block| {
        let landing: Vec<Copy> = with_copies(block, |WarpCopies { in_flight, groups }| {
            let lands = |copy: &mut Copy| executing().contains(&copy.lane) && copy.group + newest < groups[copy.lane];
            in_flight.extract_if(.., lands).collect()
        });
        for copy in landing {
            // It is the lane that copied, and no other, that sees what has landed.
            block.shared.land(block.access_by(Lanes::one(copy.lane), site), copy.to, &copy.bytes);
        }
    });
}

fn with_copies<R>(block: &BlockState, work: impl FnOnce(&mut WarpCopies) -> R) -> R {
    work(&mut block.copies.borrow_mut()[block.running()])
}
