//! Global memory: what a block writes to it, and who accessed which element.
//!
//! The blocks of a launch run in parallel, and none sees what another writes: a block's writes are
//! its own until it has ended, and reach memory in the order of the blocks. So a launch repeats
//! exactly even where blocks race, which is found when their accesses are put together. The blocks
//! of a cluster have theirs in common, and are as one here. Reductions of several blocks do not
//! race with each other: they are done then, in the order of the blocks.

use crate::engine::{
    findings::{Agent, Finding, Found, Memory, Misuse},
    memory::{
        order::{Order, Space},
        race::{Access, History, Lanes},
        reduction::Reduction,
        unwritten,
    },
    record::{Traffic, note_element},
    warps::{block::BlockState, context::with_block, polling::note_read},
    wgmma,
};
use crate::lane::{Grid, Site};
use rustc_hash::FxHashMap;
use std::boxed::Box;
use std::cell::RefMut;
use std::ops::Range;
use std::vec::Vec;

/// A kernel's parameter, and one of its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementOf {
    pub(crate) name: &'static str,
    pub(crate) index: usize,
}

impl From<ElementOf> for Memory {
    fn from(ElementOf { name, index }: ElementOf) -> Self {
        Memory::Global { name, index }
    }
}

/// The accesses of one block, or of a cluster's blocks, to memory that the kernel may write, by the
/// elements' addresses.
#[derive(Default)]
pub(crate) struct GlobalAccesses {
    /// Which of `accessed` an element is.
    indices: FxHashMap<usize, u32>,
    accessed: Vec<(usize, Accessed)>,
}

struct Accessed {
    element: ElementOf,
    history: History,
    /// What the block wrote last.
    value: Option<Value>,
    /// Whether a bulk copy wrote it.
    by_copy: bool,
    /// Few elements have any.
    reductions: Option<Box<Reductions>>,
}

/// The reductions of an element by one block.
#[derive(Default)]
struct Reductions {
    /// As reads: they do not race with each other, and with all else.
    history: History,
    /// What the block has reduced it by, where it has not written it.
    values: Vec<(Reduction, Value)>,
}

/// The bytes of an element.
#[derive(Clone, Copy)]
struct Value {
    bytes: [u8; 8],
    len: u8,
}

impl Value {
    fn new(of: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..of.len()].copy_from_slice(of);
        Value { bytes, len: of.len() as u8 }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl GlobalAccesses {
    fn accessed(&mut self, address: usize, element: ElementOf) -> &mut Accessed {
        let next = self.accessed.len() as u32;
        let index = *self.indices.entry(address).or_insert(next);
        if index == next {
            let history = History::default();
            self.accessed.push((
                address,
                Accessed { element, history, value: None, by_copy: false, reductions: None },
            ));
        }
        &mut self.accessed[index as usize].1
    }

    fn get(&self, address: usize) -> Option<&Accessed> {
        Some(&self.accessed[*self.indices.get(&address)? as usize].1)
    }
}

impl Accessed {
    /// What the block has reduced it by, since it wrote it.
    fn reduced(&self) -> &[(Reduction, Value)] {
        self.reductions.as_ref().map_or(&[], |reductions| &reductions.values)
    }

