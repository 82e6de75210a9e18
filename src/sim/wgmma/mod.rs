//! `wgmma`: what warpgroups multiply, asynchronously.
//!
//! Results come when they are waited for, and no sooner: until then registers hold marks, by which they are known again, and
//! what is in shared memory is read. That is when the first of the four warps goes on behind a wait that is for the group; it does
//! when all four have come to that group's end. From then on, as kernels rely on, all four have read their operands.
//!
//! To those who write to shared memory, a multiplication has read it until a warp that knows of such a wait tells them.

mod descriptor;
mod land;
mod marks;

use crate::fragment::{FragmentShape, Registers, RoleA, RoleC, Shape};
use crate::lane::LANES;
use crate::sim::arithmetic::Product;
use crate::sim::findings::Misuse;
use crate::sim::memory::order::Known;
use crate::sim::memory::race::{Access, Lanes};
use crate::sim::record::note_collective;
use crate::sim::warps::block::{BlockState, Waiting, WarpOfBlock};
use crate::sim::warps::context::{current_lane, fail, with_block};
use crate::sim::warps::lanes::collective;
use crate::site::Site;
use crate::{Element, PerLane};
use descriptor::Descriptor;
use land::Land;
use marks::{Column, Columns, columns, mark, marked, of_columns};
use std::collections::HashMap;
use std::collections::VecDeque;
use std::vec::Vec;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// Results in registers that are remembered of each warp.
const REMEMBERED: usize = 16;

/// A `wgmma.mma_async`, but for its registers and A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Operation {
    pub(crate) form: &'static str,
    pub(crate) n: usize,
    pub(crate) b: u64,
    pub(crate) transposes_b: bool,
    /// Whether it adds to D; else D is overwritten.
    pub(crate) accumulates: bool,
    pub(crate) negates: (bool, bool),
}

/// Where A is.
#[derive(Clone, Copy)]
pub(crate) enum A<R = [u32; 4]> {
    Shared { descriptor: u64, transposed: bool },
    Registers(R),
}

/// A multiplication that has not come to its end in all four warps.
struct Multiplication {
    number: u32,
    /// How many groups the warp had made before this one's.
    group: u32,
    registers: usize,
    c: C,
    a: A<PerLane<[u32; 4]>>,
    operation: Operation,
    land: Land,
    started: Access,
}

/// What a multiplication adds to.
enum C {
    Columns(Columns),
    /// What the multiplication of this number is to return.
    Result(u32),
}

/// What has become of a warp's multiplications.
#[derive(Default)]
struct Warp {
    /// Whether a fence lies behind the last wait.
    is_fenced: bool,
    started: u32,
    committed: u32,
    /// Groups that it has waited for.
    awaited: u32,
    in_flight: Vec<Multiplication>,
    /// Results that are there, by the number of the multiplication, with its group.
    landed: HashMap<u32, (u32, Columns)>,
    /// Results that have come into registers.
    settled: VecDeque<Columns>,
    /// The last one's group, and where.
    last: Option<(u32, Access)>,
}

/// The warpgroups of a block.
#[derive(Default)]
pub(in crate::sim) struct WarpGroups {
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

    /// Whether all four warps of a warpgroup have made so many groups.
    pub(in crate::sim) fn have_committed(&self, group: usize, groups: u32) -> bool {
        let warps = self.warps.get(group * WARPS..(group + 1) * WARPS);
        groups == 0 || warps.is_some_and(|warps| warps.iter().all(|warp| warp.committed >= groups))
    }

    /// The first word that is a mark of what the warp has in flight.
    pub(in crate::sim) fn find_mark(&self, warp: usize, lane: Option<usize>, bytes: &[u8]) -> Option<Access> {
        let warp = self.warps.get(warp)?;
        let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        words.filter_map(marked).find_map(|of| {
            let here = lane.is_none_or(|lane| of.lane == lane);
            warp.in_flight.iter().find(|flying| here && of.is_of(flying.number, flying.registers)).map(|of| of.started)
        })
    }
}

/// A matrix in shared memory: its descriptor, read.
fn described(site: Site, form: &'static str, operand: char, word: u64, transposed: bool) -> Descriptor {
    Descriptor::read(word, transposed).unwrap_or_else(|why| fail(site, Misuse::MatrixDescriptor { form, operand, why }))
}

