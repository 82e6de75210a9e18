//! Bulk copies in flight, to and from shared memory.
//!
//! A copy to shared memory lands as late as possible: when no warp can run and one waits for its
//! barrier. A copy from shared memory reaches global memory when its lane waits for its group, or
//! when the block ends.

use crate::engine::findings::{BarrierPhase, Misuse};
use crate::engine::memory::copies;
use crate::engine::memory::global::{self, ElementOf, land_copy, land_reduction};
use crate::engine::memory::order::executing;
use crate::engine::memory::peer::{self, Visit};
use crate::engine::memory::race::{Access, Lanes};
pub(crate) use crate::engine::memory::reduction::{Kind, Operation, Reduction};
use crate::engine::memory::shared::check_aligned;
use crate::engine::memory::slices::{self, Slice};
use crate::engine::record::{Traffic, note_lane, note_moved};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::{current_lane, fail, with_block, with_cluster};
use crate::engine::warps::handover;
use crate::engine::warps::mbarrier::{self, Proxy};
use crate::engine::warps::polling::note_access;
use crate::engine::wgmma;
use crate::lane::{AccessKind, Site};
use std::boxed::Box;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// Alignment of the addresses and sizes of bulk copies, in bytes.
const UNIT: usize = 16;

/// The bulk copies of a block.
#[derive(Default)]
pub(crate) struct BulkCopies {
    /// By the address of the mbarrier that they signal.
    loads: BTreeMap<u32, Vec<Load>>,
    /// By warp and lane.
    stores: BTreeMap<(usize, usize), LaneStores>,
}

/// A lane's copies to global memory.
#[derive(Default)]
struct LaneStores {
    /// Number of groups that the lane has committed.
    groups: usize,
    /// The copies in flight, in the order of their start.
    in_flight: VecDeque<Store>,
    /// Number of these that have read shared memory: the first ones.
    read: usize,
}

impl LaneStores {
    /// Number of the copies in flight that belong to groups before the `newest` ones.
    fn before(&self, newest: usize) -> usize {
        self.in_flight.partition_point(|store| store.group + newest < self.groups)
    }
}

/// A copy to shared memory in flight. A multicast is one `Load` for each block.
struct Load {
    to: u32,
    bytes: Vec<u8>,
    barrier: u32,
    /// The barrier's phase at the start of the copy.
    phase: u32,
    /// For a copy from shared memory: the source block's rank and the addresses.
    from: Option<(usize, Range<u32>)>,
    /// The elements of global memory that it reads, and that threads may write.
    sources: Vec<(usize, ElementOf)>,
    /// The reduction, if the copy reduces elements instead of writing them.
    reduction: Option<Reduction>,
    proxy: Proxy,
    started: Access,
}

impl Load {
    fn signals(&self) -> BarrierPhase {
        BarrierPhase { barrier: self.barrier, phase: self.phase }
    }
}

/// The destination blocks of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blocks {
    /// The block of the addresses: the executing block, or, for `.shared::cluster` forms, any block
    /// of the cluster.
    One,
    /// A multicast to the blocks of this mask. In each block the copy has the same address and
    /// signals the barrier at the same address, whichever block the operands name.
    Mask(u16),
}

/// A copy from shared memory that is still in flight to global memory.
struct Store {
    /// Its number among those of the cluster.
    number: u32,
    /// The parts of shared memory that it reads.
    from: Vec<Range<u32>>,
    /// The reduction, if the copy reduces elements instead of writing them.
    reduction: Option<Reduction>,
    elements: Vec<Element>,
    /// The number of the lane's group that it belongs to.
    group: usize,
    started: Access,
}

/// An element of global memory, and its value after the copy.
struct Element {
    address: usize,
    of: ElementOf,
    bytes: [u8; 8],
    size: usize,
}

impl Store {
    /// Writes its bytes to global memory.
    fn land(&self, block: &BlockState, by: Access) {
        for Element { address, of, bytes, size } in &self.elements {
            let bytes = &bytes[..*size];
            match self.reduction {
                None => land_copy(block, by, *address, *of, bytes),
                Some(reduction) => land_reduction(block, by, *address, *of, reduction, bytes),
            }
        }
    }
}

