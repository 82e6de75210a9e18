//! `wgmma`: the asynchronous matrix multiply of a warpgroup.
//!
//! | file | contents |
//! | --- | --- |
//! | `start.rs` | the start of a `wgmma`: checks, marks in the registers |
//! | `land.rs` | the arithmetic, at the end |
//! | `descriptor.rs` | matrix descriptors |
//! | `marks.rs` | marks: the contents of registers in flight |
//! | `form.rs` | the table of forms |
//! | `lane.rs` | the functions for `raw`, one lane each |
//!
//! Results appear as late as possible, at the wait. Until then the registers hold marks. A wait
//! completes a group when all four warps have committed it. When the first warp continues after
//! such a wait, shared memory is read and the group is computed. From then on all four warps have
//! read their operands, and kernels rely on this.
//!
//! To a warp that writes to shared memory, a `wgmma` counts as finished only if that warp is
//! synchronised with a warp that has waited for it.

mod descriptor;
mod form;
mod land;
mod lane;
mod marks;
mod start;

use crate::engine::{
    findings::Misuse,
    memory::{
        order::Clock,
        race::{Access, Lanes},
    },
    record::note_collective,
    warps::{
        block::{BlockState, Waiting, WarpOfBlock},
        context::{current_lane, fail, with_block},
    },
};
use crate::fragment::Registers;
use crate::lane::{AccessKind, LANES, PerLane, Site};
pub use form::Form;
use form::FormShape;
pub(crate) use lane::{
    commit_in_lane, fence_in_lane, multiply_in_lane, settle_in_lane, wait_in_lane,
};
pub(crate) use marks::Columns;
use marks::{Column, columns, mark, marked, of_columns};
pub(crate) use start::multiply;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::vec::Vec;

/// Warps of a warpgroup.
pub(crate) const WARPS: usize = 4;

/// Results, and fragments of A, that are remembered for each warp.
const REMEMBERED: usize = 16;

/// The operands of a `wgmma.mma_async` except its registers, A, and A's metadata.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Operation {
    pub(crate) form: Form,
    pub(crate) b: u64,
    pub(crate) transposes_b: bool,
    /// Whether it adds to D; otherwise D is overwritten.
    pub(crate) accumulates: bool,
    pub(crate) negates_a: bool,
    pub(crate) negates_b: bool,
    /// Sparse A: the selector of the matrix among those in a metadata register. Dense A: 0.
    pub(crate) selector: u32,
}

/// The location of A.
#[derive(Clone, Copy)]
pub(crate) enum A<R = [u32; 4]> {
    Shared { descriptor: u64, transposed: bool },
    Registers(R),
}

/// The operands of a `wgmma.mma_async` except its accumulators.
pub(crate) struct Operands {
    pub(crate) operation: Operation,
    pub(crate) a: A<PerLane<[u32; 4]>>,
    /// The metadata of a sparse A; unused for a dense A.
    pub(crate) metadata: PerLane<u32>,
}

impl Operands {
    /// The part of a metadata register for this A, in chunks. A row of A has `count` chunks.
    fn chunks(&self, count: usize) -> Range<usize> {
        let first = self.operation.selector as usize * count;
        first..first + count
    }
}

/// A `wgmma` that is still in flight in some warp.
struct Multiplication {
    number: u32,
    /// Number of groups that the warp had committed before this one's.
    group: u32,
    registers: usize,
    c: C,
    operands: Operands,
    /// The warp's fences before it.
    fences: u32,
    started: Access,
}

/// The accumulator input of a `wgmma`.
enum C {
    Columns(Columns),
    /// The result of the `wgmma` of this number.
    Result(u32),
}

/// The result of a `wgmma`.
struct Landed {
    /// The group of the `wgmma`.
    group: u32,
    shape: FormShape,
    /// The warp's fences before it.
    fences: u32,
    d: Columns,
}

/// The last `wgmma` of a warp.
#[derive(Clone, Copy)]
struct Last {
    /// Number of groups that the warp had committed before this one's.
    group: u32,
    by: Access,
}

/// The `wgmma`s of a warp.
#[derive(Default)]
struct Warp {
    /// Number of `wgmma.fence`s.
    fences: u32,
    /// Whether one of them follows the last wait.
    is_fenced: bool,
    started: u32,
    committed: u32,
    /// Number of groups that it has waited for.
    awaited: u32,
    in_flight: Vec<Multiplication>,
    /// Results that are available: by the number of the `wgmma`.
    landed: BTreeMap<u32, Landed>,
    /// Results that are in registers now, and the shapes of their `wgmma`s.
    settled: VecDeque<(Columns, FormShape)>,
    /// A's registers in earlier `wgmma`s.
    fragments_a: VecDeque<PerLane<[u32; 4]>>,
    last: Option<Last>,
}

