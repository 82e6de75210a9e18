//! Global memory: the writes of each block, and the accesses to each element.
//!
//! The blocks of a launch run in parallel, and none sees another's writes. The writes of a block
//! stay private until its end. Then they reach memory, in the order of the blocks. So a launch
//! repeats exactly, even if blocks race. Races are found when the accesses of blocks are combined.
//! The blocks of a cluster share their writes and count as one block here. Reductions by several
//! blocks do not race with each other: they are applied at that time, in the order of the blocks.

use crate::engine::{
    findings::{Agent, Finding, Found, Memory, Misuse},
    memory::{
        bulk,
        launch_memory::{Conflict, InLaunch, Kind, Published, Value},
        order::{Order, Space, rank_of},
        race::{Access, History, Lanes},
        reduction::{ByClass, Class, Reduction},
        unwritten,
    },
    record::{Traffic, note_element},
    warps::{
        block::BlockState,
        context::with_block,
        polling::{note_access, note_read},
    },
    wgmma,
};
use crate::lane::{AccessKind, Grid, Site};
use rustc_hash::FxHashMap;
use std::boxed::Box;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::vec::Vec;

/// An element of a kernel's parameter.
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

/// The accesses of one cluster to memory that the kernel may write, by the address of the element.
#[derive(Default)]
pub(crate) struct GlobalAccesses {
    /// The index into `accessed` for each address.
    indices: FxHashMap<usize, u32>,
    accessed: Vec<(usize, Accessed)>,
    /// The start of each bulk copy to global memory, and the class of a reduction.
    stores: Vec<(Access, Option<Class>)>,
    /// The indices in `accessed` of the elements accessed since [`publish`](Self::publish).
    fresh: Vec<u32>,
}

struct Accessed {
    element: ElementOf,
    history: History,
    /// The last value that the block wrote.
    value: Option<Value>,
    /// Whether a bulk copy wrote it.
    by_copy: bool,
    is_fresh: bool,
    /// The numbers of the bulk copies in flight to it, in [`GlobalAccesses::stores`].
    in_flight: VecDeque<u32>,
    /// Only few elements have reductions.
    reductions: Option<Box<Reductions>>,
}

/// The reductions of an element by one block.
#[derive(Default)]
struct Reductions {
    histories: ByClass,
    /// Those by `red`, which are like ordinary stores: a bulk copy needs a proxy fence after them.
    unfenced: History,
    /// The block's reductions of an element that it did not write.
    values: Vec<(Reduction, Value)>,
}

impl GlobalAccesses {
    fn accessed(&mut self, address: usize, element: ElementOf) -> &mut Accessed {
        self.with_conflict(address, element, None).0
    }

    /// An element, and the start of a copy in flight to it that an access conflicts with.
    /// Reductions of one class do not conflict with each other.
    fn with_conflict(
        &mut self,
        address: usize,
        element: ElementOf,
        reduces: Option<Class>,
    ) -> (&mut Accessed, Option<Access>) {
        let next = self.accessed.len() as u32;
        let index = *self.indices.entry(address).or_insert(next);
        if index == next {
            let accessed = Accessed {
                element,
                history: History::default(),
                value: None,
                by_copy: false,
                is_fresh: false,
                in_flight: VecDeque::new(),
                reductions: None,
            };
            self.accessed.push((address, accessed));
        }
        self.note_fresh(index);
        let accessed = &mut self.accessed[index as usize].1;
        let mut in_flight = accessed.in_flight.iter().map(|&number| self.stores[number as usize]);
        let conflict = in_flight.find(|(_, other)| reduces.is_none() || *other != reduces);
        (accessed, conflict.map(|(started, _)| started))
    }

    fn get(&self, address: usize) -> Option<&Accessed> {
        Some(&self.accessed[*self.indices.get(&address)? as usize].1)
    }

    /// The next [`publish`](Self::publish) concerns this element, too.
    fn note_fresh(&mut self, index: u32) {
        if !std::mem::replace(&mut self.accessed[index as usize].1.is_fresh, true) {
            self.fresh.push(index);
        }
    }

