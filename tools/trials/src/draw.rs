//! Random GEMMs and their matrices.

use ptx_matrix_gemm::kernels::{Activation, Multiply, Number, Output};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::element::TrialElement;
use super::index;
use ptx_matrix_gemm::Layout;

/// The values of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers, so small that every sum is exact.
    Integers,
    /// Normally distributed numbers.
    Normal,
    /// Normally distributed numbers, with some infinities and NaNs.
    Special,
}

/// A GEMM, and the values of its matrices.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "as in `Gemm`")]
pub struct Trial {
    pub seed: u64,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batches: usize,
    /// The ends of the row groups, for a grouped GEMM.
    pub ends: Option<Vec<u32>>,
    pub a: Layout,
    pub b: Layout,
    pub d: Layout,
    pub alpha: f64,
    pub beta: f64,
    pub bias: bool,
    pub bias_per_row: bool,
    pub activation: Activation,
    /// Whether C is given although it is not read.
    pub nan_in_c: bool,
    pub values: Values,
    /// Whether the GEMM may use a split-K workspace.
    pub may_split: bool,
    /// Whether A and B may be repacked.
    pub may_copy: bool,
    /// Whether fast accumulation is allowed.
    pub fast: bool,
    /// The index of the candidate to run; `None` for the one that the cost model selects.
    pub choice: Option<usize>,
    /// Whether C, if it is given, is D itself.
    pub c_is_d: bool,
}

impl Trial {
    /// Whether C is given.
    pub(super) fn has_c(&self) -> bool {
        self.beta != 0.0 || self.nan_in_c
    }

    /// Draws the trial of a seed, for GEMMs of `T` into `O`.
    pub fn draw<T: Multiply<O>, O: Output>(seed: u64, longest: usize) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let [m, n, k] = [(); 3].map(|()| random.random_range(1..=longest));
        let ends =
            (!T::GROUPED.is_empty() && random.random_bool(0.25)).then(|| ends(&mut random, m));
        let are_grouped = ends.is_some();
        let batches =
            if !are_grouped && random.random_bool(0.25) { random.random_range(2..=3) } else { 1 };
        let a = input::<T>(&mut random, (m, k), are_grouped);
        let b = input::<T>(&mut random, (k, n), false);
        // Each group has its own B.
        let b = if are_grouped && b.batch() == 0 {
            b.batch_stride(if b.is_row_major() { k } else { n } * b.leading_dimension())
        } else {
            b
        };
        let d = {
            let by_row = are_grouped || random.random_bool(0.75);
            let (outer, inner) = if by_row { (m, n) } else { (n, m) };
            let stride = inner + random.random_range(0..10);
            let layout = if by_row { Layout::row_major(stride) } else { Layout::col_major(stride) };
            let batch_stride = outer * stride + random.random_range(0..9);
            layout.starting_at(random.random_range(0..20)).batch_stride(batch_stride)
        };
        let scales: &[f64] = if O::Acc::IS_FLOAT {
            &[1.0, 1.0, 0.0, -0.5, 2.0]
        } else {
            &[1.0, 1.0, 0.0, -3.0, 2.0]
        };
        let [alpha, beta] = [(); 2].map(|()| *scales.choose(&mut random).expect("there are some"));
        // A grouped GEMM needs an alpha that is not zero.
        let alpha = if are_grouped && alpha == 0.0 { 1.0 } else { alpha };
        let activations: &[Activation] = match O::Acc::IS_FLOAT {
            true => &[Activation::Relu, Activation::Gelu, Activation::Silu],
            false => &[Activation::Relu],
        };
        let values = *[Values::Integers, Values::Normal, Values::Special]
            .choose(&mut random)
            .expect("likewise");
        Self {
            seed,
            m,
            n,
            k,
            batches,
            ends,
            a,
            b,
            d,
            alpha,
            beta,
            bias: random.random(),
            bias_per_row: random.random_bool(0.3),
            activation: match random.random_bool(0.4) {
                true => *activations.choose(&mut random).expect("likewise"),
                false => Activation::Identity,
            },
            nan_in_c: beta == 0.0 && random.random::<bool>(),
            values,
            may_split: random.random(),
            may_copy: random.random(),
            choice: random.random_bool(0.7).then(|| random.random_range(0..1000)),
            fast: random.random(),
            c_is_d: random.random(),
        }
    }
}

/// Draws the ends of groups of `rows` rows. Some groups are empty, and the last rows may be in no
/// group. A few ends lie before the previous end, or after the last row.
fn ends(random: &mut SmallRng, rows: usize) -> Vec<u32> {
    let count = random.random_range(1..=8);
    let mut ends: Vec<u32> = (0..count).map(|_| random.random_range(0..=rows as u32)).collect();
    ends.sort_unstable();
    if random.random_bool(0.2) {
        ends[random.random_range(0..count)] = random.random_range(0..=2 * rows as u32);
    }
    ends
}

