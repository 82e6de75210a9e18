//! The input and output format of a `wgmma` form's kernel: global memory, shared memory, registers.

use crate::fragment::Layout;
use crate::isa::{FILLED, WgmmaForm, WgmmaOptions};
use crate::lane::LANES;
use crate::memory::{Swizzle32, Swizzle64, Swizzle128, swizzled_in_line};
use crate::mma::wgmma::{PatternSwizzle, descriptor, width};
use std::vec;
use std::vec::Vec;

/// Threads of a warpgroup.
const THREADS: usize = 128;

/// Rows of A and D: of all four warps, and of one warp.
const ROWS: usize = 64;
const ROWS_OF_WARP: usize = 16;

/// Bytes of a register.
const REGISTER: usize = 4;

/// The matrices of a `wgmma`, row-major, as codes. A code has an element's bits in its lowest bits;
/// its other bits are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WgmmaMatrices {
    /// A, with 64 rows; for a sparse A, its stored elements.
    pub a: Vec<u32>,
    /// B, with K rows.
    pub b: Vec<u32>,
    /// The input accumulators: D before the instruction, with 64 rows.
    pub c: Vec<u32>,
    /// The metadata of a sparse A, one register for each of the 128 threads; empty for a dense A.
    pub metadata: Vec<u32>,
}

/// The format of the input and the output of a form's [`kernel`](WgmmaForm::kernel).
///
/// - Input: shared memory with A (unless in registers) and B; then registers, each for threads 0 to
///   127: D, A (if in registers), and the metadata of a sparse A.
/// - Output: D's registers, for threads 0 to 127.
///
/// In shared memory a matrix has the layout of a tile for `wgmma`:
///
/// | matrix | swizzle |
/// | --- | --- |
/// | K-major | 32 bytes |
/// | K-major B of a sparse A | 64 bytes |
/// | transposed (MN-major) | 128 bytes; tiles side by side, with rows of 64 elements |
#[derive(Debug, Clone, Copy)]
pub struct WgmmaMemory {
    /// A, if it is in shared memory.
    a: Option<Tiles>,
    b: Tiles,
    /// The layouts of a warp's 16 rows of A, and of 8 columns of D.
    layout_a: Layout,
    layout_d: Layout,
    shared_bytes: usize,
    element_bits: usize,
    /// Bits of an element of D.
    bits_of_d: usize,
    /// Registers of D in each thread.
    d: usize,
    /// Columns of B (N), columns of A (K), and stored columns of A.
    n: usize,
    k: usize,
    kept: usize,
    is_sparse: bool,
}

impl WgmmaForm {
    /// The memory format of its kernel.
    ///
    /// # Panics
    /// If the form does not take the options.
    pub fn memory(&self, options: &WgmmaOptions) -> WgmmaMemory {
        options.check(self).unwrap_or_else(|why| panic!("{why}"));
        let element_bits = self.element_bits();
        let in_shared = || Tiles::new(0, (ROWS, self.kept()), element_bits, options.transposes_a);
        let a = (!options.a_in_registers).then(in_shared);
        let start_of_b = a.map_or(0, |a| a.bytes);
        let b = Tiles::new(start_of_b, (self.n, self.k), element_bits, options.transposes_b);
        WgmmaMemory {
            a,
            b,
            layout_a: self.layout_of_a(),
            layout_d: self.layout_of_d(),
            shared_bytes: (start_of_b + b.bytes).next_multiple_of(FILLED),
            element_bits,
            bits_of_d: self.bits_of_d(),
            d: self.d,
            n: self.n,
            k: self.k,
            kept: self.kept(),
            is_sparse: self.selectors > 0,
        }
    }
}

impl WgmmaMemory {
    /// Bytes of the kernel's input.
    pub const fn input_bytes(&self) -> usize {
        let of_metadata = if self.is_sparse { THREADS * REGISTER } else { 0 };
        self.metadata(0) + of_metadata
    }

    /// Bytes of the kernel's output.
    pub const fn output_bytes(&self) -> usize {
        THREADS * self.d * REGISTER
    }

