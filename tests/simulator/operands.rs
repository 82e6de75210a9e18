//! Results of an `mma` that are passed as operands of a wrong role or type.

use crate::{assert_at, line_of};
use ptx_matrix::fragment::{FragmentShape, RoleA, RoleB};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Misuse, SimError};

/// Asserts that the error is about an operand of this role and element type, which holds an
/// accumulator of another type from the marked line.
#[track_caller]
fn assert_wrong(error: &SimError, expected: (char, &str, &str), made: &str) {
    let Misuse::WrongOperand { role, element, result, place } = &error.misuse else {
        panic!("{error}")
    };
    assert_eq!((*role, *element, *result), expected, "{error}");
    assert_eq!(place.line, line_of(made).1, "{error}");
}

/// Matrices whose products all differ.
fn operands<S, T: Element>(
    warp: Warp<'_>,
    of: impl Fn(f32) -> T + LaneCapture,
) -> (FragmentA<S, T>, FragmentB<S, T>)
where
    S: FragmentShape<RoleA, T::Width> + FragmentShape<RoleB, T::Width>,
{
    let a = FragmentA::from_fn(warp, |row, k| of(((row * 7 + k * 3) % 31) as f32 + 0.25));
    let b = FragmentB::from_fn(warp, |k, col| of(((k * 5 + col * 11) % 29) as f32 * 0.125));
    (a, b)
}

fn f32_result(warp: Warp<'_>) -> Accumulator<M16N8K8, f32> {
    let (a, b) = operands(warp, f16::from_f32);
    let mut acc = Accumulator::zero();
    Mma::<M16N8K8, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b); // <- f32
    acc
}

fn f16_result(warp: Warp<'_>) -> Accumulator<M16N8K8, f16> {
    let (a, b) = operands(warp, f16::from_f32);
    let mut acc = Accumulator::zero();
    Mma::<M16N8K8, f16, f16, f16>::accumulate(warp, &mut acc, &a, &b); // <- f16
    acc
}

#[kernel(threads = 64, target = "sm_80")]
fn typed(block: &Block, which: u32) {
    let warp = block.warp();
    if warp.index() == 0 {
        return;
    }
    let (c, h) = (f32_result(warp).registers(), f16_result(warp).registers());
    let two = |pair: usize| warp.each(|lane| [lane.get(&c)[pair * 2], lane.get(&c)[pair * 2 + 1]]);
    let (a, b) = operands(warp, bf16::from_f32);
    let (half_a, half_b) = operands(warp, f16::from_f32);
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    let mut half_acc = Accumulator::<M16N8K16, f16>::zero();
    match which {
        0 => {
            let a = FragmentA::from_registers(c);
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &a, &b); // <- f32 as A
        }
        1 => {
            let b = FragmentB::from_registers(two(1));
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &a, &b); // <- f32 as B
        }
        2 => {
            half_acc = Accumulator::from_registers(two(0));
            Mma::<_, f16, f16, _>::accumulate(warp, &mut half_acc, &half_a, &half_b); // <- f32 as C
        }
        3 => {
            let halves = warp.each(|lane| [lane.get(&h)[0], lane.get(&h)[1], 0, 0]);
            let a = FragmentA::from_registers(halves);
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &a, &b); // <- f16 as A
        }
        4 => {
            acc = Accumulator::from_registers(
                warp.each(|lane| [0, 0, lane.get(&h)[0], lane.get(&h)[1]]),
            );
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &a, &b); // <- f16 as C
        }
        // Valid uses: an accumulator of another shape with the same layout,
        5 => {
            acc = Accumulator::from_registers(c);
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &a, &b);
        }
        // f16 accumulators as parts of A and of B,
        6 => {
            let a = warp
                .each(|lane| [lane.get(&h)[0], lane.get(&h)[1], lane.get(&h)[0], lane.get(&h)[1]]);
            Mma::<_, f16, f16, _>::accumulate(
                warp,
                &mut half_acc,
                &FragmentA::from_registers(a),
                &half_b,
            );
            half_acc = Accumulator::from_registers(h);
            Mma::<_, f16, f16, _>::accumulate(
                warp,
                &mut half_acc,
                &half_a,
                &FragmentB::from_registers(h),
            );
        }
        // and converted elements.
        _ => {
            let c = Accumulator::<M16N8K8, f32>::from_registers(c)
                .map(warp, |_, _, value| bf16::from_f32(value));
            let a = c.registers();
            let a = warp.each(|lane| [lane.get(&a)[0], lane.get(&a)[1], 0, 0]);
            Mma::<_, bf16, bf16, _>::accumulate(warp, &mut acc, &FragmentA::from_registers(a), &b);
        }
    }
}

