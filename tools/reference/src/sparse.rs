//! Products with a sparse A, from the definition: PTX ISA 9.7.14.6.1, and where the hardware looks
//! for the metadata.

/// How a matrix is sparse, by the width of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granularity {
    /// tf32: of two elements one.
    OneOfTwo,
    /// 16 bits: of four elements two.
    TwoOfFour,
    /// 8 bits: likewise, with the metadata elsewhere.
    TwoOfFourBytes,
    /// 4 bits: of four pairs two.
    TwoPairsOfFour,
}

use Granularity::*;

/// Codes of a chunk whose parts are named in order.
const IN_ORDER: [u8; 6] = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];
/// Those, and the same with the parts the other way round.
const IN_ANY_ORDER: [u8; 12] = [
    0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110, 0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011,
];

impl Granularity {
    /// That of elements of so many bits.
    pub fn of(bits: usize) -> Self {
        match bits {
            32 => OneOfTwo,
            16 => TwoOfFour,
            8 => TwoOfFourBytes,
            4 => TwoPairsOfFour,
            _ => unreachable!("no element of {bits} bits is of a sparse matrix"),
        }
    }

    /// The codes that there are.
    pub fn codes(self, ordered: bool) -> &'static [u8] {
        match self {
            OneOfTwo => &[0b0100, 0b1110],
            _ if ordered => &IN_ORDER,
            _ => &IN_ANY_ORDER,
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

    /// The code of a chunk of A, of the 16 that a row has in a register of each lane.
    fn code(self, words: &[u32], row: usize, chunk: usize) -> u8 {
        let group = row % 8;
        let (thread, nibble) = match self {
            // Four chunks in a thread, of the row, and of that eight below.
            OneOfTwo | TwoOfFour => (chunk / 4, row / 8 * 4 + chunk % 4),
            // Eight chunks of one row: the second thread has the row eight below, the others the
            // chunks from 8 on.
            TwoOfFourBytes | TwoPairsOfFour => (chunk / 8 * 2 + row / 8, chunk % 8),
        };
        (words[group * 4 + thread] >> (nibble * 4)) as u8 & 0xf
    }

    /// The rows of B that the elements of a row of A are multiplied with that are kept of `k`: by
    /// the metadata, 32 words, among which the selector chooses.
    pub fn rows_of_b(self, (words, selector): (&[u32], usize), row: usize, k: usize) -> Vec<usize> {
        let chunks = k / self.columns();
        let of_chunk = |chunk: usize| {
            let code = self.code(words, row, selector * chunks + chunk);
            self.kept(code).into_iter().map(move |col| chunk * self.columns() + col)
        };
        (0..chunks).flat_map(of_chunk).collect()
    }

    /// The columns of a chunk that its kept elements are of.
    fn kept(self, code: u8) -> Vec<usize> {
        let (first, second) = (usize::from(code & 3), usize::from(code >> 2));
        match self {
            OneOfTwo => vec![first / 2],
            TwoOfFour | TwoOfFourBytes => vec![first, second],
            TwoPairsOfFour => vec![2 * first, 2 * first + 1, 2 * second, 2 * second + 1],
        }
    }
}

/// D = A x B + C for row-major matrices, of which A has what is kept: each element by `dot(row of
/// A, those elements of the column of B, (row, column))`. The metadata are 32 words, among which
/// the selector chooses.
pub fn multiply_sparse<A, B: Copy, D>(
    (m, n, k): (usize, usize, usize),
    (a, b): (&[A], &[B]),
    granularity: Granularity,
    metadata: (&[u32], usize),
    dot: impl Fn(&[A], &[B], (usize, usize)) -> D,
) -> Vec<D> {
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        let rows_of_b = granularity.rows_of_b(metadata, row, k);
        for col in 0..n {
            let of_b: Vec<B> = rows_of_b.iter().map(|row| b[row * n + col]).collect();
            d.push(dot(&a[row * k / 2..(row + 1) * k / 2], &of_b, (row, col)));
        }
    }
    d
}
