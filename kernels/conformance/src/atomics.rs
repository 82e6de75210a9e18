//! Atomic operations with a result on elements of global and of shared memory, and ordered loads
//! and stores.

use ptx_matrix::copy::AtomicElement;
use ptx_matrix::copy::reduction::{Add, And, AtomicReduction, Dec, Inc, Max, Min, Or, Xor};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::{Acquire, AcquireRelease, Relaxed, Release};
use ptx_matrix::target::{BuildTarget, Supports};

/// Elements for each operation: 32 for each order.
pub const OF_EACH: usize = 4 * 32;

/// The buffers of a kernel: `OF_EACH` elements for each operation, one operation after another.
#[derive(Clone, Copy)]
struct Buffers<'k, T> {
    values: Global<'k, T>,
    /// The values that `cas` expects, and those in shared memory before.
    expected: Global<'k, T>,
    memory: GlobalAtomic<'k, T>,
    results: GlobalMut<'k, T>,
}

/// Elements of an operation in shared memory.
type Shared<T> = SharedTile<T, 4, 32>;

/// Reduces the elements of operation `number`, in each order.
#[inline]
fn fetch<T: Element, R: AtomicReduction<T> + LaneCapture>(
    block: &Block,
    Buffers { values, memory, results, .. }: Buffers<T>,
    (number, reduction): (usize, R),
) where
    BuildTarget: Supports<R::Needs>,
{
    block.warp().each(|lane| {
        let at = |order: usize| number * OF_EACH + order * 32 + lane.id();
        let by = |order: usize| (at(order), values.get(at(order)));
        let (i, value) = by(0);
        results.set(i, memory.fetch(lane, reduction, i, value, Relaxed));
        let (i, value) = by(1);
        results.set(i, memory.fetch(lane, reduction, i, value, Acquire));
        let (i, value) = by(2);
        results.set(i, memory.fetch(lane, reduction, i, value, Release));
        let (i, value) = by(3);
        results.set(i, memory.fetch(lane, reduction, i, value, AcquireRelease));
    });
}

/// Reduces elements of shared memory. Their results, and the elements after, follow those of the
/// global `operations`. Elements of 16 bits share a word with that of another lane.
#[inline]
fn fetch_shared<T: Element, R: AtomicReduction<T> + LaneCapture>(
    block: &Block,
    tile: Shared<T>,
    Buffers { values, expected, results, .. }: Buffers<T>,
    (number, operations, reduction): (usize, usize, R),
) where
    BuildTarget: Supports<R::Needs>,
{
    let warp = block.warp();
    let at = |row: usize, col: usize| number * OF_EACH + row * 32 + col;
    tile.fill(warp, |row, col| expected.get(at(row, col)));
    warp.sync();
    warp.each(|lane| {
        for row in 0..4 {
            let col = 31 - lane.id();
            let before = tile.fetch(lane, reduction, (row, col), values.get(at(row, col)));
            results.set(operations * OF_EACH + at(row, col), before);
        }
    });
    warp.sync();
    tile.for_each(warp, |row, col, value| {
        results.set(2 * operations * OF_EACH + at(row, col), value);
    });
    warp.sync();
}

/// Exchanges, compares and exchanges, loads and stores, in each order. These are the operations
/// from `number` on.
#[inline]
fn exchange<T: AtomicElement>(block: &Block, buffers: Buffers<T>, number: usize) {
    let Buffers { values, expected, memory, results } = buffers;
    block.warp().each(|lane| {
        let at =
            |further: usize, order: usize| (number + further) * OF_EACH + order * 32 + lane.id();
        let by = |further: usize, order: usize| {
            let i = at(further, order);
            (i, values.get(i))
        };
        let (i, value) = by(0, 0);
        results.set(i, memory.exchange(lane, i, value, Relaxed));
        let (i, value) = by(0, 1);
        results.set(i, memory.exchange(lane, i, value, Acquire));
        let (i, value) = by(0, 2);
        results.set(i, memory.exchange(lane, i, value, Release));
        let (i, value) = by(0, 3);
        results.set(i, memory.exchange(lane, i, value, AcquireRelease));

        let either = |result: Result<T, T>| result.unwrap_or_else(|other| other);
        let by_pair = |order: usize| {
            let i = at(1, order);
            (i, (expected.get(i), values.get(i)))
        };
        let (i, pair) = by_pair(0);
        results.set(i, either(memory.compare_exchange(lane, i, pair, Relaxed)));
        let (i, pair) = by_pair(1);
        results.set(i, either(memory.compare_exchange(lane, i, pair, Acquire)));
        let (i, pair) = by_pair(2);
        results.set(i, either(memory.compare_exchange(lane, i, pair, Release)));
        let (i, pair) = by_pair(3);
        results.set(i, either(memory.compare_exchange(lane, i, pair, AcquireRelease)));

        let (i, j) = (at(2, 0), at(2, 1));
        results.set(i, memory.load(lane, i, Relaxed));
        results.set(j, memory.load(lane, j, Acquire));
        let (i, value) = by(2, 2);
        memory.store(lane, i, value, Relaxed);
        let (i, value) = by(2, 3);
        memory.store(lane, i, value, Release);
    });
}