impl BulkCopies {
    /// The start of a copy in flight that signals the mbarrier at this address.
    pub(crate) fn signals(&self, barrier: u32) -> Option<Access> {
        Some(self.loads.get(&barrier)?.first()?.started)
    }

    /// The mbarrier and its phase for the copy that this access started and that is in flight to
    /// this address.
    pub(crate) fn signalled_by(&self, started: &Access, address: u32) -> Option<BarrierPhase> {
        let is_it = |load: &&Load| {
            let of = (load.started.agent, load.started.tick, load.started.location);
            let to = load.to..load.to + load.bytes.len() as u32;
            of == (started.agent, started.tick, started.location) && to.contains(&address)
        };
        self.loads.values().flatten().find(is_it).map(Load::signals)
    }
}

/// Checks the start of a copy: the address and the size are aligned, and a single lane executes it.
/// Returns whether it starts: it does not while a failed run is unwound.
pub(crate) fn starts(site: Site, form: &'static str, shared: u32, bytes: usize) -> bool {
    if std::thread::panicking() {
        return false;
    }
    note_access(site);
    if current_lane().is_none() {
        fail(site, Misuse::RawAtWarpScope { form });
    }
    check_aligned(AccessKind::Copy, site, shared, UNIT);
    if !bytes.is_multiple_of(UNIT) {
        fail(site, Misuse::BulkSize { bytes: bytes as u32 });
    }
    true
}

/// The slice that a bulk copy reads or writes, and the first element. The address is a multiple of
/// `unit`.
fn find_aligned(
    site: Site,
    from: *const u8,
    unit: usize,
    len: usize,
    writes: bool,
) -> (Slice, usize) {
    let (slice, index) = slices::find(site, AccessKind::Copy, from, 1, len, writes);
    let beyond = (from.addr() - slice.address) % unit;
    if beyond != 0 {
        fail(site, Misuse::BulkMisaligned { name: slice.name, index, beyond });
    }
    (slice, index)
}

/// Reads global memory as it is at the start of a copy. Returns the elements that threads may
/// write.
///
/// # Safety
/// If `from` points into a slice of the kernel, the bytes there are readable.
pub(crate) unsafe fn read_global(
    site: Site,
    from: *const u8,
    unit: usize,
    into: &mut [u8],
) -> Vec<(usize, ElementOf)> {
    let (slice, first) = find_aligned(site, from, unit, into.len(), false);
    let mut elements = Vec::new();
    if slice.is_mut {
        let end = from.addr() + into.len();
        let addresses = (slice.address + first * slice.element..end).step_by(slice.element);
        let of = |address| ElementOf {
            name: slice.name,
            index: (address - slice.address) / slice.element,
        };
        elements.extend(addresses.map(|address| (address, of(address))));
        with_block(|block| {
            global::check_fenced(block, block.access(site), elements.iter().copied());
        });
    }
    // SAFETY: guaranteed by the caller.
    unsafe { slices::read_for_copy(site, from, 1, into, true) };
    elements
}

/// `cp.async.bulk` from global to shared memory.
///
/// # Safety
/// If `from` points into a slice of the kernel, the bytes there are readable.
pub(crate) unsafe fn load(
    site: Site,
    form: &'static str,
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    blocks: Blocks,
) {
    if !starts(site, form, to, bytes as usize) {
        return;
    }
    let mut data = vec![0; bytes as usize];
    // SAFETY: guaranteed by the caller.
    let sources = unsafe { read_global(site, from, UNIT, &mut data) };
    start_load(site, form, to, (data, sources), barrier, blocks);
}

