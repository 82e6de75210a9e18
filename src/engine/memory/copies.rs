//! Copies by `cp.async`: those in flight, and their landing.
//!
//! A copy lands as late as possible: when its warp waits for it, or when no warp can run and one
//! waits for an mbarrier that the copy signals. An earlier read sees the old contents.

use crate::engine::findings::{CopyGroup, Misuse};
use crate::engine::memory::order::{Clock, executing};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::record::{Traffic, note_lane, note_moved};
use crate::engine::warps::block::BlockState;
use crate::engine::warps::context::{current_lane, fail, try_with_cluster, with_block};
use crate::engine::warps::mbarrier;
use crate::engine::warps::polling::note_access;
use crate::lane::LANES;
use crate::lane::Site;
use std::boxed::Box;
use std::vec::Vec;

/// The copies of one warp.
#[derive(Default)]
pub(crate) struct WarpCopies {
    /// Copies in flight, in the order of their start.
    in_flight: Vec<CpAsync>,
    /// The number of groups that each lane has committed.
    groups: [usize; LANES],
    /// Number of copies started.
    started: usize,
    /// The arrivals at mbarriers that wait for copies.
    arrivals: Vec<CopiesArrival>,
    /// Copies that landed for one mbarrier, and that their lane or another mbarrier still waits
    /// for.
    landed: Vec<Landed>,
}

/// A copy that is in flight.
struct CpAsync {
    to: u32,
    bytes: Vec<u8>,
    lane: usize,
    /// The number of the lane's group that it belongs to.
    group: usize,
    /// Number of copies that the warp started before it.
    number: usize,
}

/// An arrival of a lane at an mbarrier, due when the lane's earlier copies have landed.
struct CopiesArrival {
    /// The mbarrier's address.
    barrier: u32,
    lane: usize,
    /// Number of copies that had been started.
    before: usize,
    at: Access,
}

/// A copy that landed, with its lane, its group, and the access that landed it.
struct Landed {
    lane: usize,
    group: usize,
    number: usize,
    by: Access,
}

impl CopiesArrival {
    /// Whether the arrival waits for the copy of this number.
    fn is_for(&self, lane: usize, number: usize) -> bool {
        self.lane == lane && number < self.before
    }
}

