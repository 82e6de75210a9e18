//! Asynchronous copies: what is in flight, and when it lands.
//!
//! A copy lands when its warp waits for it, and no sooner: whoever reads before sees what was there.

use super::block::BlockState;
use super::context::{current_lane, fail, with_block};
use super::race::Lanes;
use super::record::{note_collective, note_copy};
use crate::site::Site;
use std::collections::VecDeque;
use std::vec::Vec;

/// The copies of one warp.
#[derive(Default)]
pub(super) struct WarpCopies {
    /// Started, and in no group yet.
    open: Vec<Copy>,
    /// Groups that are in flight, the oldest first.
    groups: VecDeque<Vec<Copy>>,
}

/// A copy that is in flight.
struct Copy {
    to: u32,
    bytes: Vec<u8>,
    lane: Option<usize>,
}

/// One lane starts a copy of `bytes`, of which the first `read` come from global memory.
pub(crate) fn start_copy(site: Site, form: &'static str, to: u32, bytes: &[u8], read: usize) {
    if std::thread::panicking() {
        return;
    }
    note_copy(site, form, to, read);
    let started = with_block(|block| {
        block.shared.start_copy(block.access(site), to, bytes.len())?;
        let copy = Copy { to, bytes: bytes.to_vec(), lane: current_lane() };
        with_copies(block, |copies| copies.open.push(copy));
        Ok(())
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The running warp makes a group of the copies that it started.
pub(crate) fn commit_copies(site: Site) {
    note_collective(site, "cp.async.commit_group");
    with_block(|block| {
        with_copies(block, |copies| {
            let group = std::mem::take(&mut copies.open);
            copies.groups.push_back(group);
        });
    });
}

/// The running warp waits until at most `newest` groups are in flight.
pub(crate) fn wait_for_copies(site: Site, newest: usize) {
    if std::thread::panicking() {
        return;
    }
    note_collective(site, "cp.async.wait_group");
    with_block(|block| {
        let landing = with_copies(block, |copies| {
            let landing = copies.groups.len().saturating_sub(newest);
            copies.groups.drain(..landing).flatten().collect::<Vec<Copy>>()
        });
        for copy in landing {
            // It is the lane that copied, and no other, that sees what has landed.
            let by = block.access_by(copy.lane.map_or(Lanes::Each, Lanes::One), site);
            block.shared.land(by, copy.to, &copy.bytes);
        }
    });
}

fn with_copies<R>(block: &BlockState, work: impl FnOnce(&mut WarpCopies) -> R) -> R {
    work(&mut block.copies.borrow_mut()[block.running()])
}
