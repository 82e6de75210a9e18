//! The arithmetic of `wgmma.mma_async`. Each of the four warps has 16 rows of A and D.

use super::descriptor::Descriptor;
use super::marks::{Column, Columns, columns, of_columns};
use super::{A, Operands, Operation};
use crate::element::{Element, Width};
use crate::engine::arithmetic::{Product, codes, sparse_mma};
use crate::fragment::{
    Accumulator, Fragment, FragmentShape, Kept, Registers, Role, RoleA, RoleC, RoleSparseA, Shape,
    SparseWidth,
};
use crate::lane::PerLane;
use crate::target::Arch;
use std::vec;
use std::vec::Vec;

/// The word at an address in shared memory, which is a multiple of 4.
pub(super) type Words<'a> = &'a dyn Fn(u32) -> u32;

/// Computes D's registers from `(shared memory, operands, c)`. Operands, accumulators and registers
/// are those of the four warps, by rank.
pub(super) type Land = fn(Words<'_>, &[Operands], &[Columns]) -> Vec<Columns>;

/// Rows of A and D for each warp.
pub(super) const ROWS: usize = 16;

pub(super) fn land<S, Left, Right, D, O>(
    shared: Words<'_>,
    warps: &[Operands],
    c: &[Columns],
) -> Vec<Columns>
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    let (operation, n) = (&warps[0].operation, warps[0].operation.form.n);
    let a = left::<RoleA, S, Left>(shared, warps);
    let (b, c) = (right::<Right>(shared, operation, S::K), accumulators::<S, D>(operation, c));
    registers::<S, D>(&Left::multiply(Arch::SM_90, &a, &b, &c, n, S::K), n)
}

pub(super) fn land_sparse<S, Left, Right, D, O>(
    shared: Words<'_>,
    warps: &[Operands],
    c: &[Columns],
) -> Vec<Columns>
where
    S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element<Width: SparseWidth> + Product<Right, D, O, D = D>,
    Right: Element<Width = Left::Width>,
    D: Element,
{
    let (operation, n) = (&warps[0].operation, warps[0].operation.form.n);
    let a = left::<RoleSparseA, S, Left>(shared, warps);
    let kept = |warp: &Operands| {
        codes::<Left::Width>(warp.chunks(S::K / Left::Width::CHUNK), &warp.metadata)
    };
    let kept: Vec<Kept> = warps.iter().flat_map(kept).collect();
    let (b, c) = (right::<Right>(shared, operation, S::K), accumulators::<S, D>(operation, c));
    registers::<S, D>(
        &sparse_mma::<Left, Right, D, O>(Arch::SM_90, (&a, &kept), &b, &c, n, S::K),
        n,
    )
}

/// The elements of A; for a sparse A, the stored ones.
fn left<R: Role, S: FragmentShape<R, T::Width>, T: Element>(
    shared: Words<'_>,
    warps: &[Operands],
) -> Vec<T> {
    let of_warp = |(rank, warp): (usize, &Operands)| -> Vec<T> {
        let negates = warp.operation.negates.0;
        let elements: Vec<T> = match warp.a {
            A::Registers(registers) => Fragment::<R, S, T>::from_registers(PerLane::from_array(
                registers.array().map(bytemuck::cast),
            ))
            .matrix(),
            A::Shared { descriptor, transposed } => {
                let a = read(descriptor, transposed);
                let places = (0..ROWS)
                    .flat_map(|row| (0..S::LAYOUT.cols()).map(move |k| (rank * ROWS + row, k)));
                places.map(|(row, k)| element(shared, &a, row, k)).collect()
            }
        };
        elements.into_iter().map(|element| signed(element, negates)).collect()
    };
    warps.iter().enumerate().flat_map(of_warp).collect()
}

/// The elements of B, which has `k` rows.
fn right<T: Element>(shared: Words<'_>, operation: &Operation, k: usize) -> Vec<T> {
    let b = read(operation.b, operation.transposes_b);
    let places = (0..k).flat_map(|k| (0..operation.form.n).map(move |col| (col, k)));
    places.map(|(col, k)| signed(element(shared, &b, col, k), operation.negates.1)).collect()
}

/// The accumulators: zeros, if the instruction does not accumulate.
fn accumulators<S: FragmentShape<RoleC, D::Width>, D: Element>(
    operation: &Operation,
    c: &[Columns],
) -> Vec<D> {
    let n = operation.form.n;
    let mut accumulators = vec![D::zeroed(); c.len() * ROWS * n];
    if operation.accumulates {
        for (warp, c) in c.iter().enumerate() {
            for (piece, registers) in c.chunks(registers_of::<S, D>()).enumerate() {
                let matrix = piece_of::<S, D>(registers).matrix();
                for (row, of) in matrix.chunks(8).enumerate() {
                    accumulators[(warp * ROWS + row) * n + piece * 8..][..8].copy_from_slice(of);
                }
            }
        }
    }
    accumulators
}

/// The registers of D, which has `n` columns.
fn registers<S: FragmentShape<RoleC, D::Width>, D: Element>(d: &[D], n: usize) -> Vec<Columns> {
    let of_piece = |d: &[D], piece: usize| -> Columns {
        let matrix: Vec<D> = d.chunks(n).flat_map(|row| &row[piece * 8..][..8]).copied().collect();
        let words = Accumulator::<S, D>::from_matrix(&matrix).registers();
        match registers_of::<S, D>() {
            2 => columns::<[u32; 2]>(&PerLane::from_array(words.array().map(bytemuck::cast))),
            _ => columns::<[u32; 4]>(&PerLane::from_array(words.array().map(bytemuck::cast))),
        }
    };
    d.chunks(ROWS * n).map(|d| (0..n / 8).flat_map(|piece| of_piece(d, piece)).collect()).collect()
}

/// Reads a descriptor that was valid at the start of the `wgmma`.
fn read(word: u64, transposed: bool) -> Descriptor {
    Descriptor::read(word, transposed).expect("it was read when the multiplication was started")
}

/// Registers for 8 columns of D: 2 or 4.
const fn registers_of<S: FragmentShape<RoleC, D::Width>, D: Element>() -> usize {
    <S::Registers as Registers>::COUNT
}

/// An accumulator of 8 columns of D.
fn piece_of<S: FragmentShape<RoleC, D::Width>, D: Element>(
    registers: &[Column],
) -> Accumulator<S, D> {
    let lanes = match registers_of::<S, D>() {
        2 => of_columns::<[u32; 2]>(registers).array().map(bytemuck::cast),
        _ => of_columns::<[u32; 4]>(registers).array().map(bytemuck::cast),
    };
    Accumulator::from_registers(PerLane::from_array(lanes))
}

/// The element (`line`, `k`) of a matrix in shared memory.
fn element<T: Element>(shared: Words<'_>, matrix: &Descriptor, line: usize, k: usize) -> T {
    let bits = T::Width::BITS;
    let address = matrix.address(line, k, bits);
    let word = shared(address & !3);
    // Elements of less than a byte: K selects the bits within the byte.
    let slot = (address as usize % 4 * 8 + if bits < 8 { k * bits % 8 } else { 0 }) / bits;
    T::unpack(bytemuck::cast(word), slot)
}

/// The element, with its sign inverted if `negated`.
fn signed<T: Element>(element: T, negated: bool) -> T {
    let mut element = element;
    if negated {
        // The highest bit of a floating-point number is the sign.
        let bytes = bytemuck::bytes_of_mut(&mut element);
        *bytes.last_mut().expect("an element has bytes") ^= 0x80;
    }
    element
}
