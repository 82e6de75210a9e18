//! The cycles that a candidate is expected to take.
//!
//! - A wave is one block on each SM, and takes as long as one block. A block takes as long as the
//!   MMAs of its tile at the kernel's rate, or as the loads of its operands from the L2 cache. The
//!   longer of the two counts. Waves count whole (wave quantisation), and so do tiles where D ends.
//! - L2 delivers whole cache lines. Where rows of a matrix do not start with one, about twice as
//!   many are needed. The blocks of a cluster multicast the operand that they share. Clusters lie
//!   along M or along N, as costs less.
//! - A row of an MN-major operand that is shorter than a cache line costs a whole line.
//! - TMA takes longer for a box that is partly out of bounds.
//! - Between two tiles of a persistent block some cycles pass: more for more bytes of D. A cluster
//!   starts later than a block.
//! - No kernel is faster than reading A, B and C from memory once, and writing D.
//! - A grouped GEMM costs as much as a batch whose GEMMs have a group's average rows.
//! - Repacking is one more launch, which reads and writes the operands once.
//! - Threads store D slower than TMA.
//! - Cluster split-K: the blocks of a cluster split K, and reduce their accumulators through DSMEM.
//!   They multicast nothing, so L2 is slower if all SMs load at once.
//! - Split-K writes partial accumulators, and reads them again in a second launch.
//!
//! The constants are those of an H200. Some are fitted to measured times of random shapes. Only
//! the order of candidates depends on them.

use super::Candidate;
use crate::kernels::{ClusterAlong, Kernel};
use crate::layout::{Operand, Order, Repacked};
use crate::parts::TileShape;

/// Bytes of a cache line of L2.
pub(crate) const CACHE_LINE: usize = 128;

/// Bytes that an SM loads from L2 in a cycle by `cp.async`.
const L2_BYTES_CP_ASYNC: f64 = 36.0;
/// Bytes that an SM loads from L2 in a cycle by TMA.
const L2_BYTES_TMA: f64 = 68.0;
/// The same without multicast, if all SMs load at once.
const L2_BYTES_TMA_ALL_SMS: f64 = 45.0;
/// How much longer loads of an MN-major operand take whose rows do not start with a cache line.
const MISALIGNED_MN_MAJOR: f64 = 2.2;
/// The same for a K-major operand.
const MISALIGNED_K_MAJOR: f64 = 2.25;
/// Cycles from a TMA load until its stage is read. In this time an SM loads at most all its stages.
const STAGE_LATENCY: f64 = 2600.0;
/// How much longer TMA takes to load boxes whose rows are all out of bounds; in proportion where
/// some are.
const OUT_OF_BOUNDS: f64 = 1.7;
/// The fraction of rows out of bounds that costs nothing, if loads wait for memory.
const OUT_OF_BOUNDS_FREE: f64 = 0.19;
/// How much longer the loads take for the rest of them.
const OUT_OF_BOUNDS_IN_MEMORY: f64 = 1.1;
/// Bytes of global memory for each SM in a cycle.
const MEMORY_BYTES: f64 = 15.5;
/// Computation and memory traffic overlap; the longer one hides all but this fraction of the
/// shorter one. It decides between kernels that are equally bound by memory.
const NOT_OVERLAPPED: f64 = 0.04;

/// Cycles from a kernel's start to its first MMA, and from its last one to its end.
const LAUNCH: f64 = 3000.0;
/// Cycles that a cluster starts later than a block.
const CLUSTER_LAUNCH: f64 = 1400.0;
/// Cycles of cluster split-K, for each block of the cluster.
const CLUSTER_SPLIT_K: f64 = 1250.0;

/// Launch latencies of split-K with `cp.async`: the reduction is a second launch, and nothing
/// overlaps with the gap.
const SPLIT_K_LAUNCHES_CP_ASYNC: f64 = 4.0;
/// The same with TMA, whose partial accumulators are not stored by TMA.
const SPLIT_K_LAUNCHES_TMA: f64 = 5.0;
/// Bytes of partial accumulators that an SM writes or reads in a cycle.
const PARTIALS_BYTES: f64 = 16.0;
/// Steps of K of a split at least: fewer do not fill the pipeline.
const LEAST_STEPS: usize = 4;
/// The most splits of K.
const MOST_SPLITS: usize = 32;

/// Cycles between the MMAs of one tile and those of the next.
struct TileOverhead {
    cycles: f64,
    per_byte_of_d: f64,
}

/// Persistent blocks; each consumer stores its sub-tile of D.
const OVERHEAD_PERSISTENT: TileOverhead = TileOverhead { cycles: 350.0, per_byte_of_d: 0.086 };
/// Swap-AB, whose epilogue sub-tiles are narrower.
const OVERHEAD_SWAP_AB: TileOverhead = TileOverhead { cycles: 500.0, per_byte_of_d: 0.105 };
/// A block for each tile; several blocks share an SM.
const OVERHEAD_BLOCKS: TileOverhead = TileOverhead { cycles: 4600.0, per_byte_of_d: 0.06 };