    /// Bytes of shared memory at the start of the input: a multiple of 2048.
    pub const fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    /// The kernel's input with these matrices.
    ///
    /// ```
    /// use ptx_matrix::forms::{self, WgmmaMatrices, WgmmaOptions};
    /// let name = "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8";
    /// let form = forms::all_wgmma().find(|form| form.ptx == name).unwrap();
    /// let a = (0..64 * 32).map(|i| i % 61).collect();
    /// let (b, c) = ((0..32 * 8).collect(), vec![0; 64 * 8]);
    /// let matrices = WgmmaMatrices { a, b, c, metadata: Vec::new() };
    /// let input = form.memory(&WgmmaOptions::default()).encode(&matrices);
    /// assert_eq!(input[3 * 32 + 9], (3 * 32 + 9) % 61);
    /// // In each group of eight rows, the last four have their halves swapped.
    /// assert_eq!(input[4 * 32 + (9 ^ 16)], (4 * 32 + 9) % 61);
    /// ```
    ///
    /// # Panics
    /// If the number of elements of a matrix differs from the form's.
    pub fn encode(&self, WgmmaMatrices { a, b, c, metadata }: &WgmmaMatrices) -> Vec<u8> {
        let lengths = [a.len(), b.len(), c.len(), metadata.len()];
        let threads = if self.is_sparse { THREADS } else { 0 };
        assert_eq!(
            lengths,
            [ROWS * self.kept, self.n * self.k, ROWS * self.n, threads],
            "elements of A, B, D; metadata"
        );
        let mut input = self.encode_shared(self.a.is_some().then_some(a), b);
        input.resize(self.input_bytes(), 0);
        if self.a.is_none() {
            for (index, code) in a.iter().enumerate() {
                put(
                    &mut input,
                    self.a(index / self.kept, index % self.kept),
                    self.element_bits,
                    *code,
                );
            }
        }
        for (index, code) in c.iter().enumerate() {
            let bit = 8 * self.registers_of_d(0) + self.d(index / self.n, index % self.n);
            put(&mut input, bit, self.bits_of_d, *code);
        }
        for (thread, word) in metadata.iter().enumerate() {
            put(&mut input, 8 * self.metadata(thread), 32, *word);
        }
        input
    }

    /// The shared memory with these matrices, as row-major codes: A, unless it is in registers (for
    /// a sparse A, its stored elements), and B. The rest of the input are registers, which follow.
    ///
    /// # Panics
    /// If a matrix is missing or not expected, or its number of elements differs from the form's.
    pub fn encode_shared(&self, a: Option<&[u32]>, b: &[u32]) -> Vec<u8> {
        let lengths = (a.map(<[u32]>::len), b.len());
        assert_eq!(
            lengths,
            (self.a.map(|_| ROWS * self.kept), self.n * self.k),
            "elements of A and B in shared memory"
        );
        let mut shared = vec![0; self.shared_bytes];
        if let (Some(tiles), Some(a)) = (self.a, a) {
            for (index, code) in a.iter().enumerate() {
                put(
                    &mut shared,
                    tiles.bit(index / self.kept, index % self.kept),
                    self.element_bits,
                    *code,
                );
            }
        }
        for (index, code) in b.iter().enumerate() {
            put(&mut shared, self.b.bit(index % self.n, index / self.n), self.element_bits, *code);
        }
        shared
    }

    /// D from the kernel's output, as row-major codes.
    ///
    /// # Panics
    /// If the length of the output is wrong.
    pub fn decode(&self, output: &[u8]) -> Vec<u32> {
        assert_eq!(output.len(), self.output_bytes(), "bytes of the output");
        let element = |(row, col)| {
            let mut code = [0; 4];
            let bytes = self.bits_of_d / 8;
            code[..bytes].copy_from_slice(&output[self.d(row, col) / 8..][..bytes]);
            u32::from_le_bytes(code)
        };
        (0..ROWS).flat_map(|row| (0..self.n).map(move |col| (row, col))).map(element).collect()
    }

    /// The first bit of the element (row, k) of A in the input.
    fn a(&self, row: usize, k: usize) -> usize {
        match self.a {
            Some(tiles) => tiles.bit(row, k),
            None => {
                let (lane, index) = self.layout_a.owner(row % ROWS_OF_WARP, k);
                let thread = row / ROWS_OF_WARP * LANES + lane;
                8 * self.registers_of_a(thread) + index * self.element_bits
            }
        }
    }

    /// The first bit of the element (row, col) in D's registers.
    fn d(&self, row: usize, col: usize) -> usize {
        let (lane, index) = self.layout_d.owner(row % ROWS_OF_WARP, col % 8);
        let thread = row / ROWS_OF_WARP * LANES + lane;
        8 * REGISTER * self.d * thread
            + (col / 8 * self.layout_d.elements() + index) * self.bits_of_d
    }

    /// The first byte of a thread's metadata in the input.
    pub(crate) const fn metadata(&self, thread: usize) -> usize {
        let a = if self.a.is_none() { REGISTERS_OF_A } else { 0 };
        self.registers_of_a(0) + REGISTER * (THREADS * a + thread)
    }

    /// The first byte of a thread's registers of D.
    pub(crate) const fn registers_of_d(&self, thread: usize) -> usize {
        self.shared_bytes + REGISTER * self.d * thread
    }