    /// A reduction that is not ordered with an access.
    fn reduction_beside(&self, by: &Access, order: &Order) -> Option<Access> {
        Some(self.reductions.as_ref()?.history.beside(by, order)?.0)
    }
}

/// The accesses of all blocks of a launch so far.
#[derive(Default)]
pub(crate) struct LaunchAccesses {
    elements: FxHashMap<usize, History>,
    /// Reductions, of the elements that have any.
    reductions: FxHashMap<usize, History>,
    /// The blocks of the clusters that have run; accesses here name the cluster as the agent, and
    /// as the tick the block's rank.
    clusters: Vec<Vec<Grid>>,
}

impl LaunchAccesses {
    /// Adds the accesses of a cluster's blocks, of so many warps each: writes what they wrote to
    /// memory, and finds where they race with those of an earlier one. `finding` makes a
    /// finding of a misuse and the access that it is.
    ///
    /// # Safety
    /// The elements' addresses are those of memory that the launch may write, and nobody else uses
    /// it meanwhile.
    pub(crate) unsafe fn add(
        &mut self,
        blocks: &[Grid],
        warps: usize,
        accesses: GlobalAccesses,
        found: &mut Found,
        finding: impl Fn(Misuse, Access) -> Finding,
    ) {
        let agent = self.clusters.len();
        // Nothing orders clusters.
        let none = Order::default();
        self.clusters.push(blocks.to_vec());
        // In an order that does not change from run to run.
        let mut accesses = accesses.accessed;
        accesses.sort_by_cached_key(|(address, _)| *address);
        unwritten::wrote(accesses.iter().filter_map(|(address, Accessed { value, .. })| {
            Some((*address, value.as_ref()?.bytes()))
        }));
        for (address, Accessed { element, history, value, reductions, .. }) in accesses {
            let known = self.elements.entry(address).or_default();
            let mut none_known = History::default();
            let known_reductions = match &reductions {
                Some(_) => self.reductions.entry(address).or_default(),
                None => self.reductions.get_mut(&address).unwrap_or(&mut none_known),
            };
            let Reductions { history: reductions, values: reduced } =
                reductions.map(|of| *of).unwrap_or_default();
            // What threads of one cluster do to each other is known already: here it counts as done
            // by one.
            let as_a_block = |by: Access| {
                let tick = (by.agent / warps) as u32;
                Access {
                    agent,
                    by: Lanes::Each,
                    closure: 0,
                    before: 0,
                    epoch: 0,
                    warp_epoch: 0,
                    tick,
                    ..by
                }
            };
            // Reads first: the block's own write takes the place of the one that they race with.
            let mut races = Vec::new();
            for reduction in reductions.reads() {
                let earlier = known.beside(&as_a_block(reduction), &none);
                races.extend(earlier.map(|(earlier, wrote)| {
                    (("reduction", read_or_write(wrote)), reduction, earlier)
                }));
            }
            for read in history.reads() {
                let by = as_a_block(read);
                races.extend(
                    known.read(by, &none).map(|earlier| (("read", "write"), read, earlier)),
                );
                races.extend(
                    known_reductions
                        .beside(&by, &none)
                        .map(|(earlier, _)| (("read", "reduction"), read, earlier)),
                );
            }
            // It is told first.
            let mut write_races = Vec::new();
            if let Some(write) = history.last_write() {
                let by = as_a_block(write);
                let earlier = known.write(by, true, &none);
                write_races.extend(
                    earlier
                        .map(|(earlier, wrote)| (("write", read_or_write(wrote)), write, earlier)),
                );
                let earlier = known_reductions.beside(&by, &none);
                write_races
                    .extend(earlier.map(|(earlier, _)| (("write", "reduction"), write, earlier)));
            }
            for reduction in reductions.reads() {
                known_reductions.read(as_a_block(reduction), &none);
            }
            for ((access, other_access), by, earlier) in write_races.into_iter().chain(races) {
                let other = Agent::OtherBlock(self.clusters[earlier.agent][earlier.tick as usize]);
                let (memory, other_place) = (element.into(), earlier.location.into());
                let race = Misuse::Race {
                    access,
                    memory,
                    other_access,
                    other_place,
                    other,
                    same_closure: false,
                };
                found.add(finding(race, by));
            }
            if let Some(value) = value {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: the caller's.
                unsafe { to.copy_from_nonoverlapping(value.bytes().as_ptr(), value.bytes().len()) };
            }
            for (reduction, value) in reduced {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: the caller's.
                let memory = unsafe { std::slice::from_raw_parts_mut(to, value.bytes().len()) };
                reduction.apply(memory, value.bytes());
            }
        }
    }
}

/// The running lane or warp reads an element of a slice that the kernel may write, which had these
/// bytes when the launch began, at this address; they become what it reads.
pub(crate) fn read_global(site: Site, address: usize, element: ElementOf, bytes: &mut [u8]) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::GlobalRead, address, bytes.len());
    read_by_copy(site, address, element, bytes);
    note_read(site, address, bytes, || element.into());
}

/// The same for what is no load of an element: an asynchronous copy.
pub(crate) fn read_by_copy(site: Site, address: usize, element: ElementOf, bytes: &mut [u8]) {
    with_block(|block| {
        let by = block.access(site);
        check_on_its_way("read", block, by, address..address + bytes.len(), element);
        let mut global = block.global.borrow_mut();
        let accessed = global.accessed(address, element);
        if let Some(earlier) = accessed.history.read(by, &block.order) {
            block.findings.note(by, race(block, ("read", "write"), element.into(), by, earlier));
        }
        if let Some(earlier) = accessed.reduction_beside(&by, &block.order) {
            block
                .findings
                .note(by, race(block, ("read", "reduction"), element.into(), by, earlier));
        }
        match &accessed.value {
            Some(value) => bytes.copy_from_slice(value.bytes()),
            None => check_written(block, by, address..address + bytes.len(), element),
        }
        accessed
            .reduced()
            .iter()
            .for_each(|(reduction, value)| reduction.apply(bytes, value.bytes()));
    });
}

/// The running lane or warp reads elements of a slice that no thread writes, from this one on.
pub(crate) fn read_constant(site: Site, addresses: Range<usize>, first: ElementOf) {
    if unwritten::is_known() && !std::thread::panicking() {
        with_block(|block| check_written(block, block.access(site), addresses, first));
    }
}

