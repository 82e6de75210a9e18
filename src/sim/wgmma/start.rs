//! A `wgmma.mma_async` starts: what it will read is noted, and checked, and its registers become marks.

use super::descriptor::Descriptor;
use super::land::{Land, ROWS, land, land_sparse};
use super::marks::{columns, mark};
use super::{A, C, Multiplication, Operands, Operation, WARPS};
use crate::fragment::{FragmentShape, Role, RoleA, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::sim::arithmetic::{Product, check_codes, codes};
use crate::sim::findings::Misuse;
use crate::sim::memory::race::{Access, Lanes};
use crate::sim::record::note_collective;
use crate::sim::warps::context::{fail, with_block};
use crate::site::Site;
use crate::{Element, PerLane};
use std::vec::Vec;

/// A matrix in shared memory: its descriptor, read.
fn described(site: Site, form: &'static str, operand: char, word: u64, transposed: bool) -> Descriptor {
    Descriptor::read(word, transposed).unwrap_or_else(|why| fail(site, Misuse::MatrixDescriptor { form, operand, why }))
}

/// A `wgmma.mma_async` of the running warp starts. Returns the registers as they are until its end: marks.
pub(crate) fn multiply<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operands: Operands,
    d: PerLane<[u32; R]>,
) -> PerLane<[u32; R]>
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    start::<RoleA, S, Left, R>(site, operands, d, land::<S, Left, Right, D, O>)
}

/// The same with a sparse A: a `wgmma.mma_async.sp`.
pub(crate) fn multiply_sparse<S, Left, Right, D, O, const R: usize>(
    site: Site,
    operands: Operands,
    d: PerLane<[u32; R]>,
) -> PerLane<[u32; R]>
where
    S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element<Width: SparseWidth> + Product<Right, D, O, D = D>,
    Right: Element<Width = Left::Width>,
    D: Element,
{
    if !std::thread::panicking() {
        let chunks = operands.chunks(S::K / Left::Width::CHUNK);
        let kept = codes::<Left::Width>(chunks.clone(), &operands.metadata);
        let first_row = with_block(|block| block.running() % WARPS * ROWS);
        check_codes::<Left::Width>((site, operands.operation.form, false), first_row, chunks.start, &kept);
    }
    start::<RoleSparseA, S, Left, R>(site, operands, d, land_sparse::<S, Left, Right, D, O>)
}

/// A multiplication starts that ends with `land`.
fn start<Of: Role, S: Shape + FragmentShape<Of, Left::Width>, Left: Element, const R: usize>(
    site: Site,
    operands: Operands,
    d: PerLane<[u32; R]>,
    land: Land,
) -> PerLane<[u32; R]> {
    if std::thread::panicking() {
        return d;
    }
    let Operation { form, n, b, transposes_b, .. } = operands.operation;
    note_collective(site, form);
    let bits = <Left::Width as crate::Width>::BITS;
    let mut chunks = chunks(&described(site, form, 'B', b, transposes_b), n, S::K, bits);
    if let A::Shared { descriptor, transposed } = operands.a {
        chunks.extend(self::chunks(&described(site, form, 'A', descriptor, transposed), 64, S::LAYOUT.cols(), bits));
    }
    let started = with_block(|block| {
        block.order.make_partial();
        let (by, running) = (block.access_by(Lanes::Each, site), block.running());
        let mut groups = block.wgmma.borrow_mut();
        let warp = groups.warp(running);
        let agent = block.asynchronous(running / WARPS);
        let reading =
            Access { agent, by: Lanes::One(0), epoch: u32::MAX, warp_epoch: 0, tick: warp.committed + 1, ..by };
        for chunk in chunks {
            block.shared.start_group_read(by, reading, chunk, 16)?;
        }
        let held = columns(&d);
        let c = warp.take_registers(block, by, held);
        if let A::Registers(registers) = &operands.a {
            warp.check_unmarked(block, by, &columns(registers));
        }
        warp.check_unmarked(block, by, &[*operands.metadata.array()]);
        if !warp.is_fenced && !(matches!(c, C::Result(_)) || matches!(&c, C::Columns(of) if warp.settled.contains(of)))
        {
            block.findings.note(by, Misuse::WgmmaUnfenced { form });
        }
        warp.started += 1;
        let (number, group) = (warp.started, warp.committed);
        warp.last = Some((group, by));
        warp.in_flight.push(Multiplication { number, group, registers: R, c, operands, land, started: by });
        block.is_multiplying.set(true);
        Ok(number)
    });
    let number = started.unwrap_or_else(|misuse| fail(site, misuse));
    PerLane::from_array(std::array::from_fn(|lane| std::array::from_fn(|register| mark(number, register, lane))))
}

/// The chunks of 16 bytes that have the elements of so many lines along so many of K.
fn chunks(descriptor: &Descriptor, lines: usize, k: usize, bits: usize) -> Vec<u32> {
    let elements = (0..lines).flat_map(|line| (0..k).map(move |k| (line, k)));
    let mut chunks: Vec<u32> = elements.map(|(line, k)| descriptor.address(line, k, bits) & !15).collect();
    chunks.sort_unstable();
    chunks.dedup();
    chunks
}
