//! The arithmetic of GPUs that this project has not run. The cases are from a published
//! bit-accurate model, which its authors validated on hardware of each architecture (MMA-Sim, arXiv
//! 2511.10909).
//!
//! `bits/cases.csv` has a line for each case. `bits/cases.bin`, deflated, has their matrices one
//! after another: A, B, C, the scales of A and of B, and D. Each matrix is row by row, and each
//! element has as many bytes as it needs.

use ptx_matrix::forms::{Form, HeldMatrix, Selectors, WgmmaOptions, all, all_wgmma, find};
use ptx_matrix::lane::LANES;
use ptx_matrix::sim::{Arch, Simulator};
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// A case, with the bytes of its matrices.
struct Case {
    gpu: Arch,
    form: &'static Form,
    data: String,
    bytes: Range<usize>,
}

/// Bytes of an element.
fn bytes_of(matrix: &HeldMatrix, form: &Form) -> usize {
    (form.register_bits / matrix.per_register).div_ceil(8)
}

/// The matrices of a form in the file: those of one multiplication.
fn matrices(form: &Form) -> Vec<(HeldMatrix, usize, usize)> {
    let of_four = form.ptx.contains(".m8n8k4.") && form.ptx.contains(".f16.f16.");
    let matrices = form.matrices();
    let by_name = |name: &str| matrices.iter().find(|matrix| matrix.name == name).cloned();
    let names = ["A", "B", "C", "scales of A", "scales of B", "D"];
    let one = |matrix: HeldMatrix| {
        let rows = if of_four && matrix.name != "B" { matrix.rows / 4 } else { matrix.rows };
        let cols = if of_four && matrix.name == "B" { matrix.cols / 4 } else { matrix.cols };
        (matrix, rows, cols)
    };
    names.into_iter().filter_map(by_name).map(one).collect()
}

fn cases() -> (Vec<Case>, Vec<u8>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bits");
    let bytes =
        miniz_oxide::inflate::decompress_to_vec(&fs::read(folder.join("cases.bin")).unwrap())
            .unwrap();
    let text = fs::read_to_string(folder.join("cases.csv")).unwrap();
    let mut first = 0;
    let case = |line: &str| {
        let [gpu, form, data] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let form = find(form).unwrap();
        let size: usize =
            matrices(form).iter().map(|(of, rows, cols)| rows * cols * bytes_of(of, form)).sum();
        first += size;
        Case { gpu: gpu.parse().unwrap(), form, data: data.into(), bytes: first - size..first }
    };
    let cases: Vec<Case> = text.lines().skip(1).map(case).collect();
    assert_eq!(cases.last().unwrap().bytes.end, bytes.len());
    (cases, bytes)
}

/// Runs a case on the simulator. Returns the first difference, if there is one.
fn run(case: &Case, bytes: &[u8]) -> Option<String> {
    let form = case.form;
    let register = form.register_bits / 8;
    let mut lanes: Vec<Vec<u8>> = vec![Vec::new(); LANES];
    let mut at = 0;
    let matrices = matrices(form);
    for (matrix, rows, cols) in &matrices {
        let size = bytes_of(matrix, form);
        let code = |row: usize, col: usize| {
            let mut code = [0; 8];
            code[..size]
                .copy_from_slice(&bytes[at + (row % rows * cols + col % cols) * size..][..size]);
            u64::from_le_bytes(code)
        };
        let bits = form.register_bits / matrix.per_register;
        if matrix.name == "D" {
            let output = execute(case, &lanes.concat());
            let d = |lane: usize, index: usize| {
                let mut word = [0; 8];
                let start = (lane * form.d + index / matrix.per_register) * register;
                word[..register].copy_from_slice(&output[start..start + register]);
                u64::from_le_bytes(word) >> (index % matrix.per_register * bits)
                    & (u64::MAX >> (64 - bits))
            };
            let differs = matrix
                .held
                .iter()
                .find(|held| d(held.lane, held.index) != code(held.row, held.col));
            return differs.map(|held| {
                let (wrong, right) = (d(held.lane, held.index), code(held.row, held.col));
                format!("element ({}, {}) is {wrong:#x}, not {right:#x}", held.row, held.col)
            });
        }
        let registers = match matrix.name.as_str() {
            "A" => form.a,
            "B" => form.b,
            "C" => form.c,
            _ => 1,
        };
        let firsts: Vec<usize> = lanes.iter().map(Vec::len).collect();
        lanes.iter_mut().for_each(|lane| lane.resize(lane.len() + registers * register, 0));
        for held in &matrix.held {
            let word = firsts[held.lane] + held.index / matrix.per_register * register;
            let shifted = (code(held.row, held.col) << (held.index % matrix.per_register * bits))
                .to_le_bytes();
            lanes[held.lane][word..]
                .iter_mut()
                .zip(&shifted[..register])
                .for_each(|(byte, bits)| *byte |= bits);
        }
        at += rows * cols * size;
    }
    unreachable!("D comes last")
}