/// Bytes of D that an SM's threads store in a cycle, without TMA.
const STORE_BYTES: f64 = 12.0;
/// The same with swap-AB: from 1.5 bytes for sub-tiles of 8 columns to 7 for those of 40.
const STORE_BYTES_SWAP_AB: f64 = 3.0;

/// Bytes of A and B that an SM repacks in a cycle, read and written.
const REPACK_BYTES: f64 = 11.0;
/// Cycles of the launch that repacks.
const REPACK_LAUNCH: f64 = 6500.0;

/// How many clusters load the same rows at once if they are many: L2 answers them together.
const MANY_CLUSTERS: f64 = 64.0;
/// Loads that fewer clusters share count for more, by this power. It breaks ties only.
const FEW_CLUSTERS: f64 = 0.3;

/// A value for A, and one for B.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PerOperand<T> {
    pub(crate) a: T,
    pub(crate) b: T,
}

impl<T: Copy> PerOperand<T> {
    pub(crate) fn of(value: impl Fn(Operand) -> T) -> Self {
        Self { a: value(Operand::A), b: value(Operand::B) }
    }

    pub(crate) fn get(self, operand: Operand) -> T {
        match operand {
            Operand::A => self.a,
            Operand::B => self.b,
        }
    }
}

/// Bytes of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementBytes {
    /// Of A and B.
    pub(crate) operand: usize,
    /// Of C and D.
    pub(crate) output: usize,
    /// Of the accumulators.
    pub(crate) accumulator: usize,
}

/// The expected cost of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Cost {
    pub(crate) cycles: f64,
    /// Breaks ties: tiles of D.
    tiles: f64,
    /// Breaks ties: bytes that a tile loads from L2 for each element of K. Loads that few clusters
    /// share count for more.
    l2_bytes: f64,
}

impl Cost {
    /// Breaks ties between kernels: bytes that all tiles load from L2.
    pub(crate) fn all_l2_bytes(self) -> f64 {
        self.tiles * self.l2_bytes
    }
}

/// A GEMM as the cost model sees it, with a row-major D.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) batches: usize,
    pub(crate) element_bytes: ElementBytes,
    /// Multiply-adds of an SM's `mma.sync` in a cycle.
    pub(crate) mma_rate: f64,
    /// SMs of the device.
    pub(crate) sms: u32,
    /// Whether split-K is possible.
    pub(crate) can_split_k: bool,
    /// Whether the rows of an operand (the columns, if column-major) start with cache lines.
    pub(crate) starts_with_lines: PerOperand<bool>,
    /// Elements of an operand, in all GEMMs of the batch.
    pub(crate) elements: PerOperand<f64>,
    /// Whether TMA can store D.
    pub(crate) tma_stores_d: bool,
}

impl Workload {
    /// The K of each split but the last: whole steps.
    pub(crate) fn k_per_split(&self, kernel: &Kernel, splits: usize) -> usize {
        self.k.div_ceil(splits).next_multiple_of(kernel.tile.k)
    }

    /// The numbers of splits that make sense: each has a few steps, and none is empty.
    pub(crate) fn k_splits(&self, kernel: &Kernel) -> impl Iterator<Item = usize> {
        let most = if self.can_split_k { MOST_SPLITS } else { 1 };
        let most = (self.k / (LEAST_STEPS * kernel.tile.k)).clamp(1, most);
        (1..=most)
            .filter(move |&splits| self.k.div_ceil(self.k_per_split(kernel, splits)) == splits)
    }

    /// Elements of the partial accumulators.
    pub(crate) fn workspace(&self, splits: usize) -> usize {
        if splits > 1 {
            splits.saturating_mul(self.batches).saturating_mul(self.m * self.n)
        } else {
            0
        }
    }

    /// The direction of a candidate's clusters that costs less.
    pub(crate) fn cluster_along(&self, candidate: Candidate) -> ClusterAlong {
        let along = |along| self.cost(candidate, along);
        if along(ClusterAlong::N) < along(ClusterAlong::M) {
            ClusterAlong::N
        } else {
            ClusterAlong::M
        }
    }

    /// The blocks of a candidate's launch, without those that a persistent kernel saves.
    pub(crate) fn blocks(&self, candidate: Candidate, along: ClusterAlong) -> usize {
        let Candidate { kernel, k_splits, .. } = candidate;
        let tiles = kernel.tiles(self.m as u32, self.n as u32, along) as usize;
        [self.batches, k_splits, kernel.blocks_per_tile as usize]
            .into_iter()
            .fold(tiles, usize::saturating_mul)
    }

