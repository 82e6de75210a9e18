//! Asynchronous copies: what is in flight, and when it lands.
//!
//! A copy lands when its warp waits for it, or when nobody can go on and somebody waits for an
//! mbarrier that is told of it, and no sooner: whoever reads before sees what was there.

use crate::engine::findings::Misuse;
use crate::engine::memory::order::{Known, executing};
use crate::engine::memory::race::{Access, Lanes};
use crate::engine::record::{note_copy, note_lane};
use crate::engine::warps::block::BlockState;
use crate::engine::warps::context::{current_lane, fail, with_block};
use crate::engine::warps::mbarrier;
use crate::engine::warps::polling::note_access;
use crate::lane::LANES;
use crate::lane::Site;
use std::boxed::Box;
use std::vec::Vec;

/// The copies of one warp.
#[derive(Default)]
pub(crate) struct WarpCopies {
    /// Those that are in flight, in the order in which they were started.
    in_flight: Vec<Copy>,
    /// The groups that each lane has made.
    groups: [usize; LANES],
    /// How many have been started.
    started: usize,
    /// The arrivals at mbarriers that wait for copies.
    arrivals: Vec<CopiesArrival>,
    /// Those that have landed as an mbarrier was told, while the lane or another mbarrier is still
    /// to learn of them.
    landed: Vec<Landed>,
}

/// A copy that is in flight.
struct Copy {
    to: u32,
    bytes: Vec<u8>,
    lane: usize,
    /// Which of its lane's groups it is in, or will be.
    group: usize,
    /// How many were started before it.
    number: usize,
}

/// A lane arrives at an mbarrier when the copies that it has started before have landed.
struct CopiesArrival {
    /// The mbarrier's address.
    barrier: u32,
    lane: usize,
    /// How many copies had been started.
    before: usize,
    at: Access,
}

/// A copy of this lane and group has landed, by this access.
struct Landed {
    lane: usize,
    group: usize,
    number: usize,
    by: Access,
}

impl CopiesArrival {
    /// Whether it comes when the copy of this number has landed.
    fn is_for(&self, lane: usize, number: usize) -> bool {
        self.lane == lane && number < self.before
    }
}