/// Starts a copy of these bytes to shared memory, after [`starts`]. They are those of the elements
/// `sources`, and of others that no thread writes.
pub(crate) fn start_load(
    site: Site,
    form: &'static str,
    to: u32,
    (data, mut sources): (Vec<u8>, Vec<(usize, ElementOf)>),
    barrier: u32,
    blocks: Blocks,
) {
    note_moved(site, form, Traffic::Copy, to as usize, data.len());
    let started = with_cluster(|cluster, block| {
        let started = block.access(site);
        let mut load = |to, bytes, barrier, reads: bool| Load {
            to,
            bytes,
            barrier,
            phase: 0,
            from: None,
            sources: if reads { std::mem::take(&mut sources) } else { Vec::new() },
            reduction: None,
            proxy: Proxy::Async,
            started,
        };
        if !form.contains(".shared::cluster.") {
            return start_load_to(block, block, load(to, data, barrier, true));
        }
        let ((target, to), (owner, barrier)) =
            (peer::resolve(cluster, block, to)?, peer::resolve(cluster, block, barrier)?);
        let mask = match blocks {
            Blocks::One if target.rank != owner.rank => {
                return Err(Misuse::BarrierOfAnother { to: target.rank, barrier: owner.rank });
            }
            Blocks::One => 1 << target.rank,
            Blocks::Mask(mask) if mask == 0 || u32::from(mask) >> cluster.blocks.len() != 0 => {
                return Err(Misuse::BlockMask { mask, blocks: cluster.blocks.len() });
            }
            Blocks::Mask(mask) => u32::from(mask),
        };
        // Of a multicast, the copy to the block itself reads them, or else the first one.
        let reader =
            if mask & 1 << block.rank != 0 { block.rank as u32 } else { mask.trailing_zeros() };
        (0..cluster.blocks.len()).filter(|rank| mask & 1 << rank != 0).try_for_each(|rank| {
            let load = load(to, data.clone(), barrier, rank as u32 == reader);
            start_load_to(block, &cluster.blocks[rank], load)
        })
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Starts a copy to one block. `load.phase` is set here.
fn start_load_to(block: &BlockState, target: &BlockState, mut load: Load) -> Result<(), Misuse> {
    block.order.start_clocks();
    let (started, to, bytes) = (load.started, load.to, load.bytes.len());
    block.copy_waits.borrow_mut().note(block, started);
    peer::visit(block, target, started, Visit::Copy);
    // Several reductions of one place may signal a phase.
    let fills = load.reduction.is_none().then_some(to);
    load.phase = mbarrier::phase_for_copy(target, started, load.barrier, load.proxy, bytes, fills)?;
    if !load.sources.is_empty()
        && let Some(by) =
            mbarrier::access_of_copy(target, load.barrier, load.phase, started.location)
    {
        global::read_in_flight(block, by, std::mem::take(&mut load.sources));
    }
    if load.proxy == Proxy::Async {
        let access =
            if load.reduction.is_some() { AccessKind::Reduction } else { AccessKind::Copy };
        target.shared.check_fenced_at(access, started, to, bytes)?;
    }
    match load.reduction {
        None => {
            let signalled = load.signals();
            target.shared.start_copy(started, to, bytes, Some(signalled))?;
            handover::explain_reads(target, to..to + bytes as u32, started, signalled);
        }
        Some(of) => target.shared.start_reduction(started, to, bytes, of.class())?,
    }
    target.bulk.borrow_mut().loads.entry(load.barrier).or_default().push(load);
    Ok(())
}

/// Resolves two `.shared::cluster` addresses, which must be in the same block. Returns that block
/// and the addresses in it.
fn resolve_both<'c>(
    cluster: &'c ClusterState,
    block: &'c BlockState,
    to: u32,
    barrier: u32,
) -> Result<(&'c BlockState, u32, u32), Misuse> {
    let ((target, to), (owner, barrier)) =
        (peer::resolve(cluster, block, to)?, peer::resolve(cluster, block, barrier)?);
    if target.rank != owner.rank {
        return Err(Misuse::BarrierOfAnother { to: target.rank, barrier: owner.rank });
    }
    Ok((target, to, barrier))
}

/// `cp.async.bulk` or `cp.reduce.async.bulk` from the block's shared memory to the block of the
/// `.shared::cluster` addresses.
pub(crate) fn send(
    site: Site,
    form: &'static str,
    to: u32,
    from: u32,
    bytes: u32,
    barrier: u32,
    reduction: Option<Reduction>,
) {
    if !starts(site, form, to, bytes as usize) {
        return;
    }
    check_aligned(AccessKind::Copy, site, from, UNIT);
    let data = read_shared(site, form, from, bytes as usize, &whole(bytes as usize), true);
    let sent = with_cluster(|cluster, block| {
        let (target, to, barrier) = resolve_both(cluster, block, to, barrier)?;
        let (from, started) = (Some((block.rank, from..from + bytes)), block.access(site));
        let load = Load {
            to,
            bytes: data,
            barrier,
            phase: 0,
            from,
            sources: Vec::new(),
            reduction,
            proxy: Proxy::Async,
            started,
        };
        start_load_to(block, target, load)
    });
    sent.unwrap_or_else(|misuse| fail(site, misuse));
}

/// `st.async` or `red.async`: writes a value in registers to the shared memory of the block of the
/// `.shared::cluster` addresses.
pub(crate) fn send_registers(
    site: Site,
    form: &'static str,
    to: u32,
    value: &[u8],
    barrier: u32,
    reduction: Option<Reduction>,
) {
    if std::thread::panicking() {
        return;
    }
    note_access(site);
    if current_lane().is_none() {
        fail(site, Misuse::RawAtWarpScope { form });
    }
    check_aligned(AccessKind::Write, site, to, value.len());
    note_moved(site, form, Traffic::Copy, to as usize, value.len());
    let sent = with_cluster(|cluster, block| {
        wgmma::check_stored(block, site, value);
        let (target, to, barrier) = resolve_both(cluster, block, to, barrier)?;
        let (bytes, started) = (value.to_vec(), block.access(site));
        let load = Load {
            to,
            bytes,
            barrier,
            phase: 0,
            from: None,
            sources: Vec::new(),
            reduction,
            proxy: Proxy::Generic,
            started,
        };
        start_load_to(block, target, load)
    });
    sent.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Lands one operation that signals an awaited barrier, and returns whether there was one.
///
/// `awaited` has the rank and the address of each barrier. `choose` picks an index below its
/// argument.
pub(crate) fn land_one(
    cluster: &ClusterState,
    awaited: &BTreeSet<(usize, u32)>,
    choose: impl FnOnce(usize) -> usize,
) -> Result<bool, Box<(Misuse, Access)>> {
    // For each barrier: its loads, and the arrivals of warps that wait for `cp.async` copies.
    let waiting = awaited.iter().map(|&(rank, barrier)| {
        let block = &cluster.blocks[rank];
        let loads = block.bulk.borrow().loads.get(&barrier).map_or(0, Vec::len);
        (block, barrier, loads, copies::arrivals_at(block, barrier))
    });
    let waiting: Vec<_> = waiting.collect();
    let all = waiting.iter().map(|(_, _, loads, arrivals)| loads + arrivals.len()).sum();
    if all == 0 {
        return Ok(false);
    }
    let mut chosen = choose(all);
    for (block, barrier, loads, arrivals) in waiting {
        if chosen < loads {
            return land_load(cluster, block, barrier, chosen).map(|()| true);
        }
        if let Some(&(warp, number)) = arrivals.get(chosen - loads) {
            return copies::land_arrival(block, warp, number).map(|()| true);
        }
        chosen -= loads + arrivals.len();
    }
    unreachable!("`choose` has chosen one of them")
}

/// Lands a load of a block: number `number` of those that signal this barrier.
fn land_load(
    cluster: &ClusterState,
    block: &BlockState,
    address: u32,
    number: usize,
) -> Result<(), Box<(Misuse, Access)>> {
    let load = block
        .bulk
        .borrow_mut()
        .loads
        .get_mut(&address)
        .expect("it is of this barrier")
        .swap_remove(number);
    let Load { to, bytes, from, reduction, proxy, started, .. } = load;
    let landed =
        mbarrier::receive_copy(block, address, bytes.len() as u32, proxy, started.location, |by| {
            match reduction {
                None => block.shared.land_signaling(by, to, &bytes),
                Some(reduction) => block.shared.land_reduction(by, &started, to, reduction, &bytes),
            }
            if let Some((rank, addresses)) = from {
                cluster.blocks[rank].shared.finish_bulk_read(by, &started, addresses);
                peer::read_by_copy(&cluster.blocks[rank], by, started);
            }
        });
    landed.map_err(|misuse| {
        Box::new((misuse.in_memory_of(block.rank, block.findings.rank(started)), started))
    })
}

/// `cp.async.bulk` or `cp.reduce.async.bulk` from shared to global memory.
///
/// # Safety
/// If `to` points into a slice of the kernel, the bytes there are valid.
pub(crate) unsafe fn store(
    site: Site,
    form: &'static str,
    to: *mut u8,
    from: u32,
    bytes: u32,
    reduction: Option<Reduction>,
) {
    if !starts(site, form, from, bytes as usize) {
        return;
    }
    let (slice, _) = find_aligned(site, to, UNIT, bytes as usize, true);
    let parts = whole(bytes as usize);
    let data = read_shared(site, form, from, bytes as usize, &parts, false);
    let places =
        (0..data.len()).step_by(slice.element).map(|byte| to.wrapping_add(byte).cast_const());
    // SAFETY: guaranteed by the caller: these are elements of the slice.
    unsafe {
        start_store(
            site,
            from,
            &parts,
            Some(slice),
            places.zip(data.chunks(slice.element)),
            reduction,
        )
    };
}

/// All bytes of a copy, as its only part.
fn whole(bytes: usize) -> Vec<Range<usize>> {
    std::iter::once(0..bytes).collect()
}

/// Reads shared memory at the start of a copy, after [`starts`]. Only the bytes of `parts` must be
/// written: the others are not copied.
pub(crate) fn read_shared(
    site: Site,
    form: &'static str,
    from: u32,
    bytes: usize,
    parts: &[Range<usize>],
    is_sent: bool,
) -> Vec<u8> {
    let traffic = if is_sent { Traffic::Copy } else { Traffic::Store };
    note_moved(site, form, traffic, from as usize, parts.iter().map(Range::len).sum());
    let mut data = vec![0; bytes];
    let taken = with_block(|block| {
        block.order.start_clocks();
        block.shared.start_bulk_read(block.access(site), from, parts, &mut data, is_sent)
    });
    taken.unwrap_or_else(|misuse| fail(site, misuse));
    data
}

/// Starts a copy from parts of shared memory to these elements of a slice. Without a slice there
/// are no elements.
///
/// # Safety
/// The elements belong to the slice.
pub(crate) unsafe fn start_store<'d>(
    site: Site,
    from: u32,
    parts: &[Range<usize>],
    slice: Option<Slice>,
    elements: impl Iterator<Item = (*const u8, &'d [u8])>,
    reduction: Option<Reduction>,
) {
    let width =
        |slice: &Slice| reduction.filter(|reduction| reduction.kind.bytes() != slice.element);
    if let Some((Slice { name, element, .. }, Reduction { kind, .. })) =
        slice.and_then(|slice| Some((slice, width(&slice)?)))
    {
        fail(site, Misuse::ReductionWidth { name, element, bytes: kind.bytes() });
    }
    let elements = elements.zip(std::iter::repeat(slice)).map(|((element, bytes), slice)| {
        let slice = slice.expect("elements are a slice's");
        let (mut value, size) = ([0; 8], bytes.len());
        let of =
            ElementOf { name: slice.name, index: (element.addr() - slice.address) / slice.element };
        value[..size].copy_from_slice(bytes);
        // Exposed, since the block's writes go there after its end.
        Element { address: element.expose_provenance(), of, bytes: value, size }
    });
    let elements: Vec<Element> = elements.collect();
    with_block(|block| {
        let started = block.access(site);
        let places = elements.iter().map(|element| (element.address, element.of));
        let number = global::start_store(block, started, reduction.map(Reduction::class), places);
        let lane = started.lane().expect("a lane starts a copy");
        let from =
            parts.iter().map(|part| from + part.start as u32..from + part.end as u32).collect();
        let mut bulk = block.bulk.borrow_mut();
        let of_lane = bulk.stores.entry((block.running(), lane)).or_default();
        let group = of_lane.groups;
        of_lane.in_flight.push_back(Store { number, from, reduction, elements, group, started });
    });
}

/// `cp.async.bulk.prefetch`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn prefetch(site: Site, form: &'static str, from: *const u8, bytes: u32) {
    if starts(site, form, 0, bytes as usize) {
        note_lane(site, form);
        find_aligned(site, from, UNIT, bytes as usize, false);
    }
}

/// `cp.async.bulk.commit_group`: the running lane, or each lane, makes a group of the stores that
/// it started.
pub(crate) fn commit(site: Site) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, "cp.async.bulk.commit_group");
    with_block(|block| {
        let mut bulk = block.bulk.borrow_mut();
        executing(current_lane())
            .for_each(|lane| bulk.stores.entry((block.running(), lane)).or_default().groups += 1);
    });
}