    /// The expected cost of a candidate.
    pub(crate) fn cost(&self, candidate: Candidate, along: ClusterAlong) -> Cost {
        let Candidate { kernel, repacked, .. } = candidate;
        let blocks = multicast_to(kernel, along);
        // Clusters that are adjacent along N load the same rows of A.
        let sharing = PerOperand {
            a: self.n.div_ceil(kernel.tile.n * blocks.a),
            b: self.m.div_ceil(kernel.tile.m * blocks.b),
        };
        let bytes = self.l2_bytes(kernel, repacked, along);
        let weighted = |operand: Operand| {
            let few = MANY_CLUSTERS / sharing.get(operand).max(1) as f64;
            bytes.get(operand) * few.powf(FEW_CLUSTERS).max(1.0)
        };
        Cost {
            cycles: self.cycles(candidate, along),
            tiles: self.tiles(kernel, along),
            l2_bytes: weighted(Operand::A) + weighted(Operand::B),
        }
    }

    fn tiles(&self, kernel: &Kernel, along: ClusterAlong) -> f64 {
        f64::from(kernel.tiles(self.m as u32, self.n as u32, along))
    }

    /// Bytes that a block loads from L2 for each element of K.
    fn l2_bytes(
        &self,
        kernel: &Kernel,
        repacked: Repacked,
        along: ClusterAlong,
    ) -> PerOperand<f64> {
        let element = self.element_bytes.operand;
        let blocks = multicast_to(kernel, along);
        PerOperand::of(|operand| {
            let (tile, rows) = match operand {
                Operand::A => (kernel.tile.m, self.m),
                Operand::B => (kernel.tile.n, self.n),
            };
            let k_major = kernel.orders.is_none_or(|orders| match operand {
                Operand::A => orders.a == Order::RowMajor,
                Operand::B => orders.b == Order::ColMajor,
            });
            // TMA loads MN-major boxes of a whole swizzle span.
            let whole_boxes = kernel.uses_tma && !k_major;
            let tile = if whole_boxes { tile.next_multiple_of(CACHE_LINE / element) } else { tile };
            let is_repacked = repacked.has(operand);
            let misaligned = match k_major {
                _ if self.starts_with_lines.get(operand) || is_repacked || !kernel.uses_tma => 1.0,
                true => MISALIGNED_K_MAJOR,
                false => MISALIGNED_MN_MAJOR,
            };
            // A cache line holds several short rows, and each one asks for it.
            let rows_of_a_line = CACHE_LINE as f64 / (rows.max(1) * element) as f64;
            let times = if rows_of_a_line > 1.0 && !k_major && !is_repacked {
                rows_of_a_line
            } else {
                misaligned
            };
            (tile * element) as f64 * times / blocks.get(operand) as f64
        })
    }

    /// The fraction of out-of-bounds rows in the boxes of the first tile, or of the last one. A box
    /// that is entirely out of bounds is not loaded.
    fn out_of_bounds(&self, kernel: &Kernel, along: ClusterAlong, last_tile: bool) -> f64 {
        let blocks = multicast_to(kernel, along);
        let rows = |size: usize, tile: usize, box_size: usize, blocks: usize| {
            let before = if last_tile { (size.div_ceil(tile).max(1) - 1) * tile } else { 0 };
            let inside = (size - before).min(tile);
            let loaded = inside.next_multiple_of(box_size).min(tile);
            [loaded, loaded - inside].map(|rows| rows as f64 / blocks as f64)
        };
        let TileShape { m, n, .. } = kernel.tile;
        let [loaded_a, outside_a] = rows(self.m, m, kernel.box_rows, blocks.a);
        let [loaded_b, outside_b] = rows(self.n, n, kernel.box_cols, blocks.b);
        (outside_a + outside_b) / (loaded_a + loaded_b).max(1.0)
    }