/// A `wgmma.mma_async` of the running warp starts. Returns the registers as they are until its end: marks.
pub(crate) fn multiply<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operation: Operation,
    d: PerLane<[u32; R]>,
    a: A<PerLane<[u32; 4]>>,
) -> PerLane<[u32; R]>
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    if std::thread::panicking() {
        return d;
    }
    let Operation { form, n, b, transposes_b, .. } = operation;
    note_collective(site, form);
    let a_bits = <Left::Width as crate::Width>::BITS;
    let mut chunks = chunks(&described(site, form, 'B', b, transposes_b), n, S::K, a_bits);
    if let A::Shared { descriptor, transposed } = a {
        chunks.extend(self::chunks(&described(site, form, 'A', descriptor, transposed), 64, S::K, a_bits));
    }
    let started = with_block(|block| {
        block.order.make_partial();
        let (by, running) = (block.access_by(Lanes::Each, site), block.running());
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(running);
        let agent = block.asynchronous(running / WARPS);
        let reading =
            Access { agent, by: Lanes::One(0), epoch: u32::MAX, warp_epoch: 0, tick: warp.committed + 1, ..by };
        for chunk in chunks {
            block.shared.start_group_read(by, reading, chunk, 16)?;
        }
        let held = columns(&d);
        let c = warp.take_registers(block, by, held);
        if let A::Registers(registers) = &a {
            warp.check_unmarked(block, by, &columns(registers));
        }
        if !warp.is_fenced && !(matches!(c, C::Result(_)) || matches!(&c, C::Columns(of) if warp.settled.contains(of)))
        {
            block.findings.note(by, Misuse::WgmmaUnfenced { form });
        }
        warp.started += 1;
        let (number, group) = (warp.started, warp.committed);
        let land = land::land::<S, Left, Right, D, O>;
        warp.last = Some((group, by));
        warp.in_flight.push(Multiplication { number, group, registers: R, c, a, operation, land, started: by });
        block.is_multiplying.set(true);
        Ok(number)
    });
    let number = started.unwrap_or_else(|misuse| fail(site, misuse));
    PerLane::from_array(std::array::from_fn(|lane| std::array::from_fn(|register| mark(number, register, lane))))
}

/// The chunks of 16 bytes that have the elements of so many lines along so many of K.
fn chunks(descriptor: &Descriptor, lines: usize, k: usize, bits: usize) -> Vec<u32> {
    let elements = (0..lines).flat_map(|line| (0..k).map(move |k| (line, k)));
    let mut chunks: Vec<u32> = elements.map(|(line, k)| descriptor.address(line, k, bits) & !15).collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}

impl Warp {
    /// Registers become those of a multiplication: what it adds to.
    fn take_registers(&self, block: &BlockState, by: Access, held: Columns) -> C {
        let newest = self.in_flight.iter().rev().find(|flying| {
            let is_mark = |register: usize| held[register][0] == mark(flying.number, register, 0);
            flying.registers == held.len() && (0..held.len()).any(is_mark)
        });
        match newest {
            Some(flying) if is_all_marks(&held, flying.number) => C::Result(flying.number),
            _ => {
                self.check_unmarked(block, by, &held);
                // What another warp's wait has brought to its end, this one has not waited for.
                let is_it =
                    |(number, (_, d)): &(&u32, &(u32, Columns))| d.len() == held.len() && is_all_marks(&held, **number);
                match self.landed.iter().find(is_it) {
                    Some((&number, _)) => C::Result(number),
                    None => C::Columns(held),
                }
            }
        }
    }

    /// Tells of registers that are in flight, and taken for something else.
    fn check_unmarked(&self, block: &BlockState, by: Access, held: &[Column]) {
        let mut words = held.iter().flatten().copied().filter_map(marked);
        let taken = words.find_map(|of| self.in_flight.iter().find(|flying| of.is_of(flying.number, flying.registers)));
        if let Some(flying) = taken {
            let place = flying.started.location.into();
            block.findings.note(by, Misuse::AccumulatorInFlight { access: "read", place });
        }
    }
}

