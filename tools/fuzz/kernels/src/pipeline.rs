//! A kernel that runs random pipelines: warps load, multiply, read and store tiles, and synchronise
//! through mbarriers.
//!
//! Each warp of each block of a cluster has a list of steps. A step has [`WORDS`] words: its kind,
//! from [`step`], and its operands, named in [`operand`].

use ptx_matrix::memory::Swizzle;
use ptx_matrix::mma::{GroupAccumulator, InFlight, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::{Arrival, BarrierRing};

/// Warps of a block: a warpgroup with the `wgmma` steps, and four more warps.
pub const WARPS: usize = 8;
/// The largest number of blocks in a cluster.
pub const MOST_BLOCKS: usize = 4;
/// Words of a step.
pub const WORDS: usize = 8;
/// Tiles of each type in a block.
pub const ROW_SLOTS: usize = 10;
pub const BOX_SLOTS: usize = 6;
pub const A_SLOTS: usize = 4;
pub const B_SLOTS: usize = 4;
/// The number of mbarriers for each number of arrivals.
pub const BARRIERS: usize = 8;
/// Arrivals of a phase: for the first [`BARRIERS`] mbarriers, for the next, and so on.
pub const ARRIVALS: [u32; 4] = [1, 2, 4, 96];

/// Columns of the tiles with `u32` elements. Each lane writes a column and reads a row.
pub const COLS: usize = 32;
pub const ROW_ROWS: usize = 4;
pub const BOX_ROWS: usize = 8;
/// The shape of a `wgmma`.
pub const M: usize = 64;
pub const N: usize = 8;
pub const K: usize = 16;

/// A tile for bulk copies.
pub type Row = SharedTile<u32, ROW_ROWS, COLS>;
/// A tile for TMA copies of boxes.
pub type Boxed = SharedTile<u32, BOX_ROWS, COLS, Swizzle128>;
/// The A operand of a `wgmma`.
pub type A = SharedTile<bf16, M, K, Swizzle32>;
/// The B operand of a `wgmma`.
pub type B = SharedTile<bf16, K, N, Swizzle32, ColMajor>;

/// The output of a block in words: a word of each thread, stored rows, and accumulators.
pub const STORED_ROWS: usize = 6;
pub const STORED_BOXES: usize = 4;
pub const SUMS: usize = 2;
pub const FIRST_ROW: usize = WARPS * LANES;
pub const FIRST_SUM: usize = FIRST_ROW + STORED_ROWS * ROW_ROWS * COLS;
pub const LEFT: usize = FIRST_SUM + SUMS * M * N;

/// The shared memory of a block.
#[derive(SharedLayout)]
pub struct Memory {
    boxes: SharedRing<Boxed, BOX_SLOTS>,
    a: SharedRing<A, A_SLOTS>,
    b: SharedRing<B, B_SLOTS>,
    rows: SharedRing<Row, ROW_SLOTS>,
    barriers: [SharedRing<BarrierMemory, BARRIERS>; 4],
}

/// The kinds of steps: the first word of a step.
pub mod step {
    pub const END: u32 = 0;
    pub const WARP_SYNC: u32 = 1;
    pub const GROUP_SYNC: u32 = 2;
    pub const BLOCK_SYNC: u32 = 3;
    pub const CLUSTER_SYNC: u32 = 4;
    pub const FENCE: u32 = 5;
    pub const WAIT: u32 = 6;
    pub const ARRIVE: u32 = 7;
    pub const EXPECT: u32 = 8;
    pub const ARRIVE_TOKEN: u32 = 9;
    pub const WAIT_TOKEN: u32 = 10;
    pub const FILL: u32 = 11;
    pub const READ: u32 = 12;
    pub const LOAD: u32 = 13;
    pub const STORE: u32 = 14;
    pub const COMMIT: u32 = 15;
    pub const WAIT_STORES: u32 = 16;
    pub const COPY_ASYNC: u32 = 17;
    pub const ARRIVE_WHEN_COPIED: u32 = 18;
    pub const SET_PEER: u32 = 19;
    pub const SEND: u32 = 20;
    pub const COPY_TO_PEER: u32 = 21;
    pub const MULTIPLY: u32 = 22;
    pub const WAIT_WGMMAS: u32 = 23;
    pub const TAKE_ACCUMULATORS: u32 = 24;
}

/// The indices of a step's words.
pub mod operand {
    /// The tile.
    pub const SLOT: usize = 1;
    /// The tile in global memory, or the second tile in shared memory.
    pub const OTHER: usize = 2;
    /// The mbarrier.
    pub const BARRIER: usize = 3;
    /// Ranks of blocks, a bit each. 0 is the executing block, reached by instructions for the own
    /// block.
    pub const RANKS: usize = 4;
    /// Arrivals of each lane, bytes, groups, or the phase plus one.
    pub const COUNT: usize = 5;
    /// The seed of a tile's values.
    pub const SEED: usize = 6;
    /// A form from [`form`](super::form), or the type of the tile.
    pub const FORM: usize = 7;
}

/// The forms of steps.
pub mod form {
    /// For `ARRIVE`: one lane, all lanes, or one lane that has only read.
    pub const ELECTED: u32 = 0;
    pub const EACH: u32 = 1;
    pub const HAVING_READ: u32 = 2;
    /// For `EXPECT`: `mbarrier.arrive.expect_tx`, or `mbarrier.expect_tx` and an arrival.
    pub const AT_ONCE: u32 = 0;
    pub const IN_TWO: u32 = 1;
    /// For `WAIT`: in the scope of the block, or of the cluster.
    pub const BLOCK: u32 = 0;
    pub const CLUSTER: u32 = 1;
    /// For `WAIT_STORES`: until shared memory has been read, or until global memory is written.
    pub const READ: u32 = 0;
    pub const WRITTEN: u32 = 1;
    /// The types of tiles.
    pub const ROW: u32 = 0;
    pub const BOX: u32 = 1;
    pub const A: u32 = 2;
    pub const B: u32 = 3;
}

/// The value for a seed and an index.
#[inline]
pub fn value(seed: u32, index: usize) -> u32 {
    let mixed = (seed ^ 0x85eb_ca6b).wrapping_add(index as u32).wrapping_mul(0x9e37_79b1);
    (mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d)
}

/// An element of an operand, so small that every sum is exact.
#[inline]
pub fn exact_operand(seed: u32, index: usize) -> u32 {
    value(seed, index) >> 13 & 3
}

/// Mixes a word that was read into the word of a thread.
#[inline]
pub fn take_in(known: u32, read: u32) -> u32 {
    known.rotate_left(7).wrapping_mul(5).wrapping_add(read)
}

/// The tensors and slices of a launch.
#[derive(Clone, Copy, KernelArgs)]
pub struct Arguments<'k> {
    pub boxes: TensorMap<'k, Boxed, 2>,
    pub a: TensorMap<'k, A, 2>,
    pub b: TensorMap<'k, B, 2>,
    pub stored: TensorMapMut<'k, Boxed, 2>,
    /// The start of each warp's list of steps, then the lists.
    pub script: Global<'k, u32>,
    pub rows: Global<'k, u32>,
    pub out: GlobalMut<'k, u32>,
}

