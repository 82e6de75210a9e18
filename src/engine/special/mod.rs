//! The approximate special functions of PTX, bit for bit, as measured on an H100.
//!
//! `unit.rs` has the special function unit, and `tables.rs` its coefficients. This file has the
//! code that ptxas generates around the unit for each PTX form. `raw/approx.rs` calls it.

mod tables;
mod unit;

use core::ops::RangeInclusive;
use half::{bf16, f16};

/// The functions of an f32; the names are PTX's without `.f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Ex2,
    Ex2Ftz,
    Lg2,
    Lg2Ftz,
    Rcp,
    RcpFtz,
    Rsqrt,
    RsqrtFtz,
    Sqrt,
    SqrtFtz,
    Tanh,
    Sin,
    SinFtz,
    Cos,
    CosFtz,
}

/// Magnitudes of subnormal numbers.
const SUBNORMAL: RangeInclusive<u32> = 0..=0x007f_ffff;

/// 2^24: the factor by which ptxas normalises a subnormal argument.
const UP: f32 = 16_777_216.0;

impl Function {
    /// The value of the function.
    pub(crate) fn of(self, x: f32) -> f32 {
        let bits = x.to_bits();
        let is_subnormal = SUBNORMAL.contains(&(bits & 0x7fff_ffff));
        // For a subnormal number: scales the unit's argument by `up`, and its result by `down`.
        let scaled = |unit: fn(u32) -> u32, up: f32, down: f32| match is_subnormal {
            true => canonical(f32::from_bits(unit((x * up).to_bits())) * down),
            false => f32::from_bits(unit(bits)),
        };
        match self {
            Function::Ex2 if x < -126.0 => {
                let root = f32::from_bits(unit::ex2((x * 0.5).to_bits()));
                root * root
            }
            Function::Ex2 | Function::Ex2Ftz => f32::from_bits(unit::ex2(bits)),
            Function::Lg2 if is_subnormal => {
                canonical(f32::from_bits(unit::lg2((x * UP).to_bits())) - 24.0)
            }
            Function::Lg2 | Function::Lg2Ftz => f32::from_bits(unit::lg2(bits)),
            Function::Rcp => {
                let scale = match x.abs() {
                    // 2^126: the reciprocal of a larger number is subnormal.
                    large if large > 8.507_059e37 => 0.25,
                    _ if is_subnormal => UP,
                    _ => 1.0,
                };
                canonical(f32::from_bits(unit::rcp((x * scale).to_bits())) * scale)
            }
            Function::RcpFtz => f32::from_bits(unit::rcp(bits)),
            Function::Rsqrt => scaled(unit::rsqrt, UP, 4096.0),
            Function::RsqrtFtz => f32::from_bits(unit::rsqrt(bits)),
            Function::Sqrt => scaled(unit::sqrt, UP, 1.0 / 4096.0),
            Function::SqrtFtz => f32::from_bits(unit::sqrt(bits)),
            Function::Tanh => f32::from_bits(unit::tanh(bits)),
            Function::Sin => f32::from_bits(unit::sine(unit::turns(bits, false), false)),
            Function::SinFtz => f32::from_bits(unit::sine(unit::turns(bits, true), false)),
            Function::Cos => f32::from_bits(unit::sine(unit::turns(bits, false), true)),
            Function::CosFtz => f32::from_bits(unit::sine(unit::turns(bits, true), true)),
        }
    }
}

/// The NaN that GPUs return.
fn canonical(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(unit::NAN) } else { x }
}

/// `ex2` or `tanh` of each half of a register: the f32 result, rounded toward zero to f16.
pub(crate) fn of_f16_pair(function: Function, pair: u32) -> u32 {
    of_halves(pair, |half| cut_to_f16(function.of(f16::from_bits(half).to_f32())))
}

/// The same for bf16.
pub(crate) fn of_bf16_pair(function: Function, pair: u32) -> u32 {
    of_halves(pair, |half| {
        let value = function.of(bf16::from_bits(half).to_f32());
        if value.is_nan() { 0x7fff } else { (value.to_bits() >> 16) as u16 }
    })
}

fn of_halves(pair: u32, of: impl Fn(u16) -> u16) -> u32 {
    u32::from(of(pair as u16)) | u32::from(of((pair >> 16) as u16)) << 16
}

/// Rounds to f16 toward zero; infinity stays infinity.
fn cut_to_f16(value: f32) -> u16 {
    if value.is_nan() {
        return 0x7fff;
    }
    let nearest = f16::from_f32(value);
    // Rounding to nearest is at most one step too large, also below 2^16, where it may give
    // infinity.
    let is_beyond = value.abs() < 65_536.0 && nearest.to_f32().abs() > value.abs();
    nearest.to_bits() - u16::from(is_beyond)
}