/// Whether registers are what a multiplication is to return.
fn is_all_marks(held: &[Column], number: u32) -> bool {
    let is_marks =
        |(register, column): (usize, &Column)| (0..LANES).all(|lane| column[lane] == mark(number, register, lane));
    held.iter().enumerate().all(is_marks)
}

/// `wgmma.fence`.
pub(crate) fn fence(site: Site) {
    if !std::thread::panicking() {
        note_collective(site, "wgmma.fence.sync.aligned");
        with_block(|block| block.wgmma.borrow_mut().warp(block.running()).is_fenced = true);
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
    let groups = with_block(|block| block.wgmma.borrow_mut().warp(warp.warp()).committed.saturating_sub(newest as u32));
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
        let mut known = Known::default();
        known.pass_asynchronously(block.asynchronous(group), groups);
        block.order.acquire(block.agent(), 0..LANES, &known);
    });
}

/// The multiplications of a warpgroup's first groups come to their end.
fn complete(block: &BlockState, group: usize, groups: u32) -> Result<(), Misuse> {
    let mut all = block.wgmma.borrow_mut();
    let mut ended: Vec<Vec<Multiplication>> = Vec::new();
    for warp in group * WARPS..(group + 1) * WARPS {
        let flying = &mut all.warp(warp).in_flight;
        ended.push(flying.extract_if(.., |flying| flying.group < groups).collect());
    }
    check_same(group, &ended)?;
    for (rank, ended) in ended.into_iter().enumerate() {
        let warp = all.warp(group * WARPS + rank);
        for Multiplication { number, group, c, a, operation, land, .. } in ended {
            let c = match c {
                C::Columns(columns) => columns,
                // It has ended before this one.
                C::Result(before) => warp.landed.remove(&before).map(|(_, columns)| columns).unwrap_or_default(),
            };
            let d = land(block, &operation, &a, rank, &c);
            warp.landed.insert(number, (group, d));
        }
    }
    block.is_multiplying.set(all.warps.iter().any(|warp| !warp.in_flight.is_empty()));
    Ok(())
}

/// Checks that the warps of a warpgroup have come to the same.
fn check_same(group: usize, ended: &[Vec<Multiplication>]) -> Result<(), Misuse> {
    let shared = |a: &A<PerLane<[u32; 4]>>| match a {
        A::Shared { descriptor, transposed } => Some((*descriptor, *transposed)),
        A::Registers(_) => None,
    };
    let first = &ended[0];
    for (rank, other) in ended.iter().enumerate().skip(1) {
        let is_same = |(one, other): (&Multiplication, &Multiplication)| {
            one.operation == other.operation
                && one.group == other.group
                && shared(&one.a) == shared(&other.a)
                && one.started.location == other.started.location
        };
        let differing = first.iter().zip(other).position(|pair| !is_same(pair));
        let longer = if first.len() > other.len() { first } else { other };
        let differing = differing.or((first.len() != other.len()).then(|| first.len().min(other.len())));
        if let Some(at) = differing {
            let one = first.get(at).unwrap_or(&longer[at]);
            return Err(Misuse::WarpGroupDiverges {
                form: one.operation.form,
                place: one.started.location.into(),
                warp: group * WARPS + rank,
                other: other.get(at).map(|other| other.started.location.into()),
            });
        }
    }
    Ok(())
}

