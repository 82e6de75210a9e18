//! The CPU implementations of [`raw`](crate::raw).
//!
//! Each function runs in one lane. A collective waits for all lanes.

mod mma;

pub(crate) use crate::engine::memory::atomic::AtomicOperation;
pub(crate) use mma::{in_lane, multiply, words};

use crate::engine::{
    Mode,
    findings::Misuse,
    memory::{
        ElementOf, Slice, copies, global, matrix,
        order::executing,
        reduction::{Kind, Reduction},
        shared::{check_aligned, load_shared, store_shared},
        slices,
    },
    record::{Traffic, note_collective, note_moved},
    warps::{
        atomic_turns::WithoutEnd,
        block::{BlockState, WarpOfBlock},
        context::{current_lane, fail, with_block, with_cluster},
        divergence::BAR_WARP_SYNC,
        lanes::{Pause, collective, pause},
        polling::{self, note_access, spend},
    },
    wgmma,
};
use crate::fragment::{Arrangement, Registers, RowAddr};
use crate::isa::Semantics;
use crate::lane::{AccessKind, Grid, LANES, PerLane, Site};
use bytemuck::Pod;

/// Whether an instruction of one lane begins: not in a destructor that runs because the run failed.
fn begins_in_lane(site: Site, form: &'static str) -> bool {
    if std::thread::panicking() {
        return false;
    }
    note_access(site);
    if current_lane().is_none() {
        fail(site, Misuse::RawAtWarpScope { form });
    }
    true
}

/// `red` of global memory, by the running lane.
pub(crate) fn reduce_global(
    site: Site,
    form: &'static str,
    to: *mut u8,
    reduction: Reduction,
    value: &[u8],
) {
    if !begins_in_lane(site, form) {
        return;
    }
    let (slice, index) =
        slices::find(site, AccessKind::Reduction, to, value.len(), value.len(), true);
    let Slice { name, element, .. } = slice;
    if element != value.len() {
        fail(site, Misuse::ReductionWidth { name, element, bytes: value.len() });
    }
    note_moved(site, form, Traffic::GlobalWrite, to.addr(), value.len());
    let reduction = reduction.in_global_by_lane();
    // Exposed, since the block's writes go there after its end.
    let address = to.expose_provenance();
    global::reduce(site, address, ElementOf { name, index }, reduction, value);
}

/// `atom`, or an ordered load or store, of an element of global memory, by the running lane.
/// Returns the value before, or 0 while a failed run is unwound.
///
/// # Safety
/// If `at` points into a slice of the kernel for atomic operations, the element is valid. Only the
/// launch writes it meanwhile.
pub(crate) unsafe fn atomic<T: Pod>(
    site: Site,
    form: &'static str,
    at: *mut u8,
    operation: AtomicOperation,
    operands: &[T],
    semantics: Semantics,
) -> T {
    let mut result = T::zeroed();
    let bytes = operands.iter().map(bytemuck::bytes_of);
    let bytes: [&[u8]; 2] = {
        let mut bytes = bytes.chain(std::iter::repeat(&[][..]));
        std::array::from_fn(|_| bytes.next().expect("endless"))
    };
    let operation = (operation, &bytes[..operands.len()]);
    // SAFETY: guaranteed by the caller.
    unsafe { operate(site, form, at, operation, semantics, bytemuck::bytes_of_mut(&mut result)) };
    result
}