    fn cycles(&self, candidate: Candidate, along: ClusterAlong) -> f64 {
        let Candidate { kernel, k_splits, repacked } = candidate;
        let TileShape { m: tile_m, n: tile_n, .. } = kernel.tile;
        let ElementBytes { operand: operand_bytes, output: output_bytes, .. } = self.element_bytes;
        let sms = f64::from(self.sms.max(1));
        let cluster_splits = kernel.blocks_per_tile as usize;
        let in_clusters = kernel.info.cluster.blocks() > 1;

        // Waves of blocks.
        let blocks = self.tiles(kernel, along) * (self.batches * k_splits * cluster_splits) as f64;
        let waves = (blocks / f64::from(kernel.at_once(self.sms))).ceil();
        let blocks_of_an_sm = waves.min(f64::from(kernel.info.min_blocks.max(1)));

        // The MMAs of a tile, and the loads of its operands from L2.
        let k = self
            .k_per_split(kernel, k_splits)
            .min(self.k)
            .div_ceil(cluster_splits)
            .next_multiple_of(kernel.tile.k) as f64;
        let mma = (tile_m * tile_n) as f64 * k / (self.mma_rate * kernel.rate);
        let aligned = |&of: &Operand| self.starts_with_lines.get(of) || repacked.has(of);
        let alone = kernel.uses_tma && !in_clusters && Operand::BOTH.iter().all(aligned);
        let most_bytes = match (kernel.uses_tma, alone || cluster_splits > 1) {
            (false, _) => L2_BYTES_CP_ASYNC,
            (true, false) => L2_BYTES_TMA,
            (true, true) => L2_BYTES_TMA.min(L2_BYTES_TMA_ALL_SMS * sms / blocks.min(sms)),
        };
        let stages = blocks_of_an_sm * f64::from(kernel.info.shared_bytes);
        let bytes = self.l2_bytes(kernel, repacked, along);
        // In a single wave the last tile decides.
        let outside = if alone && waves == 1.0 {
            OUT_OF_BOUNDS * self.out_of_bounds(kernel, along, true)
        } else {
            0.0
        };
        let loads =
            (bytes.a + bytes.b) * k / most_bytes.min(stages / STAGE_LATENCY) * (1.0 + outside);
        let cluster_reduction =
            if cluster_splits > 1 { CLUSTER_SPLIT_K * cluster_splits as f64 } else { 0.0 };

        // Between tiles, and the epilogue where TMA does not store D.
        let launch = if in_clusters { LAUNCH + CLUSTER_LAUNCH } else { LAUNCH };
        let tile_bytes = (tile_m * tile_n * output_bytes) as f64;
        let overhead = |TileOverhead { cycles, per_byte_of_d }: TileOverhead, stored_by: f64| {
            cycles + per_byte_of_d * tile_bytes / stored_by
        };
        let between_tiles = match (kernel.uses_tma, cluster_splits) {
            (false, _) => {
                (waves - blocks_of_an_sm) * overhead(OVERHEAD_BLOCKS, 1.0) / blocks_of_an_sm
            }
            (true, 1) if kernel.swaps_ab => {
                (waves - 1.0) * overhead(OVERHEAD_SWAP_AB, kernel.consumers())
            }
            (true, 1) => (waves - 1.0) * overhead(OVERHEAD_PERSISTENT, kernel.consumers()),
            // The blocks of cluster split-K are not persistent.
            (true, _) => (waves - 1.0) * launch,
        };
        let stores = if kernel.uses_tma && !self.tma_stores_d && k_splits == 1 {
            let rate = if kernel.swaps_ab { STORE_BYTES_SWAP_AB } else { STORE_BYTES };
            waves * (tile_m * tile_n / cluster_splits * output_bytes) as f64 / rate
        } else {
            0.0
        };
        let computation = waves * (mma.max(loads) + cluster_reduction) + between_tiles + stores;

        // Global memory. As floats: the largest matrices have more bytes than `usize` counts.
        let [m, n, batches] = [self.m, self.n, self.batches].map(|side| side as f64);
        let all_bytes = (self.elements.a + self.elements.b) * operand_bytes as f64
            + batches * m * n * output_bytes as f64;
        let outside = (self.out_of_bounds(kernel, along, false) - OUT_OF_BOUNDS_FREE).max(0.0);
        let memory = all_bytes / (MEMORY_BYTES * sms) * (1.0 + outside * OUT_OF_BOUNDS_IN_MEMORY);

        // The other launches.
        let elements: f64 = Operand::BOTH
            .into_iter()
            .filter(|&of| repacked.has(of))
            .map(|of| self.elements.get(of))
            .sum();
        let repacking = if elements > 0.0 {
            2.0 * elements * operand_bytes as f64 / (REPACK_BYTES * sms) + REPACK_LAUNCH
        } else {
            0.0
        };
        let partials = 2.0
            * (self.element_bytes.accumulator as f64 * self.workspace(k_splits) as f64)
            / (PARTIALS_BYTES * sms);
        let launches = match (k_splits, kernel.uses_tma) {
            (1, _) => 1.0,
            (_, false) => SPLIT_K_LAUNCHES_CP_ASYNC,
            (_, true) => SPLIT_K_LAUNCHES_TMA,
        };
        repacking
            + computation.max(memory)
            + NOT_OVERLAPPED * computation.min(memory)
            + partials
            + launches * launch
    }
}

/// How many blocks of a cluster have an operand's tile from one load.
fn multicast_to(kernel: &Kernel, along: ClusterAlong) -> PerOperand<usize> {
    let blocks = kernel.info.cluster.blocks() as usize / kernel.blocks_per_tile as usize;
    match along {
        ClusterAlong::N => PerOperand { a: blocks, b: 1 },
        ClusterAlong::M => PerOperand { a: 1, b: blocks },
    }
}
