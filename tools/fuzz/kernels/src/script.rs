//! A kernel that runs a random program. Each warp has its own steps, on shared tiles, and on a part
//! of global memory that belongs to its block.
//!
//! A step has [`WORDS`] words: its kind, and its operands, named in [`operand`]. Steps with a place
//! for each lane use `(first + lane * stride) % all`. Only lanes in the mask take part.

use ptx_matrix::copy::CpAsync;
use ptx_matrix::element::Bits16;
use ptx_matrix::fragment::{FragmentSparseA, Kept, Registers, RowAddr};
use ptx_matrix::mma::{
    B8, B16, LdMatrix, Metadata, MmaSparse, MovMatrix, NoTrans, StMatrix, Trans, X1, X2, X4,
};
use ptx_matrix::prelude::*;

/// Warps of a block.
pub const WARPS: usize = 4;
/// Tiles in shared memory.
pub const PARTS: usize = 3;
/// Rows of a tile.
pub const ROWS: usize = 16;
/// Columns of a tile.
pub const COLS: usize = 32;
/// Elements of a tile.
pub const ELEMENTS: usize = ROWS * COLS;
/// Row addresses of `ldmatrix` in a tile.
pub const CHUNKS: usize = ELEMENTS / 8;
/// Elements of global memory that belong to a block.
pub const GLOBAL: usize = 64;
/// The output of a block in words: its global elements, and a word of each thread.
pub const LEFT: usize = GLOBAL + WARPS * LANES;
/// The number of mbarriers, each of which is used for one phase.
pub const SIGNALS: usize = 12;
/// Arrivals at each mbarrier.
pub const ARRIVALS: u32 = 32;
/// Words of a step.
pub const WORDS: usize = 8;

/// A tile in shared memory.
pub type Tile = SharedTile<u16, ROWS, COLS, Swizzle64>;

/// The kinds of steps: the first word of a step.
pub mod step {
    pub const END: u32 = 0;
    pub const BLOCK_SYNC: u32 = 1;
    pub const WARP_SYNC: u32 = 2;
    pub const SET: u32 = 3;
    pub const SET_UNIFORM: u32 = 4;
    pub const GET: u32 = 5;
    pub const FILL: u32 = 6;
    pub const LOAD: u32 = 7;
    pub const STORE: u32 = 8;
    pub const TRANSPOSE: u32 = 9;
    pub const MULTIPLY: u32 = 10;
    pub const COPY: u32 = 11;
    pub const COPY_TILE: u32 = 12;
    pub const COMMIT: u32 = 13;
    pub const WAIT: u32 = 14;
    pub const GLOBAL_SET: u32 = 15;
    pub const GLOBAL_SET_UNIFORM: u32 = 16;
    pub const GLOBAL_GET: u32 = 17;
    pub const ARRIVE: u32 = 18;
    pub const AWAIT: u32 = 19;
    pub const MULTIPLY_SPARSE: u32 = 20;
    /// Only on the simulator: no GPU that runs these programs has the forms with one-byte elements.
    pub const LOAD_BYTES: u32 = 21;
    /// Only on the simulator, like [`LOAD_BYTES`].
    pub const STORE_BYTES: u32 = 22;
}

/// The indices of a step's words.
pub mod operand {
    /// The tile.
    pub const PART: usize = 1;
    /// The place of lane 0.
    pub const FIRST: usize = 2;
    /// The distance from a lane's place to that of the next lane.
    pub const STRIDE: usize = 3;
    /// The mask of lanes.
    pub const MASK: usize = 4;
    /// The seed of the values, or the mbarrier.
    pub const SEED: usize = 5;
    /// A number: arrivals, matrices, bytes of a copy, groups, or threads that share the work.
    pub const COUNT: usize = 6;
    /// `.trans`, the use of `stmatrix`, the selector, or the number of source elements of a copy.
    pub const FORM: usize = 7;
}

/// The value for a seed and an index. A small seed is the value itself, so that values repeat.
#[inline]
pub fn value(salt: u32, seed: u32, index: usize) -> u16 {
    if seed < 8 {
        return seed as u16;
    }
    let mixed = (seed ^ salt.wrapping_mul(0x85eb_ca6b))
        .wrapping_add(index as u32)
        .wrapping_mul(0x9e37_79b1);
    ((mixed ^ mixed >> 15).wrapping_mul(0x2c1b_3c6d) >> 16) as u16
}

/// Mixes a word that was read into the word of a thread.
#[inline]
pub fn take_in(known: u32, read: u32) -> u32 {
    known.rotate_left(7).wrapping_mul(5).wrapping_add(read)
}

