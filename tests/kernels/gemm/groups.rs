//! Grouped GEMM, each group with its own B. Groups are empty, have one row, or end within tiles.

use super::case::{Case, Integral, PLAIN, check};
use ptx_matrix::element::{F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix_gemm::kernels::{Activation, Kernel, Multiply, Output};

/// The last three rows belong to no group.
const ENDS: &[u32] = &[0, 67, 67, 68, 197, 204];
const ROWS: usize = 207;

/// Checks a case with the selected grouped kernels.
fn check_groups(case: Case, selects: fn(&&Kernel) -> bool) {
    let kernels = <bf16 as Multiply<bf16>>::GROUPED;
    assert_eq!(kernels.len(), 3);
    for kernel in kernels.iter().filter(selects) {
        check::<bf16, bf16>(kernel, case, 1);
    }
}

/// D ends within tiles. A block of a persistent kernel computes all tiles.
#[test]
fn each_group_uses_its_b() {
    let case =
        Case { size: (ROWS, 264, 72), groups: Some(ENDS), padding: 8, start: 8, alpha: 2, ..PLAIN };
    check_groups(case, |_| true);
    for kernel in
        <f16 as Multiply<f16>>::GROUPED.iter().filter(|kernel| kernel.name.contains("_nt_"))
    {
        check::<f16, f16>(
            kernel,
            Case { size: (20, 24, 330), groups: Some(&[3, 20]), schedules: 2, ..PLAIN },
            1,
        );
    }
}

/// The other element types, each with a `wgmma` kernel and an `mma.sync` kernel. K has more steps
/// than there are stages, and D ends within tiles.
#[test]
fn groups_of_every_element() {
    fn check_all<T: Multiply<O> + Integral, O: Output<Acc: Integral> + Integral>() {
        assert_eq!(T::GROUPED.len(), 2);
        for kernel in T::GROUPED {
            let case = Case {
                size: (80, 72, 9 * kernel.tile.k / 2 + 8),
                groups: Some(&[3, 3, 70]),
                beta: 2,
                ..PLAIN
            };
            check::<T, O>(kernel, case, 1);
            check::<T, O>(
                kernel,
                Case { size: (20, 24, 40), groups: Some(&[3, 20]), beta: 0, padding: 16, ..case },
                1,
            );
        }
    }
    check_all::<f32, f32>();
    check_all::<i8, i32>();
    check_all::<F8E4M3, bf16>();
    check_all::<F8E5M2, bf16>();
}

#[test]
fn each_group_uses_its_bias() {
    let case = Case { size: (80, 72, 40), groups: Some(&[3, 70]), beta: -3, bias: true, ..PLAIN };
    let one_of_each = |kernel: &&Kernel| !kernel.name.contains("nn");
    check_groups(case, one_of_each);
    check_groups(Case { bias_per_row: true, activation: Activation::Relu, ..case }, one_of_each);
}

/// Threads store a D that no tensor map can describe.
#[test]
fn unaligned_d_of_groups() {
    let case = Case { size: (80, 37, 72), groups: Some(&[3, 70]), unaligned_d: true, ..PLAIN };
    let with_tma = |kernel: &&Kernel| kernel.uses_tma;
    check_groups(Case { alpha: 2, ..case }, with_tma);
    check_groups(Case { beta: 2, bias: true, padding: 8, start: 8, ..case }, with_tma);
}

/// An end before the previous one counts as that one. An end after the matrix counts as its end.
#[test]
fn invalid_group_ends_do_not_overlap() {
    let case = Case { size: (80, 72, 40), groups: Some(&[70, 3, u32::MAX, 75]), ..PLAIN };
    check_groups(case, |kernel| !kernel.name.contains("nt"));
}
