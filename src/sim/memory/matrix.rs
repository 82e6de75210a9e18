//! What `ldmatrix`, `stmatrix` and `movmatrix` do, on all 32 lanes at once.

use crate::fragment::Registers;
use crate::lane::LANES;
use crate::sim::findings::Misuse;
use crate::sim::memory::race::Lanes;
use crate::sim::record::Traffic;
use crate::sim::record::note_rows;
use crate::sim::warps::context::{fail_in_lane, with_block};
use crate::site::Site;
use crate::{PerLane, RowAddr};
use std::array::from_fn;

/// An 8x8 matrix of 16-bit elements.
type Matrix = [[u16; 8]; 8];

fn transposed(matrix: &Matrix) -> Matrix {
    from_fn(|row| from_fn(|col| matrix[col][row]))
}

/// Lane `l` holds elements `l % 4 * 2` and the next of row `l / 4`, the first in the lower half.
fn to_registers(matrix: &Matrix) -> [u32; LANES] {
    from_fn(|lane| {
        let pair = &matrix[lane / 4][lane % 4 * 2..];
        u32::from(pair[0]) | u32::from(pair[1]) << 16
    })
}

fn from_registers(registers: &[u32; LANES]) -> Matrix {
    from_fn(|row| from_fn(|col| (registers[row * 4 + col / 2] >> (col % 2 * 16)) as u16))
}

/// A row's address, or what is wrong with it.
fn aligned(row: RowAddr) -> Result<u32, Misuse> {
    let address = row.address();
    if address.is_multiple_of(RowAddr::BYTES) { Ok(address) } else { Err(Misuse::RowMisaligned { address }) }
}

/// The rows of lanes that an instruction with fewer than four matrices does not use: sm_75 wants them valid too.
fn check_spare_rows(site: Site, rows: &PerLane<RowAddr>, matrices: usize) {
    for (lane, &row) in rows.array().iter().enumerate().skip(matrices * 8) {
        let checked = aligned(row)
            .and_then(|address| with_block(|block| block.shared.check("read", address, RowAddr::BYTES as usize)));
        checked.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
    }
}

pub(crate) fn load_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    transpose: bool,
) -> PerLane<R> {
    if std::thread::panicking() {
        return PerLane::splat(R::zeroed());
    }
    note_rows(site, form, Traffic::SharedRead, &rows.array()[..R::COUNT * 8]);
    let mut registers = [R::zeroed(); LANES];
    for index in 0..R::COUNT {
        let mut matrix = Matrix::default();
        for (line, elements) in matrix.iter_mut().enumerate() {
            let lane = index * 8 + line;
            let loaded = aligned(rows.array()[lane]).and_then(|address| {
                with_block(|block| {
                    block.shared.load(
                        block.access_by(Lanes::Together(lane), site),
                        address,
                        bytemuck::cast_slice_mut(elements),
                    )
                })
            });
            loaded.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
        }
        let matrix = if transpose { transposed(&matrix) } else { matrix };
        for (registers, register) in registers.iter_mut().zip(to_registers(&matrix)) {
            registers.as_mut()[index] = register;
        }
    }
    check_spare_rows(site, rows, R::COUNT);
    PerLane::from_array(registers)
}

pub(crate) fn store_matrices<R: Registers<Register = u32>>(
    site: Site,
    form: &'static str,
    rows: &PerLane<RowAddr>,
    registers: &PerLane<R>,
    transpose: bool,
) {
    if std::thread::panicking() {
        return;
    }
    note_rows(site, form, Traffic::SharedWrite, &rows.array()[..R::COUNT * 8]);
    for index in 0..R::COUNT {
        let matrix = from_registers(&from_fn(|lane| registers.array()[lane].as_ref()[index]));
        let matrix = if transpose { transposed(&matrix) } else { matrix };
        for (line, elements) in matrix.iter().enumerate() {
            let lane = index * 8 + line;
            let stored = aligned(rows.array()[lane]).and_then(|address| {
                with_block(|block| {
                    block.shared.store(
                        block.access_by(Lanes::Together(lane), site),
                        address,
                        bytemuck::cast_slice(elements),
                    )
                })
            });
            stored.unwrap_or_else(|misuse| fail_in_lane(site, Some(lane), misuse));
        }
    }
}

pub(crate) fn transpose_matrix(registers: &PerLane<u32>) -> PerLane<u32> {
    PerLane::from_array(to_registers(&transposed(&from_registers(registers.array()))))
}