/// The warpgroups of a block.
#[derive(Default)]
pub(crate) struct WarpGroups {
    warps: Vec<Warp>,
}

impl WarpGroups {
    fn warp(&mut self, warp: usize) -> &mut Warp {
        let warps = (warp / WARPS + 1) * WARPS;
        if self.warps.len() < warps {
            self.warps.resize_with(warps, Warp::default);
        }
        &mut self.warps[warp]
    }

    /// Whether all four warps of a warpgroup have committed this many groups.
    pub(crate) fn have_committed(&self, group: usize, groups: u32) -> bool {
        let warps = self.warps.get(group * WARPS..(group + 1) * WARPS);
        groups == 0 || warps.is_some_and(|warps| warps.iter().all(|warp| warp.committed >= groups))
    }

    /// The access of the `wgmma` of the first mark among these bytes.
    pub(crate) fn find_mark(
        &self,
        warp: usize,
        lane: Option<usize>,
        bytes: &[u8],
    ) -> Option<Access> {
        let warp = self.warps.get(warp)?;
        let words = bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word));
        words.filter_map(marked).find_map(|of| {
            let here = lane.is_none_or(|lane| of.lane == lane);
            warp.in_flight
                .iter()
                .find(|flying| here && of.is_of(flying.number, flying.registers))
                .map(|of| of.started)
        })
    }
}

impl Warp {
    /// Whether a `wgmma.fence` is missing before a `wgmma` of these registers (PTX ISA 9.7.15.7.1).
    ///
    /// Accumulators need none if they are still those of a `wgmma` of the same shape. Behind a
    /// wait, A's registers need one if no earlier `wgmma` had these values. (Nothing shows when
    /// registers are written. So values from before the last fence are reported, too.)
    fn lacks_fence(&self, shape: FormShape, c: &C, a: &A<PerLane<[u32; 4]>>) -> bool {
        let changed_a = |a: &PerLane<[u32; 4]>| {
            self.fragments_a.iter().all(|earlier| earlier.array() != a.array())
        };
        let of_accumulators = match c {
            C::Result(number) => {
                let flying = self.in_flight.iter().find(|flying| flying.number == *number);
                let flying = flying.map(|of| (of.operands.operation.form.shape(), of.fences));
                let landed = self.landed.get(number).map(|of| (of.shape, of.fences));
                let is_beside = |(of_shape, fences)| of_shape != shape && fences == self.fences;
                flying.or(landed).is_some_and(is_beside)
            }
            C::Columns(of) => {
                let is_same =
                    |(held, of_shape): &(Columns, FormShape)| held == of && *of_shape == shape;
                !self.is_fenced && !self.settled.iter().any(is_same)
            }
        };
        of_accumulators || matches!(a, A::Registers(a) if !self.is_fenced && changed_a(a))
    }

    /// Takes registers as the accumulators of a new `wgmma`. Returns its accumulator input.
    fn take_registers(&self, block: &BlockState, by: Access, held: Columns) -> C {
        let newest = self.in_flight.iter().rev().find(|flying| {
            let is_mark = |register: usize| held[register][0] == mark(flying.number, register, 0);
            flying.registers == held.len() && (0..held.len()).any(is_mark)
        });
        match newest {
            Some(flying) if is_all_marks(&held, flying.number) => C::Result(flying.number),
            _ => {
                self.check_unmarked(block, by, &held);
                // Another warp's wait has completed it, but this warp still has to wait.
                let is_it = |(number, landed): &(&u32, &Landed)| {
                    landed.d.len() == held.len() && is_all_marks(&held, **number)
                };
                match self.landed.iter().find(is_it) {
                    Some((&number, _)) => C::Result(number),
                    None => C::Columns(held),
                }
            }
        }
    }

    /// Reports registers in flight that are used for another purpose.
    fn check_unmarked(&self, block: &BlockState, by: Access, held: &[Column]) {
        let mut words = held.iter().flatten().copied().filter_map(marked);
        let taken = words.find_map(|of| {
            self.in_flight.iter().find(|flying| of.is_of(flying.number, flying.registers))
        });
        if let Some(flying) = taken {
            let place = flying.started.location.into();
            block
                .findings
                .note(by, Misuse::AccumulatorInFlight { access: AccessKind::Read, place });
        }
    }
}

/// Whether the registers hold the marks of a `wgmma`.
fn is_all_marks(held: &[Column], number: u32) -> bool {
    let is_marks = |(register, column): (usize, &Column)| {
        (0..LANES).all(|lane| column[lane] == mark(number, register, lane))
    };
    held.iter().enumerate().all(is_marks)
}

