//! Bulk copies: what is on its way to shared memory, and from it.
//!
//! A copy to shared memory lands when nobody can go on and somebody waits for its barrier, and no
//! sooner; one from shared memory reaches global memory when the lane that started it waits for its
//! group, or the block ends.

use crate::engine::findings::Misuse;
use crate::engine::memory::copies;
use crate::engine::memory::global::{ElementOf, check_fenced, land_copy, land_reduction};
use crate::engine::memory::order::executing;
use crate::engine::memory::peer::{self, Visit};
use crate::engine::memory::race::{Access, Lanes};
pub(crate) use crate::engine::memory::reduction::{Kind, Operation, Reduction};
use crate::engine::memory::slices::{self, Slice};
use crate::engine::record::{note_copy, note_lane};
use crate::engine::warps::block::{BlockState, ClusterState};
use crate::engine::warps::context::{current_lane, fail, with_block, with_cluster};
use crate::engine::warps::handover;
use crate::engine::warps::mbarrier::{self, Proxy};
use crate::engine::warps::polling::note_access;
use crate::engine::wgmma;
use crate::lane::Site;
use std::boxed::Box;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::vec;
use std::vec::Vec;

/// Addresses and sizes of bulk copies are multiples of this.
const UNIT: usize = 16;

/// The bulk copies of a block.
#[derive(Default)]
pub(crate) struct BulkCopies {
    /// By the mbarriers that are told of them.
    loads: BTreeMap<u32, Vec<Load>>,
    stores: Vec<Store>,
    /// The groups that each lane of each warp has made.
    groups: HashMap<(usize, usize), usize>,
}

/// A copy to shared memory that has not landed. One to several blocks is one for each of them.
struct Load {
    to: u32,
    bytes: Vec<u8>,
    barrier: u32,
    /// The barrier's phase when it was started.
    phase: u32,
    /// If it comes from shared memory: the block's rank, and which memory.
    from: Option<(usize, Range<u32>)>,
    /// If it does not write the elements, but reduces them.
    reduction: Option<Reduction>,
    proxy: Proxy,
    started: Access,
}

/// Which blocks of the cluster a copy goes to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Blocks {
    /// The one that the addresses are of: the block that starts it, or, of a form for
    /// `.shared::cluster`, any of the cluster's.
    One,
    /// Those whose bit is set: in each to the same address, told to the barrier at the same
    /// address, whichever block's address that is.
    Mask(u16),
}

/// A copy from shared memory that has not reached global memory.
struct Store {
    /// The parts of shared memory that it needs.
    from: Vec<Range<u32>>,
    /// Whether shared memory has been read.
    read: bool,
    /// If it does not write the elements, but reduces them.
    reduction: Option<Reduction>,
    elements: Vec<Element>,
    /// The addresses that its elements lie within.
    within: Range<usize>,
    lane: usize,
    /// Which of its lane's groups it is in, or will be.
    group: usize,
    started: Access,
}

/// An element of global memory, and what becomes of it.
struct Element {
    address: usize,
    of: ElementOf,
    before: [u8; 8],
    after: [u8; 8],
    size: usize,
}

impl Store {
    fn touches(&self, addresses: &Range<usize>) -> bool {
        let overlaps = |of: Range<usize>| of.start < addresses.end && addresses.start < of.end;
        overlaps(self.within.clone())
            && self.elements.iter().any(|of| overlaps(of.address..of.address + of.size))
    }

    /// Its bytes reach global memory.
    fn land(&self, block: &BlockState, by: Access) {
        for Element { address, of, before, after, size } in &self.elements {
            match self.reduction {
                None => land_copy(block, by, *address, *of, &before[..*size], &after[..*size]),
                Some(reduction) => {
                    land_reduction(block, by, *address, *of, reduction, &after[..*size])
                }
            }
        }
    }
}

impl BulkCopies {
    /// The mbarrier, and its phase then, that a copy tells which was started by this access and is
    /// on its way to this address.
    pub(crate) fn told_of(&self, started: &Access, address: u32) -> Option<(u32, u32)> {
        let is_it = |load: &&Load| {
            let of = (load.started.agent, load.started.tick, load.started.location);
            let to = load.to..load.to + load.bytes.len() as u32;
            of == (started.agent, started.tick, started.location) && to.contains(&address)
        };
        self.loads.values().flatten().find(is_it).map(|load| (load.barrier, load.phase))
    }

    /// The copy that is on its way to an element, if one is.
    pub(crate) fn on_its_way_to(&self, addresses: &Range<usize>) -> Option<Access> {
        self.stores.iter().find(|store| store.touches(addresses)).map(|store| store.started)
    }
}