/// The same for bytes.
///
/// # Safety
/// As for [`atomic`].
unsafe fn operate(
    site: Site,
    form: &'static str,
    at: *mut u8,
    operation: (AtomicOperation, &[&[u8]]),
    semantics: Semantics,
    result: &mut [u8],
) {
    if !begins_in_lane(site, form) {
        return;
    }
    let bytes = result.len();
    let (slice, index) = slices::find(site, AccessKind::Atomic, at, bytes, bytes, true);
    let Slice { name, element, is_atomic, .. } = slice;
    if element != bytes {
        fail(site, Misuse::ReductionWidth { name, element, bytes });
    }
    let in_launch = with_block(|block| block.in_launch.clone());
    let Some(in_launch) = in_launch.filter(|_| is_atomic) else {
        fail(site, Misuse::NotAtomic { name, form });
    };
    let patience = polling::atomic_patience();
    let without_end = in_launch.memory.borrow().turns.without_end(at.addr(), patience);
    match without_end {
        None => {}
        Some(WithoutEnd::Unchanged) => fail(site, Misuse::AtomicPolling { name, index }),
        Some(WithoutEnd::Operations(operations)) => {
            fail(site, Misuse::EndlessAtomics { operations });
        }
    }
    pause(site, form, Pause::Atomic);
    if std::thread::panicking() {
        return;
    }
    let is_load = operation.0 == AtomicOperation::Load;
    let traffic = if is_load { Traffic::GlobalRead } else { Traffic::GlobalWrite };
    note_moved(site, form, traffic, at.addr(), bytes);
    with_block(|block| {
        if operation.0 != AtomicOperation::Store {
            let of = ElementOf { name, index };
            global::check_written(block, block.access(site), at.addr()..at.addr() + bytes, of);
        }
        let lanes = executing(current_lane());
        let by = (&*block.order, block.agent(), lanes, in_launch.cluster);
        let mut memory = in_launch.memory.borrow_mut();
        // SAFETY: an element of the slice, by the caller.
        unsafe { memory.operate(at.expose_provenance(), operation, semantics, by, result) };
    });
}

/// `red` of the block's shared memory, by the running lane.
pub(crate) fn reduce_shared(
    site: Site,
    form: &'static str,
    to: u32,
    reduction: Reduction,
    value: &[u8],
) {
    reduce_shared_from(site, form, to, reduction, value, None);
}

/// `atom` of the block's shared memory, by the running lane. Returns the value before, or 0 while a
/// failed run is unwound.
pub(crate) fn fetch_shared<T: Pod>(
    site: Site,
    form: &'static str,
    at: u32,
    reduction: Reduction,
    value: T,
) -> T {
    let mut before = T::zeroed();
    let into = Some(bytemuck::bytes_of_mut(&mut before));
    reduce_shared_from(site, form, at, reduction, bytemuck::bytes_of(&value), into);
    before
}

/// Reduces an element of shared memory. `before` receives its value before.
fn reduce_shared_from(
    site: Site,
    form: &'static str,
    to: u32,
    reduction: Reduction,
    value: &[u8],
    before: Option<&mut [u8]>,
) {
    if !begins_in_lane(site, form) {
        return;
    }
    let bytes = value.len();
    check_aligned(AccessKind::Reduction, site, to, bytes);
    let with_result = before.is_some();
    if with_result {
        let (turns, warps) = with_cluster(|cluster, _| {
            (cluster.fetching_turns.get(), cluster.blocks.len() * cluster.blocks[0].warps())
        });
        turns.check(site, to, warps);
        pause(site, form, Pause::SharedAtomic);
        if std::thread::panicking() {
            return;
        }
    }
    note_moved(site, form, Traffic::SharedWrite, to as usize, bytes);
    // In shared memory, an f64 is added like in registers, which makes a NaN quiet.
    let kind = if reduction.kind == Kind::f64 { Kind::f64_quiet } else { reduction.kind };
    let reduction = Reduction { kind, ..reduction };
    let reduced = with_block(|block| {
        wgmma::check_stored(block, site, value);
        block.shared.reduce(block.access(site), to, reduction, value, before)
    });
    let changes = reduced.unwrap_or_else(|misuse| fail(site, misuse));
    if with_result && changes {
        with_cluster(|cluster, _| {
            cluster.fetching_turns.set(cluster.fetching_turns.get().changed());
        });
    }
}

/// `ldmatrix`.
#[track_caller]
pub(crate) fn load_matrices<R: Registers<Register = u32>>(
    form: &'static str,
    arrangement: Arrangement,
    address: u32,
) -> R {
    collective(Site::here(), form, address, move |_, site, addresses| {
        matrix::load_read_matrices(site, form, &rows(&addresses, |address| address), arrangement)
    })
}

/// `stmatrix`.
#[track_caller]
pub(crate) fn store_matrices<R: Registers<Register = u32>>(
    form: &'static str,
    arrangement: Arrangement,
    address: u32,
    registers: R,
) {
    collective(Site::here(), form, (address, registers), move |_, site, operands| {
        let rows = rows(&operands, |(address, _)| address);
        matrix::store_matrices(
            site,
            form,
            &rows,
            &mapped(&operands, |(_, registers)| registers),
            arrangement,
        );
        PerLane::splat(())
    });
}