/// Draws the layout of A or B: with gaps, and with rows aligned to 16 bytes or not at all.
fn input<T>(random: &mut SmallRng, (rows, cols): (usize, usize), by_row: bool) -> Layout {
    let by_row = by_row || random.random();
    let (outer, inner) = if by_row { (rows, cols) } else { (cols, rows) };
    let multiple = if random.random() { 16 / size_of::<T>() } else { 1 };
    let mut gap = |most: usize| multiple * random.random_range(0..most);
    let stride = inner.next_multiple_of(multiple) + gap(3);
    let (batch_stride, start) = (outer * stride + gap(3), gap(4));
    let batch_stride = if random.random_bool(0.3) { 0 } else { batch_stride };
    let layout = if by_row { Layout::row_major(stride) } else { Layout::col_major(stride) };
    layout.starting_at(start).batch_stride(batch_stride)
}

/// The buffers of a trial.
pub(super) struct Data<T, O> {
    pub(super) a: Vec<T>,
    pub(super) b: Vec<T>,
    pub(super) c: Vec<O>,
    pub(super) bias: Vec<O>,
    /// D before the GEMM. It includes C, if C is D.
    pub(super) poisoned: Vec<O>,
}

impl<T: TrialElement, O: TrialElement> Data<T, O> {
    pub(super) fn of(trial: &Trial) -> Self {
        let Trial { m, n, k, a, b, d, bias_per_row, .. } = *trial;
        let mut random = SmallRng::seed_from_u64(!trial.seed);
        let groups = trial.ends.as_ref().map(Vec::len);
        let a = matrix(&mut random, trial, (a, trial.batches), (m, k), trial.alpha != 0.0);
        let b = matrix(
            &mut random,
            trial,
            (b, groups.unwrap_or(trial.batches)),
            (k, n),
            trial.alpha != 0.0,
        );
        let c: Vec<O> = matrix(&mut random, trial, (d, trial.batches), (m, n), trial.beta != 0.0);
        let bias = if bias_per_row { m } else { n * groups.unwrap_or(1) };
        let bias = (0..bias).map(|_| O::of(value(&mut random, trial.values))).collect();
        // Values that no result has, different for each element.
        let mut poisoned: Vec<O> =
            (0..c.len()).map(|i| O::of(-20_000.0 - 16.0 * (i % 1000) as f64)).collect();
        if trial.has_c() && trial.c_is_d {
            for batch in 0..trial.batches {
                for row in 0..m {
                    for col in 0..n {
                        let i = index(d, batch, row, col);
                        poisoned[i] = c[i];
                    }
                }
            }
        }
        Self { a, b, c, bias, poisoned }
    }
}

/// The buffer of some matrices. Elements that must not be read, gaps included, are NaN.
fn matrix<T: TrialElement>(
    random: &mut SmallRng,
    trial: &Trial,
    (layout, count): (Layout, usize),
    (rows, cols): (usize, usize),
    read: bool,
) -> Vec<T> {
    let outer = if layout.is_row_major() { rows } else { cols };
    let len = layout.start() + (count - 1) * layout.batch() + outer * layout.leading_dimension();
    let mut elements = vec![T::POISON; len];
    if read {
        for batch in 0..count {
            for row in 0..rows {
                for col in 0..cols {
                    elements[index(layout, batch, row, col)] = T::of(value(random, trial.values));
                }
            }
        }
    }
    elements
}

fn value(random: &mut SmallRng, values: Values) -> f64 {
    match values {
        Values::Integers => random.random_range(-4i8..=4).into(),
        Values::Special if random.random_bool(0.002) => {
            *[f64::NAN, f64::INFINITY, f64::NEG_INFINITY].choose(random).expect("there are some")
        }
        _ => StandardNormal.sample(random),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::bf16;

    #[test]
    fn some_trials_are_of_rows_in_groups() {
        let trials: Vec<Trial> = (0..400).map(|seed| Trial::draw::<bf16, bf16>(seed, 60)).collect();
        let grouped: Vec<(&Trial, &[u32])> =
            trials.iter().filter_map(|trial| Some((trial, trial.ends.as_deref()?))).collect();
        assert!((50..150).contains(&grouped.len()), "{}", grouped.len());
        for (trial, _) in &grouped {
            assert!(
                trial.batches == 1
                    && trial.alpha != 0.0
                    && trial.a.is_row_major()
                    && trial.d.is_row_major()
            );
        }
        let some = |is: &dyn Fn(&Trial, &[u32]) -> bool| {
            grouped.iter().any(|(trial, ends)| is(trial, ends))
        };
        assert!(
            some(&|_, ends| ends.windows(2).any(|ends| ends[0] == ends[1])),
            "no group is empty"
        );
        assert!(some(&|_, ends| !ends.is_sorted()), "no end lies before another");
        assert!(
            some(&|trial, ends| ends.iter().any(|&end| end as usize > trial.m)),
            "none lies beyond the last row"
        );
        assert!(
            some(&|trial, ends| ends.iter().all(|&end| (end as usize) < trial.m)),
            "no row is in none"
        );
        let of_f64 = |seed| Trial::draw::<f64, f64>(seed, 60).ends.is_some();
        assert!(!(0..400).any(of_f64), "no kernel multiplies f64 so");
    }
}
