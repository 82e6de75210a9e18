//! Random matrices, drawn on all cores, and their elements as numbers.

use half::{bf16, f16};
use ptx_matrix::element::{F8E4M3, F8E5M2};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::Element;

/// Elements that one generator draws. A fixed number makes the data independent of the number of
/// cores.
const CHUNK: usize = 1 << 16;

/// Draws normally distributed elements, as bytes. The standard deviation is 32 for s8, and 1 for
/// the others.
pub(super) fn normal(element: Element, len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len * element.bytes()];
    bytes.par_chunks_mut(CHUNK * element.bytes()).enumerate().for_each(|(chunk, bytes)| {
        let mut random =
            SmallRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ chunk as u64);
        for bytes in bytes.chunks_exact_mut(element.bytes()) {
            let value: f64 = StandardNormal.sample(&mut random);
            put(element, bytes, value);
        }
    });
    bytes
}

fn put(element: Element, bytes: &mut [u8], value: f64) {
    match element {
        Element::F16 => bytes.copy_from_slice(&f16::from_f64(value).to_le_bytes()),
        Element::Bf16 => bytes.copy_from_slice(&bf16::from_f64(value).to_le_bytes()),
        Element::F32 => bytes.copy_from_slice(&(value as f32).to_le_bytes()),
        // Cleared low bits: the tensor cores do not read them, so it does not matter whether they
        // truncate or round.
        Element::Tf32 => bytes.copy_from_slice(&((value as f32).to_bits() & !0x1fff).to_le_bytes()),
        Element::F64 => bytes.copy_from_slice(&value.to_le_bytes()),
        Element::S8 => bytes.copy_from_slice(&((value * 32.0).round() as i8).to_le_bytes()),
        Element::S32 => bytes.copy_from_slice(&((value * 32.0).round() as i32).to_le_bytes()),
        Element::E4m3 => bytes[0] = F8E4M3::from_f64(value).to_bits(),
        Element::E5m2 => bytes[0] = F8E5M2::from_f64(value).to_bits(),
    }
}

/// The value of element `index` of a matrix.
#[inline]
pub(super) fn get(element: Element, bytes: &[u8], index: usize) -> f64 {
    let at = index * element.bytes();
    match element {
        Element::F16 => f16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64(),
        Element::Bf16 => bf16::from_le_bytes([bytes[at], bytes[at + 1]]).to_f64(),
        Element::F32 | Element::Tf32 => f32::from_le_bytes(word(bytes, at)).into(),
        Element::F64 => f64::from_le_bytes(word(bytes, at)),
        Element::S8 => f64::from(bytes[at].cast_signed()),
        Element::S32 => i32::from_le_bytes(word(bytes, at)).into(),
        Element::E4m3 => F8E4M3::from_bits(bytes[at]).to_f64(),
        Element::E5m2 => F8E5M2::from_bits(bytes[at]).to_f64(),
    }
}

fn word<const BYTES: usize>(bytes: &[u8], at: usize) -> [u8; BYTES] {
    bytes[at..at + BYTES].try_into().expect("a slice of that length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Element; 9] = [
        Element::F16,
        Element::Bf16,
        Element::F32,
        Element::Tf32,
        Element::F64,
        Element::S8,
        Element::S32,
        Element::E4m3,
        Element::E5m2,
    ];

    #[test]
    fn data_is_normal_and_the_same_for_a_seed() {
        for element in ALL {
            let len = 2 * CHUNK + 7;
            let bytes = normal(element, len, 3);
            assert_eq!(bytes, normal(element, len, 3));
            assert_ne!(bytes, normal(element, len, 4));
            let deviation = if matches!(element, Element::S8 | Element::S32) { 32.0 } else { 1.0 };
            let values: Vec<f64> = (0..len).map(|i| get(element, &bytes, i) / deviation).collect();
            let mean = values.iter().sum::<f64>() / len as f64;
            let variance = values.iter().map(|value| value * value).sum::<f64>() / len as f64;
            assert!(
                mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03,
                "{element:?}: {mean}, {variance}"
            );
            // The second chunk differs from the first.
            assert_ne!(values[..100], values[CHUNK..CHUNK + 100], "{element:?}");
        }
    }

    #[test]
    fn tf32_has_ten_bits_after_the_point() {
        let bytes = normal(Element::Tf32, 100, 0);
        for &value in bytes.as_chunks().0 {
            assert_eq!(u32::from_le_bytes(value) & 0x1fff, 0);
        }
    }
}