    /// Lets the other clusters of a launch see the accesses since the last time.
    ///
    /// # Safety
    /// The elements' addresses are in memory that the launch may write. Nothing else writes it
    /// meanwhile.
    pub(crate) unsafe fn publish(&mut self, in_launch: &InLaunch) {
        let mut memory = in_launch.memory.borrow_mut();
        for index in self.fresh.drain(..) {
            let (address, accessed) = &mut self.accessed[index as usize];
            accessed.is_fresh = false;
            let reductions = accessed.reductions.as_deref_mut();
            let (reductions, unfenced, reduced) =
                reductions.map_or_else(Default::default, |reductions| {
                    let values = std::mem::take(&mut reductions.values);
                    (reductions.histories.clone(), reductions.unfenced.clone(), values)
                });
            let published = Published {
                cluster: in_launch.cluster,
                history: accessed.history.clone(),
                reductions,
                unfenced,
                by_copy: accessed.by_copy,
                in_flight: (accessed.in_flight.iter())
                    .map(|&number| self.stores[number as usize])
                    .collect(),
            };
            // From now on, the value is the one in the launch's memory.
            let value = accessed.value.take();
            // SAFETY: guaranteed by the caller.
            unsafe { memory.publish(*address, value, reduced.into_iter(), published) };
        }
    }

    /// The copy of this number to this element has landed, and its lane knows it.
    pub(crate) fn end_store(&mut self, number: u32, address: usize) {
        let Some(&index) = self.indices.get(&address) else { return };
        let accessed = &mut self.accessed[index as usize].1;
        if let Some(at) = accessed.in_flight.iter().position(|&of| of == number) {
            accessed.in_flight.remove(at);
        }
        self.note_fresh(index);
    }
}

impl Accessed {
    /// The block's reductions since its last write.
    fn reduced(&self) -> &[(Reduction, Value)] {
        self.reductions.as_ref().map_or(&[], |reductions| &reductions.values)
    }

    /// Replaces the value, and with it all reductions.
    fn set(&mut self, bytes: &[u8]) {
        self.value = Some(Value::new(bytes));
        if let Some(reductions) = &mut self.reductions {
            reductions.values.clear();
        }
    }

    /// Reduces the element at `address` by a value.
    fn reduce(
        &mut self,
        block: &BlockState,
        by: Access,
        address: usize,
        reduction: Reduction,
        by_value: &[u8],
        by_copy: bool,
    ) {
        let reductions = self.reductions.get_or_insert_default();
        if !by_copy {
            reductions.unfenced.read(by, &block.order);
        }
        reductions.histories.of(reduction.class()).read(by, &block.order);
        match &mut self.value {
            Some(value) => reduction.apply(value.bytes_mut(), by_value),
            None => {
                check_written(block, by, address..address + by_value.len(), self.element);
                reductions.values.push((reduction, Value::new(by_value)));
            }
        }
    }

    /// A reduction of another class that is not ordered before this access. It writes: that it is
    /// over, as for a read, does not suffice.
    fn reduction_beside(&self, by: &Access, class: Option<Class>, order: &Order) -> Option<Access> {
        let others = self.reductions.as_ref()?.histories.without(class);
        let reductions = others.flat_map(History::reads);
        by.worst_race(reductions.filter(|earlier| !earlier.is_before(by, order)), order)
    }
}

/// The accesses of all blocks of a launch so far.
#[derive(Default)]
pub(crate) struct LaunchAccesses {
    elements: FxHashMap<usize, OfElement>,
    /// Reductions, for the elements with any.
    reductions: FxHashMap<usize, ByClass>,
    /// The blocks of each cluster that has run. Accesses here have the cluster's index as the
    /// agent, and the block's rank as the tick.
    clusters: Vec<Vec<Grid>>,
}

/// The accesses to an element. Most elements are written by one cluster and read by none. Such an
/// element has no history.
enum OfElement {
    Written(Access),
    Accessed(Box<History>),
}

impl OfElement {
    fn history(&mut self) -> &mut History {
        if let OfElement::Written(write) = *self {
            *self = OfElement::Accessed(Box::new(History::of_write(write)));
        }
        match self {
            OfElement::Accessed(history) => history,
            OfElement::Written(_) => unreachable!("it has a history now"),
        }
    }
}

