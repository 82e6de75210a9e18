//! Where the kernel of a `wgmma` has its matrices: in memory, in shared memory, and in registers.

use crate::fragment::Layout;
use crate::isa::{FILLED, WgmmaForm, WgmmaOptions};
use crate::lane::LANES;
use crate::memory::{Swizzle32, Swizzle64, Swizzle128, swizzled_in_line};
use crate::mma::wgmma::{PatternSwizzle, descriptor, width};
use std::vec;
use std::vec::Vec;

/// Threads of a warpgroup.
const THREADS: usize = 128;

/// Rows of A and D, of all four warps and of one.
const ROWS: usize = 64;
const ROWS_OF_WARP: usize = 16;

/// Bytes of a register.
const REGISTER: usize = 4;

/// The matrices of a `wgmma`, row-major, as codes: an element's bits are the lowest ones of a code,
/// and those above are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WgmmaMatrices {
    /// 64 rows of A; of a sparse A, what is kept of them.
    pub a: Vec<u32>,
    /// B, of K rows.
    pub b: Vec<u32>,
    /// 64 rows of D, as it was.
    pub c: Vec<u32>,
    /// The metadata of a sparse A, a register of each of the 128 threads; of a dense A nothing.
    pub metadata: Vec<u32>,
}

/// The memory that the [`kernel`](WgmmaForm::kernel) of a form takes, and that it leaves.
///
/// What it takes is, one behind the other: shared memory, with A, if that is not in registers, and
/// B; then registers, those of a thread behind those of the thread before: of D, of an A in
/// registers, and of the metadata of a sparse A. What it leaves is the registers of D.
///
/// In shared memory a matrix lies as in a tile that `wgmma` takes: with the swizzle of 32 bytes,
/// or, as the right factor of a sparse A, of 64; transposed, in tiles beside each other, of lines
/// of 64 elements, with that of 128.
#[derive(Debug, Clone, Copy)]
pub struct WgmmaMemory {
    /// A, if it is in shared memory.
    a: Option<Tiles>,
    b: Tiles,
    /// Of a warp's 16 rows of A, and of 8 columns of D.
    layout_a: Layout,
    layout_d: Layout,
    shared_bytes: usize,
    element_bits: usize,
    /// Bits of an element of D.
    bits_of_d: usize,
    /// Registers of D in a thread.
    d: usize,
    /// Columns of B and of A, and those of A that are kept.
    n: usize,
    k: usize,
    kept: usize,
    is_sparse: bool,
}

impl WgmmaForm {
    /// Where its kernel has its matrices.
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
    /// Bytes that the kernel takes.
    pub const fn input_bytes(&self) -> usize {
        let of_metadata = if self.is_sparse { THREADS * REGISTER } else { 0 };
        self.metadata(0) + of_metadata
    }

    /// Bytes that it leaves.
    pub const fn output_bytes(&self) -> usize {
        THREADS * self.d * REGISTER
    }

    /// Bytes of shared memory, with which what it takes begins: a multiple of 2048.
    pub const fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    /// What the kernel takes, with these matrices in it.
    ///
    /// ```
    /// use ptx_matrix::forms::{self, WgmmaMatrices, WgmmaOptions};
    /// let form = forms::all_wgmma().find(|form| form.ptx == "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8").unwrap();
    /// let (a, b, c) = ((0..64 * 32).map(|i| i % 61).collect(), (0..32 * 8).collect(), vec![0; 64 * 8]);
    /// let matrices = WgmmaMatrices { a, b, c, metadata: Vec::new() };
    /// let input = form.memory(&WgmmaOptions::default()).encode(&matrices);
    /// assert_eq!(input[3 * 32 + 9], (3 * 32 + 9) % 61);
    /// assert_eq!(input[4 * 32 + (9 ^ 16)], (4 * 32 + 9) % 61); // of each eight rows, the last four have their halves swapped
    /// ```
    ///
    /// # Panics
    /// If the matrices have not as many elements as the form's.
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

