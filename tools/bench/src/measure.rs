//! Checks the result of every contestant, then times the contestants in alternation.

use std::time::Duration;

use anyhow::{Context, Result};

use super::compare::{Tolerance, with_other, with_reference};
use super::data::normal;
use super::{Ceilings, Conditions, Contestant, Monitor, Operands, Problem, Summary};
use ptx_matrix_host::{GpuDevice, GpuError, Stream};

/// The byte that fills D before a check. It makes NaN as a float, and an unlikely sum as an
/// integer.
const POISON: u8 = 0xff;

/// The total size of all sets of inputs is at least this many times the L2 cache.
const CACHES: usize = 4;

/// The largest number of input sets, for small problems.
const MAX_SETS: usize = 64;

/// A GPU to measure on, and the parameters of the measurement.
#[derive(Debug)]
pub struct Bench<'a> {
    device: &'a GpuDevice,
    stream: Stream,
    monitor: Option<Monitor>,
    /// The number of timings of each contestant.
    pub rounds: usize,
    /// The least duration of a timing.
    pub batch: Duration,
}

/// The result of a contestant for a problem.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The name of the contestant.
    pub contestant: String,
    /// The configuration of the contestant.
    pub config: String,
    /// Whether the result was right.
    pub outcome: Outcome,
    /// Microseconds of one GEMM, over the rounds; `None` if it did not run.
    pub micros: Option<Summary>,
    /// The number of GEMMs in one timing.
    pub launches: usize,
    /// The medians of the conditions during the timings.
    pub conditions: Conditions,
}

/// The check of a contestant's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The result is right.
    Right,
    /// The result is wrong: a line about the first wrong element.
    Wrong(String),
    /// There is no result: the contestant's reason.
    Refused(String),
}

/// Times work on a stream.
pub(super) struct Timer<'a> {
    pub(super) stream: &'a Stream,
    pub(super) monitor: Option<&'a Monitor>,
}

impl Timer<'_> {
    /// The time on the GPU for the work that `work` enqueues in the stream.
    pub(super) fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<(Duration, Conditions)> {
        let timed = || {
            let start = self.stream.record()?;
            work()?;
            let end = self.stream.record()?;
            Ok(end.since(&start)?)
        };
        let (took, conditions): (Result<Duration>, _) = match self.monitor {
            Some(monitor) => monitor.during(timed),
            None => (timed(), Conditions::default()),
        };
        Ok((took?, conditions))
    }
}

/// The number of launches of this duration that fill a batch.
pub(super) fn launches_for(batch: Duration, one: Duration) -> usize {
    (batch.as_secs_f64() / one.as_secs_f64().max(1e-7)).ceil().max(1.0) as usize
}

/// The number of sets of `bytes` bytes to rotate through, so that a set has left an L2 cache of
/// `l2` bytes before it is used again.
fn sets_for(l2: usize, bytes: usize) -> usize {
    (CACHES * l2).div_ceil(bytes.max(1)).clamp(1, MAX_SETS)
}

impl<'a> Bench<'a> {
    /// Measures on a GPU with loaded kernels, in a new stream. The default is 9 rounds of at least
    /// 20 ms each.
    pub fn new(device: &'a GpuDevice, monitor: Option<Monitor>) -> Result<Self, GpuError> {
        let stream = device.gpu().new_stream()?;
        Ok(Self { device, stream, monitor, rounds: 9, batch: Duration::from_millis(20) })
    }