impl LaunchAccesses {
    /// Adds the accesses of a cluster, with `warps` warps in each block.
    ///
    /// Writes the cluster's values to memory, and finds races with earlier clusters. `finding`
    /// makes a finding from a misuse and its access.
    ///
    /// # Safety
    /// The elements' addresses are in memory that the launch may write. Nothing else uses that
    /// memory meanwhile.
    pub(crate) unsafe fn add(
        &mut self,
        blocks: &[Grid],
        warps: usize,
        accesses: GlobalAccesses,
        found: &mut Found,
        finding: impl Fn(Misuse, Access) -> Finding,
    ) {
        let agent = self.clusters.len();
        // Clusters are not ordered with each other.
        let none = Order::default();
        self.clusters.push(blocks.to_vec());
        // Races within a cluster are known already, so the whole cluster counts as one agent here.
        let as_a_block = |by: Access| {
            let tick = rank_of(by.agent, blocks.len(), warps) as u32;
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
        // By address, and the findings by the names of the slices: this order is the same in each
        // run, wherever the slices are.
        let mut found_in: BTreeMap<&str, Found> = BTreeMap::new();
        let mut accesses = accesses.accessed;
        accesses.sort_by_cached_key(|(address, _)| *address);
        unwritten::wrote(accesses.iter().filter_map(|(address, Accessed { value, .. })| {
            Some((*address, value.as_ref()?.bytes()))
        }));
        self.elements.reserve(accesses.len());
        for (address, Accessed { element, history, value, reductions, .. }) in accesses {
            let known = match self.elements.entry(address) {
                Entry::Occupied(known) => known.into_mut().history(),
                Entry::Vacant(first) => match history.only_write() {
                    Some(write) if reductions.is_none() => {
                        first.insert(OfElement::Written(as_a_block(write)));
                        // SAFETY: guaranteed by the caller.
                        value.inspect(|value| unsafe { value.write(address) });
                        continue;
                    }
                    _ => first.insert(OfElement::Accessed(Box::default())).history(),
                },
            };
            let mut none_known = ByClass::default();
            let known_reductions = match &reductions {
                Some(_) => self.reductions.entry(address).or_default(),
                None => self.reductions.get_mut(&address).unwrap_or(&mut none_known),
            };
            let Reductions { histories, values: reduced, .. } =
                reductions.map(|of| *of).unwrap_or_default();
            let reductions: Vec<(Class, Access)> = histories.all().collect();
            let reduction_beside = |known: &ByClass, by: &Access, class| {
                known.without(class).find_map(|history| history.beside(by, &none))
            };
            // Reads first: the block's own write would replace the write with which they race.
            let mut races = Vec::new();
            for &(class, reduction) in &reductions {
                let by = as_a_block(reduction);
                let earlier = known.beside(&by, &none);
                races.extend(
                    earlier.map(|(earlier, other)| {
                        ((AccessKind::Reduction, other), reduction, earlier)
                    }),
                );
                let earlier = reduction_beside(known_reductions, &by, Some(class));
                races.extend(earlier.map(|(earlier, _)| {
                    ((AccessKind::Reduction, AccessKind::Reduction), reduction, earlier)
                }));
            }
            for read in history.reads() {
                let by = as_a_block(read);
                races.extend(
                    known
                        .read(by, &none)
                        .map(|earlier| ((AccessKind::Read, AccessKind::Write), read, earlier)),
                );
                races.extend(reduction_beside(known_reductions, &by, None).map(|(earlier, _)| {
                    ((AccessKind::Read, AccessKind::Reduction), read, earlier)
                }));
            }
            // Write races are reported first.
            let mut write_races = Vec::new();
            if let Some(write) = history.last_write() {
                let by = as_a_block(write);
                let earlier = known.write(by, true, &none);
                write_races.extend(
                    earlier.map(|(earlier, other)| ((AccessKind::Write, other), write, earlier)),
                );
                let earlier = reduction_beside(known_reductions, &by, None);
                write_races.extend(earlier.map(|(earlier, _)| {
                    ((AccessKind::Write, AccessKind::Reduction), write, earlier)
                }));
            }
            for (class, reduction) in reductions {
                known_reductions.of(class).read(as_a_block(reduction), &none);
            }
            for ((access, other_access), by, earlier) in write_races.into_iter().chain(races) {
                let other = self.clusters[earlier.agent][earlier.tick as usize];
                let race = race_of_clusters((access, other_access), element, earlier, other);
                found_in.entry(element.name).or_default().add(finding(race, by));
            }
            // SAFETY: guaranteed by the caller.
            value.inspect(|value| unsafe { value.write(address) });
            for (reduction, value) in reduced {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
                // SAFETY: guaranteed by the caller.
                let memory = unsafe { std::slice::from_raw_parts_mut(to, value.bytes().len()) };
                reduction.apply(memory, value.bytes());
            }
        }
        found_in.into_values().for_each(|in_slice| found.append(in_slice));
    }
}

/// The running warp reads from this address, or writes this value there: see `AtomicTurns::note`.
pub(crate) fn note_in_launch(address: usize, value: &[u8]) {
    with_block(|block| {
        if let Some(InLaunch { cluster, memory }) = &block.in_launch {
            memory.borrow_mut().turns.note((*cluster, block.agent(), address, value));
        }
    });
}

/// The value of an element, as another cluster of the launch left it.
fn value_in_launch(block: &BlockState, address: usize) -> Option<Value> {
    block.in_launch.as_ref()?.memory.borrow().value(address)
}

/// Reports an access of another cluster that is not ordered before this one, which is made now.
fn check_other_clusters(
    block: &BlockState,
    by: Access,
    kind: Kind,
    address: usize,
    element: ElementOf,
) {
    let Some(in_launch) = &block.in_launch else { return };
    let memory = in_launch.memory.borrow();
    let access = match kind {
        Kind::Read => AccessKind::Read,
        Kind::Write => AccessKind::Write,
        Kind::Reduction(_) => AccessKind::Reduction,
    };
    if let Some(started) = memory.in_flight(in_launch.cluster, kind, address) {
        let (ElementOf { name, index }, place) = (element, started.location.into());
        let misuse = Misuse::StoreInFlight { access, name, index, place, has_read: false };
        return block.findings.note(by, misuse);
    }
    let conflict = memory.conflict(in_launch.cluster, &by, kind, address, &block.order);
    if let Some(Conflict { access: other_access, by: earlier, block: other }) = conflict {
        let race = race_of_clusters((access, other_access), element, earlier, other);
        block.findings.note(by, race);
    }
}

/// Reads an element of a slice that the kernel may write, in the running lane or warp.
///
/// `bytes` holds the element's bytes at the start of the launch, and receives the value.
pub(crate) fn read_global(site: Site, address: usize, element: ElementOf, bytes: &mut [u8]) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::GlobalRead, address, bytes.len());
    read_by_copy(site, address, element, bytes, false);
    note_read(site, address, bytes, || element.into());
}