/// One lane starts a copy of `bytes`, of which the first `read` come from global memory.
pub(crate) fn start_copy(site: Site, form: &'static str, to: u32, bytes: &[u8], read: usize) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    note_copy(site, form, to, read);
    let started = with_block(|block| {
        block.shared.start_copy(block.access(site), to, bytes.len(), None)?;
        let lane = current_lane().expect("copies are started in lane closures");
        with_copies(block, |copies| {
            let (group, number) = (copies.groups[lane], copies.started);
            copies.started += 1;
            copies.in_flight.push(Copy { to, bytes: bytes.to_vec(), lane, group, number });
        });
        Ok(())
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The running lane, or each of the warp, makes a group of the copies that it started.
pub(crate) fn commit_copies(site: Site) {
    note_lane(site, "cp.async.commit_group");
    with_block(|block| {
        let lanes = executing(current_lane());
        with_copies(block, |copies| {
            copies.groups[lanes].iter_mut().for_each(|groups| *groups += 1)
        });
    });
}

/// The running lane, or each of the warp, waits until at most its `newest` groups are in flight.
pub(crate) fn wait_for_copies(site: Site, newest: usize) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, "cp.async.wait_group");
    let waited = with_block(|block| {
        let lanes = executing(current_lane());
        // What an mbarrier is to be told of, and has to have landed now, it is told of first: then
        // it is known of who knows of the mbarrier.
        while let Some(number) = with_copies(block, |copies| copies.arrival_of_some(newest)) {
            land_arrival(block, block.running(), number)?;
        }
        let (landing, learned): (Vec<Copy>, Vec<(usize, Access)>) = with_copies(block, |copies| {
            let WarpCopies { in_flight, groups, landed, arrivals, .. } = copies;
            let waited_for =
                |lane: usize, group: usize| lanes.contains(&lane) && group + newest < groups[lane];
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
        for Copy { to, bytes, lane, .. } in landing {
            // It is the lane that copied, and no other, that sees what has landed.
            block.shared.land(block.access_by(Lanes::one(lane), site), to, &bytes);
        }
        for (lane, by) in learned {
            let mut known = Known::default();
            known.pass_asynchronously(by.agent, by.tick);
            block.order.acquire(block.agent(), lane..lane + 1, &known);
        }
        Ok::<(), Box<(Misuse, Access)>>(())
    });
    waited.unwrap_or_else(|wrong| fail(site, wrong.0));
}

impl Landed {
    /// Whether one of these arrivals is still to tell an mbarrier of it.
    fn is_awaited(&self, arrivals: &[CopiesArrival]) -> bool {
        arrivals.iter().any(|arrival| arrival.is_for(self.lane, self.number))
    }
}

impl WarpCopies {
    /// An arrival for which copies have yet to land that the executing lanes wait for, all but
    /// their `newest` groups.
    fn arrival_of_some(&self, newest: usize) -> Option<usize> {
        let lanes = executing(current_lane());
        let waited_for = |copy: &&Copy| {
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

/// `cp.async.mbarrier.arrive.noinc`: the running lane arrives at an mbarrier when the copies that
/// it has started have landed.
pub(crate) fn arrive_when_copied(site: Site, form: &'static str, barrier: u32) {
    arrive_later(site, form, barrier, true);
}

/// `cp.async.mbarrier.arrive`: the phase needs one arrival more, which comes then.
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
        block.order.make_partial();
        let at = block.access(site);
        mbarrier::arrive_later(block, at, barrier, is_counted)?;
        with_copies(block, |copies| {
            copies.arrivals.push(CopiesArrival { barrier, lane, before: copies.started, at });
        });
        Ok(())
    });
    noted.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The arrivals at an mbarrier that wait for copies: of which warp, and which of its arrivals.
pub(crate) fn arrivals_at(block: &BlockState, barrier: u32) -> Vec<(usize, usize)> {
    let copies = block.copies.borrow();
    let arrivals = copies.iter().enumerate().flat_map(|(warp, copies)| {
        let arrivals =
            copies.arrivals.iter().enumerate().filter(|(_, arrival)| arrival.barrier == barrier);
        arrivals.map(move |(number, _)| (warp, number))
    });
    arrivals.collect()
}

/// The copies that an arrival of a warp waits for land, and it arrives.
pub(crate) fn land_arrival(
    block: &BlockState,
    warp: usize,
    number: usize,
) -> Result<(), Box<(Misuse, Access)>> {
    let (arrival, landing, earlier) = {
        let copies = &mut block.copies.borrow_mut()[warp];
        let arrival = copies.arrivals.remove(number);
        let is_before = |copy: &mut Copy| arrival.is_for(copy.lane, copy.number);
        let landing: Vec<Copy> = copies.in_flight.extract_if(.., is_before).collect();
        // Another mbarrier may have been told of copies that this one is told of too.
        let landed =
            copies.landed.iter().filter(|landed| arrival.is_for(landed.lane, landed.number));
        let earlier: Vec<Access> = landed.map(|landed| landed.by).collect();
        (arrival, landing, earlier)
    };
    let landed =
        mbarrier::receive_arrival(block, arrival.barrier, arrival.at.location, &earlier, |by| {
            landing.iter().for_each(|copy| block.shared.land_told(by, copy.to, &copy.bytes));
        });
    let by = landed.map_err(|misuse| Box::new((misuse, arrival.at)))?;
    let knows =
        |of: &Landed| block.order.knows(&Access { by: Lanes::one(of.lane), ..arrival.at }, &of.by);
    let WarpCopies { landed, arrivals, .. } = &mut block.copies.borrow_mut()[warp];
    landed.retain(|landed| !knows(landed) || landed.is_awaited(arrivals));
    landed.extend(landing.iter().map(|&Copy { lane, group, number, .. }| Landed {
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