/// An operand of a multiplication, so small that the product is exact.
#[inline]
pub fn exact_operand(value: u16) -> u16 {
    value & 7
}

/// The two of four columns of a chunk that a sparse operand keeps.
#[inline]
pub fn kept(salt: u32, seed: u32, row: usize, chunk: usize) -> (usize, usize) {
    match value(salt, seed, row * 16 + chunk) % 6 {
        0 => (0, 1),
        1 => (0, 2),
        2 => (0, 3),
        3 => (1, 2),
        4 => (1, 3),
        _ => (2, 3),
    }
}

/// The operands of a step that give each lane's place.
#[derive(Clone, Copy)]
struct Places {
    first: usize,
    stride: usize,
    mask: usize,
}

impl Places {
    #[inline]
    fn of(self, lane: Lane<'_>, all: usize) -> usize {
        (self.first + lane.id() * self.stride) % all
    }

    #[inline]
    fn has(self, lane: Lane<'_>) -> bool {
        self.mask >> lane.id() & 1 == 1
    }

    #[inline]
    fn rows(self, warp: Warp<'_>, tile: Tile) -> PerLane<RowAddr> {
        warp.each(|lane| {
            let chunk = self.of(lane, CHUNKS);
            tile.row((chunk / 4, chunk % 4 * 8))
        })
    }
}