/// The same for an asynchronous copy, which is no load of an element. The read of a bulk copy lasts
/// until it lands: see [`read_in_flight`].
pub(crate) fn read_by_copy(
    site: Site,
    address: usize,
    element: ElementOf,
    bytes: &mut [u8],
    is_bulk: bool,
) {
    with_block(|block| {
        let by = block.access(site);
        let mut global = block.global.borrow_mut();
        let (accessed, copy) = global.with_conflict(address, element, None);
        if let Some(copy) = copy {
            block.findings.note(by, store_in_flight(block, AccessKind::Read, element, copy));
        }
        let earlier = if is_bulk {
            accessed.history.unseen_write(&by, &block.order)
        } else {
            accessed.history.read(by, &block.order)
        };
        if let Some(earlier) = earlier {
            block
                .findings
                .note(by, race(block, (AccessKind::Read, AccessKind::Write), element, by, earlier));
        }
        if let Some(earlier) = accessed.reduction_beside(&by, None, &block.order) {
            block.findings.note(
                by,
                race(block, (AccessKind::Read, AccessKind::Reduction), element, by, earlier),
            );
        }
        check_other_clusters(block, by, Kind::Read, address, element);
        match accessed.value.or_else(|| value_in_launch(block, address)) {
            Some(value) => bytes.copy_from_slice(value.bytes()),
            None => check_written(block, by, address..address + bytes.len(), element),
        }
        accessed
            .reduced()
            .iter()
            .for_each(|(reduction, value)| reduction.apply(bytes, value.bytes()));
    });
}

/// Records that a copy reads these elements until it lands: as this access of an asynchronous
/// agent. Whoever writes them must know that it has landed.
pub(crate) fn read_in_flight(block: &BlockState, by: Access, elements: Vec<(usize, ElementOf)>) {
    let mut global = block.global.borrow_mut();
    for (address, element) in elements {
        global.accessed(address, element).history.read(by, &block.order);
    }
}

/// Records that the running lane or warp loads a value of a slice that no thread writes: the
/// elements from `first` on, of `size` bytes each.
pub(crate) fn load_constant(site: Site, addresses: Range<usize>, first: ElementOf, size: usize) {
    note_access(site);
    note_element(site, Traffic::GlobalRead, addresses.start, addresses.len());
    note_in_launch(addresses.start, &[]);
    read_constant(site, addresses, first, size);
}

