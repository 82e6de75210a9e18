//! A sequential model of a program, which also decides whether the program is correct.
//!
//! It follows the rules of PTX and shares no code with the simulator. Every access to an element is
//! kept, and each new access is compared with all earlier ones. Two accesses, one of them a write,
//! are ordered in one of these cases:
//! - One thread makes both, one after the other.
//! - A `bar.warp.sync` is between them in the same warp.
//! - A `bar.sync` is between them.
//! - The later thread has waited for an mbarrier, and a thread that was ordered after the earlier
//!   access has arrived there.
//!
//! An access of `ldmatrix` or `stmatrix` belongs to no particular thread of its warp. A `cp.async`
//! writes at any time between its start and its thread's wait for its group.

use super::program::{Entry, Places, Program, Step, Threads};
use ptx_matrix_fuzz_kernels::script::{
    ARRIVALS, CHUNKS, COLS, ELEMENTS, GLOBAL, LEFT, PARTS, ROWS, SIGNALS, WARPS, exact_operand,
    kept, take_in, value,
};
use std::collections::{BTreeSet, VecDeque};
use std::iter::once;

/// A kind of violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Two unordered accesses.
    Race,
    /// An access while a copy to the same place is in flight.
    InFlight,
    /// A read of unwritten memory.
    Unwritten,
    /// Warps that wait for a warp that does not come.
    Deadlock,
}

/// A violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub wrong: Wrong,
    /// It is between two warps, so its report depends on the schedule.
    pub between_warps: bool,
    /// No result depends on it: present and future GPUs compute the same.
    pub harmless: bool,
}

/// The lanes that make an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    Lane(usize),
    /// Each lane, with the same value.
    Each,
    /// An unknown lane of the warp.
    Some,
}

/// The number of barriers before an access: of the block, and of its warp.
type Time = (u32, u32);

/// An earlier access.
#[derive(Debug, Clone, Copy)]
struct Past {
    warp: usize,
    lanes: Lanes,
    /// The value of a write.
    wrote: Option<u32>,
    time: Time,
    /// The index of its step.
    step: usize,
    /// The copy that makes it.
    copy: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    value: u32,
    written: bool,
    past: Vec<Past>,
}

/// A write of a copy that has not landed.
#[derive(Debug, Clone, Copy)]
struct Landing {
    copy: usize,
    cell: usize,
    value: u32,
}

#[derive(Debug, Clone, Default)]
struct Copies {
    open: Vec<Landing>,
    groups: VecDeque<Vec<Landing>>,
}

/// The steps before a lane's current position: for each step, a mask of the lanes whose part of it
/// is ordered before.
type Order = Vec<u32>;

fn join(into: &mut Order, other: &Order) {
    into.resize(into.len().max(other.len()), 0);
    into.iter_mut().zip(other).for_each(|(into, other)| *into |= other);
}

/// An mbarrier.
#[derive(Debug, Clone, Default)]
struct Signal {
    arrived: u32,
    awaited: bool,
    /// The steps before the arrivals.
    released: Order,
}

/// The state of one block, and its violations so far.
#[derive(Debug, Clone)]
pub struct Model {
    salt: u32,
    /// The elements of the tiles, then those of global memory.
    cells: Vec<Cell>,
    known: Vec<[u32; 32]>,
    times: [Time; WARPS],
    copies: [Copies; WARPS],
    /// For each copy, the time and the step of the wait for it.
    landed: Vec<Option<(Time, usize)>>,
    /// The number of executed steps.
    steps: usize,
    order: Vec<Order>,
    signals: [Signal; SIGNALS],
    violations: BTreeSet<Violation>,
}

/// The source of all copies.
pub fn source() -> Vec<u16> {
    (0..ELEMENTS).map(source_element).collect()
}

fn source_element(index: usize) -> u16 {
    value(0, 0x5eed, index)
}

/// Global memory before the launch.
pub fn initial(blocks: u32) -> Vec<u32> {
    (0..blocks as usize * LEFT).map(|index| value(1, 0xface, index).into()).collect()
}

impl Model {
    /// A block before its first step.
    pub fn new(block: u32) -> Self {
        let initial = initial(block + 1);
        let global = initial[block as usize * LEFT..][..GLOBAL].iter();
        let shared = (0..PARTS * ELEMENTS).map(|_| Cell::default());
        Model {
            salt: block,
            cells: shared
                .chain(global.map(|&value| Cell { value, written: true, past: Vec::new() }))
                .collect(),
            known: vec![[0; 32]; WARPS],
            times: [(0, 0); WARPS],
            copies: Default::default(),
            landed: Vec::new(),
            steps: 0,
            order: vec![Order::new(); WARPS * 32],
            signals: Default::default(),
            violations: BTreeSet::new(),
        }
    }

