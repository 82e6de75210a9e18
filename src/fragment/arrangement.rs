//! How the matrices of `ldmatrix` and `stmatrix` lie in registers and in shared memory.

/// Which byte of a lane's register is which byte of a row in shared memory, and what a row is
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// `.m8n8` of 16 bits.
    Rows,
    /// `.m8n8.trans` of 16 bits.
    Columns,
    /// `.m8n16`: rows of 16 elements, unpacked to bytes.
    RowsOfBytes(Packed),
    /// `.m16n16.trans`: rows of 16 bytes, or of 16 elements that are unpacked to bytes.
    ColumnsOfBytes(Packed),
    /// `.m16n8.trans`: rows of 16 bytes, of a matrix of 16 rows that lies transposed.
    StoredColumnsOfBytes,
}

/// How wide the elements of a row of 16 are in shared memory; the rest of its 16 bytes counts for
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// `.b8`.
    Bytes,
    /// `.b6x16_p32`: the 12 first bytes of a row.
    Sixes,
    /// `.b4x16_p64`: the 8 first bytes of a row.
    Fours,
}

impl Arrangement {
    /// Rows of a matrix in shared memory: as many lanes give an address for it.
    pub const fn rows(self) -> usize {
        if let Arrangement::ColumnsOfBytes(_) = self { 16 } else { 8 }
    }

    /// Registers of a matrix in each lane.
    pub const fn registers(self) -> usize {
        self.rows() / 8
    }

    /// Of one matrix: the row, and the byte of it (after it is unpacked), that byte `byte` of
    /// register `register` of `lane` is.
    pub const fn position(self, lane: usize, register: usize, byte: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        match self {
            Arrangement::Rows | Arrangement::RowsOfBytes(_) => (group, thread * 4 + byte),
            Arrangement::Columns => (thread * 2 + byte / 2, group * 2 + byte % 2),
            Arrangement::ColumnsOfBytes(_) => (thread * 4 + byte, group + 8 * register),
            Arrangement::StoredColumnsOfBytes => (thread * 2 + byte % 2, group + 8 * (byte / 2)),
        }
    }

    /// The bytes of a row as the instruction takes them from shared memory: packed elements come
    /// into a byte each, into its lower bits.
    pub fn unpacked(self, row: [u8; 16]) -> [u8; 16] {
        let packed = match self {
            Arrangement::RowsOfBytes(packed) | Arrangement::ColumnsOfBytes(packed) => packed,
            _ => Packed::Bytes,
        };
        let bits = match packed {
            Packed::Bytes => return row,
            Packed::Sixes => 6,
            Packed::Fours => 4,
        };
        let row = u128::from_le_bytes(row);
        core::array::from_fn(|element| (row >> (element * bits)) as u8 & ((1 << bits) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Arrangement; 9] = [
        Arrangement::Rows,
        Arrangement::Columns,
        Arrangement::RowsOfBytes(Packed::Bytes),
        Arrangement::RowsOfBytes(Packed::Sixes),
        Arrangement::RowsOfBytes(Packed::Fours),
        Arrangement::ColumnsOfBytes(Packed::Bytes),
        Arrangement::ColumnsOfBytes(Packed::Sixes),
        Arrangement::ColumnsOfBytes(Packed::Fours),
        Arrangement::StoredColumnsOfBytes,
    ];

    #[test]
    fn every_byte_of_a_matrix_is_in_one_register() {
        for arrangement in ALL {
            let mut seen = [[false; 16]; 16];
            for (lane, register, byte) in (0..32).flat_map(|l| {
                (0..arrangement.registers()).flat_map(move |r| (0..4).map(move |b| (l, r, b)))
            }) {
                let (row, col) = arrangement.position(lane, register, byte);
                assert!(
                    row < arrangement.rows() && !seen[row][col],
                    "{arrangement:?}: ({row}, {col})"
                );
                seen[row][col] = true;
            }
            assert!(
                seen[..arrangement.rows()].iter().flatten().all(|&seen| seen),
                "{arrangement:?}"
            );
        }
    }

    /// "Each thread in a warp loads 4 consecutive columns across 2 rows", of the transposed matrix
    /// (PTX ISA 9.7.14.5.15).
    #[test]
    fn a_lane_has_four_neighbours_of_two_columns() {
        for lane in 0..32 {
            for register in 0..2 {
                for byte in 0..4 {
                    let expected = (4 * (lane % 4) + byte, lane / 4 + 8 * register);
                    assert_eq!(
                        Arrangement::ColumnsOfBytes(Packed::Bytes).position(lane, register, byte),
                        expected
                    );
                }
            }
        }
    }

    /// What `mma` leaves in an accumulator of 16 rows, narrowed to bytes, is what is stored
    /// transposed.
    #[test]
    fn stored_columns_are_an_accumulator() {
        let layout = crate::fragment::Accumulator::<crate::fragment::M16N8K32, f32>::LAYOUT;
        for lane in 0..32 {
            for byte in 0..4 {
                let (row, col) = layout.position(lane, byte);
                assert_eq!(Arrangement::StoredColumnsOfBytes.position(lane, 0, byte), (col, row));
            }
        }
    }

    #[test]
    fn rows_are_unpacked_from_their_lowest_bits_on() {
        let mut row = [0xff; 16];
        row[..12].copy_from_slice(&[
            0x81, 0x30, 0x10, 0x05, 0x72, 0x20, 0x89, 0xb3, 0x30, 0xcd, 0xf4, 0x41,
        ]);
        let sixes = Arrangement::RowsOfBytes(Packed::Sixes).unpacked(row);
        let expected: [u8; 16] = core::array::from_fn(|i| {
            let bit = |of: usize| row[of / 8] >> (of % 8) & 1;
            (0..6).map(|b| bit(6 * i + b) << b).sum()
        });
        assert_eq!(sixes, expected);
        let fours = Arrangement::ColumnsOfBytes(Packed::Fours).unpacked(row);
        assert_eq!(fours, core::array::from_fn(|i| row[i / 2] >> (4 * (i % 2)) & 15));
        assert_eq!(Arrangement::ColumnsOfBytes(Packed::Bytes).unpacked(row), row);
    }
}