/// Records that a load or a copy reads these bytes of a slice that no thread writes: of the
/// elements from `first` on, of `size` bytes each.
pub(crate) fn read_constant(site: Site, addresses: Range<usize>, first: ElementOf, size: usize) {
    if !unwritten::is_known() || std::thread::panicking() {
        return;
    }
    with_block(|block| {
        let by = block.access(site);
        for (further, start) in addresses.clone().step_by(size).enumerate() {
            let bytes = start..addresses.end.min(start + size);
            check_written(block, by, bytes, ElementOf { index: first.index + further, ..first });
        }
    });
}

/// Reports a read of an element that nobody has written.
pub(crate) fn check_written(
    block: &BlockState,
    by: Access,
    addresses: Range<usize>,
    ElementOf { name, index }: ElementOf,
) {
    if value_in_launch(block, addresses.start).is_none() && unwritten::contains(addresses) {
        block.findings.note(by, Misuse::GlobalUnwritten { name, index });
    }
}

/// Writes an element in the running lane or warp. `before` holds its bytes at the start of the
/// launch.
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
    note_access(site);
    note_element(site, Traffic::GlobalWrite, address, bytes.len());
    note_in_launch(address, bytes);
    with_block(|block| {
        wgmma::check_stored(block, site, bytes);
        let by = block.access(site);
        let mut global = block.global.borrow_mut();
        let (accessed, copy) = global.with_conflict(address, element, None);
        if let Some(copy) = copy {
            block.findings.note(by, store_in_flight(block, AccessKind::Write, element, copy));
        }
        // After a reduction, every write counts as a change.
        let value = accessed.value.or_else(|| value_in_launch(block, address));
        let changes =
            !accessed.reduced().is_empty() || bytes != value.as_ref().map_or(before, Value::bytes);
        check_other_clusters(block, by, Kind::Write, address, element);
        if let Some((earlier, other)) = accessed.history.write(by, changes, &block.order) {
            let accesses = (AccessKind::Write, other);
            block.findings.note(by, race(block, accesses, element, by, earlier));
        }
        if let Some(earlier) = accessed.reduction_beside(&by, None, &block.order) {
            let accesses = (AccessKind::Write, AccessKind::Reduction);
            block.findings.note(by, race(block, accesses, element, by, earlier));
        }
        accessed.set(bytes);
        accessed.by_copy = false;
    });
}

/// Reduces an element by a value of the running lane.
pub(crate) fn reduce(
    site: Site,
    address: usize,
    element: ElementOf,
    reduction: Reduction,
    value: &[u8],
) {
    with_block(|block| {
        wgmma::check_stored(block, site, value);
        let by = block.access(site);
        let mut global = block.global.borrow_mut();
        let class = Some(reduction.class());
        let (accessed, copy) = global.with_conflict(address, element, class);
        if let Some(copy) = copy {
            block.findings.note(by, store_in_flight(block, AccessKind::Reduction, element, copy));
        }
        let beside = accessed.history.beside(&by, &block.order);
        let reduction_beside = accessed.reduction_beside(&by, class, &block.order);
        let reduction_beside = reduction_beside.map(|earlier| (earlier, AccessKind::Reduction));
        if let Some((earlier, other)) = beside.or(reduction_beside) {
            let race = race(block, (AccessKind::Reduction, other), element, by, earlier);
            block.findings.note(by, race);
        }
        check_other_clusters(block, by, Kind::Reduction(reduction.class()), address, element);
        accessed.reduce(block, by, address, reduction, value, false);
    });
}