/// `wgmma.fence`.
pub(crate) fn fence(site: Site) {
    if !std::thread::panicking() {
        note_collective(site, "wgmma.fence.sync.aligned");
        with_block(|block| {
            let mut groups = block.wgmma.borrow_mut();
            let warp = groups.warp(block.running());
            warp.is_fenced = true;
            warp.fences += 1;
        });
    }
}

/// `wgmma.commit_group`.
pub(crate) fn commit(site: Site) {
    if !std::thread::panicking() {
        note_collective(site, "wgmma.commit_group.sync.aligned");
        with_block(|block| block.wgmma.borrow_mut().warp(block.running()).committed += 1);
    }
}

/// `wgmma.wait_group`.
pub(crate) fn wait(warp: WarpOfBlock<'_>, site: Site, newest: usize) {
    if std::thread::panicking() {
        return;
    }
    note_collective(site, "wgmma.wait_group.sync.aligned");
    let group = warp.warp() / WARPS;
    let groups = with_block(|block| {
        block.wgmma.borrow_mut().warp(warp.warp()).committed.saturating_sub(newest as u32)
    });
    while !with_block(|block| block.wgmma.borrow().have_committed(group, groups)) {
        warp.suspend(Waiting::WarpGroup { group, groups, location: site.location });
        if std::thread::panicking() {
            return;
        }
    }
    with_block(|block| {
        complete(block, group, groups).unwrap_or_else(|misuse| fail(site, misuse));
        let mut all = block.wgmma.borrow_mut();
        let own = all.warp(warp.warp());
        if groups > own.awaited {
            own.awaited = groups;
            own.is_fenced = false;
        }
        let mut known = Clock::default();
        known.pass_asynchronously(block.asynchronous(group), groups);
        block.order.acquire(block.agent(), 0..LANES, &known);
        // The four warps have committed these groups.
        let first = block.agent_of(group * WARPS);
        block.order.acquire_progress(block.agent(), first..first + WARPS);
    });
}