/// The mbarriers of a block.
#[derive(Clone, Copy)]
struct Barriers([BarrierRing<BARRIERS>; 4]);

impl Barriers {
    #[inline]
    fn init(
        block: &Block<'_>,
        [ones, twos, fours, many]: [SharedRing<BarrierMemory, BARRIERS>; 4],
    ) -> Self {
        Barriers([
            ones.init(block, ARRIVALS[0]),
            twos.init(block, ARRIVALS[1]),
            fours.init(block, ARRIVALS[2]),
            many.init(block, ARRIVALS[3]),
        ])
    }

    #[inline]
    fn get(self, index: usize) -> Barrier {
        // An array with a run-time index would be in local memory.
        let Barriers([ones, twos, fours, many]) = self;
        match index / BARRIERS {
            0 => ones.part(index % BARRIERS),
            1 => twos.part(index % BARRIERS),
            2 => fours.part(index % BARRIERS),
            _ => many.part(index % BARRIERS),
        }
    }
}

/// The accumulators of a warpgroup.
///
/// On a GPU, a `wgmma` group is waited for right after it is issued. In a loop over steps, ptxas
/// cannot tell which groups are in flight.
struct Accumulators {
    #[cfg(not(target_arch = "nvptx64"))]
    acc: InFlight<N, f32>,
    #[cfg(target_arch = "nvptx64")]
    acc: GroupAccumulator<N, f32>,
}

