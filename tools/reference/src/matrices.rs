//! `ldmatrix` and `stmatrix`, from the text of the PTX ISA: bit by bit.

/// What an instruction's name says of its matrices.
#[derive(Debug, Clone, Copy)]
pub struct Matrices {
    /// Rows of each in shared memory, and as many addresses.
    rows: usize,
    /// Bits of an element in a register, and in shared memory.
    bits: (usize, usize),
    /// Whether a register holds neighbours of a column.
    trans: bool,
    /// Whether it holds two of one half of a row's columns and two of the other.
    halves: bool,
}

impl Matrices {
    pub fn of(form: &str) -> Self {
        let bits = match form {
            _ if form.ends_with(".b16") => (16, 16),
            _ if form.ends_with(".b6x16_p32") => (8, 6),
            _ if form.ends_with(".b4x16_p64") => (8, 4),
            _ => (8, 8),
        };
        let rows = if form.contains(".m16n16.") { 16 } else { 8 };
        Matrices { rows, bits, trans: form.contains(".trans"), halves: form.contains(".m16n8.") }
    }

    /// The (row, column) that element `slot` of a register is, of those of one matrix: "a group of
    /// four threads loads an entire row" (transposed, a column), "each thread 4 consecutive
    /// columns across 2 rows", the rows eight apart.
    fn place(&self, lane: usize, register: usize, slot: usize) -> (usize, usize) {
        let per_register = 32 / self.bits.0;
        let (outer, inner) = match self.halves {
            true => (lane / 4 + 8 * (slot / 2), lane % 4 * 2 + slot % 2),
            false => (lane / 4 + 8 * register, lane % 4 * per_register + slot),
        };
        if self.trans { (inner, outer) } else { (outer, inner) }
    }

    /// Calls `each(index of the register, first bit in it, row's slot, column)` for every element.
    fn for_each(
        &self,
        slots: &[u32],
        registers: usize,
        mut each: impl FnMut(usize, usize, usize, usize),
    ) {
        let per_matrix = self.rows / 8;
        for (lane, register) in
            (0..32).flat_map(|lane| (0..registers).map(move |register| (lane, register)))
        {
            for slot in 0..32 / self.bits.0 {
                let (row, col) = self.place(lane, register % per_matrix, slot);
                let row = slots[register / per_matrix * self.rows + row] as usize;
                each(lane * registers + register, slot * self.bits.0, row, col);
            }
        }
    }

    /// The registers of lane after lane, from rows of 16 bytes ("slots"), of which each lane names
    /// one.
    pub fn loaded(&self, source: &[u8], slots: &[u32], registers: usize) -> Vec<u32> {
        let mut loaded = vec![0; 32 * registers];
        self.for_each(slots, registers, |register, shift, row, col| {
            for bit in 0..self.bits.1 {
                let from = col * self.bits.1 + bit;
                let value = u32::from(source[row * 16 + from / 8] >> (from % 8) & 1);
                loaded[register] |= value << (shift + bit);
            }
        });
        loaded
    }

    /// What the registers of lane after lane make of so many bytes of 0xff.
    pub fn stored(&self, registers: &[u32], slots: &[u32], count: usize, bytes: usize) -> Vec<u8> {
        let mut stored = vec![0xff; bytes];
        self.for_each(slots, count, |register, shift, row, col| {
            for byte in 0..self.bits.0 / 8 {
                stored[row * 16 + col * self.bits.0 / 8 + byte] =
                    (registers[register] >> (shift + 8 * byte)) as u8;
            }
        });
        stored
    }
}
