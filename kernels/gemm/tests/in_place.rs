//! D = A x B + D in place, on the simulator, which checks the order of C's reads and D's writes.

use std::collections::BTreeSet;

use bytemuck::Pod;
use ptx_matrix::element::{F8E4M3, bf16, f16};
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::{Choice, Gemm, Layout, Multiply, Number, Operands, Output};

fn elements<T: Pod>(len: usize) -> Vec<T> {
    vec![T::zeroed(); len]
}

/// Runs with D as C. D is that of a separate C, and the elements around D stay. For one problem,
/// all kernels have the same `expected` result, since sums of such integers are exact.
fn in_place<T: Multiply<O>, O: Output + PartialEq>(
    gemm: &Gemm<T, O>,
    ends: Option<&[u32]>,
    value: fn(usize) -> O,
    operand: fn(usize) -> T,
    expected: &mut Option<Vec<O>>,
) {
    let device = Simulator::default().strict();
    let plan = gemm.plan(&device).unwrap();
    let len = 40_000;
    let (a, b): (Vec<T>, Vec<T>) =
        ((0..len).map(operand).collect(), (3..len + 3).map(operand).collect());
    let before: Vec<O> = (0..len).map(value).collect();
    let run = |is_d: bool| {
        let (mut d, mut workspace, mut copies) =
            (before.clone(), elements(plan.workspace_len()), elements(plan.repack_workspace_len()));
        let operands = Operands::new(&device, &a, &b, &mut d)
            .workspace(&mut workspace)
            .repack_workspace(&mut copies);
        let operands = if is_d { operands.c_is_d() } else { operands.c(&before) };
        let operands = if let Some(ends) = ends { operands.group_ends(ends) } else { operands };
        plan.run(operands).unwrap_or_else(|error| panic!("{:?}: {error}", plan.choice()));
        d
    };
    let (in_place, separate) = (run(true), expected.get_or_insert_with(|| run(false)));
    assert!(in_place != before, "{:?}: nothing was computed", plan.choice());
    assert!(in_place == *separate, "{:?}: in place, D is another", plan.choice());
}

/// Makes a layout from a leading dimension.
type Order = fn(usize) -> Layout;

/// Every kernel with D as C: each with a batch of two and gaps around the matrices, and the small
/// ones also with split-K.
fn every_kernel_in_place<T: Multiply<O>, O: Output + PartialEq>(
    value: fn(usize) -> O,
    operand: fn(usize) -> T,
) {
    let orders: [[Order; 2]; 4] = [
        [Layout::row_major, Layout::row_major],
        [Layout::row_major, Layout::col_major],
        [Layout::col_major, Layout::row_major],
        [Layout::col_major, Layout::col_major],
    ];
    let beta = |gemm: Gemm<T, O>| gemm.beta(O::Acc::ONE).workspace_up_to(usize::MAX);
    let mut tried = BTreeSet::new();
    // D by TMA stores, and by threads.
    for (m, n) in [(40, 48), (40, 37)] {
        let small = |order: fn(usize) -> Layout, rows: usize, cols: usize| {
            let lines_along_cols = order(1).is_row_major();
            let (lines, length) = if lines_along_cols { (rows, cols) } else { (cols, rows) };
            let stride = length.next_multiple_of(16);
            order(stride).batch_stride(lines * stride)
        };
        for [of_a, of_b] in orders {
            for k in [80, 528] {
                let batches = if k == 80 { 2 } else { 1 };
                let gemm = Gemm::<T, O>::new(m, n, k)
                    .a(small(of_a, m, k))
                    .b(small(of_b, k, n))
                    .batches(batches);
                let gemm =
                    beta(gemm.d(Layout::row_major(56).starting_at(16).batch_stride(56 * 50)));
                let mut expected = None;
                for choice in gemm.choices(&Simulator::default()) {
                    let is_cut = choice.k_splits > 1;
                    let is_small =
                        choice.kernel.contains("64x64") || choice.kernel.contains("unaligned");
                    // In these kernels threads always store D.
                    let is_new = n == 48 || choice.kernel.starts_with("sm90_");
                    let is_wanted =
                        if k == 80 { !is_cut } else { choice.k_splits == 2 && is_small };
                    if is_wanted && is_new && tried.insert((choice.to_string(), n)) {
                        let gemm = gemm.clone().choose(choice);
                        in_place(&gemm, None, value, operand, &mut expected);
                    }
                }
            }
        }
    }
    for kernel in T::GROUPED {
        let of_b =
            if kernel.takes(ptx_matrix_gemm::Order::RowMajor, ptx_matrix_gemm::Order::ColMajor) {
                Layout::col_major(80)
            } else {
                Layout::row_major(48)
            };
        // Groups end before row 64, and after it, where TMA stores D.
        let gemm = Gemm::<T, O>::new(80, 48, 80)
            .groups(3)
            .b(of_b.batch_stride(80 * 48))
            .d(Layout::row_major(56));
        let gemm = beta(gemm).choose(Choice::new(kernel.name, 1));
        in_place(&gemm, Some(&[7, 7, 75]), value, operand, &mut None);
    }
    assert!(tried.len() >= 5, "{tried:?}");
}

/// Runs every kernel with integers as elements of A, B and D.
macro_rules! every_kernel {
    ($($test:ident $input:ty as $operand:expr, $output:ty as $value:expr;)*) => {$(
        #[test]
        fn $test() {
            every_kernel_in_place::<$input, $output>(
                |i| $value((i % 31) as u8),
                |i| $operand((i % 7) as i8 - 3),
            );
        }
    )*};
}
every_kernel! {
    every_kernel_of_bf16
        bf16 as |i| bf16::from_f32(f32::from(i)), bf16 as |i| bf16::from_f32(f32::from(i));
    every_kernel_of_f16_into_f32 f16 as |i| f16::from_f32(f32::from(i)), f32 as f32::from;
    every_kernel_of_tf32 f32 as f32::from, f32 as f32::from;
    every_kernel_of_f64 f64 as f64::from, f64 as f64::from;
    every_kernel_of_s8 i8 as |i: i8| i, i32 as i32::from;
    every_kernel_of_e4m3
        F8E4M3 as |i| F8E4M3::from_f32(f32::from(i)), bf16 as |i| bf16::from_f32(f32::from(i));
}

/// A column-major D, a bias and an activation; and a GEMM that multiplies nothing.
#[test]
fn col_major_epilogue_and_empty_gemms_in_place() {
    let (value, operand) = (
        |i: usize| bf16::from_f32((i % 31) as f32),
        |i: usize| bf16::from_f32((i % 7) as f32 - 3.0),
    );
    let gemm = Gemm::<bf16>::new(40, 48, 80).beta(-2.0);
    let check = |gemm: Gemm<bf16>| in_place(&gemm, None, value, operand, &mut None);
    check(gemm.clone().d(Layout::col_major(43).starting_at(5)).relu());
    check(gemm.clone().alpha(0.0));
    check(Gemm::<bf16>::new(40, 48, 0).beta(3.0));
    // Odd leading dimensions, repacked.
    let odd = Gemm::<bf16>::new(41, 49, 83).beta(2.0).repack_workspace_up_to(usize::MAX);
    assert!(odd.plan(&Simulator::default()).unwrap().repack_workspace_len() > 0);
    check(odd);
}
