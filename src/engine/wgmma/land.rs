//! The arithmetic of `wgmma.mma_async`. Each of the four warps has 16 rows of A and D.

use super::descriptor::Descriptor;
use super::marks::Columns;
use super::{A, Operands, Operation};
use crate::element::{Element, Width};
use crate::engine::arithmetic::{MmaArithmetic, Offsets, codes, gathered, scatter, sparse_mma};
use crate::fragment::{FragmentShape, Kept, RoleA, RoleC, RoleSparseA, Shape, SparseWidth};
use crate::lane::LANES;
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
    Left: Element + MmaArithmetic<Right, D, O, D = D>,
    Right: Element,
    D: Element,
{
    let (operation, n) = (&warps[0].operation, warps[0].operation.form.n);
    let of_d = const { &Offsets::new(<S as FragmentShape<RoleC, D::Width>>::LAYOUT) };
    let of_a = const { &Offsets::new(<S as FragmentShape<RoleA, Left::Width>>::LAYOUT) };
    let a = left::<Left>(of_a, shared, warps);
    let (b, c) = (right::<Right>(shared, operation, S::K), accumulators(of_d, operation, c));
    registers(of_d, &Left::multiply(Arch::SM_90, &a, &b, &c, n, S::K), n)
}

pub(super) fn land_sparse<S, Left, Right, D, O>(
    shared: Words<'_>,
    warps: &[Operands],
    c: &[Columns],
) -> Vec<Columns>
where
    S: Shape + FragmentShape<RoleSparseA, Left::Width> + FragmentShape<RoleC, D::Width>,
    Left: Element<Width: SparseWidth> + MmaArithmetic<Right, D, O, D = D>,
    Right: Element<Width = Left::Width>,
    D: Element,
{
    let (operation, n) = (&warps[0].operation, warps[0].operation.form.n);
    let of_d = const { &Offsets::new(<S as FragmentShape<RoleC, D::Width>>::LAYOUT) };
    let of_a = const { &Offsets::new(<S as FragmentShape<RoleSparseA, Left::Width>>::LAYOUT) };
    let a = left::<Left>(of_a, shared, warps);
    let chunks = S::K / Left::Width::CHUNK;
    let mut kept: Vec<Kept> = Vec::new();
    for warp in warps {
        kept.extend_from_slice(&codes::<Left::Width>(warp.chunks(chunks), &warp.metadata));
    }
    let (b, c) = (right::<Right>(shared, operation, S::K), accumulators(of_d, operation, c));
    let d = sparse_mma::<Left, Right, D, O>(Arch::SM_90, (&a, &kept), &b, &c, n, S::K);
    registers(of_d, &d, n)
}

/// The elements of A; for a sparse A, the stored ones. The offsets are those of a warp's part.
fn left<T: Element>(offsets: &Offsets, shared: Words<'_>, warps: &[Operands]) -> Vec<T> {
    let mut elements = Vec::with_capacity(warps.len() * ROWS * offsets.cols);
    for (rank, warp) in warps.iter().enumerate() {
        let start = elements.len();
        match &warp.a {
            A::Registers(registers) => {
                let registers = bytemuck::cast_slice(registers.array());
                elements.extend_from_slice(&gathered::<T>(offsets, registers));
            }
            A::Shared { descriptor, transposed } => {
                let a = read(*descriptor, *transposed);
                for row in 0..ROWS {
                    for k in 0..offsets.cols {
                        elements.push(element(shared, &a, rank * ROWS + row, k));
                    }
                }
            }
        }
        if warp.operation.negates_a {
            negate(&mut elements[start..]);
        }
    }
    elements
}

/// The elements of B, which has `k` rows.
fn right<T: Element>(shared: Words<'_>, operation: &Operation, k: usize) -> Vec<T> {
    let b = read(operation.b, operation.transposes_b);
    let mut elements = Vec::with_capacity(k * operation.form.n);
    for k in 0..k {
        for col in 0..operation.form.n {
            elements.push(element(shared, &b, col, k));
        }
    }
    if operation.negates_b {
        negate(&mut elements);
    }
    elements
}

/// The accumulators: zeros, if the instruction does not accumulate. The offsets are those of 8
/// columns.
fn accumulators<D: Element>(offsets: &Offsets, operation: &Operation, c: &[Columns]) -> Vec<D> {
    let n = operation.form.n;
    let mut accumulators = vec![D::zeroed(); c.len() * ROWS * n];
    if operation.accumulates {
        for (warp, c) in c.iter().enumerate() {
            for (piece, columns) in c.chunks(registers_of::<D>(offsets)).enumerate() {
                let mut words = Vec::with_capacity(LANES * columns.len());
                for lane in 0..LANES {
                    words.extend(columns.iter().map(|column| column[lane]));
                }
                let matrix = gathered::<D>(offsets, bytemuck::cast_slice(&words));
                for (row, of) in matrix.chunks(8).enumerate() {
                    accumulators[(warp * ROWS + row) * n + piece * 8..][..8].copy_from_slice(of);
                }
            }
        }
    }
    accumulators
}

/// The registers of D, which has `n` columns. The offsets are those of 8 columns.
fn registers<D: Element>(offsets: &Offsets, d: &[D], n: usize) -> Vec<Columns> {
    let count = registers_of::<D>(offsets);
    let (mut warps, mut matrix) = (Vec::new(), Vec::new());
    for d in d.chunks(ROWS * n) {
        let mut columns = Columns::with_capacity(n / 8 * count);
        for piece in 0..n / 8 {
            matrix.clear();
            for row in d.chunks(n) {
                matrix.extend_from_slice(&row[piece * 8..][..8]);
            }
            let mut words = vec![0; LANES * count];
            scatter(offsets, &matrix, bytemuck::cast_slice_mut(&mut words));
            for register in 0..count {
                columns.push(core::array::from_fn(|lane| words[lane * count + register]));
            }
        }
        warps.push(columns);
    }
    warps
}

/// Reads a descriptor that was valid at the start of the `wgmma`.
fn read(word: u64, transposed: bool) -> Descriptor {
    Descriptor::read(word, transposed).expect("it was read when the multiplication was started")
}

/// Registers for 8 columns of D: 2 or 4.
fn registers_of<D: Element>(offsets: &Offsets) -> usize {
    offsets.elements / D::Width::PER_REGISTER
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

/// Inverts the elements' signs.
fn negate<T: Element>(elements: &mut [T]) {
    for element in elements {
        // The highest bit of a floating-point number is the sign.
        let bytes = bytemuck::bytes_of_mut(element);
        *bytes.last_mut().expect("an element has bytes") ^= 0x80;
    }
}