fn execute(case: &Case, input: &[u8]) -> Vec<u8> {
    let simulator = Simulator::new(0).gpu(case.gpu);
    simulator.execute(case.form, &Selectors::default(), input).unwrap().output
}

#[test]
fn simulator_computes_like_the_named_gpu() {
    let (cases, bytes) = cases();
    let mut of_each = BTreeMap::<&str, [usize; 2]>::new();
    let mut wrong = Vec::new();
    for case in &cases {
        let counts = of_each.entry(case.gpu.architecture()).or_default();
        counts[1] += 1;
        match run(case, &bytes[case.bytes.clone()]) {
            None => counts[0] += 1,
            Some(how) => {
                wrong.push(format!("{}, {}, {}: {how}", case.gpu, case.form.ptx, case.data))
            }
        }
    }
    assert!(wrong.is_empty(), "{of_each:?}\n{}", wrong.join("\n"));
    assert_eq!((cases.len(), of_each.len()), (1308, 7), "{of_each:?}");
}

/// The arithmetic of each architecture differs: the cases of another one fail. (Cases of
/// architectures with the same arithmetic pass.)
#[test]
fn cases_of_other_arithmetic_differ() {
    let (cases, bytes) = cases();
    let missed = |of: Arch, by: Arch| {
        let common = cases.iter().filter(|case| case.gpu == of && case.form.is_on(by));
        let differs = common.filter(|case| {
            run(
                &Case { gpu: by, data: String::new(), bytes: 0..0, ..**case },
                &bytes[case.bytes.clone()],
            )
            .is_some()
        });
        differs.count()
    };
    assert!(missed(Arch::SM_70, Arch::SM_75) > 0 && missed(Arch::SM_75, Arch::SM_80) > 0);
    assert!(missed(Arch::SM_80, Arch::SM_90) > 0 && missed(Arch::SM_89, Arch::SM_90) > 0);
    assert!(missed(Arch::SM_120, Arch::SM_90) > 0 && missed(Arch::SM_120, Arch::SM_89) > 0);
    assert_eq!([missed(Arch::SM_80, Arch::SM_86), missed(Arch::SM_90, Arch::SM_100)], [0, 0]);
}

/// Every GPU executes the forms that it has, and refuses the others by name.
#[test]
fn form_missing_on_the_gpu_is_refused_by_name() {
    for &gpu in Arch::ALL {
        let simulator = Simulator::new(0).gpu(gpu);
        let mut has = 0;
        for form in all() {
            let result =
                simulator.execute(form, &Selectors::default(), &vec![0; form.input_bytes()]);
            match result {
                Ok(_) => assert!(form.is_on(gpu), "{gpu}: {}", form.ptx),
                // Some forms fail for other reasons, because there are no metadata, and the rows
                // have no valid addresses.
                Err(error) if form.is_on(gpu) => {
                    assert!(!error.to_string().contains("is simulated"), "{error}")
                }
                Err(error) => {
                    let expected = format!(
                        "error: `{}` needs {}, and {gpu} is simulated\n",
                        form.ptx, form.needs
                    );
                    assert!(error.to_string().starts_with(&expected), "{error}");
                }
            }
            has += usize::from(form.is_on(gpu));
        }
        let of_groups = all_wgmma().filter(|form| form.n == 8).filter(|form| {
            let options = WgmmaOptions::default();
            let input = vec![0; form.memory(&options).input_bytes()];
            simulator.execute_group(form, &options, false, &input).is_ok()
        });
        assert_eq!(of_groups.count() > 0, gpu == Arch::SM_90);
        assert!(has >= 12, "{gpu} has {has} forms");
    }
}
