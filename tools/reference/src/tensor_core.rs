//! Sums as the tensor cores compute them.

use super::chain::{Additions, additions, fused_chain};
use super::number::{Exact, Rounding, exponent, round, sum_of_cut};
use crate::data::Float;
use half::f16;
use ptx_matrix::sim::Arch;

/// The tensor cores of a GPU, by its architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TensorCores {
    Volta,
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
    RtxBlackwell,
}

use TensorCores::*;

impl TensorCores {
    /// Those of a compute capability times ten.
    fn of(sm: u32) -> Self {
        match sm {
            70 => Volta,
            75 => Turing,
            80 | 86 | 87 => Ampere,
            89 => Ada,
            90 => Hopper,
            100 | 103 | 110 => Blackwell,
            120 | 121 => RtxBlackwell,
            _ => panic!(
                "the reference does not know the tensor cores of sm_{sm}: add it to \
                 `TensorCores::of` (tools/reference/src/tensor_core.rs)"
            ),
        }
    }

    /// Refuses an instruction that these tensor cores lack.
    fn lack(self, instruction: &str, function: &str) -> ! {
        panic!(
            "the reference knows no {instruction} on {self:?}: if it has that now, extend \
             `{function}` (tools/reference/src/tensor_core.rs)"
        )
    }
}

/// How a GPU sums products.
#[derive(Debug, Clone, Copy)]
pub struct Summing {
    /// Bits after the point that are kept of a term with the largest exponent.
    bits: i64,
    /// The largest exponent is at least this, of sums in f32.
    least_f32: i64,
    /// Likewise, of sums in f16.
    least_f16: i64,
    /// Products that are summed at once, times the bytes of a factor.
    bytes: usize,
    /// Bits after the point that a sum in f32 keeps.
    bits_of_f32: u32,
}

/// Bytes of the longest row of A (of a sparse A, of what is kept of it) whose sums are known.
const LONGEST_ROW: usize = 32;

/// As published of GPUs that were not run here: C has an exponent of -126 also if it is zero.
const PUBLISHED: Summing =
    Summing { bits: 25, least_f32: -126, least_f16: -126, bytes: LONGEST_ROW, bits_of_f32: 23 };
/// sm_90.
const HOPPER: Summing = Summing { least_f32: -133, least_f16: -21, ..PUBLISHED };
/// As published of sm_120: there is no least exponent.
pub const BLACKWELL_KINDS: Summing = Summing { least_f32: -2000, least_f16: -2000, ..PUBLISHED };
/// `wgmma` of fp8 on sm_90.
const HOPPER_WGMMA_FP8: Summing = Summing { bits: 13, bits_of_f32: 13, ..BLACKWELL_KINDS };
/// fp8 on sm_89: half of the K of `m16n8k32` at a time.
const ADA_FP8: Summing = Summing { bytes: 16, ..HOPPER_WGMMA_FP8 };

impl Summing {
    /// That of f16, bf16 and tf32.
    fn floats(cores: TensorCores) -> Self {
        match cores {
            Volta => Summing { bits: 23, ..PUBLISHED },
            Turing => Summing { bits: 24, ..PUBLISHED },
            Ampere | Ada => Summing { bits: 24, bytes: 16, ..PUBLISHED },
            Hopper => HOPPER,
            Blackwell | RtxBlackwell => PUBLISHED,
        }
    }

    /// That of fp8 by `wgmma`.
    fn wgmma_fp8(cores: TensorCores) -> Self {
        match cores {
            Hopper => HOPPER_WGMMA_FP8,
            Volta | Turing | Ampere | Ada | Blackwell | RtxBlackwell => {
                cores.lack("`wgmma`", "Summing::wgmma_fp8")
            }
        }
    }