    /// Runs a whole program in one block.
    pub fn of(program: &Program, block: u32) -> Self {
        let mut model = Model::new(block);
        program.entries.iter().for_each(|&entry| model.run(entry));
        let syncs = model.times.map(|time| time.0);
        let in_vain = |signal: &Signal| signal.awaited && signal.arrived < ARRIVALS;
        if syncs.iter().any(|&count| count != syncs[0]) || model.signals.iter().any(in_vain) {
            model.note(Wrong::Deadlock, true, false);
        }
        model
    }

    /// The violations so far.
    pub fn violations(&self) -> &BTreeSet<Violation> {
        &self.violations
    }

    /// The output of the block in global memory.
    pub fn left(&self) -> Vec<u32> {
        let global = self.cells[PARTS * ELEMENTS..].iter().map(|cell| cell.value);
        global.chain(self.known.iter().flatten().copied()).collect()
    }

    /// Whether a warp has copies outside of a group, and the number of groups that nobody has
    /// waited for.
    pub fn in_flight(&self, warp: usize) -> (bool, usize) {
        (!self.copies[warp].open.is_empty(), self.copies[warp].groups.len())
    }

    /// The missing arrivals of an mbarrier.
    pub fn lacks(&self, signal: usize) -> u32 {
        ARRIVALS - self.signals[signal].arrived
    }

    /// Whether step `step`, in which an access was made or waited for, is ordered before the lanes
    /// `lanes`.
    fn is_ordered(&self, past: &Past, step: usize, warp: usize, lanes: Lanes) -> bool {
        let needed = match past.lanes {
            Lanes::Lane(lane) => 1 << lane,
            Lanes::Each | Lanes::Some => u32::MAX,
        };
        let lanes = match lanes {
            Lanes::Lane(lane) => lane..lane + 1,
            Lanes::Each | Lanes::Some => 0..32,
        };
        lanes.into_iter().all(|lane| {
            self.order[warp * 32 + lane].get(step).is_some_and(|lanes| lanes & needed == needed)
        })
    }

    /// Synchronises threads: each learns the steps before all others.
    fn merge_orders(&mut self, threads: impl Iterator<Item = usize> + Clone) {
        let mut all = Order::new();
        threads.clone().for_each(|thread| join(&mut all, &self.order[thread]));
        threads.for_each(|thread| self.order[thread].clone_from(&all));
    }

    fn note(&mut self, wrong: Wrong, between_warps: bool, harmless: bool) {
        self.violations.insert(Violation { wrong, between_warps, harmless });
    }

    /// Compares an access with all earlier accesses to the same element.
    fn check(&mut self, cell: usize, warp: usize, lanes: Lanes, write: Option<u32>, copy: bool) {
        let now = self.times[warp];
        let Cell { value, written, past } = &self.cells[cell];
        let changes = copy || write.is_some_and(|new| !written || new != *value);
        let own_is_last = past.iter().rev().find(|past| past.wrote.is_some()).is_some_and(|past| {
            past.warp == warp && past.lanes == lanes && matches!(lanes, Lanes::Lane(_))
        });
        let mut found = Vec::new();
        for past in past {
            let done = past.copy.map_or(Some((past.time, past.step)), |copy| self.landed[copy]);
            let Some((time, step)) = done else {
                found.push((Wrong::InFlight, past.warp != warp, false));
                continue;
            };
            if past.wrote.is_none() && write.is_none() || self.is_ordered(past, step, warp, lanes) {
                continue;
            }
            if past.warp != warp {
                if time.0 >= now.0 {
                    found.push((Wrong::Race, true, false));
                }
                continue;
            }
            let one_thread = past.lanes == lanes && matches!(lanes, Lanes::Lane(_));
            if time.0 < now.0
                || time.1 < now.1
                || one_thread
                || (past.lanes, lanes) == (Lanes::Each, Lanes::Each)
            {
                continue;
            }
            match (past.wrote, write) {
                // Several lanes that write the same value are harmless.
                (_, Some(_)) if !changes => {}
                // Each lane has itself written the value that it reads.
                (Some(_), None) if past.lanes == Lanes::Each && lanes != Lanes::Some => {}
                (Some(wrote), None) if own_is_last && wrote == *value => {
                    found.push((Wrong::Race, false, true))
                }
                // The last write of each lane is its own.
                (Some(_), Some(_)) if lanes == Lanes::Each => {
                    found.push((Wrong::Race, false, true))
                }
                _ => found.push((Wrong::Race, false, false)),
            }
        }
        if write.is_none() && !written && !found.iter().any(|(wrong, ..)| *wrong == Wrong::InFlight)
        {
            found.push((Wrong::Unwritten, false, false));
        }
        found
            .into_iter()
            .for_each(|(wrong, between_warps, harmless)| self.note(wrong, between_warps, harmless));
    }

