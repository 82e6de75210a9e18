//! `ldmatrix`, `stmatrix` and `movmatrix`, on all 32 lanes at once.

use crate::engine::{
    findings::Misuse,
    memory::race::Lanes,
    record::{Traffic, note_rows},
    warps::context::{fail_in_lane, with_block},
    wgmma,
};
use crate::fragment::{Arrangement, Registers, RowAddr};
use crate::lane::{LANES, PerLane, Site};

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

/// Checks the rows of lanes that an instruction with fewer than four matrices does not use. Every
/// `RowAddr` must be valid, and sm_75 requires it here.
fn check_spare_rows(site: Site, rows: &PerLane<RowAddr>, used: usize) {
    for (lane, &row) in rows.array().iter().enumerate().skip(used) {
        let checked = aligned(row).and_then(|address| {
            with_block(|block| block.shared.check("read", address, RowAddr::BYTES as usize))
        });
        checked.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
    }
}

/// Writes a matrix to registers, from `first` on.
fn to_registers<R: Registers<Register = u32>>(
    matrix: &Matrix,
    arrangement: Arrangement,
    first: usize,
    registers: &mut [R; LANES],
) {
    for (lane, registers) in registers.iter_mut().enumerate() {
        for register in 0..arrangement.registers() {
            registers.as_mut()[first + register] =
                u32::from_le_bytes(core::array::from_fn(|byte| {
                    let (row, col) = arrangement.position(lane, register, byte);
                    matrix[row][col]
                }));
        }
    }
}

/// The matrix in the registers from `first` on.
fn from_registers<R: Registers<Register = u32>>(
    registers: &[R; LANES],
    arrangement: Arrangement,
    first: usize,
) -> Matrix {
    let mut matrix = Matrix::default();
    for (lane, registers) in registers.iter().enumerate() {
        for register in 0..arrangement.registers() {
            for (byte, value) in
                registers.as_ref()[first + register].to_le_bytes().into_iter().enumerate()
            {
                let (row, col) = arrangement.position(lane, register, byte);
                matrix[row][col] = value;
            }
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
        let used = rows_read::<R>(arrangement);
        with_block(|block| {
            for (lane, row) in rows.array().iter().enumerate().take(used) {
                let by = || block.access_by(Lanes::together(lane), site);
                block.shared.check_row(by, row.address());
            }
        });
        check_spare_rows(site, rows, used);
    }
    registers
}

/// Number of rows that a form reads for these registers.
fn rows_read<R: Registers>(arrangement: Arrangement) -> usize {
    R::COUNT / arrangement.registers() * arrangement.rows()
}

/// `ldmatrix` from raw addresses. Unused addresses may have any value, as on sm_80 and later.
pub(crate) fn load_read_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    arrangement: Arrangement,
) -> PerLane<R> {
    if std::thread::panicking() {
        return PerLane::splat(R::zeroed());
    }
    let used = rows_read::<R>(arrangement);
    note_rows(site, form, Traffic::SharedRead, &rows.array()[..used]);
    let mut registers = [R::zeroed(); LANES];
    for (index, first) in (0..R::COUNT).step_by(arrangement.registers()).enumerate() {
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
        to_registers(&matrix, arrangement, first, &mut registers);
    }
    PerLane::from_array(registers)
}

pub(crate) fn store_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    registers: &PerLane<R>,
    arrangement: Arrangement,
) {
    if std::thread::panicking() {
        return;
    }
    // A matrix is one register, and its elements are stored as they are.
    assert!(
        matches!(
            arrangement,
            Arrangement::Rows | Arrangement::Columns | Arrangement::StoredColumnsOfBytes
        ),
        "`store_matrices` does not know {arrangement:?}, of `{form}`"
    );
    note_rows(site, form, Traffic::SharedWrite, &rows.array()[..R::COUNT * arrangement.rows()]);
    with_block(|block| wgmma::check_stored(block, site, bytemuck::cast_slice(registers.array())));
    for index in 0..R::COUNT {
        let matrix = from_registers(registers.array(), arrangement, index);
        for (line, row) in matrix.iter().take(arrangement.rows()).enumerate() {
            let lane = index * arrangement.rows() + line;
            let stored = aligned(rows.array()[lane]).and_then(|address| {
                with_block(|block| {
                    block.shared.store(block.access_by(Lanes::together(lane), site), address, row)
                })
            });
            stored.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
        }
    }
}

pub(crate) fn transpose_matrix(registers: &PerLane<u32>) -> PerLane<u32> {
    let matrix =
        from_registers(&registers.array().map(|register| [register]), Arrangement::Rows, 0);
    let mut transposed = [[0]; LANES];
    to_registers(&matrix, Arrangement::Columns, 0, &mut transposed);
    PerLane::from_array(transposed.map(|[register]| register))
}
