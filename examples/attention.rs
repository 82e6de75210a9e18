//! Attention on the simulator: causal, 4 query heads that share 2 key heads, 64 features.
//!
//! ```sh
//! cargo run --example attention
//! ```

use ptx_matrix::{element::bf16, launch::Device, sim::Simulator};
use ptx_matrix_attention::Attention;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shape = Attention {
        features: 64,
        queries: 70,
        keys: 70,
        heads: 4,
        key_heads: 2,
        scale: 0.125,
        causal: true,
    };
    let [query_len, key_len] = shape.lens();
    let value = |i: usize| bf16::from_f32((i * 7 % 11) as f32 / 8.0 - 0.6);
    let values = |len: usize, start: usize| (start..start + len).map(value).collect::<Vec<bf16>>();
    let (q, k, v) = (values(query_len, 0), values(key_len, 3), values(key_len, 5));

    let device = Simulator::default();
    let (on_q, on_k, on_v) = (device.upload(&q)?, device.upload(&k)?, device.upload(&v)?);
    let mut o = device.upload(&vec![bf16::ZERO; query_len])?;
    shape.run(&device, &on_q, &on_k, &on_v, &mut o)?;

    // O = softmax(scale Q x K^T) x V of one head, for queries that see the keys up to their own.
    let at = |of: &[bf16], head: usize, row: usize, i: usize| {
        of[(head * shape.queries + row) * shape.features + i].to_f64()
    };
    let reference = |head: usize, query: usize, feature: usize| {
        let key_head = head / (shape.heads / shape.key_heads);
        let score = |key: usize| -> f64 {
            let dot = (0..64).map(|i| at(&q, head, query, i) * at(&k, key_head, key, i));
            (dot.sum::<f64>() * f64::from(shape.scale)).exp()
        };
        let weights: Vec<f64> = (0..=query).map(score).collect();
        let sum: f64 = weights.iter().sum();
        let of = |(key, weight): (usize, &f64)| weight / sum * at(&v, key_head, key, feature);
        weights.iter().enumerate().map(of).sum::<f64>()
    };
    let difference = |i: usize| {
        let (head, query, feature) = (i / 64 / shape.queries, i / 64 % shape.queries, i % 64);
        (o[i].to_f64() - reference(head, query, feature)).abs()
    };
    let largest = (0..o.len()).map(difference).fold(0.0, f64::max);
    println!("largest difference: {largest:.4}");
    assert!(largest < 0.01, "bf16 has 8 bits");
    Ok(())
}
