//! Global memory of a launch whose clusters take turns, because they share atomic elements.
//!
//! One cluster runs at a time, up to its next atomic operation. Then the others see its writes
//! here. An access conflicts with those of other clusters unless an atomic operation orders it
//! after them: one cluster releases, and another acquires.

use crate::engine::memory::{
    atomic::AtomicOperation,
    order::{Order, Released, rank_of},
    race::{Access, History},
    reduction::{ByClass, Class, Reduction},
    unwritten,
};
use crate::engine::warps::atomic_turns::AtomicTurns;
use crate::isa::Semantics;
use crate::lane::{AccessKind, Grid};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::vec::Vec;

/// The bytes of an element.
#[derive(Clone, Copy)]
pub(super) struct Value {
    bytes: [u8; 8],
    len: u8,
}

impl Value {
    pub(super) fn new(of: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes[..of.len()].copy_from_slice(of);
        Value { bytes, len: of.len() as u8 }
    }

    /// The value in memory.
    ///
    /// # Safety
    /// The value is that of an element at this address, which nothing else writes meanwhile.
    unsafe fn read(address: usize, len: usize) -> Self {
        let from = std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: guaranteed by the caller.
        Value::new(unsafe { std::slice::from_raw_parts(from, len) })
    }

    /// Writes the value to memory.
    ///
    /// # Safety
    /// The value is that of an element at this address, which nothing else uses meanwhile.
    pub(super) unsafe fn write(&self, address: usize) {
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address);
        // SAFETY: guaranteed by the caller.
        unsafe { to.copy_from_nonoverlapping(self.bytes().as_ptr(), self.bytes().len()) };
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len.into()]
    }
}

/// A cluster's part in such a launch.
#[derive(Clone)]
pub(crate) struct InLaunch {
    /// The cluster's number.
    pub(crate) cluster: usize,
    pub(crate) memory: Rc<RefCell<LaunchMemory>>,
}

/// The memory that the clusters of a launch share.
#[derive(Default)]
pub(crate) struct LaunchMemory {
    /// The values that clusters wrote. Memory itself keeps those from before the launch.
    values: FxHashMap<usize, Value>,
    /// The accesses of each cluster to an element.
    accesses: FxHashMap<usize, Vec<Published>>,
    /// What the writes of the atomic elements pass on.
    released: FxHashMap<usize, Released>,
    /// The blocks of each cluster that has begun.
    clusters: Vec<Vec<Grid>>,
    /// Number of warps of a block.
    warps: usize,
    pub(crate) turns: AtomicTurns,
}

/// The accesses of one cluster to an element.
pub(super) struct Published {
    pub(super) cluster: usize,
    pub(super) history: History,
    pub(super) reductions: ByClass,
    /// Those by `red`, after which a bulk copy needs a proxy fence.
    pub(super) unfenced: History,
    /// Whether a bulk copy wrote it last.
    pub(super) by_copy: bool,
    /// The starts of the bulk copies in flight to it, and the classes of reductions. At the end of
    /// the cluster, these are copies that nobody has waited for.
    pub(super) in_flight: Vec<(Access, Option<Class>)>,
}

/// The kind of an access, for its conflicts with others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Reduction(Class),
}

/// An access of another cluster that is not ordered before one.
pub(super) struct Conflict {
    pub(super) access: AccessKind,
    pub(super) by: Access,
    pub(super) block: Grid,
}

impl LaunchMemory {
    /// The memory of a launch with `warps` warps in each block.
    pub(crate) fn new(warps: usize) -> Self {
        LaunchMemory { warps, ..Self::default() }
    }

    /// Adds a cluster of these blocks. Returns its number.
    pub(crate) fn begin_cluster(&mut self, blocks: Vec<Grid>) -> usize {
        self.turns.begin_warps(blocks.len() * self.warps);
        self.clusters.push(blocks);
        self.clusters.len() - 1
    }

    /// The element's value, if a cluster wrote it.
    pub(super) fn value(&self, address: usize) -> Option<Value> {
        self.values.get(&address).copied()
    }

    /// A bulk copy of another cluster in flight to an element, which an access of this kind
    /// conflicts with: its start.
    pub(super) fn in_flight(&self, cluster: usize, kind: Kind, address: usize) -> Option<Access> {
        let others = self.accesses.get(&address).into_iter().flatten();
        let others = others.filter(|other| other.cluster != cluster);
        let mut in_flight = others.flat_map(|other| &other.in_flight);
        let conflict = in_flight.find(|(_, class)| match (kind, class) {
            (Kind::Reduction(one), Some(other)) => one != *other,
            _ => true,
        });
        conflict.map(|(started, _)| *started)
    }

