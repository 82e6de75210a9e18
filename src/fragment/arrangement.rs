//! The arrangements of the matrices of `ldmatrix` and `stmatrix` in registers and shared memory.

/// The arrangement of a matrix of `ldmatrix` or `stmatrix` in registers and in shared memory.
///
/// It maps each byte of a lane's register to a byte of a row in shared memory, and defines the
/// rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// 16-bit elements in 8x8 matrices (`.m8n8`).
    Rows,
    /// 16-bit elements in transposed 8x8 matrices (`.m8n8.trans`).
    Columns,
    /// Rows of 16 elements, unpacked to bytes (`.m8n16`).
    RowsOfBytes(Packed),
    /// Rows of 16 bytes, or of 16 elements unpacked to bytes; transposed (`.m16n16.trans`).
    ColumnsOfBytes(Packed),
    /// Rows of 16 bytes, of a transposed matrix of 16 rows (`.m16n8.trans`).
    StoredColumnsOfBytes,
}

/// The width of the elements in a 16-byte row of shared memory. The rest of the row is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// Bytes (`.b8`).
    Bytes,
    /// 6-bit elements, in the first 12 bytes of a row (`.b6x16_p32`).
    Sixes,
    /// 4-bit elements, in the first 8 bytes of a row (`.b4x16_p64`).
    Fours,
}

impl Arrangement {
    /// Rows of a matrix in shared memory. For each row, one lane gives the address.
    pub const fn rows(self) -> usize {
        if let Arrangement::ColumnsOfBytes(_) = self { 16 } else { 8 }
    }

    /// Registers of a matrix in each lane.
    pub const fn registers(self) -> usize {
        self.rows() / 8
    }

    /// The (row, byte of the row) in a matrix of byte `byte` of register `register` of `lane`,
    /// after unpacking.
    pub const fn position(self, lane: usize, register: usize, byte: usize) -> (usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        match self {
            Arrangement::Rows | Arrangement::RowsOfBytes(_) => (group, thread * 4 + byte),
            Arrangement::Columns => (thread * 2 + byte / 2, group * 2 + byte % 2),
            Arrangement::ColumnsOfBytes(_) => (thread * 4 + byte, group + 8 * register),
            Arrangement::StoredColumnsOfBytes => (thread * 2 + byte % 2, group + 8 * (byte / 2)),
        }
    }

    /// Unpacks a row as the instruction does: each packed element goes to the lower bits of a byte.
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
    fn lane_has_four_adjacent_elements_of_two_columns() {
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

    /// The transposed store takes the layout of a 16-row `mma` accumulator, narrowed to bytes.
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
    fn rows_unpack_from_lowest_bits() {
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