/// Results come into registers of the running warp, if they are there.
pub(crate) fn settle<R: Registers<Register = u32>>(site: Site, registers: PerLane<R>) -> PerLane<R> {
    if std::thread::panicking() {
        return registers;
    }
    with_block(|block| {
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(block.running());
        let mut held = columns(&registers);
        let numbers = warp.in_flight.iter().map(|flying| (flying.number, flying.registers, flying.started));
        let landed = warp.landed.iter().map(|(number, (_, d))| (*number, d.len(), block.access_by(Lanes::Each, site)));
        let known: Vec<(u32, usize, Access)> = numbers.chain(landed).filter(|(_, of, _)| *of == R::COUNT).collect();
        let marks = |number: u32| {
            let is_mark = |(register, column): (usize, &Column)| {
                (0..LANES).any(|lane| column[lane] == mark(number, register, lane))
            };
            held.iter().enumerate().any(is_mark)
        };
        let Some((number, _, started)) = known.into_iter().find(|(number, ..)| marks(*number)) else {
            return registers;
        };
        if !is_all_marks(&held, number) {
            let place = started.location.into();
            block
                .findings
                .note(block.access_by(Lanes::Each, site), Misuse::AccumulatorInFlight { access: "write", place });
        }
        let is_there = warp.landed.get(&number).is_some_and(|(group, _)| *group < warp.awaited);
        if is_there && let Some((_, d)) = warp.landed.remove(&number) {
            for (register, column) in held.iter_mut().enumerate() {
                for lane in (0..LANES)
                    .filter(|&lane| registers.array()[lane].as_ref()[register] == mark(number, register, lane))
                {
                    column[lane] = d[register][lane];
                }
            }
            if warp.settled.len() == REMEMBERED {
                warp.settled.pop_front();
            }
            warp.settled.push_back(held.clone());
        }
        of_columns(&held)
    })
}

/// The running lane, or warp, stores these bytes: tells of those that are registers in flight.
pub(in crate::sim) fn check_stored(block: &BlockState, site: Site, bytes: &[u8]) {
    if block.is_multiplying.get()
        && let Some(started) = block.wgmma.borrow().find_mark(block.running(), current_lane(), bytes)
    {
        let place = started.location.into();
        block.findings.note(block.access(site), Misuse::AccumulatorInFlight { access: "read", place });
    }
}

/// The block has ended: nothing may be in flight.
pub(in crate::sim) fn end(block: &BlockState) {
    for warp in &block.wgmma.borrow().warps {
        if let Some((_, started)) = warp.last.filter(|(group, _)| *group >= warp.awaited) {
            block.findings.note(started, Misuse::WgmmaUnfinished);
        }
    }
}

// What the functions of `raw` call: each is one lane's.

/// `wgmma.mma_async`.
#[track_caller]
pub(crate) fn multiply_in_lane<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operation: Operation,
    d: [u32; R],
    a: A,
) -> [u32; R]
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    let form = operation.form;
    collective(site, form, (d, a, operation), move |_, site, operands| {
        let same = |one: &A, other: &A| match (one, other) {
            (A::Shared { descriptor: one, .. }, A::Shared { descriptor: other, .. }) => one == other,
            _ => true,
        };
        let (_, a, operation) = &operands.array()[0];
        if operands.array().iter().any(|(_, other, of)| of != operation || !same(a, other)) {
            fail(site, Misuse::OperandsDiffer { form });
        }
        let (operation, d) = (*operation, PerLane::from_array(operands.array().map(|(d, ..)| d)));
        let a = match *a {
            A::Shared { descriptor, transposed } => A::Shared { descriptor, transposed },
            A::Registers(_) => A::Registers(PerLane::from_array(operands.array().map(|(_, a, _)| match a {
                A::Registers(registers) => registers,
                A::Shared { .. } => unreachable!("one form has A in one place"),
            }))),
        };
        multiply::<S, Left, Right, D, O, R>(site, operation, d, a)
    })
}

/// `wgmma.fence`.
pub(crate) fn fence_in_lane(site: Site) {
    collective(site, "wgmma.fence.sync.aligned", (), |_, site, nothing| {
        fence(site);
        nothing
    });
}

/// `wgmma.commit_group`.
pub(crate) fn commit_in_lane(site: Site) {
    collective(site, "wgmma.commit_group.sync.aligned", (), |_, site, nothing| {
        commit(site);
        nothing
    });
}

/// `wgmma.wait_group`.
pub(crate) fn wait_in_lane(site: Site, newest: usize) {
    collective(site, "wgmma.wait_group.sync.aligned", newest, |warp, site, newest| {
        wait(warp, site, newest.array()[0]);
        PerLane::splat(())
    });
}

/// No instruction, but the lanes do it together.
pub(crate) fn settle_in_lane<const R: usize>(site: Site, registers: [u32; R]) -> [u32; R] {
    collective(site, "wgmma_registers", registers, |_, site, registers| settle(site, registers))
}
