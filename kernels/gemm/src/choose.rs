//! Which kernel computes a product, in how many parts of K, and of A and B as they lie or copied:
//! what is expected to take the fewest cycles.
//!
//! - A round of blocks, one for each multiprocessor, takes as long as one block: its tile's
//!   products at the kernel's rate, or the transfer of its tiles from the L2 cache, whatever is
//!   longer. Blocks go in whole rounds (wave quantisation), and compute whole tiles, also where D
//!   ends within one.
//! - From the cache come whole lines of it: twice as many, or more, where lines of the matrix do
//!   not start with one. What the blocks of a cluster share, each brings a part of: they lie below
//!   each other, or beside each other, as takes less time.
//! - Lines across K that are shorter than a line of the cache take as long as one.
//! - Copies of tensors take longer where a tile is partly beyond the matrix.
//! - From one tile to the next of a multiprocessor something passes, the more the more of D is
//!   brought away, and before clusters begin.
//! - Nothing is faster than bringing A and B from memory once, and D (and C) there.
//! - Rows in groups are as a batch of as many products, each of as many rows as a group has on
//!   average.
//! - A and B may be copied first, to lines that start with those of the cache, and in another
//!   order: that is a launch, and both are read, and written, once more.
//! - Threads bring D away slower than copies of tensors.
//! - Blocks that compute a tile together have a part of K each, and take some time to add up their
//!   sums. They share nothing of their tiles: where all multiprocessors do so, the cache is slower
//!   for each.
//! - Parts of K cost the way of their sums to the cache and back, and a second launch.
//!
//! The constants are an H200's, some of them fitted to what kernels take for products drawn at
//! random (`docs/LADDER.md`); what matters is how they compare with each other. Of equals, what
//! brings less from the cache is taken, where lines that few ask for count for more; of these, the
//! first of the list and the fewest parts.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::kernels::Kernel;
use crate::parts::TileShape;

use super::layout::{Operand, Order, Repacked};

/// Bytes that a multiprocessor gets from the L2 cache in a cycle, by copies of its threads.
const CACHE_BYTES: f64 = 36.0;
/// The same by copies of tensors.
const CACHE_BYTES_BY_TENSOR_MAPS: f64 = 68.0;
/// The same of tiles that no block of a cluster shares with another, where all multiprocessors
/// bring some at once.
const CACHE_BYTES_OF_ALL: f64 = 45.0;
/// Bytes of a line of that cache: as many as a copy of a tensor has one behind the other, from one
/// line, or from parts of two.
pub(super) const CACHE_LINE: usize = 128;
/// How much longer tiles take whose lines are parts of two lines of that cache each: lines across
/// K, and lines along K.
const BROKEN: [f64; 2] = [2.2, 2.25];
/// How many clusters ask for the same lines at the same time if they are many: requests of one part
/// of the GPU are answered together there.
const MANY: f64 = 64.0;
/// What is asked for by fewer takes longer, by this power of how many fewer they are. It decides
/// where cycles do not.
const ASKED_BY_FEW: f64 = 0.3;
/// Cycles that a stage of a pipeline is on its way, and until it is read: no more bytes come in
/// them than the stages of a multiprocessor have.
const ON_THE_WAY: f64 = 2600.0;
/// Cycles that clusters begin later than single blocks. Beyond that, they take as long, where lines
/// of the matrix are lines of the cache.
const CLUSTERS_BEGIN: f64 = 1400.0;
/// Cycles that blocks of a cluster that compute a tile together take longer, for each of them.
const TOGETHER: f64 = 1250.0;
/// How much longer it takes to bring tiles whose lines all were beyond the matrix; likewise where
/// some are.
const BEYOND: f64 = 1.7;
/// What part of the lines may be beyond the matrix where tiles wait for memory and not for the copy
/// engine, and how much longer the rest of them takes.
const BEYOND_FOR_NOTHING: f64 = 0.19;
/// See [`BEYOND_FOR_NOTHING`].
const BEYOND_IN_MEMORY: f64 = 1.1;
/// Bytes of memory for each multiprocessor in a cycle.
const MEMORY_BYTES: f64 = 15.5;
/// What of a product's computation, or of its bytes on their way from memory, is not hidden behind
/// the other, whichever takes longer: it decides between kernels that would wait for memory alike.
const NOT_HIDDEN: f64 = 0.04;
/// Bytes of sums that a multiprocessor writes, or reads, in a cycle.
const SUM_BYTES: f64 = 16.0;
/// Cycles from a kernel's start to its first product, and from its last to its end.
const LATENCY: f64 = 3000.0;
/// How many times these pass where a second launch adds up parts of K, which has them too, and
/// between the two nothing is done: of kernels by copies of threads, and by copies of tensors,
/// whose sums of parts go another way than D.
const LAUNCHES_OF_PARTS: [f64; 2] = [4.0, 5.0];
/// Cycles from a tile's last product to the next one's first, of kernels whose blocks compute tile
/// after tile: those that pass always, and of each byte of D that a warpgroup brings away.
const TURN: [f64; 2] = [350.0, 0.086];
/// The same of kernels that compute transposes, whose strips are narrower.
const TURN_OF_TRANSPOSES: [f64; 2] = [500.0, 0.105];
/// The same of kernels that have a block for each tile, of which several share a multiprocessor:
/// cycles from a block's last product to the next block's first, and of each byte of a tile of D.
const TURN_OF_BLOCKS: f64 = 4600.0;
/// See [`TURN_OF_BLOCKS`].
const TURN_OF_BLOCKS_BYTE: f64 = 0.06;
/// Bytes of A and B that a multiprocessor copies in a cycle, read and written.
const COPY_BYTES: f64 = 11.0;
/// Cycles of the launch that copies them.
const COPY_LATENCY: f64 = 6500.0;
/// Bytes of D that a multiprocessor's threads bring away in a cycle, where no copies of tensors do.
const THREAD_BYTES: f64 = 12.0;
/// The same of kernels that compute transposes, whose strips are narrower: from 1.5, of 8 columns a
/// strip, to 7, of 40.
const THREAD_BYTES_OF_TRANSPOSES: f64 = 3.0;
/// Steps of K that a part has at least: fewer do not fill a pipeline.
const LEAST_STEPS: usize = 4;
/// The most parts that are thought of.
const MOST_PARTS: usize = 32;