    fn timer(&self) -> Timer<'_> {
        Timer { stream: &self.stream, monitor: self.monitor.as_ref() }
    }

    /// Measures the ceilings of the GPU.
    pub fn ceilings(&self) -> Result<Ceilings> {
        Ceilings::measure(self.device, &self.timer())
    }

    /// Measures the contestants that support a problem. The first contestant is the reference.
    pub fn measure(
        &self,
        problem: &Problem,
        contestants: &[&dyn Contestant],
    ) -> Result<Vec<Measured>> {
        let contestants: Vec<&dyn Contestant> =
            contestants.iter().copied().filter(|contestant| contestant.supports(problem)).collect();
        if contestants.is_empty() {
            return Ok(Vec::new());
        }
        let mut sets = Vec::new();
        let outcomes = self.prepare(problem, &contestants, &mut sets)?;
        let mut measured: Vec<Measured> = contestants
            .iter()
            .zip(outcomes)
            .map(|(contestant, outcome)| Measured {
                contestant: contestant.name().to_owned(),
                config: contestant.config().to_owned(),
                launches: 0,
                micros: None,
                conditions: Conditions::default(),
                outcome,
            })
            .collect();
        self.time(problem, &contestants, &mut sets, &mut measured)?;
        Ok(measured)
    }

    /// Makes the sets of operands, and checks each contestant's result for the first set. Returns
    /// the outcomes.
    fn prepare(
        &self,
        problem: &Problem,
        contestants: &[&dyn Contestant],
        sets: &mut Vec<Operands>,
    ) -> Result<Vec<Outcome>> {
        let [a_len, b_len, _] = problem.elements();
        let d_bytes = problem.bytes()[2];
        let input = problem.ty.input();
        let data = |set: u64| (normal(input, a_len, 2 * set), normal(input, b_len, 2 * set + 1));
        let upload = |(a, b): &(Vec<u8>, Vec<u8>)| {
            let d = self.stream.filled(d_bytes, POISON)?;
            Ok::<_, GpuError>(Operands { a: self.stream.upload(a)?, b: self.stream.upload(b)?, d })
        };
        let first = data(0);
        sets.push(upload(&first).with_context(|| format!("the operands of {problem}"))?);
        let operands = &mut sets[0];

        let (a, b) = (&first.0, &first.1);
        let tolerance = Tolerance::of(problem, a, b);
        let mut theirs: Option<Vec<u8>> = None;
        let mut outcomes = Vec::new();
        for contestant in contestants {
            operands.d.fill(POISON)?;
            // A contestant may refuse, and the others continue. An error of the device ends the
            // measurement.
            if let Err(refused) = contestant.run(&self.stream, problem, operands) {
                self.stream.synchronize()?;
                outcomes.push(Outcome::Refused(format!("{refused:#}")));
                continue;
            }
            let d = operands.d.download()?;
            let compared = with_reference(problem, &tolerance, a, b, &d).and_then(|()| {
                theirs.as_ref().map_or(Ok(()), |theirs| with_other(problem, &tolerance, &d, theirs))
            });
            if compared.is_ok() {
                theirs.get_or_insert(d);
            }
            outcomes.push(compared.map_or_else(Outcome::Wrong, |()| Outcome::Right));
        }
        for set in 1..sets_for(self.device.gpu().info().l2_bytes, problem.bytes().iter().sum()) {
            sets.push(
                upload(&data(set as u64)).with_context(|| format!("the operands of {problem}"))?,
            );
        }
        Ok(outcomes)
    }

    /// Times the contestants in alternation. The order changes from round to round, so that no
    /// contestant always follows the same other one.
    fn time(
        &self,
        problem: &Problem,
        contestants: &[&dyn Contestant],
        sets: &mut [Operands],
        measured: &mut [Measured],
    ) -> Result<()> {
        let timer = self.timer();
        let mut batch = |contestant: &dyn Contestant, launches: usize| {
            timer.time(|| {
                (0..launches).try_for_each(|i| {
                    let set = i % sets.len();
                    contestant.run(&self.stream, problem, &mut sets[set])
                })
            })
        };
        let running: Vec<usize> = (0..contestants.len())
            .filter(|&i| !matches!(measured[i].outcome, Outcome::Refused(_)))
            .collect();
        for &i in &running {
            // The first estimate includes the cold start. The second runs as long as a batch, and
            // is the warm-up.
            let mut launches = 1;
            for _ in 0..2 {
                let (took, _) = batch(contestants[i], launches)?;
                launches =
                    launches_for(self.batch, took / u32::try_from(launches).unwrap_or(u32::MAX));
            }
            measured[i].launches = launches;
        }
        let mut timings = vec![Vec::new(); contestants.len()];
        let mut seen = vec![Vec::new(); contestants.len()];
        for round in 0..self.rounds {
            let order: Vec<usize> = if round % 2 == 0 {
                running.clone()
            } else {
                running.iter().rev().copied().collect()
            };
            for i in order {
                let launches = measured[i].launches;
                let (took, conditions) = batch(contestants[i], launches)?;
                timings[i].push(took.as_secs_f64() * 1e6 / launches as f64);
                seen[i].push(conditions);
            }
        }
        for ((measured, timings), seen) in measured.iter_mut().zip(timings).zip(&seen) {
            measured.micros = Summary::of(timings);
            measured.conditions = Conditions::over(seen);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_is_long_enough() {
        let ms = Duration::from_millis;
        assert_eq!(launches_for(ms(20), ms(3)), 7);
        assert_eq!(launches_for(ms(20), ms(400)), 1);
        assert_eq!(launches_for(ms(20), Duration::ZERO), 200_000);
    }

    #[test]
    fn buffers_that_fit_the_cache_are_rotated() {
        assert_eq!(sets_for(60 << 20, 6 << 20), 40);
        assert_eq!(sets_for(60 << 20, 134 << 20), 2);
        assert_eq!(sets_for(60 << 20, 400 << 20), 1);
        assert_eq!(sets_for(60 << 20, 1000), MAX_SETS);
    }
}
