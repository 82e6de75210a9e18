//! The steps of the ladder after the naive one on the simulator, with integers whose sums are
//! exact.

use ptx_matrix::element::bf16;
use ptx_matrix::sim::{CheckedRun, Profile, Simulator};
use ptx_matrix_ladder::ldmatrix::ldmatrix_bf16;
use ptx_matrix_ladder::pipelined::pipelined_bf16;
use ptx_matrix_ladder::shared::{self, shared_bf16};
use ptx_matrix_ladder::swizzled::swizzled_bf16;
use ptx_matrix_ladder::{self};

/// A small integer that varies with the place.
fn matrix(rows: usize, cols: usize, seed: usize) -> Vec<bf16> {
    let value = |i: usize| ((i / cols * 5 + i % cols * 3 + seed) % 7) as f32 - 3.0;
    (0..rows * cols).map(|i| bf16::from_f32(value(i))).collect()
}

fn product(a: &[bf16], b: &[bf16], (m, n, k): (usize, usize, usize)) -> Vec<bf16> {
    let element = |row: usize, col: usize| {
        (0..k).map(|i| a[row * k + i].to_f32() * b[i * n + col].to_f32()).sum()
    };
    (0..m * n).map(|i| bf16::from_f32(element(i / n, i % n))).collect()
}

/// Runs a kernel on a grid of blocks, and returns its profile.
macro_rules! run {
    ($kernel:ident, $tile:expr, ($tall:literal, $wide:literal, $deep:literal)) => {{
        let (m, n, k) = ($tile.0 * $tall, $tile.1 * $wide, $tile.2 * $deep);
        let (a, b) = (matrix(m, k, 0), matrix(k, n, 1));
        let mut d = vec![bf16::NAN; m * n];
        let simulator = Simulator::new(0).schedules(10).profiled();
        let report =
            $kernel::launch(&simulator, ($wide, $tall), &a[..], &b[..], &mut d[..], n, k).check();
        assert!(d == product(&a, &b, (m, n, k)), "{} of {m} x {n} x {k}", stringify!($kernel));
        report.profile.unwrap()
    }};
}

/// The largest bank conflict of an `ldmatrix`.
fn worst_ways(profile: &Profile) -> u32 {
    let loads = profile.shared.iter().filter(|site| site.instruction.starts_with("ldmatrix"));
    loads.map(|site| site.worst_ways).max().unwrap()
}

#[test]
fn by_shared_memory() {
    run!(shared_bf16, shared::TILE, (2, 1, 3));
}

#[test]
fn by_ldmatrix() {
    assert_eq!(worst_ways(&run!(ldmatrix_bf16, ptx_matrix_ladder::TILE, (1, 1, 3))), 8);
}

#[test]
fn by_a_pipeline() {
    assert_eq!(worst_ways(&run!(pipelined_bf16, ptx_matrix_ladder::TILE, (1, 2, 6))), 8);
    // Fewer steps of K than stages.
    run!(pipelined_bf16, ptx_matrix_ladder::TILE, (1, 1, 1));
}

#[test]
fn swizzled() {
    assert_eq!(worst_ways(&run!(swizzled_bf16, ptx_matrix_ladder::TILE, (2, 1, 6))), 1);
    run!(swizzled_bf16, ptx_matrix_ladder::TILE, (1, 1, 3));
}