/// A kernel, what is copied for it first, and the parts that it cuts K in. As a text:
/// `sm80_bf16_nn_64x64x64/4`, or, if K is not cut, the name alone; with copies of A and B,
/// `sm80_bf16_nn_64x64x64+a+b/4`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The kernel's name.
    pub kernel: String,
    /// The parts: 1 if K is not cut.
    pub parts: usize,
    /// What is repacked first: see [`Gemm::copies_up_to`](super::Gemm::copies_up_to).
    #[serde(default, skip_serializing_if = "Repacked::is_none")]
    pub copied: Repacked,
}

impl Choice {
    /// A kernel, for A and B as they lie, in so many parts.
    pub fn new(kernel: impl Into<String>, parts: usize) -> Self {
        Self { kernel: kernel.into(), parts, copied: Repacked::None }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kernel)?;
        for (name, _) in
            [("+a", Operand::A), ("+b", Operand::B)].iter().filter(|(_, of)| self.copied.has(*of))
        {
            f.write_str(name)?;
        }
        if self.parts > 1 { write!(f, "/{}", self.parts) } else { Ok(()) }
    }
}

/// A text that is not a choice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no choice: a kernel, or a kernel, what is copied for it, and the parts that it cuts K in, such as sm80_bf16_nn_64x64x64/4, or \
     sm80_bf16_nn_64x64x64+a+b/4"
)]
pub struct ParseChoiceError(String);

impl FromStr for Choice {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, ParseChoiceError> {
        let (rest, parts) = text.split_once('/').unwrap_or((text, "1"));
        let (rest, b) = rest.strip_suffix("+b").map_or((rest, false), |rest| (rest, true));
        let (kernel, a) = rest.strip_suffix("+a").map_or((rest, false), |rest| (rest, true));
        let is_name = |name: &str| !name.is_empty() && !name.contains('+');
        let parts = parts.parse().ok().filter(|&parts| parts > 0 && is_name(kernel));
        let choice = |parts| Self { kernel: kernel.to_owned(), parts, copied: [a, b].into() };
        parts.map(choice).ok_or_else(|| ParseChoiceError(text.to_owned()))
    }
}

/// A choice, with the kernel itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    pub(super) kernel: &'static Kernel,
    pub(super) parts: usize,
    pub(super) copied: Repacked,
}