/// The lane that starts a copy of so many bytes: both sides are aligned, and it is one lane that
/// does.
fn starting(site: Site, form: &'static str, shared: u32, bytes: u32) -> Option<usize> {
    if std::thread::panicking() {
        return None;
    }
    note_access(site);
    let Some(lane) = current_lane() else { fail(site, Misuse::RawAtWarpScope { form }) };
    if !(shared as usize).is_multiple_of(UNIT) {
        fail(site, Misuse::SharedMisaligned { access: "copy", address: shared, bytes: UNIT });
    }
    if !(bytes as usize).is_multiple_of(UNIT) {
        fail(site, Misuse::BulkSize { bytes });
    }
    Some(lane)
}

/// The slice that a bulk copy reads, or writes, and the first element. It starts at a multiple of
/// `unit`.
fn find_aligned(
    site: Site,
    from: *const u8,
    unit: usize,
    len: usize,
    writes: bool,
) -> (Slice, usize) {
    let (slice, index) = slices::find_for_copy(site, from, 1, len, writes);
    let beyond = (from.addr() - slice.address) % unit;
    if beyond != 0 {
        fail(site, Misuse::BulkMisaligned { name: slice.name, index, beyond });
    }
    (slice, index)
}

/// What is in global memory when a copy from it starts.
///
/// # Safety
/// The bytes at `from` are there, if it points into a slice of the kernel's.
pub(crate) unsafe fn read_global(site: Site, from: *const u8, unit: usize, into: &mut [u8]) {
    let (slice, first) = find_aligned(site, from, unit, into.len(), false);
    if slice.is_mut {
        let end = from.addr() + into.len();
        let elements = (slice.address + first * slice.element..end).step_by(slice.element);
        with_block(|block| {
            let by = block.access(site);
            let of = |address| ElementOf {
                name: slice.name,
                index: (address - slice.address) / slice.element,
            };
            // One finding is enough of a copy.
            let _ = elements.clone().any(|address| check_fenced(block, by, address, of(address)));
        });
    }
    // SAFETY: the caller's.
    unsafe { slices::read_for_copy(site, from, 1, into) };
}

/// `cp.async.bulk` to shared memory.
///
/// # Safety
/// The bytes at `from` are there, if it points into a slice of the kernel's.
pub(crate) unsafe fn load(
    site: Site,
    form: &'static str,
    to: u32,
    from: *const u8,
    bytes: u32,
    barrier: u32,
    blocks: Blocks,
) {
    if starting(site, form, to, bytes).is_none() {
        return;
    }
    let mut data = vec![0; bytes as usize];
    // SAFETY: the caller's.
    unsafe { read_global(site, from, UNIT, &mut data) };
    start_load(site, form, to, data, barrier, blocks);
}

/// A copy of these bytes to shared memory starts.
pub(crate) fn start_load(
    site: Site,
    form: &'static str,
    to: u32,
    data: Vec<u8>,
    barrier: u32,
    blocks: Blocks,
) {
    if starting(site, form, to, data.len() as u32).is_none() {
        return;
    }
    note_copy(site, form, to, data.len());
    let started = with_cluster(|cluster, block| {
        let started = block.access(site);
        let load = |to, bytes, barrier| Load {
            to,
            bytes,
            barrier,
            phase: 0,
            from: None,
            reduction: None,
            proxy: Proxy::Async,
            started,
        };
        if !form.contains(".shared::cluster.") {
            return start_load_to(block, block, load(to, data, barrier));
        }
        let ((target, to), (told, barrier)) =
            (peer::resolve(cluster, block, to)?, peer::resolve(cluster, block, barrier)?);
        let mask = match blocks {
            Blocks::One if target.rank != told.rank => {
                return Err(Misuse::BarrierOfAnother { to: target.rank, barrier: told.rank });
            }
            Blocks::One => 1 << target.rank,
            Blocks::Mask(mask) if mask == 0 || u32::from(mask) >> cluster.blocks.len() != 0 => {
                return Err(Misuse::BlockMask { mask, blocks: cluster.blocks.len() });
            }
            Blocks::Mask(mask) => u32::from(mask),
        };
        (0..cluster.blocks.len()).filter(|rank| mask & 1 << rank != 0).try_for_each(|rank| {
            start_load_to(block, &cluster.blocks[rank], load(to, data.clone(), barrier))
        })
    });
    started.unwrap_or_else(|misuse| fail(site, misuse));
}

