//! `ldmatrix`, `stmatrix` and `movmatrix`, on all 32 lanes at once.

use crate::engine::{
    findings::Misuse,
    memory::race::Lanes,
    record::{Traffic, note_rows},
    warps::context::{fail_in_lane, with_block},
    wgmma,
};
use crate::fragment::{Arrangement, Registers, RowAddr};
use crate::lane::{AccessKind, PerLane, Site};

/// The rows of a matrix.
type Matrix = [[u8; 16]; 16];

/// The address of a row, or a misuse if it is not aligned.
fn aligned(row: RowAddr) -> Result<u32, Misuse> {
    let address = row.address();
    if address.is_multiple_of(RowAddr::BYTES) {
        Ok(address)
    } else {
        Err(Misuse::RowMisaligned { address })
    }
}

/// Checks the rows of a tile. `ldmatrix` reads the first `used` of them. The others must be valid
/// too: sm_75 requires it.
fn check_rows(site: Site, rows: &PerLane<RowAddr>, used: usize) {
    with_block(|block| {
        for (lane, row) in rows.array().iter().enumerate().take(used) {
            let by = || block.access_by(Lanes::together(lane), site);
            block.shared.check_row(by, row.address());
        }
    });
    for (lane, &row) in rows.array().iter().enumerate().skip(used) {
        let checked = aligned(row).and_then(|address| {
            with_block(|block| {
                block.shared.check(AccessKind::Read, address, RowAddr::BYTES as usize)
            })
        });
        checked.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
    }
}

/// Writes a matrix to each lane's registers from `first` on. A lane has `count` of `registers`.
fn to_registers(
    matrix: &Matrix,
    arrangement: Arrangement,
    first: usize,
    registers: &mut [u32],
    count: usize,
) {
    for (lane, registers) in registers.chunks_exact_mut(count).enumerate() {
        for register in 0..arrangement.registers() {
            registers[first + register] = u32::from_le_bytes(core::array::from_fn(|byte| {
                let (row, col) = arrangement.position(lane, register, byte);
                matrix[row][col]
            }));
        }
    }
}

/// The matrix of one register: each lane's `register`. A lane has `count` of `registers`.
fn from_registers(
    registers: &[u32],
    arrangement: Arrangement,
    register: usize,
    count: usize,
) -> Matrix {
    let mut matrix = Matrix::default();
    for (lane, registers) in registers.chunks_exact(count).enumerate() {
        for (byte, value) in registers[register].to_le_bytes().into_iter().enumerate() {
            let (row, col) = arrangement.position(lane, 0, byte);
            matrix[row][col] = value;
        }
    }
    matrix
}

/// `ldmatrix` from a tile: the addresses must be valid in all lanes, also for rows that the form
/// does not read.
pub(crate) fn load_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    arrangement: Arrangement,
) -> PerLane<R> {
    let registers = load_read_matrices::<R>(site, form, rows, arrangement);
    if !std::thread::panicking() {
        check_rows(site, rows, rows_read(R::COUNT, arrangement));
    }
    registers
}

/// Number of rows that a form reads for `count` registers.
fn rows_read(count: usize, arrangement: Arrangement) -> usize {
    count / arrangement.registers() * arrangement.rows()
}

/// `ldmatrix` from raw addresses. Unused addresses may have any value, as on sm_80 and later.
pub(crate) fn load_read_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    arrangement: Arrangement,
) -> PerLane<R> {
    let mut registers = PerLane::splat(R::zeroed());
    if !std::thread::panicking() {
        let words = bytemuck::cast_slice_mut(registers.array_mut());
        load_words(site, form, rows, arrangement, words, R::COUNT);
    }
    registers
}

/// The same for any number of registers, so that it is compiled once. A lane has `count` of
/// `registers`.
fn load_words(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    arrangement: Arrangement,
    registers: &mut [u32],
    count: usize,
) {
    note_rows(site, form, Traffic::SharedRead, &rows.array()[..rows_read(count, arrangement)]);
    for (index, first) in (0..count).step_by(arrangement.registers()).enumerate() {
        let mut matrix = Matrix::default();
        for (line, row) in matrix.iter_mut().take(arrangement.rows()).enumerate() {
            let lane = index * arrangement.rows() + line;
            let loaded = aligned(rows.array()[lane]).and_then(|address| {
                with_block(|block| {
                    block.shared.load(block.access_by(Lanes::together(lane), site), address, row)
                })
            });
            loaded.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
            *row = arrangement.unpacked(*row);
        }
        to_registers(&matrix, arrangement, first, registers, count);
    }
}

/// `stmatrix`.
pub(crate) fn store_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    registers: &PerLane<R>,
    arrangement: Arrangement,
) {
    if !std::thread::panicking() {
        let words = bytemuck::cast_slice(registers.array());
        store_words(site, form, rows, arrangement, words, R::COUNT);
    }
}

/// The same for any number of registers, so that it is compiled once. A lane has `count` of
/// `registers`.
fn store_words(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    arrangement: Arrangement,
    registers: &[u32],
    count: usize,
) {
    // A matrix is one register, and its elements are stored as they are.
    assert!(
        matches!(
            arrangement,
            Arrangement::Rows | Arrangement::Columns | Arrangement::StoredColumnsOfBytes
        ),
        "`store_matrices` does not know {arrangement:?}, of `{form}`"
    );
    note_rows(site, form, Traffic::SharedWrite, &rows.array()[..count * arrangement.rows()]);
    with_block(|block| wgmma::check_stored(block, site, bytemuck::cast_slice(registers)));
    for index in 0..count {
        let matrix = from_registers(registers, arrangement, index, count);
        for (line, row) in matrix.iter().take(arrangement.rows()).enumerate() {
            let lane = index * arrangement.rows() + line;
            let stored = aligned(rows.array()[lane]).and_then(|address| {
                with_block(|block| {
                    block.shared.note_written_row(address, site.location);
                    block.shared.store(block.access_by(Lanes::together(lane), site), address, row)
                })
            });
            stored.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
        }
    }
}

/// `movmatrix`.
pub(crate) fn transpose_matrix(registers: &PerLane<u32>) -> PerLane<u32> {
    let matrix = from_registers(registers.array(), Arrangement::Rows, 0, 1);
    let mut transposed = PerLane::splat(0);
    to_registers(&matrix, Arrangement::Columns, 0, transposed.array_mut(), 1);
    transposed
}
