//! Attention, compared with a softmax in f64.

use fastrand::Rng;
use half::{bf16, f16};
use ptx_matrix::launch::Device;
use ptx_matrix::sim::Simulator;
use ptx_matrix_attention::{Attention, AttentionElement};
use std::error::Error;

/// An element type with its tolerance, for weighted sums of numbers up to one.
trait Near: AttentionElement {
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

/// O for all heads, row by row.
fn reference<T: Near>(of: &Attention, q: &[T], k: &[T], v: &[T]) -> Vec<f64> {
    let row = |matrix: &[T], row: usize| -> Vec<f64> {
        matrix[row * of.features..][..of.features].iter().map(|element| element.number()).collect()
    };
    let of_query = |index: usize| {
        let (head, query) = (index / of.queries / (of.heads / of.key_heads), index % of.queries);
        let seen =
            if of.causal { (query + 1 + of.keys).saturating_sub(of.queries) } else { of.keys };
        let asked = row(q, index);
        let score = |key: usize| {
            let product: f64 = row(k, head * of.keys + key)
                .iter()
                .zip(&asked)
                .map(|(key, query)| key * query)
                .sum();
            product * f64::from(of.scale)
        };
        let scores: Vec<f64> = (0..seen).map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let (sum, mut output) = (powers.iter().sum::<f64>(), vec![0.0; of.features]);
        for (key, power) in powers.iter().enumerate() {
            for (element, value) in output.iter_mut().zip(row(v, head * of.keys + key)) {
                *element += power / sum * value;
            }
        }
        output
    };
    (0..of.heads * of.queries).flat_map(of_query).collect()
}

fn check<T: Near>(of: Attention, spread: f32) {
    let mut rng = Rng::with_seed(of.queries as u64);
    let [of_queries, of_keys] = of.lens();
    let mut drawn = |len: usize, spread: f32| {
        (0..len).map(|_| T::near((rng.f32() * 2.0 - 1.0) * spread)).collect::<Vec<T>>()
    };
    let (q, k, v) = (drawn(of_queries, spread), drawn(of_keys, spread), drawn(of_keys, 1.0));
    let device = Simulator::new(0).schedules(2).strict();
    let [on_q, on_k, on_v] = [&q, &k, &v].map(|matrix| device.upload(matrix).unwrap());
    let mut o = device.upload(&vec![T::near(f32::NAN); of_queries]).unwrap();
    of.run(&device, &on_q, &on_k, &on_v, &mut o).unwrap();
    for (index, (found, right)) in
        device.download(&o).unwrap().into_iter().zip(reference(&of, &q, &k, &v)).enumerate()
    {
        let (row, feature) = (index / of.features, index % of.features);
        let (found, off) = (found.number(), (found.number() - right).abs());
        assert!(
            off <= T::TOLERANCE,
            "{of:?}: feature {feature} of row {row} is {found}, and not {right}"
        );
    }
}

const SMALL: Attention = Attention {
    features: 64,
    queries: 100,
    keys: 300,
    heads: 2,
    key_heads: 1,
    scale: 0.125,
    causal: false,
};

/// Partial tiles of queries and keys, more tiles than stages, and heads that share keys.
#[test]
fn queries_and_keys_end_within_tiles() {
    check::<bf16>(SMALL, 2.0);
    check::<f16>(Attention { queries: 130, keys: 77, ..SMALL }, 2.0);
    check::<f16>(
        Attention { features: 128, queries: 65, keys: 257, key_heads: 2, scale: 0.088, ..SMALL },
        1.0,
    );
    check::<bf16>(Attention { features: 128, queries: 1, keys: 1, heads: 1, ..SMALL }, 1.0);
}

/// Also with fewer queries than keys: the queries are the last ones. And with more queries than
/// keys: the first queries see no key, and their result is zero.
#[test]
fn causal_query_sees_no_later_key() {
    let causal = Attention { causal: true, heads: 1, ..SMALL };
    check::<bf16>(Attention { queries: 200, keys: 200, ..causal }, 2.0);
    check::<f16>(Attention { queries: 70, keys: 200, ..causal }, 2.0);
    check::<bf16>(Attention { features: 128, queries: 300, keys: 150, ..causal }, 1.0);
}

/// Scores that are far apart, and scores that grow from tile to tile.
#[test]
fn far_smaller_scores_count_for_nothing() {
    check::<bf16>(Attention { scale: 4.0, heads: 1, ..SMALL }, 3.0);
    let of = Attention { heads: 1, queries: 2, keys: 400, scale: 1.0, ..SMALL };
    let device = Simulator::new(0).schedules(2).strict();
    let ones = vec![bf16::ONE; 2 * of.features];
    let rising: Vec<bf16> =
        (0..of.keys * of.features).map(|i| bf16::from_f32((i / of.features) as f32)).collect();
    let [q, k, v] = [&ones, &rising, &rising].map(|matrix| device.upload(matrix).unwrap());
    let mut o = device.upload(&vec![bf16::ZERO; 2 * of.features]).unwrap();
    of.run(&device, &q, &k, &v, &mut o).unwrap();
    let last = rising.last().unwrap();
    assert!(
        device.download(&o).unwrap().iter().all(|element| element == last),
        "all see the last key alone"
    );
}

/// If a score of a query or a key is NaN, the results of all queries that see it are NaN.
#[test]
fn nan_scores_propagate() {
    let of = Attention { queries: 80, keys: 140, heads: 1, causal: true, ..SMALL };
    let [of_queries, of_keys] = of.lens();
    for (strange, asked, seen) in [(f32::NAN, 7, 75), (f32::INFINITY, 7, 75), (f32::NAN, 70, 139)] {
        let (mut q, mut k) = (vec![bf16::ONE; of_queries], vec![bf16::ONE; of_keys]);
        q[asked * of.features] = bf16::from_f32(strange);
        k[seen * of.features + 3] = bf16::from_f32(strange);
        let device = Simulator::new(0).strict();
        let [q, k, v] =
            [&q, &k, &vec![bf16::ONE; of_keys]].map(|matrix| device.upload(matrix).unwrap());
        let mut o = device.upload(&vec![bf16::ZERO; of_queries]).unwrap();
        of.run(&device, &q, &k, &v, &mut o).unwrap();
        for (index, element) in device.download(&o).unwrap().into_iter().enumerate() {
            let query = index / of.features;
            let is_strange = query == asked || seen + of.queries <= query + of.keys;
            assert!(
                if is_strange { element.is_nan() } else { element == bf16::ONE },
                "{strange}: {element} of query {query}"
            );
        }
    }
}

/// A score of negative infinity has a weight of zero, also if it is the only one.
#[test]
fn negative_infinite_score_has_zero_weight() {
    let of = Attention { queries: 3, keys: 140, heads: 1, causal: true, ..SMALL };
    let [of_queries, of_keys] = of.lens();
    let mut k = vec![bf16::ONE; of_keys];
    let mut v = k.clone();
    let ignored = [0, 130, 139];
    for key in ignored {
        k[key * of.features] = bf16::NEG_INFINITY;
        v[key * of.features..][..of.features].fill(bf16::MAX);
    }
    let run = |of: Attention, k: &[bf16], v: &[bf16]| {
        let mut o = vec![bf16::NAN; of_queries];
        let q = vec![bf16::ONE; of_queries];
        of.run(&Simulator::new(0).strict(), &q[..], k, v, &mut o[..]).unwrap();
        o
    };
    assert_eq!(run(of, &k, &v), vec![bf16::ONE; of_queries]);
    let alone = Attention { keys: 1, causal: false, ..of };
    assert_eq!(run(alone, &k[..of.features], &v[..of.features]), vec![bf16::ZERO; of_queries]);
}

/// O in bf16 for queries and keys of ones, so that a query weights its keys equally.
fn of_ones(of: Attention, v: &[bf16]) -> Result<Vec<bf16>, Box<dyn Error>> {
    let [of_queries, of_keys] = of.lens();
    let (q, k) = (vec![bf16::ONE; of_queries], vec![bf16::ONE; of_keys]);
    let mut o = vec![bf16::NAN; of_queries];
    of.run(&Simulator::new(0).strict(), &q[..], &k[..], v, &mut o[..])?;
    Ok(o)
}

/// A masked key has zero weight: even a huge value does not change a bit of the result.
#[test]
fn masked_key_has_zero_weight() {
    let small = Attention { queries: 30, keys: 30, key_heads: 1, causal: true, ..SMALL };
    let cases = [
        small,
        // With such a scale, the exponential of the least number is not small.
        Attention { scale: 1e-37, ..small },
        Attention { scale: f32::MIN_POSITIVE, ..small },
        Attention { scale: 1e35, ..small },
        Attention { queries: 140, keys: 140, heads: 1, ..small },
        Attention { queries: 140, keys: 300, heads: 1, ..small },
        Attention { features: 128, queries: 200, keys: 70, heads: 1, ..small },
    ];
    for of in cases {
        let values: Vec<bf16> =
            (0..of.lens()[1]).map(|i| bf16::from_f32((i % 37) as f32 / 16.0 - 1.0)).collect();
        let right = of_ones(of, &values).unwrap();
        for hidden in [of.keys - 1, of.keys / 2] {
            let mut values = values.clone();
            values[hidden * of.features..][..of.features].fill(bf16::from_f32(-3e38));
            let found = of_ones(of, &values).unwrap();
            for (index, (found, right)) in found.iter().zip(&right).enumerate() {
                let query = index / of.features % of.queries;
                let sees = hidden + of.queries <= query + of.keys;
                assert!(
                    sees || found.to_bits() == right.to_bits(),
                    "{of:?}: {found} of query {query}, not {right}"
                );
            }
        }
    }
}

/// The same for a visible key with a score far below the largest.
#[test]
fn underflowed_weight_is_zero() {
    let of = Attention { queries: 1, keys: 200, heads: 1, key_heads: 1, scale: 1.0, ..SMALL };
    let [of_queries, of_keys] = of.lens();
    let (q, mut k, mut v) =
        (vec![bf16::ONE; of_queries], vec![bf16::ONE; of_keys], vec![bf16::ONE; of_keys]);
    // These scores are the largest in the first tile, but not in the second.
    for small in (0..128).chain([130, 199]) {
        k[small * of.features..][..of.features].fill(bf16::from_f32(-2.0));
        v[small * of.features..][..of.features].fill(bf16::from_f32(if small < 128 {
            1e30
        } else {
            3e38
        }));
    }
    let mut o = vec![bf16::NAN; of_queries];
    of.run(&Simulator::new(0).strict(), &q[..], &k[..], &v[..], &mut o[..]).unwrap();
    assert_eq!(o, vec![bf16::ONE; of_queries]);
}

/// Infinite and NaN values of masked keys affect only the tiles of the block, as documented.
#[test]
fn non_finite_masked_values() {
    let of = Attention { queries: 300, keys: 300, heads: 1, key_heads: 1, causal: true, ..SMALL };
    for (strange, seen) in
        [(bf16::NAN, 299), (bf16::INFINITY, 140), (bf16::NEG_INFINITY, 5), (bf16::NAN, 128)]
    {
        let mut values = vec![bf16::ONE; of.lens()[1]];
        values[seen * of.features + 3] = strange;
        for (index, element) in of_ones(of, &values).unwrap().into_iter().enumerate() {
            let (query, feature) = (index / of.features, index % of.features);
            let last_of_block = (query / 128 * 128 + 127).min(of.queries - 1);
            let in_the_tiles = seen < (last_of_block + 1).next_multiple_of(128);
            let right = match feature {
                3 if seen <= query => !element.is_finite(),
                3 if in_the_tiles => element.is_nan(),
                _ => element == bf16::ONE,
            };
            assert!(right, "{strange} of key {seen}: {element} of query {query}");
        }
    }
    // The result of a query without visible keys is zero, even next to a query with NaN.
    let of = Attention { queries: 40, keys: 20, heads: 1, key_heads: 1, causal: true, ..SMALL };
    let o = of_ones(of, &vec![bf16::NAN; of.lens()[1]]).unwrap();
    assert!(
        o[..20 * of.features].iter().all(|element| element.to_bits() == 0),
        "the first 20 see nothing"
    );
    assert!(o[20 * of.features..].iter().all(|element| element.is_nan()));
    // There is nothing visible after the last key. A NaN score has no effect if its key is masked.
    let of = Attention { queries: 3, keys: 20, heads: 2, key_heads: 2, causal: true, ..SMALL };
    let [of_queries, of_keys] = of.lens();
    let (q, mut k, v) =
        (vec![bf16::ONE; of_queries], vec![bf16::ONE; of_keys], vec![bf16::ONE; of_keys]);
    k[19 * of.features] = bf16::NAN;
    k[20 * of.features..].fill(bf16::NAN);
    let mut o = vec![bf16::ZERO; of_queries];
    of.run(&Simulator::new(0).strict(), &q[..], &k[..], &v[..], &mut o[..]).unwrap();
    let is_nan = |query: usize| {
        o[query * of.features..][..of.features].iter().all(|element| element.is_nan())
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(is_nan), [false, false, true, true, true, true]);
}

#[test]
fn nothing_to_compute_is_no_error() {
    for of in [
        Attention { queries: 0, ..SMALL },
        Attention { heads: 0, ..SMALL },
        Attention { heads: 0, key_heads: 0, ..SMALL },
        Attention { queries: 0, keys: 0, heads: 0, key_heads: 0, ..SMALL },
    ] {
        assert_eq!(of_ones(of, &vec![bf16::ONE; of.lens()[1]]).unwrap(), []);
    }
    for of in [
        Attention { keys: 0, ..SMALL },
        Attention { keys: 0, causal: true, ..SMALL },
        Attention { keys: 0, queries: 1, features: 128, ..SMALL },
    ] {
        assert_eq!(of_ones(of, &[]).unwrap(), vec![bf16::ZERO; of.lens()[0]]);
    }
}

/// All invalid arguments are refused before a launch, with an error that any function can return.
#[test]
fn errors_state_the_remedy() {
    let cases = [
        (
            Attention { features: 96, ..SMALL },
            "heads of 96 features: kernels have heads of [64, 128] features",
        ),
        (
            Attention { features: 0, ..SMALL },
            "heads of 0 features: kernels have heads of [64, 128] features",
        ),
        (
            Attention { heads: 3, key_heads: 2, ..SMALL },
            "3 heads of queries do not share 2 heads of keys: `heads` must be a multiple of \
             `key_heads`",
        ),
        (
            Attention { key_heads: 0, ..SMALL },
            "2 heads of queries do not share 0 heads of keys: `heads` must be a multiple of \
             `key_heads`",
        ),
        (Attention { scale: 0.0, ..SMALL }, "a scale of 0: it must be positive and finite"),
        (Attention { scale: f32::NAN, ..SMALL }, "a scale of NaN: it must be positive and finite"),
        (
            Attention { keys: usize::MAX, ..SMALL },
            "the number of keys is 18446744073709551615, more than the 2147483520 that kernels \
             count to",
        ),
        (
            Attention { queries: 1 << 31, ..SMALL },
            "the number of queries is 2147483648, more than the 2147483520 that kernels count to",
        ),
        (
            Attention { heads: 1 << 31, ..SMALL },
            "the number of blocks of 128 queries, counted through the heads, is 2147483648, more \
             than the 2147483647 that kernels count to",
        ),
        (
            Attention { heads: usize::MAX, queries: 256, ..SMALL },
            "the number of blocks of 128 queries, counted through the heads, is \
             18446744073709551615, more than the 2147483647 that kernels count to",
        ),
    ];
    let ones = vec![bf16::ONE; SMALL.lens()[0]];
    for (of, message) in cases {
        let refused =
            of.run(&Simulator::default(), &ones[..], &ones[..], &ones[..], &mut ones.clone()[..]);
        assert_eq!(refused.expect_err("refused").to_string(), message);
    }
    let of = Attention { queries: 5, keys: 7, ..SMALL };
    let whole = of.lens();
    for (short, message) in [
        ("Q", "Q has 639 elements, and attention needs 640"),
        ("K", "K has 447 elements, and attention needs 448"),
        ("V", "V has 447 elements, and attention needs 448"),
        ("O", "O has 639 elements, and attention needs 640"),
    ] {
        let buffer = |name, len: usize| vec![bf16::ONE; if name == short { len - 1 } else { len }];
        let (q, mut o) = (buffer("Q", whole[0]), buffer("O", whole[0]));
        let (k, v) = (buffer("K", whole[1]), buffer("V", whole[1]));
        let refused = of.run(&Simulator::default(), &q[..], &k[..], &v[..], &mut o[..]);
        assert_eq!(refused.expect_err("refused").to_string(), message);
    }
}