/// `cp.async.bulk.wait_group`, for the groups of the running lane or of each lane.
///
/// Waits until at most the `newest` groups are in flight. With `read`, waits only until the older
/// groups have read shared memory.
pub(crate) fn wait(site: Site, form: &'static str, newest: usize, read: bool) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, form);
    with_block(|block| {
        let mut finished: Vec<(Access, Store)> = Vec::new();
        let mut bulk = block.bulk.borrow_mut();
        for lane in executing(current_lane()) {
            let Some(of_lane) = bulk.stores.get_mut(&(block.running(), lane)) else { continue };
            let waited_for = of_lane.before(newest);
            if waited_for == 0 {
                continue;
            }
            let by = block.access_by(Lanes::one(lane), site);
            for store in of_lane.in_flight.range(of_lane.read.min(waited_for)..waited_for) {
                store.from.iter().for_each(|part| {
                    block.shared.finish_bulk_read(by, &store.started, part.clone())
                });
            }
            of_lane.read = of_lane.read.max(waited_for);
            if !read {
                of_lane.read -= waited_for;
                finished.extend(of_lane.in_flight.drain(..waited_for).map(|store| (by, store)));
            }
        }
        finished.sort_unstable_by_key(|(_, store)| store.number);
        for (by, store) in finished {
            store.land(block, by);
            let mut global = block.global.borrow_mut();
            store.elements.iter().for_each(|of| global.end_store(store.number, of.address));
        }
    });
}