    /// That of `kind::f8f6f4`, which Hopper lacks. Where no GPU is named, checks pass Hopper here,
    /// and expect Blackwell's sums (`docs/NUMERICS.md`).
    fn f8f6f4(cores: TensorCores) -> Self {
        match cores {
            Hopper | Blackwell | RtxBlackwell => BLACKWELL_KINDS,
            Volta | Turing | Ampere | Ada => cores.lack("`kind::f8f6f4`", "Summing::f8f6f4"),
        }
    }

    /// The least exponent of sums in a format.
    pub fn least<C: Sum>(self) -> i64 {
        match C::FORMAT {
            SumFormat::F32 => self.least_f32,
            SumFormat::F16 => self.least_f16,
        }
    }
}

/// A format that products are summed in, as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumFormat {
    F32,
    F16,
}

/// A format that products are summed in.
pub trait Sum: Float {
    /// Which it is.
    const FORMAT: SumFormat;
    /// How the tensor cores round.
    const ROUNDING: Rounding;
    /// The code of NaN that a sum returns.
    const NAN_CODE: u64;
}

impl Sum for f16 {
    const FORMAT: SumFormat = SumFormat::F16;
    const ROUNDING: Rounding = Rounding::Nearest;
    const NAN_CODE: u64 = 0x7fff;
}

impl Sum for f32 {
    const FORMAT: SumFormat = SumFormat::F32;
    const ROUNDING: Rounding = Rounding::Cut;
    const NAN_CODE: u64 = 0x7fff_ffff;
}

/// One sum of the tensor cores of some GPU. Each term is cut toward zero, some bits below the
/// largest exponent of all terms, or below a least one if that is larger. The sum of these is
/// rounded. (The products of the formats that it takes are exact in f64.)
fn sum_of<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C, summing: Summing) -> C {
    assert!(
        size_of_val(a) <= LONGEST_ROW,
        "the reference does not know how the tensor cores sum a row of {} elements of {} bytes: \
         extend `sum_of` (tools/reference/src/tensor_core.rs)",
        a.len(),
        size_of::<A>()
    );
    let at_once = summing.bytes / size_of::<A>();
    a.chunks(at_once).zip(b.chunks(at_once)).fold(c, |c, (a, b)| one_sum(a, b, c, summing))
}

fn one_sum<A: Float, B: Float, C: Sum>(a: &[A], b: &[B], c: C, summing: Summing) -> C {
    let mut terms = Vec::with_capacity(a.len() + 1);
    let mut largest = summing.least::<C>();
    for (&a, &b) in a.iter().zip(b) {
        let term = a.to_f64() * b.to_f64();
        terms.push(term);
        if term != 0.0 {
            largest = largest.max(exponent(a) + exponent(b));
        }
    }
    terms.push(c.to_f64());
    if c.to_f64() != 0.0 {
        largest = largest.max(exponent(c));
    }
    let special: f64 = terms.iter().filter(|term| !term.is_finite()).sum();
    if special.is_nan() {
        return C::from_code(C::NAN_CODE);
    }
    if special.is_infinite() {
        return C::from_f64(special);
    }
    let sum: C = round(&sum_of_cut(&terms, largest - summing.bits), C::ROUNDING);
    match C::FORMAT {
        SumFormat::F32 if sum.to_f64().is_finite() => {
            let unused = C::FRACTION - summing.bits_of_f32;
            C::from_code(sum.code() >> unused << unused)
        }
        SumFormat::F32 | SumFormat::F16 => sum,
    }
}

/// Sums of f16, bf16 and tf32.
pub fn sum_of_floats<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    sum_of(a, b, c, Summing::floats(TensorCores::of(gpu.sm())))
}

/// fp8 by `wgmma`.
pub fn wgmma_fp8<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    sum_of(a, b, c, Summing::wgmma_fp8(TensorCores::of(gpu.sm())))
}

/// `kind::f8f6f4`.
pub fn f8f6f4<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    sum_of(a, b, c, Summing::f8f6f4(TensorCores::of(gpu.sm())))
}