impl Way {
    pub(super) fn choice(self) -> Choice {
        Choice { kernel: self.kernel.name.to_owned(), parts: self.parts, copied: self.copied }
    }
}

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) batches: usize,
    /// Bytes of an element of A or B, of D, and of a sum.
    pub(super) bytes: [usize; 3],
    /// Multiplications that a multiprocessor does in a cycle.
    pub(super) products: f64,
    pub(super) multiprocessors: u32,
    /// Whether K may be cut.
    pub(super) may_be_cut: bool,
    /// Whether lines of A, and of B, start with lines of the cache, as they lie.
    pub(super) has_whole_lines: [bool; 2],
    /// Elements of A, and of B.
    pub(super) elements: [f64; 2],
    /// Whether there is a tensor map of D.
    pub(super) d_is_mapped: bool,
}

impl Task {
    /// The elements of each part but the last: whole steps.
    pub(super) fn k_part(&self, kernel: &Kernel, parts: usize) -> usize {
        self.k.div_ceil(parts).next_multiple_of(kernel.tile.k)
    }

    /// Numbers of parts that make sense: each has a few steps, and none is empty.
    pub(super) fn parts(&self, kernel: &Kernel) -> impl Iterator<Item = usize> {
        let most = if self.may_be_cut { MOST_PARTS } else { 1 };
        let most = (self.k / (LEAST_STEPS * kernel.tile.k)).clamp(1, most);
        (1..=most).filter(move |&parts| self.k.div_ceil(self.k_part(kernel, parts)) == parts)
    }

    /// Some ways, each in every number of parts that makes sense.
    pub(super) fn in_parts(&self, ways: impl Iterator<Item = Way>) -> impl Iterator<Item = Way> {
        ways.flat_map(|way| self.parts(way.kernel).map(move |parts| Way { parts, ..way }))
    }

    /// Elements that the parts' sums take.
    pub(super) fn workspace(&self, parts: usize) -> usize {
        if parts > 1 {
            parts.saturating_mul(self.batches).saturating_mul(self.m * self.n)
        } else {
            0
        }
    }

    /// Bytes of the cache's lines that a block brings for each element of K, of A and of B.
    fn bytes_from_cache(&self, kernel: &Kernel, copied: Repacked, across: bool) -> [f64; 2] {
        let TileShape { m: tile_m, n: tile_n, .. } = kernel.tile;
        let input = self.bytes[0];
        let along_k = kernel
            .orders
            .map_or([true; 2], |orders| [orders.a == Order::RowMajor, orders.b == Order::ColMajor]);
        let shared_by = shared_by(kernel, across);
        let of_side = |operand: Operand, tile: usize, lines: usize| {
            let side = operand as usize;
            // Lines across K are copied in whole pieces, where copies of tensors bring them.
            let pieces = kernel.uses_tma && !along_k[side];
            let tile = if pieces { tile.next_multiple_of(CACHE_LINE / input) } else { tile };
            let is_whole = self.has_whole_lines[side] || copied.has(operand) || !kernel.uses_tma;
            let parts = if is_whole { 1.0 } else { BROKEN[usize::from(along_k[side])] };
            // Of short lines across K, a line of the cache has several, each of which is asked for.
            let several = CACHE_LINE as f64 / (lines.max(1) * input) as f64;
            let times = if several > 1.0 && !along_k[side] && !copied.has(operand) {
                several
            } else {
                parts
            };
            (tile * input) as f64 * times / shared_by[side] as f64
        };
        [of_side(Operand::A, tile_m, self.m), of_side(Operand::B, tile_n, self.n)]
    }

    /// The part of the lines in the boxes of a first tile, or of the last one, which are beyond the
    /// matrix: a box that has none of it is left out.
    fn part_beyond(&self, kernel: &Kernel, across: bool, of_last: bool) -> f64 {
        let (sides, shared_by) = ([self.m, self.n], shared_by(kernel, across));
        let lines = [0, 1].map(|side| {
            let (tile, by) = ([kernel.tile.m, kernel.tile.n][side], shared_by[side] as f64);
            let before = if of_last { (sides[side].div_ceil(tile).max(1) - 1) * tile } else { 0 };
            let inside = (sides[side] - before).min(tile);
            let brought =
                inside.next_multiple_of([kernel.box_rows, kernel.box_cols][side]).min(tile);
            [brought, brought - inside].map(|lines| lines as f64 / by)
        });
        let [brought, beyond] = [0, 1].map(|which| lines[0][which] + lines[1][which]);
        beyond / brought.max(1.0)
    }