    /// An access of another cluster to an element that `by`, made now in `cluster`, conflicts with.
    pub(super) fn conflict(
        &self,
        cluster: usize,
        by: &Access,
        kind: Kind,
        address: usize,
        order: &Order,
    ) -> Option<Conflict> {
        let others = self.accesses.get(&address).into_iter().flatten();
        others.filter(|other| other.cluster != cluster).find_map(|other| {
            let knows =
                |earlier: &Access| order.knows_of_cluster(by, other.cluster, earlier, false);
            let knows_over =
                |earlier: &Access| order.knows_of_cluster(by, other.cluster, earlier, true);
            let class = match kind {
                Kind::Reduction(class) => Some(class),
                Kind::Read | Kind::Write => None,
            };
            let write =
                other.history.write_unknown_to(knows).map(|write| (AccessKind::Write, write));
            let reduction = || {
                let mut others = other.reductions.without(class).flat_map(History::reads);
                others
                    .find(|earlier| !knows(earlier))
                    .map(|earlier| (AccessKind::Reduction, earlier))
            };
            let read = || {
                let mut reads = other.history.reads().filter(|_| kind != Kind::Read);
                reads
                    .find(|earlier| !knows_over(earlier))
                    .map(|earlier| (AccessKind::Read, earlier))
            };
            let (access, earlier) = write.or_else(reduction).or_else(read)?;
            let block = self.block(other.cluster, &earlier);
            Some(Conflict { access, by: earlier, block })
        })
    }

    /// A write of another cluster to an element, by ordinary stores or `red`, that `by` knows, and
    /// that no proxy fence follows.
    pub(super) fn unfenced(
        &self,
        cluster: usize,
        by: &Access,
        address: usize,
        order: &Order,
    ) -> Option<Access> {
        let others = self.accesses.get(&address).into_iter().flatten();
        others.filter(|other| other.cluster != cluster).find_map(|other| {
            let write = other.history.last_write().filter(|_| !other.by_copy);
            write.into_iter().chain(other.unfenced.reads()).find(|write| {
                order.knows_of_cluster(by, other.cluster, write, false)
                    && !order.is_fenced_of_cluster(by, other.cluster, write)
            })
        })
    }

    /// The block of an access in a cluster.
    fn block(&self, cluster: usize, by: &Access) -> Grid {
        let blocks = &self.clusters[cluster];
        blocks[rank_of(by.agent, blocks.len(), self.warps)]
    }

    /// Lets the other clusters see an element as one cluster has accessed it. `value` is the value
    /// that it wrote, and `reduced` are its reductions since.
    ///
    /// # Safety
    /// The address is that of an element, which nothing else writes meanwhile.
    pub(super) unsafe fn publish(
        &mut self,
        address: usize,
        value: Option<Value>,
        reduced: impl Iterator<Item = (Reduction, Value)>,
        published: Published,
    ) {
        if let Some(value) = value {
            self.values.insert(address, value);
        }
        for (reduction, by) in reduced {
            let value = self.values.entry(address).or_insert_with(|| {
                // SAFETY: guaranteed by the caller.
                unsafe { Value::read(address, by.bytes().len()) }
            });
            reduction.apply(value.bytes_mut(), by.bytes());
        }
        let of_element = self.accesses.entry(address).or_default();
        match of_element.iter_mut().find(|known| known.cluster == published.cluster) {
            Some(known) => *known = published,
            None => of_element.push(published),
        }
    }

    /// Performs an atomic operation on the element at `address`, by these lanes of a warp of the
    /// cluster. Returns the value before.
    ///
    /// # Safety
    /// The address is that of an element of `result.len()` bytes, which nothing else writes
    /// meanwhile.
    pub(crate) unsafe fn operate(
        &mut self,
        address: usize,
        (operation, operands): (AtomicOperation, &[&[u8]]),
        semantics: Semantics,
        by: (&Order, usize, Range<usize>, usize),
        result: &mut [u8],
    ) {
        let (order, warp, lanes, cluster) = by;
        let mut value = self.value(address).unwrap_or_else(|| {
            // SAFETY: guaranteed by the caller.
            unsafe { Value::read(address, result.len()) }
        });
        result.copy_from_slice(value.bytes());
        let writes = operation.apply(value.bytes_mut(), operands);
        if writes {
            self.values.insert(address, value);
        }
        if value.bytes() != result {
            self.turns.note_change(address);
        }
        self.turns.note((cluster, warp, lanes.start, address, value.bytes()));
        let released = self.released.entry(address).or_default();
        if semantics.acquires() {
            order.acquire_from_launch(warp, lanes.clone(), cluster, released);
        }
        // What reads the value of a plain store does not read those before it, other than the same
        // lane's. A read-modify-write operation passes on what the writes before it do.
        if operation == AtomicOperation::Store {
            released.store_by((warp, lanes.start, cluster));
        }
        if semantics.releases() && writes {
            order.release_to_launch(warp, lanes, cluster, released);
        }
    }

    /// Writes the values to memory.
    ///
    /// # Safety
    /// The addresses are those of elements, which nothing else uses meanwhile.
    pub(crate) unsafe fn write_to_memory(&self) {
        let mut values: Vec<(usize, &Value)> =
            self.values.iter().map(|(&address, value)| (address, value)).collect();
        values.sort_unstable_by_key(|(address, _)| *address);
        unwritten::wrote(values.iter().map(|(address, value)| (*address, value.bytes())));
        // SAFETY: guaranteed by the caller.
        values.into_iter().for_each(|(address, value)| unsafe { value.write(address) });
    }
}
