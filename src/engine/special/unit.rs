//! The special function unit (`MUFU` in machine code), bit for bit, as measured on an H100.
//!
//! A function is a table of segments. In each segment its value is c0 + c1 x + c2 x^2, where x is
//! the argument's lower bits. The square omits its lowest partial products. Only the result is
//! rounded, toward zero.

use super::tables::{EX2, LG2, RCP, RSQRT, SIN, SQRT, TANH};

/// Coefficients (c0, c1, c2) in units of 2^-40.
pub(super) type Segment = (i64, i32, i32);

/// Fraction bits of a segment's value.
const POINT: i32 = 40;

/// Bits of the argument below the segment's index.
const LOW_BITS: u32 = 17;

/// The result for NaN and for invalid arguments.
pub(super) const NAN: u32 = 0x7fff_ffff;

const INFINITY: u32 = 0x7f80_0000;
const SIGN: u32 = 0x8000_0000;
const ONE: u32 = 0x3f80_0000;

/// `low^2 / 2^19` without the partial products below 2^19.
///
/// The product of bits i and j counts if i + j is at least 18. The square of bit i counts if 2 i is
/// at least 20.
fn square(low: u32) -> i64 {
    let high = low >> 9;
    let pairs = |j: u32| (low >> j & 1) * (low >> (18 - j));
    i64::from((high * high - (high & 1)) / 2 + (2..=8).map(pairs).sum::<u32>())
}

/// The function of a table. The upper bits of the argument are the segment's index.
fn interpolate(table: &[Segment], argument: u32) -> i64 {
    let (c0, c1, c2) = table[(argument >> LOW_BITS) as usize];
    let low = argument & ((1 << LOW_BITS) - 1);
    c0 + i64::from(c1) * i64::from(low) + i64::from(c2) * square(low)
}

/// `value * 2^(exponent - 40)` as an f32, rounded toward zero. Infinite above the largest number,
/// zero below the smallest normal number.
fn pack(value: u64, exponent: i32, sign: u32) -> u32 {
    if value == 0 {
        return sign;
    }
    let leading = 63 - value.leading_zeros() as i32;
    let significand =
        if leading >= 23 { value >> (leading - 23) } else { value << (23 - leading) } as u32;
    match leading - POINT + exponent {
        128.. => sign | INFINITY,
        ..-126 => sign,
        exponent => sign | ((exponent + 127) as u32) << 23 | significand & 0x7f_ffff,
    }
}

/// An argument that is a normal number.
struct Normal {
    sign: u32,
    exponent: i32,
    fraction: u32,
}

/// The class of an argument. Subnormal numbers count as zeros.
enum Argument {
    Nan,
    Zero(u32),
    Infinite(u32),
    Normal(Normal),
}

fn argument(bits: u32) -> Argument {
    let (sign, magnitude) = (bits & SIGN, bits & !SIGN);
    match magnitude {
        0..0x0080_0000 => Argument::Zero(sign),
        0x0080_0000..INFINITY => Argument::Normal(Normal {
            sign,
            exponent: (magnitude >> 23) as i32 - 127,
            fraction: magnitude & 0x7f_ffff,
        }),
        INFINITY => Argument::Infinite(sign),
        _ => Argument::Nan,
    }
}

impl Normal {
    /// The magnitude as a fixed-point number with `bits` fraction bits, rounded toward zero. Bits
    /// from 2^32 up are dropped.
    fn fixed(&self, bits: i32) -> u32 {
        let significand = self.fraction | 1 << 23;
        match self.exponent - 23 + bits {
            up @ 0..32 => significand << up,
            down @ -31..0 => significand >> -down,
            _ => 0,
        }
    }
}

/// 2^x.
pub(super) fn ex2(bits: u32) -> u32 {
    match argument(bits) {
        Argument::Nan => NAN,
        Argument::Zero(_) => ONE,
        Argument::Normal(of) if of.exponent < 8 => {
            let fixed = i64::from(of.fixed(23));
            // A negative number is complemented, which subtracts 2^-23, unless it is an integer.
            let signed = match (of.sign, fixed & 0x7f_ffff) {
                (0, _) => fixed,
                (_, 0) => -fixed,
                _ => !fixed,
            };
            pack(interpolate(&EX2, signed as u32 & 0x7f_ffff) as u64, (signed >> 23) as i32, 0)
        }
        Argument::Infinite(sign) | Argument::Normal(Normal { sign, .. }) => {
            if sign == 0 {
                INFINITY
            } else {
                0
            }
        }
    }
}

/// log2(x).
pub(super) fn lg2(bits: u32) -> u32 {
    match argument(bits) {
        Argument::Zero(_) => SIGN | INFINITY,
        Argument::Infinite(0) => INFINITY,
        Argument::Normal(_) if bits == ONE => 0,
        Argument::Normal(Normal { sign: 0, exponent, fraction }) => {
            // The sum with the exponent has 36 fraction bits. A negative sum is complemented.
            let sum = (i64::from(exponent) << 36) + (interpolate(&LG2, fraction) >> 4);
            if sum < 0 { pack(!sum as u64, 4, SIGN) } else { pack(sum as u64, 4, 0) }
        }
        _ => NAN,
    }
}