    fn remember(
        &mut self,
        cell: usize,
        warp: usize,
        lanes: Lanes,
        wrote: Option<u32>,
        copy: Option<usize>,
    ) {
        let (time, step) = (self.times[warp], self.steps);
        self.cells[cell].past.push(Past { warp, lanes, wrote, time, step, copy });
    }

    fn read(&mut self, cell: usize, warp: usize, lanes: Lanes) -> u32 {
        self.check(cell, warp, lanes, None, false);
        self.remember(cell, warp, lanes, None, None);
        self.cells[cell].value
    }

    fn write(&mut self, cell: usize, warp: usize, lanes: Lanes, value: u32) {
        self.check(cell, warp, lanes, Some(value), false);
        self.remember(cell, warp, lanes, Some(value), None);
        let cell = &mut self.cells[cell];
        (cell.value, cell.written) = (value, true);
    }

    /// A lane starts to copy `count` elements. The first `some` come from offset `from` of the
    /// source; the others are zeros.
    fn copy(
        &mut self,
        to: usize,
        warp: usize,
        lane: usize,
        from: usize,
        (some, count): (usize, usize),
    ) {
        let copy = self.landed.len();
        self.landed.push(None);
        for index in 0..count {
            let (cell, value) =
                (to + index, if index < some { source_element(from + index).into() } else { 0 });
            self.check(cell, warp, Lanes::Lane(lane), Some(value), true);
            self.remember(cell, warp, Lanes::Lane(lane), Some(value), Some(copy));
            self.copies[warp].open.push(Landing { copy, cell, value });
        }
    }

    /// Runs a barrier, or a step of a warp.
    pub fn run(&mut self, entry: Entry) {
        match entry {
            Entry::BlockSync { without } => {
                let warps = (0..WARPS).filter(|&warp| Some(warp) != without);
                for warp in warps {
                    self.times[warp].0 += 1;
                    // The accesses of other warps before it are ordered by their time.
                    self.merge_orders(threads(warp));
                }
            }
            Entry::Warp(warp, step) => {
                self.step(warp, step);
                for (lane, thread) in threads(warp).enumerate() {
                    let order = &mut self.order[thread];
                    order.resize(self.steps + 1, 0);
                    order[self.steps] = 1 << lane;
                }
                self.steps += 1;
            }
        }
    }

