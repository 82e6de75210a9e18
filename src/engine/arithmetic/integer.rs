//! Integers and bits: exact sums, modulo 2^32 or saturated to 32 bits.

use super::{MmaArithmetic, each_element};
use crate::element::{b1, s4, u4};
use crate::isa::{AndPopc, Plain, SatFinite, XorPopc};
use crate::target::Arch;
use std::vec::Vec;

/// The exact sum of up to 128 products of 16 bits (or 256 bits) and C.
fn sum<A: Copy + Into<i32>, B: Copy + Into<i32>>(a: &[A], b: &[B], c: i32) -> i64 {
    a.iter().zip(b).fold(c.into(), |sum, (&a, &b)| sum + i64::from(a.into() * b.into()))
}

macro_rules! integers {
    ($($a:ident $b:ident;)*) => {$(
        impl MmaArithmetic<$b, i32, Plain> for $a {
            type D = i32;

            fn multiply(_: Arch, a: &[$a], b: &[$b], c: &[i32], n: usize, k: usize) -> Vec<i32> {
                each_element((a, b, c), n, k, |a, b, c| sum(a, b, c) as i32)
            }
        }
        impl MmaArithmetic<$b, i32, SatFinite> for $a {
            type D = i32;

            fn multiply(_: Arch, a: &[$a], b: &[$b], c: &[i32], n: usize, k: usize) -> Vec<i32> {
                each_element((a, b, c), n, k, |a, b, c| {
                    sum(a, b, c).clamp(i32::MIN.into(), i32::MAX.into()) as i32
                })
            }
        }
    )*};
}
integers! {
    i8 i8;
    i8 u8;
    u8 i8;
    u8 u8;
    s4 s4;
    s4 u4;
    u4 s4;
    u4 u4;
}

macro_rules! bits {
    ($($option:ident |$a:ident, $b:ident| $both:expr;)*) => {$(
        impl MmaArithmetic<b1, i32, $option> for b1 {
            type D = i32;

            fn multiply(_: Arch, a: &[b1], b: &[b1], c: &[i32], n: usize, k: usize) -> Vec<i32> {
                each_element((a, b, c), n, k, |a, b, c| {
                    let both = a.iter().zip(b).filter(|&(&a, &b)| {
                        let ($a, $b) = (bool::from(a), bool::from(b));
                        $both
                    });
                    c.wrapping_add(both.count() as i32)
                })
            }
        }
    )*};
}
bits! {
    XorPopc |a, b| a != b;
    AndPopc |a, b| a && b;
}