/// `m8n8k4` of f16: sums of the tensor cores up to Turing, additions from Ampere on.
pub fn quad<C: Sum + Additions>(gpu: Arch, a: &[f16], b: &[f16], c: C) -> C {
    match TensorCores::of(gpu.sm()) {
        Volta | Turing => sum_of_floats(gpu, a, b, c),
        Ampere | Ada | Hopper | Blackwell | RtxBlackwell => additions(a, b, c),
    }
}

/// f64: the same chain on every GPU that has it.
pub fn chain(gpu: Arch, a: &[f64], b: &[f64], c: f64, rounding: Rounding) -> f64 {
    match TensorCores::of(gpu.sm()) {
        Ampere | Ada | Hopper | Blackwell | RtxBlackwell => fused_chain(a, b, c, rounding),
        cores @ (Volta | Turing) => cores.lack("f64", "chain"),
    }
}

/// Sums of fp8, by the GPU's fp8 instruction or by its f16 instruction.
pub fn fp8<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    match TensorCores::of(gpu.sm()) {
        Ada => sum_of(a, b, c, ADA_FP8),
        RtxBlackwell => sum_of(a, b, c, BLACKWELL_KINDS),
        Hopper | Blackwell => two_tensor_cores(gpu, a, b, c),
        cores @ (Volta | Turing | Ampere) => cores.lack("fp8", "fp8"),
    }
}

