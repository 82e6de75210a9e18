//! Attention against a softmax in f64.

use fastrand::Rng;
use half::{bf16, f16};
use ptx_matrix::launch::Device;
use ptx_matrix::sim::Simulator;
use ptx_matrix_kernels::attention::{Attended, Attention};

/// Elements as the reference has them, and how far off sums of shares of numbers up to one may be.
trait Near: Attended {
    fn near(number: f32) -> Self;
    fn number(self) -> f64;
    const TOLERANCE: f64;
}

impl Near for bf16 {
    fn near(number: f32) -> Self {
        bf16::from_f32(number)
    }

    fn number(self) -> f64 {
        self.to_f64()
    }

    const TOLERANCE: f64 = 1.0 / 128.0;
}

impl Near for f16 {
    fn near(number: f32) -> Self {
        f16::from_f32(number)
    }

    fn number(self) -> f64 {
        self.to_f64()
    }

    const TOLERANCE: f64 = 1.0 / 1024.0;
}

/// O, row by row of all heads.
fn reference<T: Near>(of: &Attention, q: &[T], k: &[T], v: &[T]) -> Vec<f64> {
    let row = |matrix: &[T], row: usize| -> Vec<f64> {
        matrix[row * of.features..][..of.features].iter().map(|element| element.number()).collect()
    };
    let of_query = |index: usize| {
        let (head, query) = (index / of.queries / (of.heads / of.key_heads), index % of.queries);
        let seen = if of.causal { (query + 1 + of.keys).saturating_sub(of.queries) } else { of.keys };
        let asked = row(q, index);
        let score = |key: usize| {
            let product: f64 = row(k, head * of.keys + key).iter().zip(&asked).map(|(key, query)| key * query).sum();
            product * f64::from(of.scale)
        };
        let scores: Vec<f64> = (0..seen).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let (sum, mut shares) = (powers.iter().sum::<f64>(), vec![0.0; of.features]);
        for (key, power) in powers.iter().enumerate() {
            for (share, value) in shares.iter_mut().zip(row(v, head * of.keys + key)) {
                *share += power / sum * value;
            }
        }
        shares
    };
    (0..of.heads * of.queries).flat_map(of_query).collect()
}

fn check<T: Near>(of: Attention, spread: f32) {
    let mut rng = Rng::with_seed(of.queries as u64);
    let [of_queries, of_keys] = of.lens();
    let mut drawn =
        |len: usize, spread: f32| (0..len).map(|_| T::near((rng.f32() * 2.0 - 1.0) * spread)).collect::<Vec<T>>();
    let (q, k, v) = (drawn(of_queries, spread), drawn(of_keys, spread), drawn(of_keys, 1.0));
    let device = Simulator::new(0).schedules(2).strict();
    let [on_q, on_k, on_v] = [&q, &k, &v].map(|matrix| device.upload(matrix).unwrap());
    let mut o = device.upload(&vec![T::near(f32::NAN); of_queries]).unwrap();
    of.run(&device, &on_q, &on_k, &on_v, &mut o).unwrap();
    for (index, (found, right)) in device.download(&o).unwrap().into_iter().zip(reference(&of, &q, &k, &v)).enumerate()
    {
        let (row, feature) = (index / of.features, index % of.features);
        let (found, off) = (found.number(), (found.number() - right).abs());
        assert!(off <= T::TOLERANCE, "{of:?}: feature {feature} of row {row} is {found}, and not {right}");
    }
}

const SMALL: Attention =
    Attention { features: 64, queries: 100, keys: 300, heads: 2, key_heads: 1, scale: 0.125, causal: false };

/// Queries and keys end within tiles, of which there are more than stages; heads share keys.
#[test]
fn queries_and_keys_end_within_tiles() {
    check::<bf16>(SMALL, 2.0);
    check::<f16>(Attention { queries: 130, keys: 77, ..SMALL }, 2.0);
    check::<f16>(Attention { features: 128, queries: 65, keys: 257, key_heads: 2, scale: 0.088, ..SMALL }, 1.0);
    check::<bf16>(Attention { features: 128, queries: 1, keys: 1, heads: 1, ..SMALL }, 1.0);
}

/// Also with fewer queries than keys, which are the last; and with more, of which the first see nothing and come to zero.
#[test]
fn a_causal_query_sees_the_keys_up_to_its_own() {
    let causal = Attention { causal: true, heads: 1, ..SMALL };
    check::<bf16>(Attention { queries: 200, keys: 200, ..causal }, 2.0);
    check::<f16>(Attention { queries: 70, keys: 200, ..causal }, 2.0);
    check::<bf16>(Attention { features: 128, queries: 300, keys: 150, ..causal }, 1.0);
}

/// Scores that are far apart, and such as grow from tile to tile.
#[test]
fn far_smaller_scores_count_for_nothing() {
    check::<bf16>(Attention { scale: 4.0, heads: 1, ..SMALL }, 3.0);
    let of = Attention { heads: 1, queries: 2, keys: 400, scale: 1.0, ..SMALL };
    let device = Simulator::new(0).schedules(2).strict();
    let ones = vec![bf16::ONE; 2 * of.features];
    let rising: Vec<bf16> = (0..of.keys * of.features).map(|i| bf16::from_f32((i / of.features) as f32)).collect();
    let [q, k, v] = [&ones, &rising, &rising].map(|matrix| device.upload(matrix).unwrap());
    let mut o = device.upload(&vec![bf16::ZERO; 2 * of.features]).unwrap();
    of.run(&device, &q, &k, &v, &mut o).unwrap();
    let last = rising.last().unwrap();
    assert!(device.download(&o).unwrap().iter().all(|share| share == last), "all see the last key alone");
}

/// A query, or a key, of which a score is no number makes shares none, of the queries that see it.
#[test]
fn what_is_not_a_number_stays_so() {
    let of = Attention { queries: 80, keys: 140, heads: 1, causal: true, ..SMALL };
    let [of_queries, of_keys] = of.lens();
    for (strange, asked, seen) in [(f32::NAN, 7, 75), (f32::INFINITY, 7, 75), (f32::NAN, 70, 139)] {
        let (mut q, mut k) = (vec![bf16::ONE; of_queries], vec![bf16::ONE; of_keys]);
        q[asked * of.features] = bf16::from_f32(strange);
        k[seen * of.features + 3] = bf16::from_f32(strange);
        let device = Simulator::new(0).strict();
        let [q, k, v] = [&q, &k, &vec![bf16::ONE; of_keys]].map(|matrix| device.upload(matrix).unwrap());
        let mut o = device.upload(&vec![bf16::ZERO; of_queries]).unwrap();
        of.run(&device, &q, &k, &v, &mut o).unwrap();
        for (index, share) in device.download(&o).unwrap().into_iter().enumerate() {
            let query = index / of.features;
            let is_strange = query == asked || seen + of.queries <= query + of.keys;
            assert!(
                if is_strange { share.is_nan() } else { share == bf16::ONE },
                "{strange}: {share} of query {query}"
            );
        }
    }
}

#[test]
#[should_panic = "3 heads of queries do not share 2 of keys"]
fn heads_that_do_not_share_keys() {
    check::<bf16>(Attention { heads: 3, key_heads: 2, ..SMALL }, 1.0);
}
