//! What a `wgmma.mma_async` computes, of one warp's part: 16 rows of A and D.

use super::descriptor::Descriptor;
use super::marks::{Column, Columns, columns, of_columns};
use super::{A, Operation};
use crate::fragment::{FragmentShape, Registers, RoleA, RoleC, Shape};
use crate::sim::arithmetic::Product;
use crate::sim::warps::block::BlockState;
use crate::{Accumulator, Element, FragmentA, PerLane, Width};
use std::vec;
use std::vec::Vec;

/// `(block, operation, a, rank, c)`: D's registers, of the warp of this rank.
pub(super) type Land = fn(&BlockState, &Operation, &A<PerLane<[u32; 4]>>, usize, &[Column]) -> Columns;

/// Rows of a warp's part.
const ROWS: usize = 16;

pub(super) fn land<S, Left, Right, D, O>(
    block: &BlockState,
    operation: &Operation,
    a: &A<PerLane<[u32; 4]>>,
    rank: usize,
    c: &[Column],
) -> Columns
where
    S: Shape + FragmentShape<RoleA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element + Product<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    let Operation { n, accumulates, negates, .. } = *operation;
    let a: Vec<Left> = match a {
        A::Registers(registers) => {
            let a = FragmentA::<S, Left>::from_registers(PerLane::from_array(registers.array().map(bytemuck::cast)));
            a.matrix().into_iter().map(|element| signed(element, negates.0)).collect()
        }
        A::Shared { descriptor, transposed } => {
            let a = read(*descriptor, *transposed);
            let elements = (0..ROWS).flat_map(|row| (0..S::K).map(move |k| (rank * ROWS + row, k)));
            elements.map(|(row, k)| signed(element(block, &a, row, k), negates.0)).collect()
        }
    };
    let b = read(operation.b, operation.transposes_b);
    let elements = (0..S::K).flat_map(|k| (0..n).map(move |col| (col, k)));
    let b: Vec<Right> = elements.map(|(col, k)| signed(element(block, &b, col, k), negates.1)).collect();
    let mut sums = vec![D::zeroed(); ROWS * n];
    if accumulates {
        for (piece, registers) in c.chunks(registers_of::<S, D>()).enumerate() {
            let matrix = piece_of::<S, D>(registers).matrix();
            matrix.chunks(8).enumerate().for_each(|(row, of)| sums[row * n + piece * 8..][..8].copy_from_slice(of));
        }
    }
    let d = Left::multiply(&a, &b, &sums, n, S::K);
    let pieces = (0..n / 8).flat_map(|piece| {
        let matrix: Vec<D> = d.chunks(n).flat_map(|row| &row[piece * 8..][..8]).copied().collect();
        let words = Accumulator::<S, D>::from_matrix(&matrix).registers();
        match registers_of::<S, D>() {
            2 => columns::<[u32; 2]>(&PerLane::from_array(words.array().map(bytemuck::cast))),
            _ => columns::<[u32; 4]>(&PerLane::from_array(words.array().map(bytemuck::cast))),
        }
    });
    pieces.collect()
}

/// A descriptor, which was read before.
fn read(word: u64, transposed: bool) -> Descriptor {
    Descriptor::read(word, transposed).expect("it was read when the multiplication was started")
}

/// Registers of 8 columns of D: 2 or 4.
const fn registers_of<S: FragmentShape<RoleC, D::Width>, D: Element>() -> usize {
    <S::Registers as Registers>::COUNT
}

/// 8 columns of D.
fn piece_of<S: FragmentShape<RoleC, D::Width>, D: Element>(registers: &[Column]) -> Accumulator<S, D> {
    let lanes = match registers_of::<S, D>() {
        2 => of_columns::<[u32; 2]>(registers).array().map(bytemuck::cast),
        _ => of_columns::<[u32; 4]>(registers).array().map(bytemuck::cast),
    };
    Accumulator::from_registers(PerLane::from_array(lanes))
}

/// The element at `k` of a line of a matrix in shared memory.
fn element<T: Element>(block: &BlockState, matrix: &Descriptor, line: usize, k: usize) -> T {
    let bits = T::Width::BITS;
    let address = matrix.address(line, k, bits);
    let word = block.shared.peek(address & !3);
    // Bits of one byte are told apart by K.
    let slot = (address as usize % 4 * 8 + if bits < 8 { k * bits % 8 } else { 0 }) / bits;
    T::unpack(bytemuck::cast(word), slot)
}

/// The element, or, negated, that of the other sign.
fn signed<T: Element>(element: T, negated: bool) -> T {
    let mut element = element;
    if negated {
        // Of floating-point numbers, the highest bit is the sign.
        let bytes = bytemuck::bytes_of_mut(&mut element);
        *bytes.last_mut().expect("an element has bytes") ^= 0x80;
    }
    element
}