/// Makes the kernels: one for each type of element, with its operations.
macro_rules! atomics {
    ($($(#[$doc:meta])* $name:ident $element:ty, $target:literal, $operations:literal:
        $($operation:ident $number:literal)* $(, $exchanges:literal)?;)*) => {$(
        $(#[$doc])*
        #[kernel(threads = 32, target = $target)]
        pub fn $name(
            block: &Block,
            #[shared] tile: Shared<$element>,
            values: Global<$element>,
            expected: Global<$element>,
            memory: GlobalAtomic<$element>,
            results: GlobalMut<$element>,
        ) {
            let buffers = Buffers { values, expected, memory, results };
            $(
                fetch(block, buffers, ($number, $operation));
                fetch_shared(block, tile, buffers, ($number, $operations, $operation));
            )*
            $(exchange(block, buffers, $exchanges);)?
        }
    )*};
}

atomics! {
    /// Atomic operations on `u32`.
    atom_u32 u32, "sm_75", 11: Add 0 Min 1 Max 2 Inc 3 Dec 4 And 5 Or 6 Xor 7, 8;
    /// Atomic operations on `i32`.
    atom_s32 i32, "sm_75", 3: Add 0 Min 1 Max 2;
    /// Atomic operations on `u64`.
    atom_u64 u64, "sm_75", 9: Add 0 Min 1 Max 2 And 3 Or 4 Xor 5, 6;
    /// Atomic operations on `i64`.
    atom_s64 i64, "sm_75", 2: Min 0 Max 1;
    /// Atomic operations on `f32`.
    atom_f32 f32, "sm_75", 1: Add 0;
    /// Atomic operations on `f64`.
    atom_f64 f64, "sm_75", 1: Add 0;
    /// Atomic operations on `f16`.
    atom_f16 f16, "sm_75", 1: Add 0;
    /// Atomic operations on `bf16`.
    atom_bf16 bf16, "sm_90", 1: Add 0;
}

/// Elements of the memory of [`atom_by_all_blocks()`]: blocks that have written, blocks that have
/// passed on, numbers taken, and a lock.
pub const SHARED: usize = 4;

/// The blocks hand on data in four ways.
///
/// - Each warp takes numbers up to the length of `taken`, and marks them.
/// - The last block adds what all blocks wrote to `parts`, and writes it to `sums[0]`.
/// - Each block waits for the one before, and passes on the sum of the indices in `sums[1]`.
/// - Each warp adds to `sums[2]` while it has a lock.
#[kernel(threads = 64)]
pub fn atom_by_all_blocks(
    block: &Block,
    #[shared] is_last: SharedTile<u32, 1, 4>,
    memory: GlobalAtomic<u32>,
    values: Global<u32>,
    taken: GlobalMut<u32>,
    parts: GlobalMut<u32>,
    sums: GlobalMut<u32>,
) {
    let (warp, index, blocks) = (block.warp(), block.index().x, block.grid().x);
    loop {
        let next = warp.each(|lane| match lane.id() {
            0 => memory.fetch(lane, Add, 2, 32, Relaxed),
            _ => 0,
        });
        let next = warp.broadcast(&next) as usize;
        if next >= taken.len() {
            break;
        }
        warp.each(|lane| taken.set(next + lane.id(), (next + lane.id()) as u32 ^ 1));
    }
    block.each_thread(|_, rank| {
        let at = index as usize * 64 + rank;
        parts.set(at, values.get(at));
    });
    block.sync();
    if warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 0 {
                let before = memory.fetch(lane, Add, 0, 1, AcquireRelease);
                is_last.set((0, 0), u32::from(before == blocks - 1));
                memory.wait_until(lane, 1, |passed| passed == index);
                sums.set(1, sums.get(lane, 1) + index);
                memory.store(lane, 1, index + 1, Release);
            }
        });
    }
    block.sync();
    let is_last = warp.broadcast(&warp.each(|lane| is_last.get(lane, (0, 0))));
    if is_last == 1 && warp.index() == 1 {
        warp.each(|lane| {
            if lane.id() == 0 {
                let all = (0..parts.len()).map(|i| parts.get(lane, i));
                sums.set(0, all.fold(0, u32::wrapping_add));
            }
        });
    }
    warp.each(|lane| {
        if lane.id() == 0 {
            while memory.compare_exchange(lane, 3, (0, 1), Acquire).is_err() {}
            sums.set(2, sums.get(lane, 2) + 1);
            memory.store(lane, 3, 0, Release);
        }
    });
}

/// Elements that a block of [`atom_and_bulk_copies()`] hands on.
pub const HANDED_ON: usize = 256;

/// Each block loads by TMA what the block before wrote, adds its own values, and hands on the sums.
/// It writes them by ordinary stores if its index is even, and otherwise by a bulk copy.
#[kernel(threads = 32, target = "sm_90")]
pub fn atom_and_bulk_copies(
    block: &Block,
    #[shared] tile: SharedTile<u32, 8, 32>,
    #[shared] full: BarrierMemory,
    flags: GlobalAtomic<u32>,
    values: Global<u32>,
    sums: GlobalMut<u32>,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.index().x as usize);
    let (before, own) = (index * HANDED_ON, (index + 1) * HANDED_ON);
    warp.elect(|lane| {
        flags.wait_until(lane, index, |flag| flag == 1);
        full.arrive_expecting(lane, SharedTile::<u32, 8, 32>::BULK_BYTES);
        tile.load_tma(lane, sums.bulk_source(before), full);
    });
    full.wait(warp, Phase::FIRST);
    let is_even = index.is_multiple_of(2);
    warp.each(|lane| {
        for row in 0..8 {
            let i = row * 32 + lane.id();
            let sum = tile.get(lane, (row, lane.id())).wrapping_add(values.get(before + i));
            if is_even {
                sums.set(own + i, sum);
            } else {
                tile.set((row, lane.id()), sum);
            }
        }
    });
    if is_even {
        warp.fence_global_for_bulk();
    } else {
        warp.fence_for_bulk();
    }
    warp.sync();
    warp.elect(|lane| {
        if !is_even {
            tile.store_tma(lane, sums.bulk(own));
            BulkGroup::commit(lane);
            BulkGroup::wait::<0>(lane);
        }
        flags.store(lane, index + 1, 1, Release);
    });
}