/// 1 / x.
pub(super) fn rcp(bits: u32) -> u32 {
    match argument(bits) {
        Argument::Nan => NAN,
        Argument::Zero(sign) => sign | INFINITY,
        Argument::Infinite(sign) => sign,
        // Twice as many segments, each with one bit less.
        Argument::Normal(Normal { sign, exponent, fraction }) => {
            pack(interpolate(&RCP, fraction << 1) as u64, -exponent, sign)
        }
    }
}

/// The function of a table with one half for even exponents and one for odd exponents.
fn by_parity(table: &[Segment; 128], exponent: i32, fraction: u32) -> u64 {
    interpolate(table, (exponent as u32 & 1) << 23 | fraction) as u64
}

/// 1 / sqrt(x).
pub(super) fn rsqrt(bits: u32) -> u32 {
    match argument(bits) {
        Argument::Zero(sign) => sign | INFINITY,
        Argument::Infinite(0) => 0,
        Argument::Normal(Normal { sign: 0, exponent, fraction }) => {
            match (exponent & 1, fraction) {
                // A power of four has an exact result.
                (0, 0) => pack(1 << POINT, -(exponent >> 1), 0),
                _ => pack(by_parity(&RSQRT, exponent, fraction), -(exponent >> 1), 0),
            }
        }
        _ => NAN,
    }
}

/// sqrt(x).
pub(super) fn sqrt(bits: u32) -> u32 {
    match argument(bits) {
        Argument::Zero(sign) => sign,
        Argument::Infinite(0) => INFINITY,
        Argument::Normal(Normal { sign: 0, exponent, fraction }) => {
            pack(by_parity(&SQRT, exponent, fraction), exponent >> 1, 0)
        }
        _ => NAN,
    }
}

/// For each binade from [2^-8, 2^-7) up: the number of fraction bits that select the segment, and
/// the first segment.
const TANH_BINADES: [(u32, u32); 11] =
    [(0, 0), (0, 1), (0, 2), (1, 3), (1, 5), (2, 7), (2, 11), (2, 15), (3, 19), (4, 27), (3, 43)];

/// tanh(x). Numbers below 2^-8, also subnormal ones, are returned unchanged.
pub(super) fn tanh(bits: u32) -> u32 {
    let (sign, magnitude) = (bits & SIGN, bits & !SIGN);
    if magnitude > INFINITY {
        return NAN;
    }
    match (magnitude >> 23) as i32 - 127 {
        ..-8 => bits,
        exponent @ -8..3 => {
            let (index_bits, first) = TANH_BINADES[(exponent + 8) as usize];
            let argument = (first << LOW_BITS) + ((magnitude & 0x7f_ffff) >> (6 - index_bits));
            pack(interpolate(&TANH, argument) as u64, 0, sign)
        }
        _ => sign | ONE,
    }
}

/// The sine of an angle in turns, or its cosine.
pub(super) fn sine(turns: u32, is_cosine: bool) -> u32 {
    let (sign, fixed) = match argument(turns) {
        Argument::Nan | Argument::Infinite(_) => return NAN,
        Argument::Zero(sign) => return if is_cosine { ONE } else { sign },
        // Two bits for the quadrant, and 23 bits within it.
        Argument::Normal(of) => (of.sign, of.fixed(25)),
    };
    let quadrant = (fixed >> 23) + u32::from(is_cosine);
    let argument = if quadrant & 1 == 0 { fixed } else { !fixed } & 0x7f_ffff;
    let sign = if is_cosine { 0 } else { sign } ^ (quadrant & 2) << 30;
    pack(interpolate(&SIN, argument).min(1 << POINT) as u64, 0, sign)
}

/// x / (2 pi), rounded toward zero. A subnormal x is flushed to zero if `flushes`.
pub(super) fn turns(bits: u32, flushes: bool) -> u32 {
    const INVERSE: u64 = 0xa2_f983; // times 2^-26
    let (sign, magnitude) = (bits & SIGN, bits & !SIGN);
    let (field, fraction) = (magnitude >> 23, magnitude & 0x7f_ffff);
    let (significand, field) = match field {
        0 if flushes => return sign,
        0 => (fraction, 1),
        0xff => return bits,
        field => (fraction | 1 << 23, field),
    };
    let product = u64::from(significand) * INVERSE;
    if product == 0 {
        return sign;
    }
    let scale = field as i32 - 150 - 26;
    let leading = 63 - product.leading_zeros() as i32;
    match leading + scale {
        exponent @ -126.. => {
            let significand =
                if leading >= 23 { product >> (leading - 23) } else { product << (23 - leading) }
                    as u32;
            sign | ((exponent + 127) as u32) << 23 | significand & 0x7f_ffff
        }
        _ if flushes => sign,
        _ => sign | product.checked_shr((-149 - scale) as u32).unwrap_or(0) as u32,
    }
}