/// The same to one block. The barrier's phase is not known yet.
fn start_load_to(block: &BlockState, target: &BlockState, mut load: Load) -> Result<(), Misuse> {
    block.order.make_partial();
    let (started, to, bytes) = (load.started, load.to, load.bytes.len());
    peer::visit(block, target, started, Visit::Copy);
    load.phase = mbarrier::phase_for_copy(target, started, load.barrier, load.proxy, bytes)?;
    if load.proxy == Proxy::Async {
        let access = if load.reduction.is_some() { "reduction" } else { "copy" };
        target.shared.check_fenced_at(access, started, to, bytes)?;
    }
    match load.reduction {
        None => target.shared.start_copy(started, to, bytes, Some((load.barrier, load.phase)))?,
        Some(_) => target.shared.start_reduction(started, to, bytes)?,
    }
    target.bulk.borrow_mut().loads.entry(load.barrier).or_default().push(load);
    Ok(())
}

/// The block of the cluster in which both addresses of the `.shared::cluster` window are, and what
/// they are there.
fn resolve_both<'c>(
    cluster: &'c ClusterState,
    block: &'c BlockState,
    to: u32,
    barrier: u32,
) -> Result<(&'c BlockState, u32, u32), Misuse> {
    let ((target, to), (told, barrier)) =
        (peer::resolve(cluster, block, to)?, peer::resolve(cluster, block, barrier)?);
    if target.rank != told.rank {
        return Err(Misuse::BarrierOfAnother { to: target.rank, barrier: told.rank });
    }
    Ok((target, to, barrier))
}

/// `cp.async.bulk`, or `cp.reduce.async.bulk`, from the block's shared memory to that of the block
/// that the addresses of the `.shared::cluster` window name.
pub(crate) fn send(
    site: Site,
    form: &'static str,
    to: u32,
    from: u32,
    bytes: u32,
    barrier: u32,
    reduction: Option<Reduction>,
) {
    if starting(site, form, to, bytes).is_none() {
        return;
    }
    let data = read_shared(site, form, from, bytes as usize, &whole(bytes as usize));
    let sent = with_cluster(|cluster, block| {
        let (target, to, barrier) = resolve_both(cluster, block, to, barrier)?;
        let (from, started) = (Some((block.rank, from..from + bytes)), block.access(site));
        let load = Load {
            to,
            bytes: data,
            barrier,
            phase: 0,
            from,
            reduction,
            proxy: Proxy::Async,
            started,
        };
        start_load_to(block, target, load)
    });
    sent.unwrap_or_else(|misuse| fail(site, misuse));
}

/// `st.async`, or `red.async`: a value in registers goes to shared memory of the block that the
/// addresses of the `.shared::cluster` window name.
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
    if !(to as usize).is_multiple_of(value.len()) {
        fail(site, Misuse::SharedMisaligned { access: "write", address: to, bytes: value.len() });
    }
    note_copy(site, form, to, value.len());
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
            reduction,
            proxy: Proxy::Generic,
            started,
        };
        start_load_to(block, target, load)
    });
    sent.unwrap_or_else(|misuse| fail(site, misuse));
}