/// `movmatrix`.
#[track_caller]
pub(crate) fn transpose_matrix(form: &'static str, register: u32) -> u32 {
    collective(Site::here(), form, register, move |_, site, registers| {
        note_collective(site, form);
        matrix::transpose_matrix(&registers)
    })
}

/// `shfl.sync`: the value, and whether the source lane is within the segment.
#[track_caller]
pub(crate) fn shuffle(form: &'static str, mode: Mode, operands: (u32, u32, u32)) -> (u32, bool) {
    let [d, within] = collective(Site::here(), form, operands, move |_, site, operands| {
        note_collective(site, form);
        let of_lanes = operands.array();
        PerLane::from_array(std::array::from_fn(|lane| {
            let (_, b, c) = of_lanes[lane];
            let (source, within) = mode.source(lane, b, c);
            [of_lanes[source].0, u32::from(within)]
        }))
    });
    (d, within != 0)
}

/// `bar.sync`.
#[track_caller]
pub(crate) fn sync_block() {
    collective(Site::here(), "bar.sync", (), |warp, site, nothing| {
        warp.sync(site);
        nothing
    });
}

/// `bar.sync` of a named barrier, for a part of the block's threads.
#[track_caller]
pub(crate) fn sync_named(barrier: u32, threads: u32) {
    at_named("bar.sync", (barrier, threads), |warp, site, (barrier, threads)| {
        warp.sync_named(site, barrier, threads);
    });
}

/// `bar.arrive`.
#[track_caller]
pub(crate) fn arrive_named(barrier: u32, threads: u32) {
    at_named("bar.arrive", (barrier, threads), |warp, site, (barrier, threads)| {
        warp.arrive_named(site, barrier, threads);
    });
}

/// Executes an instruction of a named barrier, whose operands are equal in all lanes.
#[track_caller]
fn at_named(form: &'static str, at: (u32, u32), execute: fn(WarpOfBlock<'_>, Site, (u32, u32))) {
    collective(Site::here(), form, at, move |warp, site, operands| {
        if operands.array().iter().any(|&of_lane| of_lane != at) {
            fail(site, Misuse::OperandsDiffer { form });
        }
        execute(warp, site, at);
        PerLane::splat(())
    });
}

/// `bar.warp.sync`.
#[track_caller]
pub(crate) fn sync_warp() {
    collective(Site::here(), BAR_WARP_SYNC, (), |warp, site, nothing| {
        warp.sync_warp();
        note_collective(site, BAR_WARP_SYNC);
        nothing
    });
}

/// `elect.sync`.
#[track_caller]
pub(crate) fn elect() -> bool {
    let elected = collective(Site::here(), "elect.sync", (), |warp, site, _| {
        note_collective(site, "elect.sync");
        PerLane::from_array(std::array::from_fn(|lane| u8::from(lane == warp.elected())))
    });
    elected != 0
}

/// `trap`.
#[track_caller]
pub(crate) fn trap() -> ! {
    fail(Site::here(), Misuse::Trap)
}

/// `%tid.x`.
#[track_caller]
pub(crate) fn thread() -> u32 {
    let lane = match current_lane() {
        Some(lane) => lane,
        // A destructor of a lane that was waiting when the run failed.
        None if std::thread::panicking() => 0,
        None => fail(Site::here(), Misuse::RawAtWarpScope { form: "%tid.x" }),
    };
    with_block(|block| (block.running() * LANES + lane) as u32)
}

/// `%clock64`: the number of times that the block has read it.
#[track_caller]
pub(crate) fn clock() -> u64 {
    if current_lane().is_none() && !std::thread::panicking() {
        fail(Site::here(), Misuse::RawAtWarpScope { form: "%clock64" });
    }
    spend(Site::here());
    with_block(BlockState::read_clock)
}

/// `%ctaid`.
pub(crate) fn block() -> [u32; 3] {
    with_block(|block| coordinates(block.index))
}