/// Completes the `wgmma`s of a warpgroup's first `groups` groups.
fn complete(block: &BlockState, group: usize, groups: u32) -> Result<(), Misuse> {
    let mut all = block.wgmma.borrow_mut();
    let mut ended: Vec<Vec<Multiplication>> = Vec::new();
    for warp in group * WARPS..(group + 1) * WARPS {
        let flying = &mut all.warp(warp).in_flight;
        ended.push(flying.extract_if(.., |flying| flying.group < groups).collect());
    }
    check_same(group, &ended)?;
    // The n-th `wgmma`s of the four warps are one `wgmma`.
    let mut ended: Vec<_> = ended.into_iter().map(Vec::into_iter).collect();
    loop {
        let (mut numbers, mut warps, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for (rank, of_warp) in ended.iter_mut().enumerate() {
            let Some(of_warp) = of_warp.next() else { continue };
            numbers.push((of_warp.number, of_warp.group, of_warp.fences));
            warps.push(of_warp.operands);
            let landed = &mut all.warp(group * WARPS + rank).landed;
            c.push(match of_warp.c {
                C::Columns(columns) => columns,
                // It has ended before this one.
                C::Result(before) => {
                    landed.remove(&before).map(|landed| landed.d).unwrap_or_default()
                }
            });
        }
        let Some(Operands { operation: Operation { form, .. }, .. }) = warps.first() else { break };
        let d = (form.family.land)(&|address| block.shared.peek(address), &warps, &c);
        for (rank, ((number, of_group, fences), d)) in numbers.into_iter().zip(d).enumerate() {
            let landed = Landed { group: of_group, shape: form.shape(), fences, d };
            all.warp(group * WARPS + rank).landed.insert(number, landed);
        }
    }
    block.is_multiplying.set(all.warps.iter().any(|warp| !warp.in_flight.is_empty()));
    Ok(())
}

/// Checks that the warps of a warpgroup have executed the same `wgmma`s.
fn check_same(group: usize, ended: &[Vec<Multiplication>]) -> Result<(), Misuse> {
    let shared = |a: &A<PerLane<[u32; 4]>>| match a {
        A::Shared { descriptor, transposed } => Some((*descriptor, *transposed)),
        A::Registers(_) => None,
    };
    let first = &ended[0];
    for (rank, other) in ended.iter().enumerate().skip(1) {
        let is_same = |(one, other): (&Multiplication, &Multiplication)| {
            one.operands.operation == other.operands.operation
                && one.group == other.group
                && shared(&one.operands.a) == shared(&other.operands.a)
                && one.started.location == other.started.location
        };
        let differing = first.iter().zip(other).position(|pair| !is_same(pair));
        let longer = if first.len() > other.len() { first } else { other };
        let differing =
            differing.or((first.len() != other.len()).then(|| first.len().min(other.len())));
        if let Some(at) = differing {
            let one = first.get(at).unwrap_or(&longer[at]);
            return Err(Misuse::WarpGroupDiverges {
                form: one.operands.operation.form.ptx,
                place: one.started.location.into(),
                warp: group * WARPS + rank,
                other: other.get(at).map(|other| other.started.location.into()),
            });
        }
    }
    Ok(())
}

/// Writes results to registers of the running warp, if they are available.
pub(crate) fn settle<R: Registers<Register = u32>>(
    site: Site,
    registers: PerLane<R>,
) -> PerLane<R> {
    if std::thread::panicking() {
        registers
    } else {
        of_columns(&settle_columns(site, columns(&registers)))
    }
}

/// The same for any number of registers, so that it is compiled once.
fn settle_columns(site: Site, mut held: Columns) -> Columns {
    with_block(|block| {
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(block.running());
        let numbers =
            warp.in_flight.iter().map(|flying| (flying.number, flying.registers, flying.started));
        let landed = warp
            .landed
            .iter()
            .map(|(number, of)| (*number, of.d.len(), block.access_by(Lanes::Each, site)));
        let known: Vec<(u32, usize, Access)> =
            numbers.chain(landed).filter(|(_, of, _)| *of == held.len()).collect();
        let marks = |number: u32| {
            let is_mark = |(register, column): (usize, &Column)| {
                (0..LANES).any(|lane| column[lane] == mark(number, register, lane))
            };
            held.iter().enumerate().any(is_mark)
        };
        let Some((number, _, started)) = known.into_iter().find(|(number, ..)| marks(*number))
        else {
            return held;
        };
        if !is_all_marks(&held, number) {
            let place = started.location.into();
            block.findings.note(
                block.access_by(Lanes::Each, site),
                Misuse::AccumulatorInFlight { access: AccessKind::Write, place },
            );
        }
        let is_there = warp.landed.get(&number).is_some_and(|of| of.group < warp.awaited);
        if is_there && let Some(Landed { shape, d, .. }) = warp.landed.remove(&number) {
            for (register, column) in held.iter_mut().enumerate() {
                for lane in 0..LANES {
                    if column[lane] == mark(number, register, lane) {
                        column[lane] = d[register][lane];
                    }
                }
            }
            if warp.settled.len() == REMEMBERED {
                warp.settled.pop_front();
            }
            warp.settled.push_back((held.clone(), shape));
        }
        held
    })
}

/// Reports accumulators that are read before the warp has waited for them.
pub(crate) fn check_finished<R: Registers<Register = u32>>(site: Site, registers: &PerLane<R>) {
    if !std::thread::panicking() {
        check_columns_finished(site, &columns(registers));
    }
}

/// The same for any number of registers, so that it is compiled once.
fn check_columns_finished(site: Site, held: &[Column]) {
    with_block(|block| {
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(block.running());
        let by = block.access_by(Lanes::Each, site);
        warp.check_unmarked(block, by, held);
        // Another warp's wait has completed it, but this warp still has to wait.
        let not_awaited = |(number, Landed { group, d, .. }): &(&u32, &Landed)| {
            *group >= warp.awaited && d.len() == held.len() && is_all_marks(held, **number)
        };
        if warp.landed.iter().any(|landed| not_awaited(&landed)) {
            block.findings.note(
                by,
                Misuse::AccumulatorInFlight {
                    access: AccessKind::Read,
                    place: site.location.into(),
                },
            );
        }
    });
}

/// Reports registers in flight among the bytes that the running lane or warp stores.
pub(crate) fn check_stored(block: &BlockState, site: Site, bytes: &[u8]) {
    if block.is_multiplying.get()
        && let Some(started) =
            block.wgmma.borrow().find_mark(block.running(), current_lane(), bytes)
    {
        let place = started.location.into();
        block.findings.note(
            block.access(site),
            Misuse::AccumulatorInFlight { access: AccessKind::Read, place },
        );
    }
}

/// Ends the block: no `wgmma` may be in flight.
pub(crate) fn end(block: &BlockState) {
    for warp in &block.wgmma.borrow().warps {
        if let Some(last) = warp.last.filter(|last| last.group >= warp.awaited) {
            block.findings.note(last.by, Misuse::WgmmaUnfinished);
        }
    }
}