    /// Shared memory, with these matrices in it, as codes, row-major: A, if that is there, or what
    /// is kept of it, and B. What else the kernel takes are registers, which follow.
    ///
    /// # Panics
    /// If the matrices are not those that are there, or have not as many elements as the form's.
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

    /// D, of what the kernel leaves: codes, row-major.
    ///
    /// # Panics
    /// If it does not leave so many bytes.
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

    /// The bit of what the kernel takes with which the element at (row, k) of A begins.
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

    /// The bit of D's registers with which the element at (row, col) begins.
    fn d(&self, row: usize, col: usize) -> usize {
        let (lane, index) = self.layout_d.owner(row % ROWS_OF_WARP, col % 8);
        let thread = row / ROWS_OF_WARP * LANES + lane;
        8 * REGISTER * self.d * thread
            + (col / 8 * self.layout_d.elements() + index) * self.bits_of_d
    }

    /// The byte of what the kernel takes with which a thread's metadata begins.
    pub(crate) const fn metadata(&self, thread: usize) -> usize {
        let a = if self.a.is_none() { REGISTERS_OF_A } else { 0 };
        self.registers_of_a(0) + REGISTER * (THREADS * a + thread)
    }

    /// The byte with which a thread's registers of D begin.
    pub(crate) const fn registers_of_d(&self, thread: usize) -> usize {
        self.shared_bytes + REGISTER * self.d * thread
    }

    /// The same of an A in registers.
    pub(crate) const fn registers_of_a(&self, thread: usize) -> usize {
        self.registers_of_d(THREADS) + REGISTER * REGISTERS_OF_A * thread
    }

    /// The descriptor of A, if it is in shared memory, and of B, where that starts at 0.
    pub(crate) fn descriptors(&self) -> (Option<u64>, u64) {
        (self.a.map(|tiles| tiles.descriptor()), self.b.descriptor())
    }
}

/// Registers of an A in registers.
const REGISTERS_OF_A: usize = 4;

/// Tiles with a factor: their lines are rows of A, or columns of B, along which K goes; transposed,
/// they are what has the same K.
#[derive(Debug, Clone, Copy)]
struct Tiles {
    start: usize,
    pattern: Pattern,
    transposed: bool,
    element_bits: usize,
    /// Bytes of a tile, and of all.
    tile: usize,
    bytes: usize,
}

impl Tiles {
    /// Of so many rows of A, or columns of B, from `start` on.
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

    /// Where the element at `k` of a row of A, or column of B, begins.
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

/// Puts a code of so many bits where memory is zero, from this bit on.
fn put(memory: &mut [u8], bit: usize, bits: usize, code: u32) {
    let bytes = (code << (bit % 8)).to_le_bytes();
    let to = &mut memory[bit / 8..][..bits.div_ceil(8)];
    to.iter_mut().zip(bytes).for_each(|(to, byte)| *to |= byte);
}

/// A swizzle, known only when the program runs.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    /// Bytes of a line.
    width: usize,
    /// The place of a byte of a line.
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
    use std::collections::HashSet;

    /// Of each family, with the most columns: elements do not overlap, and fill A and D.
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
                let factors: Vec<usize> = a.chain(b).collect();
                let count = factors.len();
                let (mut seen, places) =
                    (HashSet::new(), factors.into_iter().map(|bit| bit / form.element_bits()));
                assert_eq!(
                    places.filter(|place| seen.insert(*place)).count(),
                    count,
                    "{}: {options:?}",
                    form.ptx
                );
                let places: HashSet<usize> = d.map(|bit| bit / memory.bits_of_d).collect();
                let all = 0..8 * memory.output_bytes() / memory.bits_of_d;
                assert_eq!(places, all.collect(), "{}: {options:?}", form.ptx);
            }
        }
    }
}
