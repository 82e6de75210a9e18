//! The benchmark with cuBLAS on a GPU. `cargo test -- --ignored` runs these tests on a GPU. Without
//! a GPU, a stand-in driver and a stand-in cuBLAS replace the real ones.

#[path = "../../../host/tests/stand_in/mod.rs"]
mod stand_in;

use std::time::Duration;

use anyhow::{Result, bail};
use ptx_matrix_bench::{
    Bench, Contestant, Cublas, Gemms, Layout, Operands, Outcome, Problem, Shape, Type,
};
use ptx_matrix_host::{Gpu, GpuDevice, Stream};

#[test]
fn ignored_tests_pass_on_the_stand_in() {
    stand_in::run_ignored_tests_with(&["libcublas.so.13", "libcublasLt.so.13"]);
}

fn device() -> GpuDevice {
    // SAFETY: None of its kernels is launched.
    unsafe { GpuDevice::new_unchecked(Gpu::open(0).unwrap(), stand_in::KERNELS) }.unwrap()
}

fn problem(ty: Type, layout: Layout) -> Problem {
    Problem { ty, layout, shape: Shape { m: 8, n: 12, k: 20 }, gemms: Gemms::One }
}

fn quick<'a>(device: &'a GpuDevice) -> Bench<'a> {
    let mut bench = Bench::new(device, None).unwrap();
    (bench.rounds, bench.batch) = (3, Duration::from_millis(1));
    bench
}

#[test]
#[ignore = "needs a GPU"]
fn cublas_multiplies_in_every_layout() {
    let device = device();
    let cublas = Cublas::new(device.gpu()).unwrap();
    let version = cublas.version();
    assert!(["12.", "13."].iter().any(|major| version.starts_with(major)), "{version}");
    let bench = quick(&device);
    for ty in [Type::Tf32, Type::F64, Type::S8] {
        for layout in [Layout::Nn, Layout::Nt, Layout::Tn, Layout::Tt] {
            for gemms in [Gemms::One, Gemms::Batch(3)] {
                let problem = Problem { gemms, ..problem(ty, layout) };
                let measured = bench.measure(&problem, &[&cublas]).unwrap();
                assert_eq!(measured[0].outcome, Outcome::Right, "{problem}");
                let micros = measured[0].micros.unwrap();
                assert!(
                    micros.min > 0.0 && micros.min <= micros.median && micros.median <= micros.max
                );
                assert!(measured[0].launches >= 1);
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn cublas_refuses_unsupported_problems() {
    let device = device();
    let cublas = Cublas::new(device.gpu()).unwrap();
    let bench = quick(&device);
    let in_groups = |layout| Problem { gemms: Gemms::Groups(3), ..problem(Type::Tf32, layout) };
    assert_eq!(
        bench.measure(&in_groups(Layout::Nt), &[&cublas]).unwrap()[0].outcome,
        Outcome::Right
    );
    assert!(!cublas.supports(&in_groups(Layout::Tn)));
    let batch = Problem { gemms: Gemms::Batch(2), ..problem(Type::E4m3, Layout::Nt) };
    assert!(!cublas.supports(&batch));
    let odd = Problem { shape: Shape { m: 7, n: 12, k: 20 }, ..problem(Type::S8, Layout::Nn) };
    assert!(bench.measure(&odd, &[&cublas]).unwrap().is_empty());
    assert!(!cublas.supports(&problem(Type::E4m3, Layout::Nn)));
}

/// Contestants, each with one kind of failure.
enum Failing {
    WritesNothing,
    Refuses,
}

impl Contestant for Failing {
    fn name(&self) -> &str {
        "failing"
    }

    fn supports(&self, _: &Problem) -> bool {
        true
    }

    fn run(&self, _: &Stream, _: &Problem, operands: &mut Operands) -> Result<()> {
        match self {
            // Without the fill, the poison would stay.
            Failing::WritesNothing => Ok(operands.d.fill(0)?),
            Failing::Refuses => bail!("not today"),
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn wrong_result_and_refusal_are_reported_and_others_continue() {
    let device = device();
    let cublas = Cublas::new(device.gpu()).unwrap();
    let contestants: [&dyn Contestant; 3] = [&cublas, &Failing::WritesNothing, &Failing::Refuses];
    let measured = quick(&device).measure(&problem(Type::F64, Layout::Tn), &contestants).unwrap();
    let [theirs, wrong, refused] = &measured[..] else { panic!("{measured:?}") };
    assert_eq!(theirs.outcome, Outcome::Right);
    assert!(
        matches!(&wrong.outcome, Outcome::Wrong(line) if line.starts_with("D[0, 0] is 0, not ")),
        "{wrong:?}"
    );
    assert!(wrong.micros.is_some());
    assert_eq!(refused.outcome, Outcome::Refused("not today".to_owned()));
    assert_eq!(refused.micros, None);
}