    /// The first byte of a thread's registers of A, if A is in registers.
    pub(crate) const fn registers_of_a(&self, thread: usize) -> usize {
        self.registers_of_d(THREADS) + REGISTER * REGISTERS_OF_A * thread
    }

    /// The descriptors of A, if it is in shared memory, and of B, for shared memory at address 0.
    pub(crate) fn descriptors(&self) -> (Option<u64>, u64) {
        (self.a.map(|tiles| tiles.descriptor()), self.b.descriptor())
    }
}

/// Registers of A in each thread, if A is in registers.
const REGISTERS_OF_A: usize = 4;

/// The tiles of an operand in shared memory. K-major: a row of a tile is a row of A or a column of
/// B. Transposed: a row of a tile has the elements of one k.
#[derive(Debug, Clone, Copy)]
struct Tiles {
    start: usize,
    pattern: Pattern,
    transposed: bool,
    element_bits: usize,
    /// Bytes of a tile, and of all tiles.
    tile: usize,
    bytes: usize,
}

impl Tiles {
    /// Tiles at byte `start` for `lines` rows of A or columns of B.
    fn new(
        start: usize,
        (lines, k): (usize, usize),
        element_bits: usize,
        transposed: bool,
    ) -> Self {
        let (lines, along) = if transposed { (k, lines) } else { (lines, k) };
        let along = along * element_bits / 8;
        let pattern = match (transposed, along) {
            (false, 32) => Pattern::of::<Swizzle32>(),
            (false, _) => Pattern::of::<Swizzle64>(),
            (true, _) => Pattern::of::<Swizzle128>(),
        };
        let tile = lines * pattern.width;
        Tiles {
            start,
            pattern,
            transposed,
            element_bits,
            tile,
            bytes: along.div_ceil(pattern.width) * tile,
        }
    }

    /// The first bit of the element at `k` of a row of A or column of B.
    fn bit(&self, line: usize, k: usize) -> usize {
        let (line, along) = if self.transposed { (k, line) } else { (line, k) };
        let (byte, bit) = (along * self.element_bits / 8, along * self.element_bits % 8);
        let (tile, byte) = (byte / self.pattern.width, byte % self.pattern.width);
        8 * (self.start + tile * self.tile + (self.pattern.byte)(line as u32, byte as u32) as usize)
            + bit
    }

    fn descriptor(&self) -> u64 {
        (self.pattern.descriptor)(
            0,
            self.start as u32,
            if self.transposed { self.tile } else { 16 },
        )
    }
}

/// Writes a code of `bits` bits to zeroed memory, at this bit.
fn put(memory: &mut [u8], bit: usize, bits: usize, code: u32) {
    let bytes = (code << (bit % 8)).to_le_bytes();
    let to = &mut memory[bit / 8..][..bits.div_ceil(8)];
    to.iter_mut().zip(bytes).for_each(|(to, byte)| *to |= byte);
}

/// A swizzle that is selected at run time.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    /// Bytes of a row of a tile.
    width: usize,
    /// The place of a byte of a row.
    byte: fn(u32, u32) -> u32,
    descriptor: fn(u32, u32, usize) -> u64,
}

impl Pattern {
    fn of<S: PatternSwizzle>() -> Self {
        Pattern {
            width: width::<S>(),
            byte: |line, along| swizzled_in_line::<S>(line, along, width::<S>() as u32),
            descriptor: descriptor::<S>,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use std::vec;

    /// For each family, with the largest N: elements do not overlap, and fill A and D.
    #[test]
    fn every_element_has_a_place_of_its_own() {
        for form in isa::all_wgmma().filter(|form| form.n == 256) {
            let all =
                [false, true].into_iter().flat_map(|a_in_registers| form.options(a_in_registers));
            for options in all.filter(|options| !options.negates_a && !options.negates_b) {
                let memory = form.memory(&options);
                let a = (0..ROWS).flat_map(|row| (0..form.kept()).map(move |k| memory.a(row, k)));
                let b = (0..form.k).flat_map(|k| (0..form.n).map(move |col| memory.b.bit(col, k)));
                let d = (0..ROWS).flat_map(|row| (0..form.n).map(move |col| memory.d(row, col)));
                let places: Vec<usize> = a.chain(b).map(|bit| bit / form.element_bits()).collect();
                let mut is_taken = vec![false; places.iter().max().map_or(0, |last| last + 1)];
                for place in places {
                    let was_taken = core::mem::replace(&mut is_taken[place], true);
                    assert!(!was_taken, "{}: {options:?}", form.ptx);
                }
                let mut is_filled = vec![false; 8 * memory.output_bytes() / memory.bits_of_d];
                d.for_each(|bit| is_filled[bit / memory.bits_of_d] = true);
                assert!(is_filled.iter().all(|is| *is), "{}: {options:?}", form.ptx);
            }
        }
    }
}