/// Starts a copy of one lane. The first `read` of `bytes` come from global memory.
pub(crate) fn start_copy(site: Site, form: &'static str, to: u32, bytes: &[u8], read: usize) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_moved(site, form, Traffic::Copy, to as usize, read);
    let started = with_block(|block| {
        block.shared.start_copy(block.access(site), to, bytes.len(), None)?;
        let lane = current_lane().expect("copies are started in lane closures");
        with_copies(block, |copies| {
            let (group, number) = (copies.groups[lane], copies.started);
            copies.started += 1;
            copies.in_flight.push(CpAsync { to, bytes: bytes.to_vec(), lane, group, number });
        });
        Ok(())
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Commits a group of copies in the running lane, or in each lane of the warp.
pub(crate) fn commit_copies(site: Site) {
    note_lane(site, "cp.async.commit_group");
    with_block(|block| {
        let lanes = executing(current_lane());
        with_copies(block, |copies| {
            copies.groups[lanes].iter_mut().for_each(|groups| *groups += 1)
        });
    });
}

/// Waits, in the running lane or in each lane, until at most its `newest` groups are in flight.
pub(crate) fn wait_for_copies(site: Site, newest: usize) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, "cp.async.wait_group");
    let waited = with_block(|block| {
        let lanes = executing(current_lane());
        // Copies that an mbarrier waits for, and that must land now, land for the mbarrier first.
        // Then waits for the mbarrier acquire them.
        while let Some(number) = with_copies(block, |copies| copies.arrival_of_some(newest)) {
            land_arrival(block, block.running(), number)?;
        }
        let (landing, learned): (Vec<CpAsync>, Vec<(usize, Access)>) =
            with_copies(block, |copies| {
                let WarpCopies { in_flight, groups, landed, arrivals, .. } = copies;
                let waited_for = |lane: usize, group: usize| {
                    lanes.contains(&lane) && group + newest < groups[lane]
                };
                let landing =
                    in_flight.extract_if(.., |copy| waited_for(copy.lane, copy.group)).collect();
                let is_waited_for = |landed: &&Landed| waited_for(landed.lane, landed.group);
                let learned = landed
                    .iter()
                    .filter(is_waited_for)
                    .map(|landed| (landed.lane, landed.by))
                    .collect();
                landed.retain(|landed| !is_waited_for(&landed) || landed.is_awaited(arrivals));
                (landing, learned)
            });
        for CpAsync { to, bytes, lane, .. } in landing {
            // Only the lane that copied sees the data.
            block.shared.land(block.access_by(Lanes::one(lane), site), to, &bytes);
        }
        for (lane, by) in learned {
            let mut known = Clock::default();
            known.pass_asynchronously(by.agent, by.tick);
            block.order.acquire(block.agent(), lane..lane + 1, &known);
        }
        Ok::<(), Box<(Misuse, Access)>>(())
    });
    waited.unwrap_or_else(|wrong| fail(site, wrong.0));
}

impl Landed {
    /// Whether an arrival at an mbarrier still waits for this copy.
    fn is_awaited(&self, arrivals: &[CopiesArrival]) -> bool {
        arrivals.iter().any(|arrival| arrival.is_for(self.lane, self.number))
    }
}

impl WarpCopies {
    /// An arrival that waits for copies which the executing lanes wait for too: all but their
    /// `newest` groups.
    fn arrival_of_some(&self, newest: usize) -> Option<usize> {
        let lanes = executing(current_lane());
        let waited_for = |copy: &&CpAsync| {
            lanes.contains(&copy.lane) && copy.group + newest < self.groups[copy.lane]
        };
        let is_due = |arrival: &CopiesArrival| {
            self.in_flight
                .iter()
                .filter(waited_for)
                .any(|copy| arrival.is_for(copy.lane, copy.number))
        };
        self.arrivals.iter().position(is_due)
    }
}

/// `cp.async.mbarrier.arrive.noinc`: the running lane arrives at an mbarrier when its earlier
/// copies have landed.
pub(crate) fn arrive_when_copied(site: Site, form: &'static str, barrier: u32) {
    arrive_later(site, form, barrier, true);
}

/// `cp.async.mbarrier.arrive`: the same, and the phase needs one arrival more.
pub(crate) fn hold_until_copied(site: Site, form: &'static str, barrier: u32) {
    arrive_later(site, form, barrier, false);
}

fn arrive_later(site: Site, form: &'static str, barrier: u32, is_counted: bool) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_lane(site, form);
    let noted = with_block(|block| {
        let Some(lane) = current_lane() else { return Err(Misuse::RawAtWarpScope { form }) };
        block.order.start_clocks();
        let at = block.access(site);
        mbarrier::arrive_later(block, at, barrier, is_counted)?;
        with_copies(block, |copies| {
            copies.arrivals.push(CopiesArrival { barrier, lane, before: copies.started, at });
        });
        Ok(())
    });
    noted.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The arrivals at an mbarrier that wait for copies: the warp, and the index among its arrivals.
pub(crate) fn arrivals_at(block: &BlockState, barrier: u32) -> Vec<(usize, usize)> {
    let copies = block.copies.borrow();
    let arrivals = copies.iter().enumerate().flat_map(|(warp, copies)| {
        let arrivals =
            copies.arrivals.iter().enumerate().filter(|(_, arrival)| arrival.barrier == barrier);
        arrivals.map(move |(number, _)| (warp, number))
    });
    arrivals.collect()
}

/// An arrival at an mbarrier that waits for copies in flight.
pub(crate) fn arrival_at(block: &BlockState, barrier: u32) -> Option<Access> {
    block.copies.borrow().iter().find_map(|copies| {
        let waits = |arrival: &&CopiesArrival| {
            let is_for = |copy: &CpAsync| arrival.is_for(copy.lane, copy.number);
            arrival.barrier == barrier && copies.in_flight.iter().any(is_for)
        };
        copies.arrivals.iter().find(waits).map(|arrival| arrival.at)
    })
}

/// The group of a copy in flight to this address of a block, if no arrival waits for the copy.
pub(crate) fn group_of(rank: usize, address: u32) -> Option<CopyGroup> {
    let group = |copies: &WarpCopies| {
        let is_to =
            |copy: &&CpAsync| (copy.to..copy.to + copy.bytes.len() as u32).contains(&address);
        let copy = copies.in_flight.iter().find(is_to)?;
        if copies.arrivals.iter().any(|arrival| arrival.is_for(copy.lane, copy.number)) {
            return None;
        }
        let newer = copies.groups[copy.lane].checked_sub(copy.group + 1);
        Some(newer.map_or(CopyGroup::Uncommitted, |newer| CopyGroup::Committed { newer }))
    };
    try_with_cluster(|cluster| {
        cluster.blocks[rank].copies.try_borrow().ok()?.iter().find_map(group)
    })
}

/// Lands the copies of an arrival, and arrives.
pub(crate) fn land_arrival(
    block: &BlockState,
    warp: usize,
    number: usize,
) -> Result<(), Box<(Misuse, Access)>> {
    let (arrival, landing, earlier) = {
        let copies = &mut block.copies.borrow_mut()[warp];
        let arrival = copies.arrivals.remove(number);
        let is_before = |copy: &mut CpAsync| arrival.is_for(copy.lane, copy.number);
        let landing: Vec<CpAsync> = copies.in_flight.extract_if(.., is_before).collect();
        // Some of these copies may have landed for another mbarrier.
        let landed =
            copies.landed.iter().filter(|landed| arrival.is_for(landed.lane, landed.number));
        let earlier: Vec<Access> = landed.map(|landed| landed.by).collect();
        (arrival, landing, earlier)
    };
    let landed =
        mbarrier::receive_arrival(block, arrival.barrier, arrival.at.location, &earlier, |by| {
            landing.iter().for_each(|copy| block.shared.land_signaling(by, copy.to, &copy.bytes));
        });
    let by = landed.map_err(|misuse| Box::new((misuse, arrival.at)))?;
    let knows =
        |of: &Landed| block.order.knows(&Access { by: Lanes::one(of.lane), ..arrival.at }, &of.by);
    let WarpCopies { landed, arrivals, .. } = &mut block.copies.borrow_mut()[warp];
    landed.retain(|landed| !knows(landed) || landed.is_awaited(arrivals));
    landed.extend(landing.iter().map(|&CpAsync { lane, group, number, .. }| Landed {
        lane,
        group,
        number,
        by,
    }));
    Ok(())
}

fn with_copies<R>(block: &BlockState, work: impl FnOnce(&mut WarpCopies) -> R) -> R {
    work(&mut block.copies.borrow_mut()[block.running()])
}