    fn step(&mut self, warp: usize, step: Step) {
        let salt = self.salt;
        match step {
            Step::WarpSync => {
                self.times[warp].1 += 1;
                self.merge_orders(threads(warp));
            }
            Step::Arrive { signal, mask, times } => {
                let Signal { arrived, released, .. } = &mut self.signals[signal];
                *arrived += mask.count_ones() * times;
                let lanes = (0..32).filter(|lane| mask >> lane & 1 == 1);
                lanes.for_each(|lane| join(released, &self.order[warp * 32 + lane]));
            }
            Step::Await { signal } => {
                self.signals[signal].awaited = true;
                threads(warp).for_each(|thread| {
                    join(&mut self.order[thread], &self.signals[signal].released)
                });
            }
            Step::Set { part, places, seed } => {
                for (lane, element) in places.of(ELEMENTS) {
                    self.write(
                        part * ELEMENTS + element,
                        warp,
                        Lanes::Lane(lane),
                        value(salt, seed, lane).into(),
                    );
                }
            }
            Step::SetUniform { part, element, seed } => {
                self.write(
                    part * ELEMENTS + element,
                    warp,
                    Lanes::Each,
                    value(salt, seed, 0).into(),
                );
            }
            Step::Get { part, places } => {
                for (lane, element) in places.of(ELEMENTS) {
                    let read = self.read(part * ELEMENTS + element, warp, Lanes::Lane(lane));
                    self.take(warp, lane, read);
                }
            }
            Step::Fill { part, threads, seed } => {
                for (lane, element) in assigned(warp, threads, ELEMENTS) {
                    self.write(
                        part * ELEMENTS + element,
                        warp,
                        Lanes::Lane(lane),
                        value(salt, seed, element).into(),
                    );
                }
            }
            Step::Load { part, places, count, trans } => {
                for matrix in 0..count {
                    let cell = cells_of(part, places, matrix, trans);
                    let read: Vec<u32> = (0..64)
                        .map(|at| self.read(cell(at / 8, at % 8), warp, Lanes::Some))
                        .collect();
                    for (lane, pair) in read.chunks(2).enumerate() {
                        self.take(warp, lane, pair[0] | pair[1] << 16);
                    }
                }
            }
            Step::Store { part, places, count, trans, seed } => {
                for matrix in 0..count {
                    let cell = cells_of(part, places, matrix, trans);
                    for at in 0..64 {
                        let value = value(salt, seed, matrix * 64 + at).into();
                        self.write(cell(at / 8, at % 8), warp, Lanes::Some, value);
                    }
                }
            }
            Step::Transpose => {
                // Lane l holds elements 2 * (l % 4) and 2 * (l % 4) + 1 of row l / 4, the first one
                // in its lower half.
                let half = |row: usize, col: usize| {
                    self.known[warp][row * 4 + col / 2] >> (col % 2 * 16) & 0xffff
                };
                self.known[warp] = std::array::from_fn(|lane| {
                    let (row, col) = (lane / 4, lane % 4 * 2);
                    half(col, row) | half(col + 1, row) << 16
                });
            }
            Step::Multiply { a, b, d, stmatrix } => {
                let at = |(part, _): (usize, usize), row: usize, col: usize| {
                    part * ELEMENTS + row * COLS + col
                };
                let mut operands = |of, left: usize, cols: usize| -> Vec<u32> {
                    let all = (0..ROWS).flat_map(|row| (0..cols).map(move |col| (row, col)));
                    all.map(|(row, col)| {
                        exact_operand(self.read(at(of, row, left + col), warp, Lanes::Some) as u16)
                            .into()
                    })
                    .collect()
                };
                let (left, right) = (operands(a, a.1 * 16, 16), operands(b, b.1 * 8, 8));
                for (row, col) in (0..16).flat_map(|row| (0..8).map(move |col| (row, col))) {
                    let sum = (0..16).map(|k| left[row * 16 + k] * right[k * 8 + col]).sum();
                    let lanes =
                        if stmatrix { Lanes::Some } else { Lanes::Lane(row % 8 * 4 + col / 2) };
                    self.write(at(d, row, d.1 * 8 + col), warp, lanes, sum);
                }
            }
            Step::MultiplySparse { a, b, d, seed, selector } => {
                let at = |(part, block): (usize, usize), row: usize, col: usize| {
                    part * ELEMENTS + row * COLS + block * 8 + col
                };
                let mut operands = |of| -> Vec<u32> {
                    let all = (0..ROWS * 8).map(|index| at(of, index / 8, index % 8));
                    all.map(|cell| exact_operand(self.read(cell, warp, Lanes::Some) as u16).into())
                        .collect()
                };
                let (left, right) = (operands(a), operands(b));
                for (row, col) in (0..16).flat_map(|row| (0..8).map(move |col| (row, col))) {
                    let of_chunk = |chunk: usize| {
                        let (one, other) = kept(salt, seed, row, selector * 4 + chunk);
                        let pair = &left[row * 8 + chunk * 2..];
                        pair[0] * right[(chunk * 4 + one) * 8 + col]
                            + pair[1] * right[(chunk * 4 + other) * 8 + col]
                    };
                    let sum = (0..4).map(of_chunk).sum();
                    self.write(at(d, row, col), warp, Lanes::Lane(row % 8 * 4 + col / 2), sum);
                }
            }
            // A matrix has 16 rows of 16 bytes. The four bytes of a register are adjacent elements
            // of a column.
            Step::LoadBytes { part, places, count } => {
                for matrix in 0..count {
                    let rows: Vec<[u8; 16]> = (0..16)
                        .map(|row| {
                            let chunk = chunk_of(places, matrix * 16 + row);
                            let pairs = [0, 1, 2, 3, 4, 5, 6, 7].map(|element| {
                                self.read(part * ELEMENTS + chunk * 8 + element, warp, Lanes::Some)
                            });
                            std::array::from_fn(|byte| (pairs[byte / 2] >> (byte % 2 * 8)) as u8)
                        })
                        .collect();
                    for lane in 0..32 {
                        for half in 0..2 {
                            let byte = |byte: usize| rows[lane % 4 * 4 + byte][lane / 4 + 8 * half];
                            self.take(warp, lane, u32::from_le_bytes([0, 1, 2, 3].map(byte)));
                        }
                    }
                }
            }
            // A matrix has 8 rows of 16 bytes. Lane l holds two elements each of columns l / 4 and
            // l / 4 + 8.
            Step::StoreBytes { part, places, count, seed } => {
                for matrix in 0..count {
                    let byte = |row: usize, col: usize| {
                        let (lane, number) = (col % 8 * 4 + row / 2, row % 2 + col / 8 * 2);
                        let pair = value(salt, seed, matrix * 64 + lane * 2 + number / 2);
                        u32::from(pair >> (number % 2 * 8) & 0xff)
                    };
                    for (row, element) in
                        (0..8).flat_map(|row| (0..8).map(move |element| (row, element)))
                    {
                        let cell =
                            part * ELEMENTS + chunk_of(places, matrix * 8 + row) * 8 + element;
                        let value = byte(row, element * 2) | byte(row, element * 2 + 1) << 8;
                        self.write(cell, warp, Lanes::Some, value);
                    }
                }
            }
            Step::Copy { part, places, bytes, shift, some } => {
                let (count, chunks) = (bytes / 2, ELEMENTS * 2 / bytes);
                for (lane, chunk) in places.of(chunks) {
                    let from = (chunk + shift) % chunks * count;
                    self.copy(part * ELEMENTS + chunk * count, warp, lane, from, (some, count));
                }
            }
            Step::CopyTile { part, threads, shift, some } => {
                for (lane, chunk) in assigned(warp, threads, CHUNKS) {
                    let from = (chunk + shift) * 8 % ELEMENTS;
                    self.copy(part * ELEMENTS + chunk * 8, warp, lane, from, (some, 8));
                }
            }
            Step::Commit => {
                let group = std::mem::take(&mut self.copies[warp].open);
                self.copies[warp].groups.push_back(group);
            }
            Step::Wait { newest } => {
                let done = self.copies[warp].groups.len().saturating_sub(newest);
                let landing: Vec<Landing> =
                    self.copies[warp].groups.drain(..done).flatten().collect();
                for Landing { copy, cell, value } in landing {
                    self.landed[copy] = Some((self.times[warp], self.steps));
                    let cell = &mut self.cells[cell];
                    (cell.value, cell.written) = (value, true);
                }
            }
            Step::GlobalSet { places, seed } => {
                for (lane, element) in places.of(GLOBAL) {
                    self.write(
                        PARTS * ELEMENTS + element,
                        warp,
                        Lanes::Lane(lane),
                        value(salt, seed, lane).into(),
                    );
                }
            }
            Step::GlobalSetUniform { element, seed } => {
                self.write(
                    PARTS * ELEMENTS + element,
                    warp,
                    Lanes::Each,
                    value(salt, seed, 0).into(),
                );
            }
            Step::GlobalGet { places } => {
                for (lane, element) in places.of(GLOBAL) {
                    let read = self.read(PARTS * ELEMENTS + element, warp, Lanes::Lane(lane));
                    self.take(warp, lane, read);
                }
            }
        }
    }

