//! The two measured ceilings of a GPU: the tensor cores on registers alone, and copies within
//! global memory.

use std::time::Duration;

use anyhow::Result;
use half::{bf16, f16};
use ptx_matrix::element::tf32;
use ptx_matrix_timing_kernels::ceiling::{
    PRODUCTS, ceiling_bf16, ceiling_f16, ceiling_s8, ceiling_tf32, elements,
};

use super::data::normal;
use super::measure::{Timer, launches_for};
use super::statistics::median;
use super::{Conditions, Element, Type};
use ptx_matrix_host::{GpuDevice, Stream};

/// Measurements of each ceiling.
const ROUNDS: usize = 5;

/// The least duration of a tensor-core measurement. The driver updates its clock reading only now
/// and then.
const BATCH: Duration = Duration::from_millis(100);

/// Operations of an `mma.sync` of m16n8, for each of its K.
const OPERATIONS: f64 = 2.0 * 16.0 * 8.0;

/// The throughput that a GPU reached, and the clock at that time.
#[derive(Clone, Debug)]
pub struct Ceiling {
    /// 10^12 operations a second.
    pub tflops: f64,
    /// The conditions during the measurement.
    pub conditions: Conditions,
}

impl Ceiling {
    /// The throughput as a fraction of the ceiling, scaled to the clock of the measurement; `None`
    /// if a clock is not known.
    pub fn utilisation(&self, tflops: f64, conditions: &Conditions) -> Option<f64> {
        Some(tflops / (self.tflops * conditions.clock_mhz? / self.conditions.clock_mhz?))
    }
}

/// The ceilings of a GPU.
#[derive(Clone, Debug)]
pub struct Ceilings {
    /// `mma.sync` of m16n8k16, f16 with f32 accumulators.
    pub f16: Ceiling,
    /// `mma.sync` of m16n8k16, bf16 with f32 accumulators.
    pub bf16: Ceiling,
    /// `mma.sync` of m16n8k8, tf32 with f32 accumulators.
    pub tf32: Ceiling,
    /// `mma.sync` of m16n8k32, s8 with s32 accumulators.
    pub s8: Ceiling,
    /// The throughput of a copy within global memory in bytes a second; a byte counts when it is
    /// read and when it is written.
    pub copy: f64,
}

impl Ceilings {
    /// Measures all ceilings.
    pub(super) fn measure(device: &GpuDevice, timer: &Timer<'_>) -> Result<Self> {
        let stream = timer.stream;
        let queue = device.in_stream(stream);
        let blocks = device.gpu().info().multiprocessors;
        let mut out = stream.filled::<f32>(blocks as usize * 256, 0)?;

        macro_rules! mma_rate {
            ($kernel:ident $type:ident $element:expr, $k:literal) => {{
                let a = stream.upload(&normal($element, elements($k).0, 1))?;
                let b = stream.upload(&normal($element, elements($k).1, 2))?;
                let (a, b) = (a.cast_ref::<$type>(), b.cast_ref::<$type>());
                mma_rate(timer, blocks, $k, |rounds| {
                    Ok($kernel::launch(&queue, blocks, a, b, &mut out, rounds)?)
                })?
            }};
        }
        Ok(Ceilings {
            f16: mma_rate!(ceiling_f16 f16 Element::F16, 16),
            bf16: mma_rate!(ceiling_bf16 bf16 Element::Bf16, 16),
            tf32: mma_rate!(ceiling_tf32 tf32 Element::Tf32, 8),
            s8: mma_rate!(ceiling_s8 i8 Element::S8, 32),
            copy: copy(stream, timer)?,
        })
    }

    /// The tensor-core ceiling for a type, if it was measured.
    pub fn of(&self, ty: Type) -> Option<&Ceiling> {
        match ty {
            Type::F16 | Type::F16F32 => Some(&self.f16),
            Type::Bf16 | Type::Bf16F32 => Some(&self.bf16),
            Type::Tf32 => Some(&self.tf32),
            Type::S8 => Some(&self.s8),
            _ => None,
        }
    }

    /// The tensor-core ceilings with their names.
    pub fn named(&self) -> [(&'static str, &Ceiling); 4] {
        [
            ("f16 into f32", &self.f16),
            ("bf16 into f32", &self.bf16),
            ("tf32 into f32", &self.tf32),
            ("s8 into s32", &self.s8),
        ]
    }
}

/// Times one launch with as many rounds as fill a batch.
fn mma_rate(
    timer: &Timer<'_>,
    blocks: u32,
    k: usize,
    mut launch: impl FnMut(u32) -> Result<()>,
) -> Result<Ceiling> {
    let probe = 1000;
    launch(probe)?;
    let (took, _) = timer.time(|| launch(probe))?;
    let rounds = probe.saturating_mul(u32::try_from(launches_for(BATCH, took)).unwrap_or(u32::MAX));
    let operations =
        f64::from(rounds) * f64::from(blocks) * 8.0 * PRODUCTS as f64 * OPERATIONS * k as f64;
    let rounds: Vec<(Duration, Conditions)> =
        (0..ROUNDS).map(|_| timer.time(|| launch(rounds))).collect::<Result<_>>()?;
    let seconds =
        median(rounds.iter().map(|(took, _)| took.as_secs_f64())).expect("there is a round");
    let seen: Vec<Conditions> = rounds.into_iter().map(|(_, conditions)| conditions).collect();
    Ok(Ceiling { tflops: operations / seconds / 1e12, conditions: Conditions::over(&seen) })
}

/// The best of some copies: kernels are compared with this.
fn copy(stream: &Stream, timer: &Timer<'_>) -> Result<f64> {
    // Far larger than any cache.
    const BYTES: usize = 1 << 30;
    let from = stream.filled::<u8>(BYTES, 0x5a)?;
    let mut to = stream.filled::<u8>(BYTES, 0)?;
    let mut best = Duration::MAX;
    let copies = 20;
    for _ in 0..ROUNDS {
        let (took, _) = timer.time(|| (0..copies).try_for_each(|_| Ok(to.copy_from(&from)?)))?;
        best = best.min(took);
    }
    Ok(2.0 * BYTES as f64 * f64::from(copies) / best.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceiling_scales_with_the_clock() {
        let at = |clock_mhz| Conditions { clock_mhz, ..Conditions::default() };
        let ceiling = Ceiling { tflops: 600.0, conditions: at(Some(2000.0)) };
        assert_eq!(ceiling.utilisation(450.0, &at(Some(1500.0))), Some(1.0));
        assert_eq!(ceiling.utilisation(450.0, &at(Some(2000.0))), Some(0.75));
        assert_eq!(ceiling.utilisation(450.0, &at(None)), None);
    }
}
