//! Multiplication with a sparse A, from the definition in PTX ISA 9.7.14.6.1, and the lanes in
//! which the hardware looks for the metadata.

use super::{Dot, columns, picked};

/// The sparsity pattern of a matrix, by the width of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// tf32: one of two elements.
    OneOfTwo,
    /// 16 bits: two of four elements.
    TwoOfFour,
    /// 8 bits: two of four elements, with the metadata in other places.
    TwoOfFourBytes,
    /// 4 bits: two of four pairs.
    TwoPairsOfFour,
}

use Granularity::*;

/// Codes of a chunk that name its kept parts in order.
const IN_ORDER: [u8; 6] = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
/// The same codes, also with the parts swapped.
const IN_ANY_ORDER: [u8; 12] = [
    0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110, 0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011,
];

impl Granularity {
    /// The pattern for elements of `bits` bits.
    pub fn of(bits: usize) -> Self {
        match bits {
            32 => OneOfTwo,
            16 => TwoOfFour,
            8 => TwoOfFourBytes,
            4 => TwoPairsOfFour,
            _ => panic!(
                "the reference knows no sparse matrix of elements of {bits} bits: extend \
                 `Granularity::of` (tools/reference/src/sparse.rs)"
            ),
        }
    }

    /// The valid codes.
    pub fn codes(self, ordered: bool) -> &'static [u8] {
        match self {
            OneOfTwo => &[0b0100, 0b1110],
            TwoOfFour | TwoOfFourBytes | TwoPairsOfFour if ordered => &IN_ORDER,
            TwoOfFour | TwoOfFourBytes | TwoPairsOfFour => &IN_ANY_ORDER,
        }
    }

    /// Columns of a chunk.
    fn columns(self) -> usize {
        match self {
            OneOfTwo => 2,
            TwoOfFour | TwoOfFourBytes => 4,
            TwoPairsOfFour => 8,
        }
    }

    /// The code of a chunk of A. A row has 16 chunks in a register of each lane.
    fn code(self, words: &[u32], row: usize, chunk: usize) -> u8 {
        let group = row % 8;
        let (thread, nibble) = match self {
            // A thread has four chunks of the row, and four of the row eight below.
            OneOfTwo | TwoOfFour => (chunk / 4, row / 8 * 4 + chunk % 4),
            // A thread has eight chunks of one row. The second thread has the row eight below. The
            // other threads have the chunks from 8 on.
            TwoOfFourBytes | TwoPairsOfFour => (chunk / 8 * 2 + row / 8, chunk % 8),
        };
        (words[group * 4 + thread] >> (nibble * 4)) as u8 & 0xf
    }

    /// The rows of B for the kept elements of a row of A with `k` columns. The metadata are 32
    /// words; the selector chooses among them.
    pub fn rows_of_b(self, (words, selector): (&[u32], usize), row: usize, k: usize) -> Vec<usize> {
        let chunks = k / self.columns();
        assert!(
            k.is_multiple_of(self.columns()) && row < 16 && (selector + 1) * chunks <= 16,
            "the reference does not know where the metadata of row {row} is, of K {k}, selector \
             {selector}, {self:?}: extend `Granularity::code` (tools/reference/src/sparse.rs)"
        );
        let of_chunk = |chunk: usize| {
            let code = self.code(words, row, selector * chunks + chunk);
            self.kept(code).into_iter().map(move |col| chunk * self.columns() + col)
        };
        (0..chunks).flat_map(of_chunk).collect()
    }

    /// The columns of the kept elements in a chunk.
    fn kept(self, code: u8) -> Vec<usize> {
        let (first, second) = (usize::from(code & 3), usize::from(code >> 2));
        match self {
            OneOfTwo => vec![first / 2],
            TwoOfFour | TwoOfFourBytes => vec![first, second],
            TwoPairsOfFour => vec![2 * first, 2 * first + 1, 2 * second, 2 * second + 1],
        }
    }
}

/// D = A x B + C for row-major matrices; A has its kept elements only. `dot(row of A, those
/// elements of the column of B, (row, column))` computes an element. The metadata are 32 words; the
/// selector chooses among them.
pub fn multiply_sparse<A, B: Copy, D>(
    (m, n, k): (usize, usize, usize),
    (a, b): (&[A], &[B]),
    granularity: Granularity,
    metadata: (&[u32], usize),
    dot: Dot<'_, A, B, (usize, usize), D>,
) -> Vec<D> {
    let columns = columns(b, n);
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        let rows_of_b = granularity.rows_of_b(metadata, row, k);
        assert_eq!(
            rows_of_b.len(),
            k / 2,
            "{granularity:?} keeps another part of a row of {k} than half: extend \
             `multiply_sparse` (tools/reference/src/sparse.rs), and what draws A"
        );
        for (col, column) in columns.iter().enumerate() {
            let of_b = picked(column, &rows_of_b);
            d.push(dot(&a[row * k / 2..(row + 1) * k / 2], &of_b, (row, col)));
        }
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;

    #[test]
    #[should_panic(expected = "no sparse matrix of elements of 6 bits: extend `Granularity::of`")]
    fn unknown_width_panics() {
        Granularity::of(6);
    }

    #[test]
    #[should_panic(expected = "of K 128, selector 0, TwoOfFour: extend `Granularity::code`")]
    fn more_chunks_than_there_is_metadata_for_panic() {
        TwoOfFour.rows_of_b((&[0; 32], 0), 0, 128);
    }

    #[test]
    #[should_panic(expected = "of K 32, selector 2, TwoOfFour: extend `Granularity::code`")]
    fn unknown_selector_panics() {
        TwoOfFour.rows_of_b((&[0; 32], 2), 0, 32);
    }

    /// Where the metadata of every form is, is known.
    #[test]
    fn metadata_of_all_forms_are_known() {
        let bits = |name: &str| {
            let a = name.rsplit('.').find(|part| !matches!(*part, "f32" | "ue8m0" | "ue4m3"));
            match a.expect("an element of B") {
                "tf32" => 32,
                "f16" | "bf16" => 16,
                "s4" | "u4" => 4,
                "e2m1" if !name.contains("f8f6f4") => 4,
                _ => 8,
            }
        };
        let mma = forms::all().filter(|form| form.selectors > 0).map(|form| {
            let name = form.ptx.strip_suffix(".s32").unwrap_or(form.ptx);
            let shape = name.split('.').find(|part| part.starts_with("m16n8k")).expect("a shape");
            (form.selectors, shape["m16n8k".len()..].parse().expect("K"), bits(name))
        });
        let wgmma = forms::all_wgmma().filter(|form| form.selectors > 0);
        let wgmma = wgmma.map(|form| (form.selectors, form.k, form.element_bits()));
        let mut seen = 0;
        for (selectors, k, bits) in mma.chain(wgmma) {
            let granularity = Granularity::of(bits);
            let metadata = (&[0x4444_4444; 32][..], selectors - 1);
            assert_eq!(granularity.rows_of_b(metadata, 15, k).len(), k / 2);
            seen += 1;
        }
        assert!(seen > 100);
    }

    #[test]
    fn metadata_keeps_half_of_a_row() {
        for (bits, k) in [(32, 16), (16, 32), (8, 64), (4, 128)] {
            let rows = Granularity::of(bits).rows_of_b((&[0x4444_4444; 32], 0), 3, k);
            assert_eq!(rows.len(), k / 2);
        }
    }
}