    /// Whether the tiles of a cluster lie beside each other, and not below: whatever takes fewer
    /// cycles; of as many, fewer tiles; of as many, what brings less from the cache.
    pub(super) fn across(&self, way: Way) -> bool {
        let [across, below] = [true, false].map(|across| self.cost(way, across));
        across < below
    }

    /// What a product costs with the tiles of clusters beside each other, or below: cycles, tiles,
    /// and what a tile brings from the cache for each element of K, in bytes, of which those
    /// count for more that few clusters ask for.
    fn cost(&self, way: Way, across: bool) -> [f64; 3] {
        let Way { kernel, copied, .. } = way;
        let TileShape { m: tile_m, n: tile_n, .. } = kernel.tile;
        let tiles = f64::from(kernel.tiles(self.m as u32, self.n as u32, across));
        // A's lines are asked for by clusters beside each other, B's by those below each other.
        let [by_a, by_b] = shared_by(kernel, across);
        let asked_by = [self.n.div_ceil(tile_n * by_a), self.m.div_ceil(tile_m * by_b)];
        let [of_a, of_b] =
            asked_by.map(|clusters| (MANY / clusters.max(1) as f64).powf(ASKED_BY_FEW).max(1.0));
        let [bytes_a, bytes_b] = self.bytes_from_cache(kernel, copied, across);
        [self.cycles(way, across), tiles, bytes_a * of_a + bytes_b * of_b]
    }

    /// Cycles that a product is expected to take.
    fn cycles(&self, Way { kernel, parts, copied }: Way, across: bool) -> f64 {
        let TileShape { m: tile_m, n: tile_n, .. } = kernel.tile;
        let sms = f64::from(self.multiprocessors.max(1));
        let together = kernel.blocks_per_tile as usize;
        let k = self
            .k_part(kernel, parts)
            .min(self.k)
            .div_ceil(together)
            .next_multiple_of(kernel.tile.k) as f64;
        let tiles = f64::from(kernel.tiles(self.m as u32, self.n as u32, across));
        let blocks = tiles * (self.batches * parts * together) as f64;
        let [input, output, sum] = self.bytes;
        let in_clusters = kernel.info.cluster.blocks() > 1;
        let products = (tile_m * tile_n) as f64 * k / (self.products * kernel.rate);
        let rounds = (blocks / f64::from(kernel.at_once(self.multiprocessors))).ceil();
        let beside = rounds.min(f64::from(kernel.info.min_blocks.max(1)));
        // What of a tile no other block brings, as lines of the cache are lines of the matrix.
        let is_alone = kernel.uses_tma
            && !in_clusters
            && Operand::BOTH.iter().all(|&of| self.has_whole_lines[of as usize] || copied.has(of));
        let most = match (kernel.uses_tma, is_alone || together > 1) {
            (false, _) => CACHE_BYTES,
            (true, false) => CACHE_BYTES_BY_TENSOR_MAPS,
            (true, true) => {
                CACHE_BYTES_BY_TENSOR_MAPS.min(CACHE_BYTES_OF_ALL * sms / blocks.min(sms))
            }
        };
        let cache = most.min(beside * f64::from(kernel.info.shared_bytes) / ON_THE_WAY);
        let [of_a, of_b] = self.bytes_from_cache(kernel, copied, across);
        // In one round the last tile decides.
        let beyond = if is_alone && rounds == 1.0 {
            BEYOND * self.part_beyond(kernel, across, true)
        } else {
            0.0
        };
        let tiles = (of_a + of_b) * k / cache * (1.0 + beyond);
        // As floats: of the longest sides, the bytes are more than `usize` counts.
        let [m, n, k_whole] = [self.m, self.n, self.k].map(|side| side as f64);
        let bytes =
            self.batches as f64 * ((m + n) * k_whole * input as f64 + m * n * output as f64);
        let waits = (self.part_beyond(kernel, across, false) - BEYOND_FOR_NOTHING).max(0.0)
            * BEYOND_IN_MEMORY;
        let memory = bytes / (MEMORY_BYTES * sms) * (1.0 + waits);
        let sums = 2.0 * sum as f64 * self.workspace(parts) as f64 / (SUM_BYTES * sms);
        let launches = match (parts, kernel.uses_tma) {
            (1, _) => 1.0,
            (_, false) => LAUNCHES_OF_PARTS[0],
            (_, true) => LAUNCHES_OF_PARTS[1],
        };
        let begin = if in_clusters { LATENCY + CLUSTERS_BEGIN } else { LATENCY };
        let brought = (tile_m * tile_n * output) as f64;
        let turn = match (kernel.uses_tma, together) {
            (false, _) => (TURN_OF_BLOCKS + TURN_OF_BLOCKS_BYTE * brought) / beside,
            (true, 1) => {
                let [always, of_byte] = if kernel.swaps_ab { TURN_OF_TRANSPOSES } else { TURN };
                always + of_byte * brought / kernel.consumers()
            }
            // Blocks that compute a tile together compute no second.
            (true, _) => begin,
        };
        let turns = (rounds - if kernel.uses_tma { 1.0 } else { beside }) * turn;
        let by_threads = if kernel.uses_tma && !self.d_is_mapped && parts == 1 {
            let rate = if kernel.swaps_ab { THREAD_BYTES_OF_TRANSPOSES } else { THREAD_BYTES };
            rounds * (tile_m * tile_n / together * output) as f64 / rate
        } else {
            0.0
        };
        let repacked = Operand::BOTH.into_iter().filter(|&of| copied.has(of));
        let elements: f64 = repacked.map(|of| self.elements[of as usize]).sum();
        let copy = if elements > 0.0 {
            2.0 * elements * input as f64 / (COPY_BYTES * sms) + COPY_LATENCY
        } else {
            0.0
        };
        let together = if together > 1 { TOGETHER * together as f64 } else { 0.0 };
        let computed = rounds * (products.max(tiles) + together) + turns + by_threads;
        copy + computed.max(memory) + NOT_HIDDEN * computed.min(memory) + sums + launches * begin
    }