/// Lets something land that tells a barrier that is waited for: one of these, by the block's rank
/// and the address. `choose` picks one of so many. Returns whether there was something.
pub(crate) fn land_one(
    cluster: &ClusterState,
    awaited: &BTreeSet<(usize, u32)>,
    choose: impl FnOnce(usize) -> usize,
) -> Result<bool, Box<(Misuse, Access)>> {
    // How many loads tell each, and which arrivals of which warps, that wait for copies.
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

/// Lets a load of a block land: the one of this number, of those that tell this barrier.
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
    let Load { to, bytes, barrier: _, phase: _, from, reduction, proxy, started } = load;
    let landed =
        mbarrier::receive_copy(block, address, bytes.len() as u32, proxy, started.location, |by| {
            match reduction {
                None => block.shared.land_told(by, to, &bytes),
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

/// `cp.async.bulk` from shared memory, or `cp.reduce.async.bulk`.
///
/// # Safety
/// The bytes at `to` are there, if it points into a slice of the kernel's.
pub(crate) unsafe fn store(
    site: Site,
    form: &'static str,
    to: *mut u8,
    from: u32,
    bytes: u32,
    reduction: Option<Reduction>,
) {
    if starting(site, form, from, bytes).is_none() {
        return;
    }
    let (slice, _) = find_aligned(site, to, UNIT, bytes as usize, true);
    let parts = whole(bytes as usize);
    let data = read_shared(site, form, from, bytes as usize, &parts);
    let places =
        (0..data.len()).step_by(slice.element).map(|byte| to.wrapping_add(byte).cast_const());
    // SAFETY: the caller's: elements of the slice.
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

/// All of a copy's bytes, as the one part that it needs.
fn whole(bytes: usize) -> Vec<Range<usize>> {
    std::iter::once(0..bytes).collect()
}

/// What is in shared memory when a copy from it starts, which needs the `parts` of its bytes. The
/// others go nowhere: nobody need have written them.
pub(crate) fn read_shared(
    site: Site,
    form: &'static str,
    from: u32,
    bytes: usize,
    parts: &[Range<usize>],
) -> Vec<u8> {
    starting(site, form, from, bytes as u32);
    note_copy(site, form, from, bytes);
    let mut data = vec![0; bytes];
    let taken = with_block(|block| {
        block.order.make_partial();
        block.shared.start_bulk_read(block.access(site), from, parts, &mut data)
    });
    taken.unwrap_or_else(|misuse| fail(site, misuse));
    data
}

/// A copy of the parts of some bytes of shared memory to these elements of a slice starts; to none,
/// without one.
///
/// # Safety
/// The elements are those of the slice.
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
        let (mut before, mut after, size) = ([0; 8], [0; 8], bytes.len());
        let of =
            ElementOf { name: slice.name, index: (element.addr() - slice.address) / slice.element };
        // SAFETY: it lies in the slice, which nobody writes before the block has ended.
        unsafe { element.copy_to_nonoverlapping(before.as_mut_ptr(), size) };
        after[..size].copy_from_slice(bytes);
        // Exposed: when the block has ended, its writes go there.
        Element { address: element.expose_provenance(), of, before, after, size }
    });
    let elements: Vec<Element> = elements.collect();
    with_block(|block| {
        let started = block.access(site);
        // One finding is enough of a copy.
        let _ = elements
            .iter()
            .any(|element| check_fenced(block, started, element.address, element.of));
        let first = elements.iter().map(|element| element.address).min().unwrap_or(0);
        let within =
            first..elements.iter().map(|element| element.address + element.size).max().unwrap_or(0);
        let lane = started.lane().expect("a lane starts a copy");
        let from =
            parts.iter().map(|part| from + part.start as u32..from + part.end as u32).collect();
        let mut bulk = block.bulk.borrow_mut();
        let group = bulk.groups.get(&(block.running(), lane)).copied().unwrap_or(0);
        bulk.stores.push(Store {
            from,
            read: false,
            reduction,
            elements,
            within,
            lane,
            group,
            started,
        });
    });
}

/// `cp.async.bulk.prefetch`.
///
/// # Safety
/// As `load`.
pub(crate) unsafe fn prefetch(site: Site, form: &'static str, from: *const u8, bytes: u32) {
    if starting(site, form, 0, bytes).is_some() {
        note_lane(site, form);
        find_aligned(site, from, UNIT, bytes as usize, false);
    }
}

/// `cp.async.bulk.commit_group`: the running lane, or each, makes a group of the stores that it
/// started.
pub(crate) fn commit(site: Site) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, "cp.async.bulk.commit_group");
    with_block(|block| {
        let mut bulk = block.bulk.borrow_mut();
        executing(current_lane())
            .for_each(|lane| *bulk.groups.entry((block.running(), lane)).or_default() += 1);
    });
}

/// `cp.async.bulk.wait_group`: until at most the `newest` groups of the running lane, or of each,
/// are on their way, or, if `read`, until of the others shared memory has been read.
pub(crate) fn wait(site: Site, form: &'static str, newest: usize, read: bool) {
    if std::thread::panicking() {
        return;
    }
    note_lane(site, form);
    with_block(|block| {
        let warp = block.running();
        let finished: Vec<Store> = {
            let BulkCopies { stores, groups, .. } = &mut *block.bulk.borrow_mut();
            let waited_for = |store: &Store| {
                let group = groups.get(&(warp, store.lane)).copied().unwrap_or(0);
                let mine = store.started.agent == block.agent()
                    && executing(current_lane()).contains(&store.lane);
                mine && store.group + newest < group
            };
            for store in stores.iter_mut().filter(|store| waited_for(store) && !store.read) {
                store.read = true;
                let by = block.access_by(Lanes::one(store.lane), site);
                store.from.iter().for_each(|part| {
                    block.shared.finish_bulk_read(by, &store.started, part.clone())
                });
            }
            if read {
                Vec::new()
            } else {
                stores.extract_if(.., |store| waited_for(store)).collect()
            }
        };
        for store in finished {
            store.land(block, block.access_by(Lanes::one(store.lane), site));
        }
    });
}

/// The block has ended: what is on its way to global memory gets there. What still needs its shared
/// memory is a misuse.
pub(crate) fn end(block: &BlockState) {
    let BulkCopies { loads, stores, .. } = block.bulk.take();
    for load in loads.values().flatten() {
        let cause = handover::not_expected(block, &load.started, (load.barrier, load.phase));
        block.findings.note_caused(load.started, Misuse::BulkUnfinished, cause);
    }
    let unread = stores.iter().filter(|store| !store.read);
    unread.for_each(|store| block.findings.note(store.started, Misuse::BulkUnfinished));
    stores.iter().for_each(|store| store.land(block, store.started));
}