/// fp8 on sm_90 and sm_100: two sums of the tensor cores in f16, and an addition. The first sum has
/// every other pair of products. The other pairs are added to it. Then C is added, rounded to
/// nearest.
fn two_tensor_cores<A: Float, B: Float, C: Sum>(gpu: Arch, a: &[A], b: &[B], c: C) -> C {
    assert!(
        matches!(a.len(), 16 | 32),
        "the reference does not know how ptxas splits a row of {} elements of fp8: extend \
         `two_tensor_cores` (tools/reference/src/tensor_core.rs)",
        a.len()
    );
    let sum = [0, 2].into_iter().fold(C::from_code(0), |sum, first| {
        let chosen = || (first..a.len()).step_by(4).flat_map(|k| [k, k + 1]);
        let a: Vec<f16> = chosen().map(|k| f16::from_f64(a[k].to_f64())).collect();
        let b: Vec<f16> = chosen().map(|k| f16::from_f64(b[k].to_f64())).collect();
        sum_of_floats(gpu, &a, &b, sum)
    });
    let exact = sum.to_f64() + c.to_f64();
    if exact.is_nan() {
        C::from_code(C::NAN_CODE)
    } else if exact.is_infinite() {
        C::from_f64(exact)
    } else {
        round(&(Exact::from(sum.to_f64()) + c.to_f64().into()), Rounding::Nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::element::F8E4M3;
    use ptx_matrix::forms;
    use std::panic::{UnwindSafe, catch_unwind};

    /// The message of the panic that `of` ends with.
    fn refusal<T>(of: impl FnOnce() -> T + UnwindSafe) -> String {
        let panic = catch_unwind(of).err().expect("a panic");
        panic.downcast_ref::<String>().expect("a message").clone()
    }

    fn zeros<T: Float>(len: usize) -> Vec<T> {
        vec![T::from_code(0); len]
    }

    #[test]
    fn every_gpu_of_the_simulator_is_known() {
        for &gpu in Arch::ALL {
            assert_eq!(sum_of_floats::<f16, f16, f32>(gpu, &zeros(16), &zeros(16), 1.0), 1.0);
        }
    }

    #[test]
    fn unknown_gpu_panics() {
        for sm in [60, 88, 101, 130] {
            let expected = format!("the reference does not know the tensor cores of sm_{sm}: add ");
            assert!(refusal(|| TensorCores::of(sm)).starts_with(&expected));
        }
    }

    /// The reference has no sums of an instruction that a GPU lacks.
    #[test]
    fn instruction_missing_on_the_gpu_panics() {
        fn fp8s() -> Vec<F8E4M3> {
            zeros(32)
        }
        for &gpu in Arch::ALL {
            let cores = TensorCores::of(gpu.sm());
            let check = |has: bool, instruction: &str, function: &str, sum: fn(Arch) -> f32| {
                if has {
                    assert_eq!(sum(gpu), 1.0, "{gpu}");
                } else {
                    let message = refusal(move || sum(gpu));
                    let start = format!("the reference knows no {instruction} on {cores:?}: ");
                    assert!(message.starts_with(&start), "{message}");
                    assert!(message.contains(&format!("extend `{function}`")), "{message}");
                }
            };
            let [is_89, is_90, is_80] = [89, 90, 80].map(|sm| gpu.sm() >= sm);
            check(is_89, "fp8", "fp8", |gpu| fp8(gpu, &fp8s(), &fp8s(), 1.0));
            check(is_90, "`kind::f8f6f4`", "Summing::f8f6f4", |gpu| {
                f8f6f4(gpu, &fp8s(), &fp8s(), 1.0)
            });
            check(gpu == Arch::SM_90, "`wgmma`", "Summing::wgmma_fp8", |gpu| {
                wgmma_fp8(gpu, &fp8s(), &fp8s(), 1.0)
            });
            check(is_80, "f64", "chain", |gpu| {
                chain(gpu, &[0.0; 4], &[0.0; 4], 1.0, Rounding::Nearest) as f32
            });
        }
    }

    #[test]
    fn unknown_row_panics() {
        let floats =
            refusal(|| sum_of_floats::<f16, f16, f32>(Arch::SM_80, &zeros(32), &zeros(32), 0.0));
        assert!(floats.contains("a row of 32 elements of 2 bytes: extend `sum_of`"), "{floats}");
        let of_fp8 =
            refusal(|| fp8::<F8E4M3, F8E4M3, f32>(Arch::SM_90, &zeros(24), &zeros(24), 0.0));
        assert!(of_fp8.contains("24 elements of fp8: extend `two_tensor_cores`"), "{of_fp8}");
    }

    /// Every form of floating point has rows of A that [`sum_of`] knows.
    #[test]
    fn rows_of_all_forms_are_known() {
        let bits = |element: &str| match element {
            "tf32" => 32,
            "f16" | "bf16" => 16,
            "e4m3" | "e5m2" | "e3m2" | "e2m3" | "e2m1" => 8,
            _ => 0,
        };
        let mma = forms::all().filter(|form| form.scales == 0 && form.family.starts_with("mma"));
        let names = mma.map(|form| form.ptx).chain(forms::all_wgmma().map(|form| form.ptx));
        let mut seen = 0;
        for name in names {
            let parts: Vec<&str> = name.split('.').collect();
            // D, then A.
            let Some(at) = parts.iter().position(|part| matches!(*part, "f16" | "f32")) else {
                continue;
            };
            let a = parts[at + 1];
            assert!(bits(a) > 0, "{name}");
            let shape = parts.iter().find(|part| part.starts_with('m') && part.contains('k'));
            let k: usize = shape.unwrap().rsplit_once('k').unwrap().1.parse().unwrap();
            let is_sparse = name.contains(".sp.") || name.contains(".sp::");
            let kept = if is_sparse { k / 2 } else { k };
            assert!(kept * bits(a) / 8 <= LONGEST_ROW, "{name}");
            seen += 1;
        }
        assert!(seen > 100);
    }

    /// `scaled` takes no GPU: it computes as sm_120 and sm_121 do, whose sums alone are published.
    #[test]
    fn only_rtx_blackwell_has_scaled_blocks() {
        for form in forms::all().filter(|form| form.scales > 0) {
            for &gpu in Arch::ALL.iter().filter(|&&gpu| form.is_on(gpu)) {
                assert_eq!(TensorCores::of(gpu.sm()), RtxBlackwell, "{}, {gpu}", form.ptx);
            }
        }
    }
}