/// Whether a lane of the block has waited for the reads of this copy, and not for its writes.
pub(crate) fn has_read(block: &BlockState, started: &Access) -> bool {
    let Ok(bulk) = block.bulk.try_borrow() else { return false };
    let is_it = |store: &Store| {
        store.started.is_by_author_of(started) && store.started.tick == started.tick
    };
    bulk.stores.values().any(|of| of.in_flight.iter().take(of.read).any(is_it))
}

/// Ends the block. Copies to global memory land, but no other block of the cluster can know that.
/// Copies that still use its shared memory are a misuse.
pub(crate) fn end(block: &BlockState) {
    let BulkCopies { loads, stores, .. } = block.bulk.take();
    for load in loads.values().flatten() {
        let cause = handover::not_expected(block, &load.started, load.signals());
        block.findings.note_caused(load.started, Misuse::BulkUnfinished, cause);
    }
    let mut in_flight = Vec::new();
    for LaneStores { in_flight: of_lane, read, .. } in stores.into_values() {
        in_flight
            .extend(of_lane.into_iter().enumerate().map(|(index, store)| (index < read, store)));
    }
    in_flight.sort_unstable_by_key(|(_, store)| store.number);
    for (_, store) in in_flight.iter().filter(|(is_read, _)| !is_read) {
        block.findings.note(store.started, Misuse::BulkUnfinished);
    }
    in_flight.iter().for_each(|(_, store)| store.land(block, store.started));
}