fn check_written(
    block: &BlockState,
    by: Access,
    addresses: Range<usize>,
    ElementOf { name, index }: ElementOf,
) {
    if unwritten::contains(addresses) {
        block.findings.note(by, Misuse::GlobalUnwritten { name, index });
    }
}

/// The running lane or warp writes an element, which had the bytes `before` when the launch began.
pub(crate) fn write_global(
    site: Site,
    address: usize,
    element: ElementOf,
    before: &[u8],
    bytes: &[u8],
) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::GlobalWrite, address, bytes.len());
    with_block(|block| {
        wgmma::check_stored(block, site, bytes);
        let by = block.access(site);
        check_on_its_way("write", block, by, address..address + bytes.len(), element);
        land_write(block, by, address, element, before, bytes).by_copy = false;
    });
}

/// What an element becomes is written to memory, by a bulk copy.
pub(crate) fn land_copy(
    block: &BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
    before: &[u8],
    bytes: &[u8],
) {
    land_write(block, by, address, element, before, bytes).by_copy = true;
}

fn land_write<'b>(
    block: &'b BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
    before: &[u8],
    bytes: &[u8],
) -> RefMut<'b, Accessed> {
    let mut accessed =
        RefMut::map(block.global.borrow_mut(), |global| global.accessed(address, element));
    // What was reduced, and is now written: whether it changes is not looked at.
    let changes = !accessed.reduced().is_empty()
        || bytes != accessed.value.as_ref().map_or(before, Value::bytes);
    if let Some((earlier, wrote)) = accessed.history.write(by, changes, &block.order) {
        block
            .findings
            .note(by, race(block, ("write", read_or_write(wrote)), element.into(), by, earlier));
    }
    if let Some(earlier) = accessed.reduction_beside(&by, &block.order) {
        block.findings.note(by, race(block, ("write", "reduction"), element.into(), by, earlier));
    }
    accessed.value = Some(Value::new(bytes));
    if let Some(reductions) = &mut accessed.reductions {
        reductions.values.clear();
    }
    accessed
}

/// An element is reduced by a value, by a bulk copy.
pub(crate) fn land_reduction(
    block: &BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
    reduction: Reduction,
    by_value: &[u8],
) {
    let mut global = block.global.borrow_mut();
    let accessed = global.accessed(address, element);
    if let Some((earlier, wrote)) = accessed.history.beside(&by, &block.order) {
        block.findings.note(
            by,
            race(block, ("reduction", read_or_write(wrote)), element.into(), by, earlier),
        );
    }
    let reductions = accessed.reductions.get_or_insert_default();
    reductions.history.read(by, &block.order);
    match &mut accessed.value {
        Some(Value { bytes, len }) => reduction.apply(&mut bytes[..usize::from(*len)], by_value),
        None => {
            check_written(block, by, address..address + by_value.len(), element);
            reductions.values.push((reduction, Value::new(by_value)));
        }
    }
}

/// Tells of an element that an ordinary store wrote, and no proxy fence is between that and a bulk
/// copy. Returns whether it is one.
pub(crate) fn check_fenced(
    block: &BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
) -> bool {
    let global = block.global.borrow();
    let stored = global.get(address).filter(|accessed| !accessed.by_copy);
    let unfenced = stored.and_then(|accessed| accessed.history.last_write()).filter(|write| {
        !block.order.is_fenced(Space::Global, &by, write) && write.is_seen_by(&by, &block.order)
    });
    if let Some(write) = unfenced {
        let (memory, place) = (element.into(), write.location.into());
        block.findings.note(by, Misuse::ProxyFence { memory, place });
    }
    unfenced.is_some()
}

fn read_or_write(wrote: bool) -> &'static str {
    if wrote { "write" } else { "read" }
}

/// Notes an access to an element that a copy is on its way to.
fn check_on_its_way(
    access: &'static str,
    block: &BlockState,
    by: Access,
    addresses: Range<usize>,
    of: ElementOf,
) {
    if let Some(started) = block.bulk.borrow().on_its_way_to(&addresses) {
        let ElementOf { name, index } = of;
        let place = started.location.into();
        block.findings.note(by, Misuse::StoreInFlight { access, name, index, place });
    }
}

/// The race of an access with an earlier one, by another thread of the block, or of its cluster.
fn race(
    block: &BlockState,
    (access, other_access): (&'static str, &'static str),
    memory: Memory,
    by: Access,
    earlier: Access,
) -> Misuse {
    let (other_place, other) = (earlier.location.into(), block.findings.agent(by, earlier));
    let same_closure = by.shows_order(&earlier, (access == "write", other_access == "write"));
    Misuse::Race { access, memory, other_access, other_place, other, same_closure }
}