#[test]
fn accumulator_as_another_typed_operand_is_an_error() {
    let expected = [
        ("f32 as A", ('A', "bf16", "f32"), "f32"),
        ("f32 as B", ('B', "bf16", "f32"), "f32"),
        ("f32 as C", ('C', "f16", "f32"), "f32"),
        ("f16 as A", ('A', "bf16", "f16"), "f16"),
        ("f16 as C", ('C', "f32", "f16"), "f16"),
    ];
    for (which, (line, misuse, made)) in expected.into_iter().enumerate() {
        let error = typed::simulate(1, which as u32).unwrap_err();
        assert_wrong(&error, misuse, made);
        assert_at(&error, line, (0, 0, 0), 1, None);
    }
}

#[test]
fn accumulator_as_a_valid_operand_is_no_error() {
    for which in 5..8 {
        typed::simulate(1, which).unwrap();
    }
}

#[kernel(threads = 32, target = "sm_80")]
fn by_lanes(block: &Block, which: u32) {
    block.warp().each(|lane| {
        let word = |i: usize| {
            let half = |i: usize| {
                u32::from(f16::from_f32(((lane.id() * 7 + i * 5) % 37) as f32 * 0.25).to_bits())
            };
            half(2 * i) | half(2 * i + 1) << 16
        };
        let (a, b) = ([word(0), word(1)], [word(2)]);
        // SAFETY: All lanes reach this together.
        unsafe {
            let c = raw::mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(a, b, [0; 4]);
            // <- raw f32
            let h = raw::mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(a, b, [0; 2]);
            // <- raw f16
            match which {
                0 => drop(raw::mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(c, a, [0; 4])),
                // <- raw 0
                1 => drop(raw::mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(a, [c[3]], [0; 4])),
                // <- raw 1
                2 => drop(raw::mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32(h, b, c)),
                // <- raw 2
                3 => {
                    let c = [c[0], c[1]];
                    _ = raw::mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(a, b, c); // <- raw 3
                }
                4 => drop(raw::mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(
                    [word(3); 4],
                    a,
                    c,
                )),
                5 => drop(raw::mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(h, [h[0]], h)),
                // This instruction moves bits of any kind.
                _ => drop(raw::movmatrix_sync_aligned_m8n8_trans_b16(c[0])),
            }
        }
    });
}

#[test]
fn accumulator_as_another_raw_operand_is_an_error() {
    let expected = [
        (('A', "bf16", "f32"), "raw f32"),
        (('B', "f16", "f32"), "raw f32"),
        (('A', "bf16", "f16"), "raw f16"),
        (('C', "f16", "f32"), "raw f32"),
    ];
    for (which, (misuse, made)) in expected.into_iter().enumerate() {
        let error = by_lanes::simulate(1, which as u32).unwrap_err();
        assert_wrong(&error, misuse, made);
        assert_at(&error, &format!("raw {which}"), (0, 0, 0), 0, None);
    }
    for which in 4..7 {
        by_lanes::simulate(1, which).unwrap();
    }
}

#[kernel(threads = 32, target = "sm_80")]
fn few_values(block: &Block) {
    let warp = block.warp();
    let one = FragmentA::<M16N8K8, f16>::from_fn(warp, |row, _| f16::from_f32((row % 8) as f32));
    let ones = FragmentB::from_fn(warp, |_, _| f16::ONE);
    let mut acc = Accumulator::zero();
    Mma::<M16N8K8, f16, f16, f32>::accumulate(warp, &mut acc, &one, &ones);
    let a = FragmentA::<M16N8K16, bf16>::from_registers(acc.registers());
    let b = FragmentB::from_fn(warp, |_, _| bf16::ONE);
    Mma::<_, bf16, bf16, f32>::accumulate(warp, &mut Accumulator::zero(), &a, &b);
}

/// Eight words could equal others by chance.
#[test]
fn few_distinct_words_are_no_finding() {
    few_values::simulate(1).unwrap();
}

#[test]
fn report_names_both_lines() {
    let report = typed::simulate(1, 0).unwrap_err().to_string();
    let made = line_of("f32").1;
    assert!(
        report.starts_with("error: the registers of an f32 accumulator are taken for A of bf16\n"),
        "{report}"
    );
    assert!(report.contains(&format!(
        "= the `mma` that returned them is at tests/simulator/operands.rs:{made}:"
    )));
    assert!(
        report.contains("= help: convert the elements and move them to the right lanes"),
        "{report}"
    );
}