/// Runs the program. `script` begins with the start of each warp's steps.
#[kernel(threads = 128, target = "sm_90")]
pub fn run(
    block: &Block,
    #[shared] parts: SharedRing<Tile, PARTS>,
    #[shared] signals: SharedRing<BarrierMemory, SIGNALS>,
    script: Global<u32>,
    source: Global<u16>,
    out: GlobalMut<u32>,
) {
    let signals = signals.init(block, ARRIVALS);
    let warp = block.warp();
    let salt = block.index().x;
    let left = salt as usize * LEFT;
    let mut known = PerLane::splat(0_u32);
    let mut at = script.get(warp.index()) as usize;
    loop {
        let word = |operand: usize| script.get(at + operand);
        let number = |operand: usize| word(operand) as usize;
        let places = Places {
            first: number(operand::FIRST),
            stride: number(operand::STRIDE),
            mask: number(operand::MASK),
        };
        let (seed, count, form) =
            (word(operand::SEED), number(operand::COUNT), number(operand::FORM));
        let tile = parts.part(number(operand::PART));
        match word(0) {
            step::BLOCK_SYNC => block.sync(),
            step::WARP_SYNC => warp.sync(),
            step::SET => {
                warp.each(|lane| {
                    let element = places.of(lane, ELEMENTS);
                    if places.has(lane) {
                        tile.set((element / COLS, element % COLS), value(salt, seed, lane.id()));
                    }
                });
            }
            step::SET_UNIFORM => {
                tile.set((places.first / COLS, places.first % COLS), value(salt, seed, 0))
            }
            step::GET => warp.update(&mut known, |lane, known| {
                let element = places.of(lane, ELEMENTS);
                if places.has(lane) {
                    *known =
                        take_in(*known, tile.get(lane, (element / COLS, element % COLS)).into());
                }
            }),
            step::FILL if count == LANES => {
                tile.fill(warp, |row, col| value(salt, seed, row * COLS + col))
            }
            step::FILL => tile.fill(block, |row, col| value(salt, seed, row * COLS + col)),
            step::LOAD => load(warp, places.rows(warp, tile), count, form, &mut known),
            step::STORE => store(warp, places.rows(warp, tile), count, form, seed, salt),
            step::TRANSPOSE => known = MovMatrix::<Trans, B16>::transpose(warp, known),
            step::MULTIPLY => {
                let (b, d) = (parts.part(places.stride), parts.part(places.mask));
                multiply(warp, tile, b, d, places.first, form);
            }
            step::MULTIPLY_SPARSE => {
                let (b, d) = (parts.part(places.stride), parts.part(places.mask));
                multiply_sparse(warp, tile, b, d, places.first, form, (salt, seed));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            step::LOAD_BYTES => load_bytes(warp, places.rows(warp, tile), count, &mut known),
            #[cfg(not(target_arch = "nvptx64"))]
            step::STORE_BYTES => store_bytes(warp, places.rows(warp, tile), count, seed, salt),
            step::COPY => {
                warp.each(|lane| {
                    if places.has(lane) {
                        copy(
                            lane,
                            tile,
                            places.of(lane, ELEMENTS * 2 / count),
                            count,
                            source,
                            seed as usize,
                            form,
                        );
                    }
                });
            }
            step::COPY_TILE if count == LANES => {
                tile.copy_async(warp, source, |row, col| from(seed, row, col))
            }
            step::COPY_TILE if form == 0 => {
                tile.copy_async(block, source, |row, col| from(seed, row, col))
            }
            step::COPY_TILE => {
                tile.copy_async_some(block, source, |row, col| (from(seed, row, col), form))
            }
            step::COMMIT => CpAsync::<16>::commit(warp),
            step::WAIT => match count {
                0 => CpAsync::<16>::wait::<0>(warp),
                1 => CpAsync::<16>::wait::<1>(warp),
                _ => CpAsync::<16>::wait::<2>(warp),
            },
            step::GLOBAL_SET => {
                warp.each(|lane| {
                    if places.has(lane) {
                        out.set(
                            left + places.of(lane, GLOBAL),
                            value(salt, seed, lane.id()).into(),
                        );
                    }
                });
            }
            step::GLOBAL_SET_UNIFORM => {
                out.set(left + places.first % GLOBAL, value(salt, seed, 0).into())
            }
            step::GLOBAL_GET => warp.update(&mut known, |lane, known| {
                if places.has(lane) {
                    *known = take_in(*known, out.get(lane, left + places.of(lane, GLOBAL)));
                }
            }),
            step::ARRIVE => {
                let signal = signals.part(seed as usize);
                warp.each(|lane| {
                    if places.has(lane) {
                        signal.arrive_times(lane, count as u32);
                    }
                });
            }
            step::AWAIT => {
                signals.part(seed as usize).wait(warp, Phase::FIRST);
            }
            _ => break,
        }
        at += WORDS;
    }
    let own = left + GLOBAL + warp.index() * LANES;
    warp.each(|lane| out.set(own + lane.id(), lane.get(&known)));
}

/// The index in the source of a tile's element.
#[inline]
fn from(seed: u32, row: usize, col: usize) -> usize {
    (row * COLS + col + seed as usize * 8) % ELEMENTS
}

#[inline]
fn load(
    warp: Warp<'_>,
    rows: PerLane<RowAddr>,
    count: usize,
    form: usize,
    known: &mut PerLane<u32>,
) {
    match (count, form) {
        (1, 0) => take_registers(warp, &LdMatrix::<X1, NoTrans, B16>::load(warp, rows), known),
        (1, _) => take_registers(warp, &LdMatrix::<X1, Trans, B16>::load(warp, rows), known),
        (2, 0) => take_registers(warp, &LdMatrix::<X2, NoTrans, B16>::load(warp, rows), known),
        (2, _) => take_registers(warp, &LdMatrix::<X2, Trans, B16>::load(warp, rows), known),
        (_, 0) => take_registers(warp, &LdMatrix::<X4, NoTrans, B16>::load(warp, rows), known),
        (_, _) => take_registers(warp, &LdMatrix::<X4, Trans, B16>::load(warp, rows), known),
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn load_bytes(warp: Warp<'_>, rows: PerLane<RowAddr>, count: usize, known: &mut PerLane<u32>) {
    match count {
        1 => take_registers(warp, &LdMatrix::<X1, Trans, B8>::load(warp, rows), known),
        _ => take_registers(warp, &LdMatrix::<X2, Trans, B8>::load(warp, rows), known),
    }
}

#[cfg(not(target_arch = "nvptx64"))]
fn store_bytes(warp: Warp<'_>, rows: PerLane<RowAddr>, count: usize, seed: u32, salt: u32) {
    match count {
        1 => StMatrix::<X1, Trans, B8>::store(warp, rows, registers(warp, seed, salt)),
        2 => StMatrix::<X2, Trans, B8>::store(warp, rows, registers(warp, seed, salt)),
        _ => StMatrix::<X4, Trans, B8>::store(warp, rows, registers(warp, seed, salt)),
    }
}

#[inline]
fn take_registers<R: Registers<Register = u32>>(
    warp: Warp<'_>,
    registers: &PerLane<R>,
    known: &mut PerLane<u32>,
) {
    warp.update(known, |lane, known| {
        for register in lane.get(registers).as_ref() {
            *known = take_in(*known, *register);
        }
    });
}

#[inline]
fn store(warp: Warp<'_>, rows: PerLane<RowAddr>, count: usize, form: usize, seed: u32, salt: u32) {
    match (count, form) {
        (1, 0) => StMatrix::<X1, NoTrans, B16>::store(warp, rows, registers(warp, seed, salt)),
        (1, _) => StMatrix::<X1, Trans, B16>::store(warp, rows, registers(warp, seed, salt)),
        (2, 0) => StMatrix::<X2, NoTrans, B16>::store(warp, rows, registers(warp, seed, salt)),
        (2, _) => StMatrix::<X2, Trans, B16>::store(warp, rows, registers(warp, seed, salt)),
        (_, 0) => StMatrix::<X4, NoTrans, B16>::store(warp, rows, registers(warp, seed, salt)),
        (_, _) => StMatrix::<X4, Trans, B16>::store(warp, rows, registers(warp, seed, salt)),
    }
}

/// The registers of the matrices to store. Element (row, col) of matrix i is `value(salt, seed, i *
/// 64 + row * 8 + col)`.
#[inline]
fn registers<R: Registers<Register = u32>>(warp: Warp<'_>, seed: u32, salt: u32) -> PerLane<R> {
    warp.each(|lane| {
        let mut registers = R::zeroed();
        for (matrix, register) in registers.as_mut().iter_mut().enumerate() {
            let index = matrix * 64 + lane.id() * 2;
            *register =
                u32::from(value(salt, seed, index)) | u32::from(value(salt, seed, index + 1)) << 16;
        }
        registers
    })
}

/// Multiplies columns of `a` and `b` into `d`: 16 columns of `a` from `first / 4 * 16` on, 8
/// columns of `b` from `first % 4 * 8` on, and 8 columns of `d` from `form / 2 * 8` on.
#[inline]
fn multiply(warp: Warp<'_>, a: Tile, b: Tile, d: Tile, first: usize, form: usize) {
    let exact = |_, _, value| bf16::from_f32(exact_operand(value).into());
    let a = FragmentA::<M16N8K16, u16>::load(warp, &a, (0, first / 4 % 2 * 16)).map(warp, exact);
    let b = FragmentB::<M16N8K16, u16>::load(warp, &b, (0, first % 4 * 8)).map(warp, exact);
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, bf16, bf16, f32>::accumulate(warp, &mut acc, &a, &b);
    let acc = acc.map(warp, |_, _, value| value as u16);
    let to = (0, form / 2 % 4 * 8);
    if form.is_multiple_of(2) {
        acc.store(warp, &d, to);
    } else {
        acc.store_matrix(warp, &d, to);
    }
}

/// Multiplies a sparse A with B into columns of `d`, from `form / 4 * 8` on. The kept elements of A
/// are the 8 columns of `a` from `first / 4 * 8` on. B is the 8 columns of `b` from `first % 4 * 8`
/// on. The selector is `form % 4`.
#[inline]
fn multiply_sparse(
    warp: Warp<'_>,
    a: Tile,
    b: Tile,
    d: Tile,
    first: usize,
    form: usize,
    (salt, seed): (u32, u32),
) {
    let exact = |_, _, value| bf16::from_f32(exact_operand(value).into());
    let a =
        FragmentSparseA::<M16N8K16, u16>::load(warp, &a, (0, first / 4 % 4 * 8)).map(warp, exact);
    let b = FragmentB::<M16N8K16, u16>::load(warp, &b, (0, first % 4 * 8)).map(warp, exact);
    let metadata = Metadata::<Bits16>::from_fn(warp, |row, chunk| {
        let (one, other) = kept(salt, seed, row, chunk);
        Kept::from_code((one | other << 2) as u8)
    });
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    match form % 4 {
        0 => MmaSparse::<_, bf16, bf16, _>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata),
        1 => MmaSparse::<_, bf16, bf16, _>::accumulate::<1>(warp, &mut acc, &a, &b, &metadata),
        2 => MmaSparse::<_, bf16, bf16, _>::accumulate::<2>(warp, &mut acc, &a, &b, &metadata),
        _ => MmaSparse::<_, bf16, bf16, _>::accumulate::<3>(warp, &mut acc, &a, &b, &metadata),
    }
    acc.map(warp, |_, _, value| value as u16).store(warp, &d, (0, form / 4 % 4 * 8));
}

/// Copies chunk `chunk + shift` of the source to chunk `chunk` of the tile.
#[inline]
fn copy(
    lane: Lane<'_>,
    tile: Tile,
    chunk: usize,
    bytes: usize,
    source: Global<u16>,
    shift: usize,
    some: usize,
) {
    let per_chunk = bytes / 2;
    let element = chunk * per_chunk;
    let at = (element / COLS, element % COLS);
    let from = (chunk + shift) % (ELEMENTS / per_chunk) * per_chunk;
    match bytes {
        4 => CpAsync::<4>::copy_some(lane, &tile, at, source, from, some),
        8 => CpAsync::<8>::copy_some(lane, &tile, at, source, from, some),
        _ => CpAsync::<16>::copy_some(lane, &tile, at, source, from, some),
    }
}
