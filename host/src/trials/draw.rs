//! What is tried, and on which matrices.

use num_traits::FromPrimitive;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use super::index;
use crate::gemm::{GemmElement, Layout};

/// What the matrices hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers so small that every sum is exact.
    Integers,
    /// Normally distributed numbers.
    Normal,
    /// Those, and here and there an infinity, or what is not a number.
    Special,
}

/// A product, and what its matrices hold.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "as in `Gemm`")]
pub struct Trial {
    pub seed: u64,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub batches: usize,
    pub a: Layout,
    pub b: Layout,
    pub d: Layout,
    pub alpha: f32,
    pub beta: f32,
    pub bias: bool,
    pub relu: bool,
    /// Whether C, which is not read, is given all the same.
    pub nan_in_c: bool,
    pub values: Values,
    /// Whether the product may take a workspace.
    pub may_split: bool,
    /// Which of the choices; none for the rule's.
    pub choice: Option<usize>,
}

impl Trial {
    /// The trial of a seed.
    pub fn draw(seed: u64, longest: usize) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let [m, n, k] = [(); 3].map(|()| random.random_range(1..=longest));
        let batches = if random.random_bool(0.25) { random.random_range(2..=3) } else { 1 };
        let (a, b) = (input(&mut random, (m, k)), input(&mut random, (k, n)));
        let d = {
            let by_row = random.random_bool(0.75);
            let (lines, length) = if by_row { (m, n) } else { (n, m) };
            let stride = length + random.random_range(0..10);
            let layout = if by_row { Layout::row_major(stride) } else { Layout::col_major(stride) };
            let apart = lines * stride + random.random_range(0..9);
            layout.starting_at(random.random_range(0..20)).batch_stride(apart)
        };
        let factors = |random: &mut SmallRng| *[1.0, 1.0, 0.0, -0.5, 2.0].choose(random).expect("there are some");
        let (alpha, beta) = (factors(&mut random), factors(&mut random));
        let values = *[Values::Integers, Values::Normal, Values::Special].choose(&mut random).expect("likewise");
        Self {
            seed,
            m,
            n,
            k,
            batches,
            a,
            b,
            d,
            alpha,
            beta,
            bias: d.is_row_major() && random.random(),
            relu: random.random_bool(0.3),
            nan_in_c: beta == 0.0 && random.random::<bool>(),
            values,
            may_split: random.random(),
            choice: random.random_bool(0.7).then(|| random.random_range(0..1000)),
        }
    }
}

/// How A, or B, lies: lines at multiples of 16 bytes, with gaps.
fn input(random: &mut SmallRng, (rows, cols): (usize, usize)) -> Layout {
    let by_row = random.random();
    let (lines, length) = if by_row { (rows, cols) } else { (cols, rows) };
    let stride = length.next_multiple_of(8) + 8 * random.random_range(0..3);
    let apart = if random.random_bool(0.3) { 0 } else { lines * stride + 8 * random.random_range(0..3) };
    let layout = if by_row { Layout::row_major(stride) } else { Layout::col_major(stride) };
    layout.starting_at(8 * random.random_range(0..4)).batch_stride(apart)
}

/// The buffers of a trial.
pub(super) struct Data<T> {
    pub(super) a: Vec<T>,
    pub(super) b: Vec<T>,
    pub(super) c: Vec<T>,
    pub(super) bias: Vec<T>,
    /// D's, as it is before.
    pub(super) poisoned: Vec<T>,
}

impl<T: GemmElement + FromPrimitive> Data<T> {
    pub(super) fn of(trial: &Trial) -> Self {
        let Trial { m, n, k, a, b, d, batches, .. } = *trial;
        let mut random = SmallRng::seed_from_u64(!trial.seed);
        let mut matrix = |layout: Layout, (rows, cols): (usize, usize), read: bool| {
            let lines = if layout.is_row_major() { rows } else { cols };
            let len = layout.start() + (batches - 1) * layout.batch() + lines * layout.leading_dimension();
            // The gaps too: nothing of them may get into a sum.
            let mut elements = vec![from(f32::NAN); len];
            if read {
                for batch in 0..batches {
                    for row in 0..rows {
                        for col in 0..cols {
                            elements[index(layout, batch, row, col)] = from(value(&mut random, trial.values));
                        }
                    }
                }
            }
            elements
        };
        let a = matrix(a, (m, k), trial.alpha != 0.0);
        let b = matrix(b, (k, n), trial.alpha != 0.0);
        let c = matrix(d, (m, n), trial.beta != 0.0);
        let bias = (0..n).map(|_| from(value(&mut random, trial.values))).collect();
        // A number that no product has, each element another.
        let poisoned = (0..c.len()).map(|i| from(-20_000.0 - 16.0 * (i % 1000) as f32)).collect();
        Self { a, b, c, bias, poisoned }
    }
}

fn from<T: FromPrimitive>(value: f32) -> T {
    T::from_f32(value).expect("16 bits have every number's nearest")
}

fn value(random: &mut SmallRng, values: Values) -> f32 {
    match values {
        Values::Integers => random.random_range(-4i8..=4).into(),
        Values::Special if random.random_bool(0.002) => {
            *[f32::NAN, f32::INFINITY, f32::NEG_INFINITY].choose(random).expect("there are some")
        }
        _ => StandardNormal.sample(random),
    }
}
