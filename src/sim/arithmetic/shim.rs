//! Shim.
use crate::{Plain, SatFinite, s4, u4, tf32};
use std::vec::Vec;
use half::{bf16, f16};
use float8::*;
pub(crate) trait Product<B, C, O>: Sized {
    type D;
    fn multiply(a: &[Self], b: &[B], c: &[C], n: usize, k: usize) -> Vec<Self::D>;
}
macro_rules! old { ($($a:ident $b:ident $c:ident;)*) => {$(
    impl Product<$b, $c, Plain> for $a { type D = $c; fn multiply(a: &[$a], b: &[$b], c: &[$c], n: usize, k: usize) -> Vec<$c> {
        let mut d = c.to_vec(); <$a as super::Product<$b, $c>>::multiply(a, b, &mut d, n, k); d } })*}}
old! { f16 f16 f16; f16 f16 f32; bf16 bf16 f32; tf32 tf32 f32; F8E4M3 F8E4M3 f32; F8E4M3 F8E5M2 f32; F8E5M2 F8E4M3 f32; F8E5M2 F8E5M2 f32; }
macro_rules! ints { ($($a:ident $b:ident;)*) => {$(
    impl Product<$b, i32, Plain> for $a { type D = i32; fn multiply(a: &[$a], b: &[$b], c: &[i32], n: usize, _k: usize) -> Vec<i32> {
        c.iter().enumerate().map(|(j, &c)| (i64::from(c) + a.iter().enumerate().map(|(i, &a)| i64::from(i32::from(a) * i32::from(b[i * n + j]))).sum::<i64>()) as i32).collect() } }
    impl Product<$b, i32, SatFinite> for $a { type D = i32; fn multiply(a: &[$a], b: &[$b], c: &[i32], n: usize, _k: usize) -> Vec<i32> {
        c.iter().enumerate().map(|(j, &c)| (i64::from(c) + a.iter().enumerate().map(|(i, &a)| i64::from(i32::from(a) * i32::from(b[i * n + j]))).sum::<i64>()).clamp(-1 << 31, (1 << 31) - 1) as i32).collect() } }
    )*}}
ints! { i8 i8; i8 u8; u8 i8; u8 u8; s4 s4; s4 u4; u4 s4; u4 u4; }