    fn take(&mut self, warp: usize, lane: usize, read: u32) {
        let known = &mut self.known[warp][lane];
        *known = take_in(*known, read);
    }
}

/// The threads of a warp.
fn threads(warp: usize) -> std::ops::Range<usize> {
    warp * 32..warp * 32 + 32
}

/// The part of `all` items that a warp's lanes process, in strides of the number of threads.
fn assigned(warp: usize, threads: Threads, all: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = if threads == Threads::Block { warp * 32 } else { 0 };
    let of_lane = move |lane| once(lane).cycle().zip((first + lane..all).step_by(threads.count()));
    (0..32).flat_map(of_lane)
}

/// The cell of element (row, col) of a matrix in `ldmatrix` or `stmatrix`. Lane `8 * matrix + r`
/// gives the address of row r (transposed: of column r).
fn cells_of(
    part: usize,
    places: Places,
    matrix: usize,
    trans: bool,
) -> impl Fn(usize, usize) -> usize {
    move |row, col| {
        let (line, along) = if trans { (col, row) } else { (row, col) };
        part * ELEMENTS + chunk_of(places, matrix * 8 + line) * 8 + along
    }
}

/// The row whose address a lane gives.
fn chunk_of(places: Places, lane: usize) -> usize {
    (places.first + lane * places.stride) % CHUNKS
}