/// `%nctaid`.
pub(crate) fn grid() -> [u32; 3] {
    with_block(|block| coordinates(block.grid))
}

/// `%cluster_ctaid`.
pub(crate) fn block_in_cluster() -> [u32; 3] {
    with_cluster(|cluster, block| {
        let first = cluster.blocks[0].index;
        [block.index.x - first.x, block.index.y - first.y, block.index.z - first.z]
    })
}

/// `%cluster_nctaid`.
pub(crate) fn cluster_shape() -> [u32; 3] {
    with_cluster(|cluster, _| coordinates(cluster.shape))
}

/// `%clusterid`.
pub(crate) fn cluster() -> [u32; 3] {
    with_cluster(|cluster, block| by_cluster(block.index, cluster.shape))
}

/// `%nclusterid`.
pub(crate) fn clusters() -> [u32; 3] {
    with_cluster(|cluster, block| by_cluster(block.grid, cluster.shape))
}

fn by_cluster(of: Grid, shape: Grid) -> [u32; 3] {
    [of.x / shape.x, of.y / shape.y, of.z / shape.z]
}

/// `%cluster_ctarank`.
pub(crate) fn cluster_rank() -> u32 {
    with_block(|block| block.rank as u32)
}

/// `%cluster_nctarank`.
pub(crate) fn cluster_size() -> u32 {
    with_block(|block| block.blocks as u32)
}

fn coordinates(Grid { x, y, z }: Grid) -> [u32; 3] {
    [x, y, z]
}

/// `ld.shared`, of one element.
#[track_caller]
pub(crate) fn load_element<T: Pod>(address: u32) -> T {
    let site = Site::here();
    check_aligned(AccessKind::Read, site, address, size_of::<T>());
    let mut value = T::zeroed();
    load_shared(site, address, bytemuck::bytes_of_mut(&mut value));
    value
}

/// `st.shared`, of one element.
#[track_caller]
pub(crate) fn store_element<T: Pod>(address: u32, value: T) {
    let site = Site::here();
    check_aligned(AccessKind::Write, site, address, size_of::<T>());
    store_shared(site, address, bytemuck::bytes_of(&value));
}

/// `cp.async` of `BYTES` bytes. The first `some` come from `from`; the rest are zeros.
///
/// # Safety
/// If `from` points into a slice of the kernel, those `some` bytes are readable.
#[track_caller]
pub(crate) unsafe fn copy<const BYTES: usize>(
    form: &'static str,
    to: u32,
    from: *const u8,
    some: usize,
) {
    if std::thread::panicking() {
        return;
    }
    let site = Site::here();
    if current_lane().is_none() {
        fail(site, Misuse::RawAtWarpScope { form });
    }
    check_aligned(AccessKind::Copy, site, to, BYTES);
    if some > BYTES {
        fail(site, Misuse::CopyTooLong { some, bytes: BYTES });
    }
    let mut bytes = [0; BYTES];
    if some > 0 {
        // SAFETY: guaranteed by the caller.
        unsafe { slices::read_for_copy(site, from, BYTES, &mut bytes[..some], false) };
    }
    copies::start_copy(site, form, to, &bytes, some);
}

/// `cp.async.commit_group`.
#[track_caller]
pub(crate) fn commit_copies() {
    copies::commit_copies(Site::here());
}

/// `cp.async.wait_group`.
#[track_caller]
pub(crate) fn wait_for_copies(newest: usize) {
    copies::wait_for_copies(Site::here(), newest);
}

/// Applies `of` to each lane's value.
///
/// A loop with a function pointer: about 1500 calls of this function need far fewer instances.
#[inline(never)]
fn mapped<T: Copy, U: Copy>(values: &PerLane<T>, of: fn(T) -> U) -> PerLane<U> {
    let values = values.array();
    let mut results = [of(values[0]); LANES];
    for lane in 1..LANES {
        results[lane] = of(values[lane]);
    }
    PerLane::from_array(results)
}

fn rows<T: Copy>(operands: &PerLane<T>, address: fn(T) -> u32) -> PerLane<RowAddr> {
    // SAFETY: the functions that load or store the row check it.
    mapped(&mapped(operands, address), |address| unsafe { RowAddr::from_address(address) })
}
