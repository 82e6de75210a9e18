//! The start of a `wgmma.mma_async`: checks its operands, records its reads, and puts marks into
//! its registers.

use super::descriptor::Descriptor;
use super::land::ROWS;
use super::marks::{Columns, columns, mark, of_columns};
use super::{A, Last, Multiplication, Operands, Operation, REMEMBERED, WARPS};
use crate::engine::{
    arithmetic::{check_codes, codes},
    findings::Misuse,
    memory::{
        race::{Access, Lanes},
        shared::CHUNK_BYTES,
    },
    record::note_collective,
    warps::context::{fail, with_block},
};
use crate::fragment::{Registers, Shape, SparseWidth};
use crate::lane::{PerLane, Site};
use std::vec::Vec;

/// The descriptor of a matrix in shared memory.
fn described(
    site: Site,
    form: &'static str,
    operand: char,
    word: u64,
    transposed: bool,
) -> Descriptor {
    Descriptor::read(word, transposed)
        .unwrap_or_else(|why| fail(site, Misuse::MatrixDescriptor { form, operand, why }))
}

/// Reports errors in the metadata of the running warp's rows.
pub(super) fn check_metadata<S: Shape, W: SparseWidth>(site: Site, operands: &Operands) {
    let chunks = operands.chunks(S::K / W::CHUNK);
    let kept = codes::<W>(chunks.clone(), &operands.metadata);
    let first_row = with_block(|block| block.running() % WARPS * ROWS);
    check_codes::<W>(site, operands.operation.form.ptx, false, first_row, chunks.start, &kept);
}

/// Starts a `wgmma.mma_async` of the running warp. Returns the registers in flight, which hold
/// marks.
pub(crate) fn multiply<R: Registers<Register = u32>>(
    site: Site,
    operands: Operands,
    d: PerLane<R>,
) -> PerLane<R> {
    if std::thread::panicking() { d } else { of_columns(&start(site, operands, columns(&d))) }
}

/// The same for any number of registers, so that it is compiled once.
fn start(site: Site, operands: Operands, held: Columns) -> Columns {
    let Operation { form, b, transposes_b, .. } = operands.operation;
    let family = form.family;
    (family.check)(site, &operands);
    note_collective(site, form.ptx);
    let of_b = described(site, form.ptx, 'B', b, transposes_b);
    let mut chunks = chunks(&of_b, form.n, family.k, family.bits);
    check_swizzle(site, form.ptx, 'B', &of_b, &chunks);
    if let A::Shared { descriptor, transposed } = operands.a {
        let a = described(site, form.ptx, 'A', descriptor, transposed);
        let of_a = self::chunks(&a, WARPS * ROWS, family.kept, family.bits);
        check_swizzle(site, form.ptx, 'A', &a, &of_a);
        chunks.extend(of_a);
    }
    let registers = held.len();
    let started = with_block(|block| {
        block.order.start_clocks();
        let (by, running) = (block.access_by(Lanes::Each, site), block.running());
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(running);
        let agent = block.asynchronous(running / WARPS);
        let reading = Access {
            agent,
            by: Lanes::One(0),
            closure: 0,
            before: 0,
            epoch: u32::MAX,
            warp_epoch: 0,
            tick: warp.committed + 1,
            ..by
        };
        for adjacent in chunks.chunk_by(|chunk, next| chunk + CHUNK_BYTES as u32 == *next) {
            let bytes = adjacent.len() * CHUNK_BYTES;
            block.shared.start_group_read(by, reading, adjacent[0], bytes)?;
        }
        let c = warp.take_registers(block, by, held);
        if let A::Registers(registers) = &operands.a {
            warp.check_unmarked(block, by, &columns(registers));
        }
        warp.check_unmarked(block, by, &[*operands.metadata.array()]);
        if warp.lacks_fence(form.shape(), &c, &operands.a) {
            block.findings.note(by, Misuse::WgmmaUnfenced { form: form.ptx });
        }
        if let A::Registers(registers) = &operands.a {
            warp.fragments_a.truncate(REMEMBERED - 1);
            warp.fragments_a.push_front(*registers);
        }
        warp.started += 1;
        let (number, group, fences) = (warp.started, warp.committed, warp.fences);
        warp.last = Some(Last { group, by });
        let started = Multiplication { number, group, registers, c, operands, fences, started: by };
        warp.in_flight.push(started);
        block.is_multiplying.set(true);
        Ok(number)
    });
    let number = started.unwrap_or_else(|misuse| fail(site, misuse));
    (0..registers)
        .map(|register| std::array::from_fn(|lane| mark(number, register, lane)))
        .collect()
}

/// Reports a matrix whose descriptor has another swizzle than the tensor copy that wrote it.
fn check_swizzle(
    site: Site,
    form: &'static str,
    operand: char,
    matrix: &Descriptor,
    chunks: &[u32],
) {
    with_block(|block| {
        let read = matrix.swizzle();
        if !block.shared.has_other_swizzle(read) {
            return;
        }
        let mut written = chunks.iter().filter_map(|&chunk| block.shared.swizzle_of(chunk));
        if let Some((written, location)) = written.find(|(written, _)| *written != read) {
            let misuse =
                Misuse::WrongSwizzle { form, operand, read, written, place: location.into() };
            block.findings.note(block.access_by(Lanes::Each, site), misuse);
        }
    });
}

/// The addresses of the 16-byte chunks that contain `lines` lines of `k` elements.
fn chunks(descriptor: &Descriptor, lines: usize, k: usize, bits: usize) -> Vec<u32> {
    let (every_line, every_k) = descriptor.chunk(bits);
    let firsts = (0..lines)
        .step_by(every_line)
        .flat_map(|line| (0..k).step_by(every_k).map(move |k| (line, k)));
    let mut chunks: Vec<u32> = firsts.map(|(line, k)| descriptor.address(line, k, bits)).collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_those_of_all_elements() {
        for (swizzle, transposed, bits) in [
            (0, false, 16),
            (1, false, 16),
            (2, false, 8),
            (3, false, 32),
            (1, false, 1),
            (0, true, 16),
            (1, true, 16),
        ] {
            let (start, leading, stride) = (0x800 >> 4, 1024 >> 4, 2048 >> 4);
            let descriptor =
                Descriptor::read(start | leading << 16 | stride << 32 | swizzle << 62, transposed)
                    .unwrap();
            let (lines, k) = (24, 256 / bits);
            let elements = (0..lines).flat_map(|line| (0..k).map(move |k| (line, k)));
            let mut all: Vec<u32> =
                elements.map(|(line, k)| descriptor.address(line, k, bits) & !15).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(chunks(&descriptor, lines, k, bits), all, "{swizzle} {transposed} {bits}");
        }
    }
}