/// Starts a bulk copy to these elements, or a reduction of them. Reports accesses that are not
/// ordered before it, and other copies in flight. One error of each kind is enough. Returns the
/// copy's number.
///
/// Until [`GlobalAccesses::end_store`], accesses are reported as conflicts with a copy in flight.
/// So [`land_copy`] and [`land_reduction`] have nothing to report.
pub(crate) fn start_store(
    block: &BlockState,
    started: Access,
    reduces: Option<Class>,
    elements: impl Iterator<Item = (usize, ElementOf)> + Clone,
) -> u32 {
    check_fenced(block, started, elements.clone());
    let access = if reduces.is_some() { AccessKind::Reduction } else { AccessKind::Write };
    let mut global = block.global.borrow_mut();
    let number = global.stores.len() as u32;
    global.stores.push((started, reduces));
    let (mut is_raced, mut is_beside_copy) = (false, false);
    let kind = reduces.map_or(Kind::Write, Kind::Reduction);
    for (address, element) in elements {
        check_other_clusters(block, started, kind, address, element);
        let (accessed, other) = global.with_conflict(address, element, reduces);
        if let Some(other) = other.filter(|_| !is_beside_copy) {
            is_beside_copy = true;
            block.findings.note(started, store_in_flight(block, access, element, other));
        }
        accessed.in_flight.push_back(number);
        if is_raced {
            continue;
        }
        let beside = accessed.history.beside(&started, &block.order);
        let reduction = accessed.reduction_beside(&started, reduces, &block.order);
        let reduction = reduction.map(|earlier| (earlier, AccessKind::Reduction));
        for (earlier, other_access) in beside.into_iter().chain(reduction) {
            if is_raced {
                break;
            }
            let accesses = (access, other_access);
            let race = race(block, accesses, element, started, earlier);
            // An error may follow a warning.
            is_raced = !race.is_tolerated();
            block.findings.note(started, race);
        }
    }
    number
}

/// Writes an element by a bulk copy that lands.
pub(crate) fn land_copy(
    block: &BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
    bytes: &[u8],
) {
    let mut global = block.global.borrow_mut();
    let accessed = global.accessed(address, element);
    accessed.history.write(by, true, &block.order);
    accessed.set(bytes);
    accessed.by_copy = true;
}

/// Reduces an element by a value, for a bulk copy that lands.
pub(crate) fn land_reduction(
    block: &BlockState,
    by: Access,
    address: usize,
    element: ElementOf,
    reduction: Reduction,
    by_value: &[u8],
) {
    let mut global = block.global.borrow_mut();
    global.accessed(address, element).reduce(block, by, address, reduction, by_value, true);
}

/// Reports the first of a bulk copy's elements that an ordinary store wrote without a proxy fence
/// before the copy.
pub(crate) fn check_fenced(
    block: &BlockState,
    by: Access,
    elements: impl Iterator<Item = (usize, ElementOf)>,
) {
    let global = block.global.borrow();
    let unfenced = |address: usize| {
        let stored = global.get(address).filter(|accessed| !accessed.by_copy);
        let write = stored.and_then(|stored| stored.history.last_write());
        let is_unfenced = |write: &Access| {
            !block.order.is_fenced(Space::Global, &by, write) && write.is_seen_by(&by, &block.order)
        };
        let reductions =
            global.get(address).and_then(|accessed| accessed.reductions.as_ref()).into_iter();
        let reductions = reductions.flat_map(|reductions| reductions.unfenced.reads());
        write.into_iter().chain(reductions).find(is_unfenced).or_else(|| {
            let in_launch = block.in_launch.as_ref()?;
            let memory = in_launch.memory.borrow();
            memory.unfenced(in_launch.cluster, &by, address, &block.order)
        })
    };
    let mut found = elements.filter_map(|(address, element)| Some((element, unfenced(address)?)));
    if let Some((element, write)) = found.next() {
        let (memory, place) = (element.into(), write.location.into());
        block.findings.note(by, Misuse::ProxyFence { memory, place, after_wait: false });
    }
}

/// The race of an access with an earlier one by this block of another cluster.
fn race_of_clusters(
    (access, other_access): (AccessKind, AccessKind),
    element: ElementOf,
    earlier: Access,
    block: Grid,
) -> Misuse {
    let (memory, other_place) = (element.into(), earlier.location.into());
    let other = Agent::OtherBlock(block);
    let (same_closure, synced) = (false, None);
    Misuse::Race { access, memory, other_access, other_place, other, same_closure, synced }
}

/// The race of an access with an earlier one by another thread of the cluster.
fn race(
    block: &BlockState,
    accesses: (AccessKind, AccessKind),
    element: ElementOf,
    by: Access,
    earlier: Access,
) -> Misuse {
    block.findings.race(accesses, element.into(), by, earlier, &block.order)
}

/// An access to an element with a copy in flight.
fn store_in_flight(
    block: &BlockState,
    access: AccessKind,
    of: ElementOf,
    started: Access,
) -> Misuse {
    let ElementOf { name, index } = of;
    let place = started.location.into();
    Misuse::StoreInFlight { access, name, index, place, has_read: bulk::has_read(block, &started) }
}