impl Accumulators {
    #[inline]
    fn zero(group: WarpGroup<'_>) -> Self {
        Accumulators::of(group, GroupAccumulator::zero())
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn of(group: WarpGroup<'_>, acc: GroupAccumulator<N, f32>) -> Self {
        Accumulators { acc: acc.begin(group) }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline]
    fn of(_: WarpGroup<'_>, acc: GroupAccumulator<N, f32>) -> Self {
        Accumulators { acc }
    }

    #[inline]
    fn multiply(&mut self, group: WarpGroup<'_>, a: A, b: B) {
        #[cfg(not(target_arch = "nvptx64"))]
        issue(group, &mut self.acc, a, b);
        #[cfg(target_arch = "nvptx64")]
        {
            let mut acc = self.acc.begin(group);
            issue(group, &mut acc, a, b);
            self.acc = acc.finish(group);
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn wait(&mut self, group: WarpGroup<'_>, newest: usize) {
        match newest {
            0 => self.acc.wait::<0>(group),
            1 => self.acc.wait::<1>(group),
            2 => self.acc.wait::<2>(group),
            _ => self.acc.wait::<3>(group),
        }
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline]
    fn wait(&mut self, _: WarpGroup<'_>, _: usize) {}

    /// The accumulators so far, and the same for further `wgmma`s.
    #[inline]
    fn take(self, group: WarpGroup<'_>, newest: usize) -> (GroupAccumulator<N, f32>, Self) {
        #[cfg(not(target_arch = "nvptx64"))]
        let acc = match newest {
            0 => self.acc.finish_behind::<0>(group),
            _ => self.acc.finish_behind::<1>(group),
        };
        #[cfg(target_arch = "nvptx64")]
        let (acc, _) = (self.acc, newest);
        (acc, Accumulators::of(group, acc))
    }
}

/// Issues a `wgmma` as one group.
#[inline]
fn issue(group: WarpGroup<'_>, acc: &mut InFlight<N, f32>, a: A, b: B) {
    Wgmma::<N, bf16, bf16, f32>::issue(group, acc, |issue| {
        issue.accumulate(a.matrix_a((0, 0)), b.matrix_b((0, 0)));
    });
}

/// Runs the steps of the executing warp, in clusters of `BLOCKS` blocks.
#[kernel(threads = 256, cluster = BLOCKS, target = "sm_90a", instances(
    run_1 = <1>,
    run_2 = <2>,
    run_4 = <4>,
))]
pub fn run<const BLOCKS: usize>(
    block: &ClusterBlock<BLOCKS>,
    // The fields are destructured below.
    #[shared] memory: Memory,
    arguments: Arguments,
) {
    let Memory { boxes, a, b, rows, barriers } = memory;
    let Arguments { script, out, .. } = arguments;
    let barriers = Barriers::init(block, barriers);
    let (warp, cluster) = (block.warp(), block.cluster());
    let (group, peers) = (block.warp_group(), cluster.peers());
    let rank = cluster.rank();
    let left = rank * LEFT;
    let mut known = PerLane::splat(0_u32);
    let mut acc = Accumulators::zero(group);
    let mut token: Option<(Barrier, PerLane<Arrival>)> = None;
    let mut at = warp.uniform(script.get(rank * WARPS + warp.index())) as usize;
    loop {
        let word = |operand: usize| warp.uniform(script.get(at + operand));
        let number = |operand: usize| word(operand) as usize;
        let (slot, other, ranks) =
            (number(operand::SLOT), number(operand::OTHER), word(operand::RANKS));
        let (count, seed, form) = (word(operand::COUNT), word(operand::SEED), word(operand::FORM));
        let barrier = barriers.get(number(operand::BARRIER));
        let to = move |index: usize| ranks >> index & 1 == 1;
        // The block that the step reaches, if it reaches one.
        let peer = peers.get(ranks.trailing_zeros() as usize % BLOCKS);
        match word(0) {
            step::WARP_SYNC => warp.sync(),
            step::GROUP_SYNC => group.sync(),
            step::BLOCK_SYNC => block.sync(),
            step::CLUSTER_SYNC => cluster.sync(),
            step::FENCE => warp.fence_for_bulk(),
            step::WAIT if form == form::CLUSTER => {
                barrier.wait_for_cluster(warp, phase(count));
            }
            step::WAIT => {
                barrier.wait(warp, phase(count));
            }
            step::ARRIVE if form == form::EACH => {
                warp.each(|lane| {
                    barrier.arrive_times(lane, count);
                });
            }
            step::ARRIVE => warp.elect(|lane| {
                if ranks == 0 {
                    barrier.arrive_times(lane, count);
                }
                for index in 0..BLOCKS {
                    if to(index) && form == form::HAVING_READ {
                        barrier.of(peers.get(index)).arrive_having_read(lane);
                    } else if to(index) {
                        barrier.of(peers.get(index)).arrive_times(lane, count);
                    }
                }
            }),
            step::EXPECT if form == form::AT_ONCE => warp.elect(|lane| {
                barrier.arrive_expecting(lane, count);
            }),
            step::EXPECT => warp.elect(|lane| {
                barrier.expect(lane, count);
                barrier.arrive(lane);
            }),
            step::ARRIVE_TOKEN => token = Some((barrier, warp.each(|lane| barrier.arrive(lane)))),
            step::WAIT_TOKEN => {
                if let Some((barrier, arrivals)) = &token {
                    barrier.wait_behind(warp, arrivals);
                }
            }
            step::FILL => match form {
                form::ROW => fill(warp, rows.part(slot), seed),
                form::BOX => fill(warp, boxes.part(slot), seed),
                _ => a
                    .part(slot)
                    .fill(group, |row, k| bf16::from_f32(exact_operand(seed, row * K + k) as f32)),
            },
            step::READ if form == form::ROW => read(warp, rows.part(slot), &mut known),
            step::READ => read(warp, boxes.part(slot), &mut known),
            step::LOAD => {
                let first = peer.alone();
                let blocks = (0..BLOCKS)
                    .filter(|&index| to(index))
                    .fold(first, |all, index| all.and(peers.get(index)));
                let (all, Arguments { rows: source, boxes: map, a: map_a, b: map_b, .. }) =
                    (ranks != 0, arguments);
                let line = other as i32;
                warp.elect(|lane| match (form, all) {
                    (form::ROW, false) => rows.part(slot).load_tma(
                        lane,
                        source.bulk(other * ROW_ROWS * COLS),
                        barrier,
                    ),
                    (form::ROW, true) => {
                        rows.part(slot).load_tma(
                            lane,
                            source.bulk(other * ROW_ROWS * COLS).multicast(blocks),
                            barrier,
                        );
                    }
                    (form::BOX, false) => {
                        boxes.part(slot).load_tma(
                            lane,
                            map.at([0, line * BOX_ROWS as i32]),
                            barrier,
                        );
                    }
                    (form::BOX, true) => {
                        boxes.part(slot).load_tma(
                            lane,
                            map.at([0, line * BOX_ROWS as i32]).multicast(blocks),
                            barrier,
                        );
                    }
                    (form::A, false) => {
                        a.part(slot).load_tma(lane, map_a.at([0, line * M as i32]), barrier)
                    }
                    (form::A, true) => a.part(slot).load_tma(
                        lane,
                        map_a.at([0, line * M as i32]).multicast(blocks),
                        barrier,
                    ),
                    (_, false) => {
                        b.part(slot).load_tma(lane, map_b.at([0, line * N as i32]), barrier)
                    }
                    (_, true) => b.part(slot).load_tma(
                        lane,
                        map_b.at([0, line * N as i32]).multicast(blocks),
                        barrier,
                    ),
                });
            }
            step::STORE if form == form::ROW => {
                let (row, first) = (rows.part(slot), left + FIRST_ROW + other * ROW_ROWS * COLS);
                warp.elect(|lane| row.store_tma(lane, out.bulk(first)));
            }
            step::STORE => {
                let (tile, first) = (boxes.part(slot), (rank * STORED_BOXES + other) * BOX_ROWS);
                warp.elect(|lane| tile.store_tma(lane, arguments.stored.at([0, first as i32])));
            }
            step::COMMIT => warp.elect(|lane| BulkGroup::commit(lane)),
            step::WAIT_STORES => warp.elect(|lane| match (form, count) {
                (form::READ, 0) => BulkGroup::wait_read::<0>(lane),
                (form::READ, 1) => BulkGroup::wait_read::<1>(lane),
                (form::READ, 2) => BulkGroup::wait_read::<2>(lane),
                (form::READ, _) => BulkGroup::wait_read::<3>(lane),
                (_, 0) => BulkGroup::wait::<0>(lane),
                (_, 1) => BulkGroup::wait::<1>(lane),
                (_, 2) => BulkGroup::wait::<2>(lane),
                (_, _) => BulkGroup::wait::<3>(lane),
            }),
            step::COPY_ASYNC => {
                rows.part(slot).copy_async(warp, arguments.rows, |row, col| {
                    (other * ROW_ROWS + row) * COLS + col
                });
            }
            step::ARRIVE_WHEN_COPIED => {
                warp.each(|lane| barrier.arrive_when_copied(lane));
            }
            step::SET_PEER => {
                let row = rows.part(slot).of(peer);
                warp.each(|lane| {
                    for line in 0..ROW_ROWS {
                        row.set(lane, (line, lane.id()), value(seed, line * COLS + lane.id()));
                    }
                });
            }
            step::SEND => {
                let (row, peer_full) = (rows.part(slot).of(peer), barrier.of(peer));
                warp.each(|lane| {
                    let first = lane.id() * 4;
                    let values: [u32; 4] = core::array::from_fn(|index| value(seed, first + index));
                    row.send(lane, (first / COLS, first % COLS), values, peer_full);
                });
            }
            step::COPY_TO_PEER => {
                let (from, to) = (rows.part(slot), rows.part(other));
                warp.elect(|lane| from.copy_bulk_to(lane, peer, to, barrier));
            }
            step::MULTIPLY => acc.multiply(group, a.part(slot), b.part(other)),
            step::WAIT_WGMMAS => acc.wait(group, count as usize),
            step::TAKE_ACCUMULATORS => {
                let (taken, more) = acc.take(group, count as usize);
                let first = left + FIRST_SUM + other * M * N;
                taken.for_each(group, |row, col, sum| out.set(first + row * N + col, sum as u32));
                acc = more;
            }
            _ => break,
        }
        at += WORDS;
    }
    let own = left + warp.index() * LANES;
    warp.each(|lane| out.set(own + lane.id(), lane.get(&known)));
}

/// The phase of an operand: 0 is the phase before the first, 1 the first.
#[inline]
fn phase(number: u32) -> Phase {
    (0..number).fold(Phase::BEFORE_FIRST, |phase, _| phase.next())
}

/// Each lane fills a column.
#[inline]
fn fill<const ROWS: usize, S: Swizzle>(
    warp: Warp<'_>,
    tile: SharedTile<u32, ROWS, COLS, S>,
    seed: u32,
) {
    warp.each(|lane| {
        for row in 0..ROWS {
            tile.set((row, lane.id()), value(seed, row * COLS + lane.id()));
        }
    });
}

/// Each lane reads a row, so it depends on every lane that filled a column.
#[inline]
fn read<const ROWS: usize, S: Swizzle>(
    warp: Warp<'_>,
    tile: SharedTile<u32, ROWS, COLS, S>,
    known: &mut PerLane<u32>,
) {
    warp.update(known, |lane, known| {
        let row = lane.id() % ROWS;
        let sum = (0..COLS).fold(0_u32, |sum, col| sum.rotate_left(1) ^ tile.get(lane, (row, col)));
        *known = take_in(*known, sum);
    });
}