    /// The best of some ways, each in parts whose sums take no more than `workspace` elements.
    pub(super) fn best(&self, ways: impl Iterator<Item = Way>, workspace: usize) -> Option<Way> {
        let fitting = self.in_parts(ways).filter(|way| self.workspace(way.parts) <= workspace);
        let costs = fitting.map(|way| {
            let [cycles, tiles, bytes] = self.cost(way, self.across(way));
            // Where both kernels' factors are copied, it is the order of the list that says which
            // order is copied in less time.
            (way, [cycles, if way.copied.is_none() { tiles * bytes } else { 0.0 }])
        });
        let best = costs.min_by(|(_, [cycles, bytes]), (_, [other_cycles, other_bytes])| {
            cycles.total_cmp(other_cycles).then(bytes.total_cmp(other_bytes))
        });
        best.map(|(way, _)| way)
    }
}

/// How many blocks of a cluster have a tile of A, and of B, from one copy: those beside each other,
/// or those below each other.
fn shared_by(kernel: &Kernel, across: bool) -> [usize; 2] {
    let blocks = kernel.info.cluster.blocks() as usize / kernel.blocks_per_tile as usize;
    if across { [blocks, 1] } else { [1, blocks] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Multiply;
    use ptx_matrix::element::bf16;

    const KERNELS: &[Kernel] = <bf16 as Multiply<bf16>>::KERNELS;

    fn task(m: usize, n: usize, k: usize) -> Task {
        Task {
            m,
            n,
            k,
            batches: 1,
            bytes: [2, 2, 4],
            products: 1024.0,
            multiprocessors: 132,
            may_be_cut: true,
            has_whole_lines: [true; 2],
            elements: [(m * k) as f64, (k * n) as f64],
            d_is_mapped: true,
        }
    }

    fn named(name: &str) -> &'static Kernel {
        KERNELS.iter().find(|kernel| kernel.name == name).expect("a kernel of the list")
    }

    /// A kernel, for A and B as they lie.
    fn alone(kernel: &'static Kernel) -> Way {
        Way { kernel, parts: 1, copied: Repacked::None }
    }

    fn chosen(m: usize, n: usize, k: usize, workspace: usize) -> String {
        let row_major = |kernel: &&Kernel| kernel.takes(Order::RowMajor, Order::RowMajor);
        let way =
            task(m, n, k).best(KERNELS.iter().filter(row_major).map(alone), workspace).unwrap();
        way.choice().to_string()
    }

    #[test]
    fn large_products_take_large_tiles() {
        for side in [2048, 4096, 8192] {
            assert_eq!(chosen(side, side, side, usize::MAX), "sm90_bf16_nn_128x256x64");
        }
        // As wide as leaves the fewest multiprocessors without one.
        assert_eq!(chosen(1024, 3072, 5120, usize::MAX), "sm90_bf16_nn_128x192x64_c2");
        assert_eq!(chosen(5120, 1344, 3072, usize::MAX), "sm90_bf16_nn_224x128x64_swap_c2");
    }

    /// Where rows are no multiple of 128, or the multiprocessors would not all have a tile.
    #[test]
    fn tiles_are_as_high_as_rows_leave_it() {
        assert_eq!(chosen(129, 8192, 8192, 0), "sm90_bf16_nn_80x128x64_swap_c2");
        assert_eq!(chosen(257, 8192, 8192, 0), "sm90_bf16_nn_144x128x64_swap_c2");
        assert_eq!(chosen(300, 8192, 8192, 0), "sm90_bf16_nn_160x128x64_swap_c2");
        assert_eq!(chosen(777, 8192, 8192, 0), "sm90_bf16_nn_200x128x64_swap_c2");
        assert_eq!(chosen(820, 8192, 8192, 0), "sm90_bf16_nn_208x128x64_swap_c2");
        assert_eq!(chosen(1900, 4096, 4096, 0), "sm90_bf16_nn_240x128x64_swap_c2");
        assert_eq!(chosen(160, 4096, 2048, 0), "sm90_bf16_nn_80x64x64_swap_c2");
        assert_eq!(chosen(129, 14336, 4096, 0), "sm90_bf16_nn_144x128x64_swap_c4");
        assert_eq!(chosen(5120, 1216, 3072, 0), "sm90_bf16_nn_200x128x64_swap_c2");
        assert_eq!(chosen(384, 8192, 8192, 0), "sm90_bf16_nn_128x192x64_c2");
        assert_eq!(chosen(1000, 8192, 8192, 0), "sm90_bf16_nn_128x256x64");
    }

    /// The fewer tiles there are, the more blocks compute one together, if K is long enough.
    #[test]
    fn few_tiles_are_computed_by_several_blocks_each() {
        assert_eq!(chosen(100, 4096, 4096, 0), "sm90_bf16_nn_128x128x64_split2");
        // Where that has all multiprocessors bring whole tiles, smaller ones are faster.
        assert_eq!(chosen(208, 4096, 4096, 0), "sm90_bf16_nn_64x128x64_c2");
        assert_eq!(chosen(256, 1856, 4992, 0), "sm90_bf16_nn_128x128x64_split4");
        assert_eq!(chosen(256, 512, 8192, 0), "sm90_bf16_nn_128x128x64_split8");
        // Also where there is room for sums of parts in memory.
        assert_eq!(chosen(256, 1856, 4992, usize::MAX), "sm90_bf16_nn_128x128x64_split4");
        assert!(!chosen(256, 1856, 256, 0).contains("_split"));
    }

    /// Where lines are odd, if the product is not small.
    #[test]
    fn copies_are_for_lines_that_no_tensor_copy_brings() {
        let chosen = |side: usize, row_major_b: bool| {
            let gemm = crate::Gemm::<bf16>::new(side, side, side).copies_up_to(usize::MAX);
            let gemm = if row_major_b { gemm } else { gemm.b(crate::Layout::col_major(side)) };
            gemm.plan(&ptx_matrix::sim::Simulator::default()).unwrap().choice().unwrap().to_string()
        };
        assert_eq!(chosen(8191, true), "sm90_bf16_nn_128x256x64+a+b");
        assert_eq!(chosen(8191, false), "sm90_bf16_nn_128x256x64+a+b");
        assert_eq!(chosen(1001, true), "sm90_bf16_nn_64x128x64_c2+a+b");
        // Their threads bring away D, which takes those of tall tiles longer than another round.
        assert_eq!(chosen(2050, true), "sm90_bf16_nn_128x160x64_c2+a+b");
        assert_eq!(chosen(8192, true), "sm90_bf16_nn_128x256x64");
        // Of lines that start at multiples of 16 bytes, both copies would cost more than they save.
        assert_eq!(chosen(4104, true), "sm90_bf16_nn_176x192x64_swap_c2");
    }

    #[test]
    fn tiles_are_as_large_as_still_fill_the_device() {
        assert_eq!(chosen(1024, 1024, 1024, usize::MAX), "sm90_bf16_nn_64x128x64_c2");
        assert_eq!(chosen(256, 8192, 1024, usize::MAX), "sm90_bf16_nn_128x128x64_c2");
        assert_eq!(chosen(512, 512, 512, usize::MAX), "sm90_bf16_nn_64x64x64");
    }

    #[test]
    fn clusters_are_for_lines_that_start_within_lines_of_the_cache() {
        let chosen = |m, n, k, has_whole_lines| {
            let task = Task { has_whole_lines, ..task(m, n, k) };
            task.best(
                KERNELS
                    .iter()
                    .filter(|kernel| kernel.takes(Order::RowMajor, Order::RowMajor))
                    .map(alone),
                0,
            )
            .unwrap()
            .kernel
            .name
        };
        assert_eq!(chosen(4104, 4104, 4104, [false; 2]), "sm90_bf16_nn_176x192x64_swap_c2");
        // Little more than sixteen times 128, in one round.
        assert_eq!(chosen(2056, 2056, 2056, [false; 2]), "sm90_bf16_nn_176x192x64_swap_c2");
        assert_eq!(chosen(1032, 4104, 2056, [false; 2]), "sm90_bf16_nn_176x192x64_swap_c2");
        assert_eq!(chosen(600, 6000, 6000, [false; 2]), "sm90_bf16_nn_160x192x64_swap_c2");
        assert_eq!(chosen(2200, 2200, 2200, [false; 2]), "sm90_bf16_nn_160x256x64_swap_c2");
        assert_eq!(chosen(2300, 2048, 2200, [false; 2]), "sm90_bf16_nn_192x192x64_swap_c2");
        assert_eq!(chosen(1000, 3000, 5000, [false; 2]), "sm90_bf16_nn_128x192x64_c2");
        assert_eq!(chosen(5000, 1200, 3000, [false; 2]), "sm90_bf16_nn_200x128x64_swap_c2");
        assert_eq!(chosen(2000, 6000, 1000, [false; 2]), "sm90_bf16_nn_128x256x64_c2");
        assert_eq!(chosen(777, 4000, 2048, [true, false]), "sm90_bf16_nn_200x128x64_swap_c2");
    }

    /// One more column of tiles is computed, if in it a cluster has more to share, and there is
    /// room for it in the round.
    #[test]
    fn clusters_share_what_takes_longer() {
        let kernel = named("sm90_bf16_nn_240x128x64_swap_c2");
        assert_eq!([true, false].map(|across| kernel.tiles(1336, 2672, across)), [132, 126]);
        let across = |has_whole_lines| {
            Task { has_whole_lines, ..task(1336, 2672, 4008) }.across(alone(kernel))
        };
        assert!(across([false; 2]));
        assert!(!across([true; 2]));
    }

    /// All tiles of a column, if there is room for as many clusters at once; else pairs.
    #[test]
    fn clusters_of_four_are_for_one_round() {
        assert_eq!(chosen(300, 5120, 5120, 0), "sm90_bf16_nn_112x128x64_swap_c4");
        assert_eq!(chosen(320, 4096, 4096, 0), "sm90_bf16_nn_80x128x64_swap_c2");
        assert_eq!(named("sm90_bf16_nn_80x128x64_swap_c4").at_once(132), 120);
        assert_eq!(named("sm90_bf16_nn_80x128x64_swap_c2").at_once(132), 132);
        assert_eq!(named("sm90_bf16_nn_128x128x64_split8").at_once(1), 8);
    }

    /// Of few rows, all of A is asked for by all clusters, and each of B's lines by few: so these
    /// are what is shared, whatever is longer. Likewise of few columns. Where sides are alike,
    /// the longer of the tile's is shared.
    #[test]
    fn clusters_share_what_few_ask_for() {
        let across = |name, m, n| task(m, n, 8192).across(alone(named(name)));
        for (name, few_rows, few_cols) in [
            ("sm90_bf16_nn_144x128x64_swap_c2", 257, 256),
            ("sm90_bf16_nn_80x64x64_swap_c2", 129, 128),
        ] {
            assert!(!across(name, few_rows, 8192), "{name}");
            assert!(across(name, 8192, few_cols), "{name}");
        }
        assert!(across("sm90_bf16_nn_240x128x64_swap_c2", 7680, 7680));
        assert!(!across("sm90_bf16_nn_128x256x64_c2", 8192, 8192));
    }

    #[test]
    fn few_rows_take_low_tiles_and_parts_of_k_where_there_is_room_for_their_sums() {
        let parts_of_low_tiles = chosen(16, 1024, 8192, usize::MAX);
        assert!(parts_of_low_tiles.starts_with("sm80_bf16_nn_16x64x64/"), "{parts_of_low_tiles}");
        // Where there is none, by blocks of a cluster.
        assert_eq!(chosen(16, 1024, 8192, 0), "sm90_bf16_nn_128x128x64_split8");
        assert_eq!(chosen(16, 8192, 8192, usize::MAX), "sm80_bf16_nn_16x64x64");
        for m in [1, 16] {
            assert_eq!(chosen(m, 8192, 8192, usize::MAX), "sm80_bf16_nn_16x64x64", "{m} rows");
        }
        for m in [24, 32, 48] {
            assert_eq!(chosen(m, 8192, 8192, usize::MAX), "sm90_bf16_nn_64x64x64", "{m} rows");
        }
        // Where tiles of that height fill the device, they are not cut: the second launch would
        // cost more.
        assert_eq!(chosen(64, 8192, 8192, usize::MAX), "sm90_bf16_nn_64x64x64");
    }

    /// Where next to nothing is multiplied for each element of D, what takes long is to bring D
    /// away, and to go from tile to tile: so tiles are large, and blocks stay.
    #[test]
    fn short_sums_take_large_tiles_whose_blocks_stay() {
        let chosen = |m, n, k, batches| {
            let task = Task { batches, ..task(m, n, k) };
            task.best(
                KERNELS
                    .iter()
                    .filter(|kernel| kernel.takes(Order::RowMajor, Order::RowMajor))
                    .map(alone),
                0,
            )
            .unwrap()
            .kernel
            .name
        };
        for (m, n, k, batches) in [
            (2048, 2048, 128, 64),
            (1024, 1024, 64, 64),
            (512, 512, 64, 64),
            (8192, 8192, 32, 1),
            (4096, 4096, 64, 1),
        ] {
            assert_eq!(
                chosen(m, n, k, batches),
                "sm90_bf16_nn_128x256x64",
                "{batches} of {m} x {n} x {k}"
            );
        }
        assert_eq!(chosen(2048, 128, 128, 64), "sm90_bf16_nn_128x128x64_c2");
    }

    /// Also where a line of the cache has several of B's, which no kernel by copies of threads
    /// brings fast.
    #[test]
    fn few_columns_take_narrow_tiles() {
        let narrow = |m, n| {
            let task = Task { has_whole_lines: [true, n % 64 == 0], ..task(m, n, 4096) };
            let way = task.best(
                KERNELS
                    .iter()
                    .filter(|kernel| kernel.takes(Order::RowMajor, Order::RowMajor))
                    .map(alone),
                usize::MAX,
            );
            way.unwrap().choice().to_string()
        };
        for (m, n) in [(4096, 32), (4096, 64), (4096, 128), (16384, 64)] {
            assert_eq!(narrow(m, n), "sm90_bf16_nn_64x64x64", "{n} columns");
        }
        assert_eq!(narrow(16384, 8), "sm90_bf16_nn_144x64x64_swap_c2");
        // 28 rows of the last tile would be beyond A.
        assert_eq!(chosen(100, 4096, 4096, 0), "sm90_bf16_nn_128x128x64_split2");
    }

    #[test]
    fn a_choice_is_what_it_is_written_as() {
        for text in [
            "sm80_bf16_nn_128x256x64",
            "sm80_bf16_nn_64x64x64/4",
            "sm80_bf16_nn_128x256x64+b",
            "sm80_bf16_nn_64x64x64+a+b/4",
        ] {
            assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
        }
        for wrong in ["", "/2", "k/", "k/0", "k/-1", "k/2/2", "+a", "k+c", "k+b+a"] {
            let message = wrong.parse::<Choice>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("`{wrong}` is no choice")), "{message}");
        }
    }

    #[test]
    fn what_fills_the_device_is_not_cut() {
        assert!(!chosen(4096, 4096, 65536, usize::MAX).contains('/'));
    }

    #[test]
    fn no_part_is_empty() {
        for k in 1..2000 {
            let task = task(1, 1, k);
            for kernel in KERNELS {
                for parts in task.parts(kernel) {
                    let k_part = task.k_part(kernel, parts);
                    assert!(
                        (parts - 1) * k_part < k && parts * k_part >= k,
                        "{k} in {parts} of {k_part}"
                    );
                    assert!(k_part.is_multiple_of(kernel.tile.k));
                }
            }
        }
    }
}
