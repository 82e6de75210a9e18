//! Every arithmetic operation and conversion of `core` on `f32`, `f64` and the integers up to
//! 128 bits, so that a GPU's results can be compared with a CPU's.
//!
//! One kernel per type. A launch computes one operation, which a uniform parameter selects, for
//! many operands. Operands and results are words of 64 bits, in the order of their bits:
//!
//! ```text
//! operands: item x (a: 2 words, b: 2 words, c: 2 words)
//! results:  item x (bits 0..64, bits 64..128, flag)
//! ```

use core::cmp::Ordering;
use pastey::paste;
use ptx_matrix::prelude::*;

/// Words of an operand.
pub const OPERAND_WORDS: usize = 2;
/// Operands of an item.
pub const OPERANDS: usize = 3;
/// Words of a result.
pub const RESULT_WORDS: usize = 3;
/// The flag of a result that is `Some`, or that overflowed.
pub const SOME: u64 = 1;
/// The flag of an `f32`.
pub const SINGLE: u64 = 2;
/// The flag of an `f64`.
pub const DOUBLE: u64 = 3;
/// Items that a block computes, one per lane.
pub const BLOCK_ITEMS: usize = 32;

/// A number that an operation takes.
pub trait Operand: Copy {
    /// The number with these bits.
    fn from_words(words: [u64; OPERAND_WORDS]) -> Self;
}

/// A value that an operation returns.
pub trait Outcome {
    /// Its bits, zero-extended, and a flag: [`SOME`], [`SINGLE`], [`DOUBLE`] or 0.
    fn words(self) -> [u64; RESULT_WORDS];
}

/// Integers. `as` truncates the bits of an operand; a result is zero-extended.
macro_rules! integers {
    ($($integer:ident $unsigned:ident)*) => {$(
        impl Operand for $integer {
            #[inline]
            fn from_words([low, high]: [u64; OPERAND_WORDS]) -> Self {
                (u128::from(low) | u128::from(high) << 64) as Self
            }
        }

        impl Outcome for $integer {
            #[inline]
            fn words(self) -> [u64; RESULT_WORDS] {
                let bits = self as $unsigned as u128;
                [bits as u64, (bits >> 64) as u64, 0]
            }
        }
    )*};
}
integers! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 u8 u8 u16 u16 u32 u32 u64 u64 u128 u128 }

macro_rules! floats {
    ($($float:ident $bits:ident $flag:ident)*) => {$(
        impl Operand for $float {
            #[inline]
            fn from_words(words: [u64; OPERAND_WORDS]) -> Self {
                $float::from_bits($bits::from_words(words))
            }
        }

        impl Outcome for $float {
            #[inline]
            fn words(self) -> [u64; RESULT_WORDS] {
                [self.to_bits().into(), 0, $flag]
            }
        }
    )*};
}
floats! { f32 u32 SINGLE f64 u64 DOUBLE }

impl Outcome for bool {
    #[inline]
    fn words(self) -> [u64; RESULT_WORDS] {
        [self.into(), 0, 0]
    }
}

impl Outcome for Ordering {
    #[inline]
    fn words(self) -> [u64; RESULT_WORDS] {
        (self as i8).words()
    }
}

impl<T: Outcome> Outcome for Option<T> {
    #[inline]
    fn words(self) -> [u64; RESULT_WORDS] {
        self.map_or([0; RESULT_WORDS], |value| {
            let [low, high, _] = value.words();
            [low, high, SOME]
        })
    }
}

impl<T: Outcome> Outcome for (T, bool) {
    #[inline]
    fn words(self) -> [u64; RESULT_WORDS] {
        let (value, overflowed) = self;
        let [low, high, _] = value.words();
        [low, high, if overflowed { SOME } else { 0 }]
    }
}

/// The result of one operation.
#[inline]
fn evaluate<T, R: Outcome>(operation: impl FnOnce(T, T, T) -> R, [a, b, c]: [T; 3]) -> [u64; 3] {
    operation(a, b, c).words()
}

/// A type's kernel and the names of its operations, in the order of their numbers.
macro_rules! operations {
    ($type:ident: $($name:literal: $operation:expr;)*) => { paste! {
        #[doc = concat!("The names of the operations on `", stringify!($type), "`, by number.")]
        pub const [<$type:upper>]: &[&str] = &[$($name),*];

        #[doc = concat!(
            "The result of the operation `number` of [`", stringify!([<$type:upper>]), "`]."
        )]
        // On the CPU, the kernel and the reference share one copy: it is compiled once.
        #[cfg_attr(target_arch = "nvptx64", inline)]
        #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
        pub fn [<$type _result>](
            number: u32,
            operands: [[u64; OPERAND_WORDS]; OPERANDS],
        ) -> [u64; RESULT_WORDS] {
            let operands = operands.map($type::from_words);
            let mut index = 0;
            $(
                if number == index {
                    return evaluate::<$type, _>($operation, operands);
                }
                index += 1;
            )*
            let _ = index;
            [0; RESULT_WORDS]
        }

        #[doc = concat!(
            "Computes the operation `number` of [`", stringify!([<$type:upper>]), "`] for each \
             item."
        )]
        #[kernel(threads = 32)]
        pub fn [<arithmetic_ $type>](
            block: &Block,
            number: u32,
            operands: Global<u64>,
            results: GlobalMut<u64>,
        ) {
            let first_item = block.index().x as usize * BLOCK_ITEMS;
            block.warp().each(|lane| {
                let item = first_item + lane.id();
                let words = |operand: usize| {
                    let first = (item * OPERANDS + operand) * OPERAND_WORDS;
                    [operands.get(first), operands.get(first + 1)]
                };
                let result = [<$type _result>](number, [words(0), words(1), words(2)]);
                for (word, bits) in result.into_iter().enumerate() {
                    results.set(item * RESULT_WORDS + word, bits);
                }
            });
        }
    }};
}

/// An operation that is `None` for a zero divisor, with which it would panic.
macro_rules! unless_zero {
    (|$a:ident, $b:ident| $value:expr) => {
        |$a, $b, _| if $b == 0 { None } else { Some($value) }
    };
}

/// The operations that every integer has, and those of its signedness.
macro_rules! integer_operations {
    ($type:ident: $($name:literal: $operation:expr;)*) => {
        operations! { $type:
            "wrapping_add": |a, b, _| a.wrapping_add(b);
            "wrapping_sub": |a, b, _| a.wrapping_sub(b);
            "wrapping_mul": |a, b, _| a.wrapping_mul(b);
            "wrapping_neg": |a, _, _| a.wrapping_neg();
            "a * b + c": |a, b, c| a.wrapping_mul(b).wrapping_add(c);
            "checked_add": |a, b, _| a.checked_add(b);
            "checked_sub": |a, b, _| a.checked_sub(b);
            "checked_mul": |a, b, _| a.checked_mul(b);
            "checked_div": |a, b, _| a.checked_div(b);
            "checked_rem": |a, b, _| a.checked_rem(b);
            "checked_div_euclid": |a, b, _| a.checked_div_euclid(b);
            "checked_rem_euclid": |a, b, _| a.checked_rem_euclid(b);
            "checked_neg": |a, _, _| a.checked_neg();
            "checked_shl": |a, b, _| a.checked_shl(b as u32);
            "checked_shr": |a, b, _| a.checked_shr(b as u32);
            "checked_pow": |a, b, _| a.checked_pow(b as u32 & 31);
            "checked_ilog": |a, b, _| a.checked_ilog(b);
            "checked_ilog2": |a, _, _| a.checked_ilog2();
            "checked_ilog10": |a, _, _| a.checked_ilog10();
            "overflowing_add": |a, b, _| a.overflowing_add(b);
            "overflowing_sub": |a, b, _| a.overflowing_sub(b);
            "overflowing_mul": |a, b, _| a.overflowing_mul(b);
            "overflowing_neg": |a, _, _| a.overflowing_neg();
            "overflowing_pow": |a, b, _| a.overflowing_pow(b as u32 & 31);
            "saturating_add": |a, b, _| a.saturating_add(b);
            "saturating_sub": |a, b, _| a.saturating_sub(b);
            "saturating_mul": |a, b, _| a.saturating_mul(b);
            "saturating_pow": |a, b, _| a.saturating_pow(b as u32 & 31);
            "wrapping_div": unless_zero!(|a, b| a.wrapping_div(b));
            "wrapping_rem": unless_zero!(|a, b| a.wrapping_rem(b));
            "wrapping_div_euclid": unless_zero!(|a, b| a.wrapping_div_euclid(b));
            "wrapping_rem_euclid": unless_zero!(|a, b| a.wrapping_rem_euclid(b));
            "wrapping_pow": |a, b, _| a.wrapping_pow(b as u32);
            "wrapping_shl": |a, b, _| a.wrapping_shl(b as u32);
            "wrapping_shr": |a, b, _| a.wrapping_shr(b as u32);
            "rotate_left": |a, b, _| a.rotate_left(b as u32);
            "rotate_right": |a, b, _| a.rotate_right(b as u32);
            "a & b": |a, b, _| a & b;
            "a | b": |a, b, _| a | b;
            "a ^ b": |a, b, _| a ^ b;
            "!a": |a, _, _| !a;
            "count_ones": |a, _, _| a.count_ones();
            "count_zeros": |a, _, _| a.count_zeros();
            "leading_zeros": |a, _, _| a.leading_zeros();
            "leading_ones": |a, _, _| a.leading_ones();
            "trailing_zeros": |a, _, _| a.trailing_zeros();
            "trailing_ones": |a, _, _| a.trailing_ones();
            "swap_bytes": |a, _, _| a.swap_bytes();
            "to_be": |a, _, _| a.to_be();
            "reverse_bits": |a, _, _| a.reverse_bits();
            "abs_diff": |a, b, _| a.abs_diff(b);
            "midpoint": |a, b, _| a.midpoint(b);
            "min": |a, b, _| a.min(b);
            "max": |a, b, _| a.max(b);
            "clamp": |a, b, c| a.clamp(b.min(c), b.max(c));
            "a < b": |a, b, _| a < b;
            "a <= b": |a, b, _| a <= b;
            "a == b": |a, b, _| a == b;
            "cmp": |a, b, _| a.cmp(&b);
            "as i8": |a, _, _| a as i8;
            "as i16": |a, _, _| a as i16;
            "as i32": |a, _, _| a as i32;
            "as i64": |a, _, _| a as i64;
            "as i128": |a, _, _| a as i128;
            "as u8": |a, _, _| a as u8;
            "as u16": |a, _, _| a as u16;
            "as u32": |a, _, _| a as u32;
            "as u64": |a, _, _| a as u64;
            "as u128": |a, _, _| a as u128;
            "as f32": |a, _, _| a as f32;
            "as f64": |a, _, _| a as f64;
            "try_into i8": |a, _, _| i8::try_from(a).ok();
            "try_into u32": |a, _, _| u32::try_from(a).ok();
            "try_into i64": |a, _, _| i64::try_from(a).ok();
            $($name: $operation;)*
        }
    };
}

macro_rules! signed {
    ($($type:ident $unsigned:ident)*) => {$(
        integer_operations! { $type:
            "wrapping_abs": |a, _, _| a.wrapping_abs();
            "checked_abs": |a, _, _| a.checked_abs();
            "overflowing_abs": |a, _, _| a.overflowing_abs();
            "saturating_abs": |a, _, _| a.saturating_abs();
            "saturating_neg": |a, _, _| a.saturating_neg();
            "unsigned_abs": |a, _, _| a.unsigned_abs();
            "signum": |a, _, _| a.signum();
            "is_negative": |a, _, _| a.is_negative();
            "checked_isqrt": |a, _, _| a.checked_isqrt();
            "checked_add_unsigned": |a, b, _| a.checked_add_unsigned(b as $unsigned);
            "saturating_sub_unsigned": |a, b, _| {
                a.saturating_sub_unsigned(b as $unsigned)
            };
        }
    )*};
}
signed! {
    i8 u8
    i16 u16
    i32 u32
    i64 u64
    i128 u128
}

macro_rules! unsigned {
    ($($type:ident $signed:ident)*) => {$(
        integer_operations! { $type:
            "isqrt": |a, _, _| a.isqrt();
            "is_power_of_two": |a, _, _| a.is_power_of_two();
            "checked_next_power_of_two": |a, _, _| a.checked_next_power_of_two();
            "checked_next_multiple_of": |a, b, _| a.checked_next_multiple_of(b);
            "div_ceil": unless_zero!(|a, b| a.div_ceil(b));
            "is_multiple_of": |a, b, _| a.is_multiple_of(b);
            "checked_add_signed": |a, b, _| a.checked_add_signed(b as $signed);
            "saturating_add_signed": |a, b, _| {
                a.saturating_add_signed(b as $signed)
            };
        }
    )*};
}
unsigned! {
    u8 i8
    u16 i16
    u32 i32
    u64 i64
    u128 i128
}

/// The methods of floats that stable Rust lacks.
trait UnstableMethods {
    /// The lesser number. NaN if one is NaN, and -0 is less than 0.
    fn minimum_of(self, other: Self) -> Self;
    /// The greater number. NaN if one is NaN, and -0 is less than 0.
    fn maximum_of(self, other: Self) -> Self;
}
macro_rules! unstable_methods {
    ($($float:ident)*) => {$(
        impl UnstableMethods for $float {
            fn minimum_of(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return self.minimum(other);
                #[cfg(not(target_arch = "nvptx64"))]
                if self < other || self == other && self.is_sign_negative() {
                    self
                } else if self >= other {
                    other
                } else {
                    self + other
                }
            }

            fn maximum_of(self, other: Self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return self.maximum(other);
                #[cfg(not(target_arch = "nvptx64"))]
                if self > other || self == other && self.is_sign_positive() {
                    self
                } else if self <= other {
                    other
                } else {
                    self + other
                }
            }
        }
    )*};
}
unstable_methods! { f32 f64 }

/// The operations of a floating-point type.
macro_rules! float_operations {
    ($($type:ident $other:ident { $($name:literal: $operation:expr;)* })*) => {$(
        operations! { $type:
            "a + b": |a, b, _| a + b;
            "a - b": |a, b, _| a - b;
            "a * b": |a, b, _| a * b;
            "a / b": |a, b, _| a / b;
            "a % b": |a, b, _| a % b;
            "-a": |a, _, _| -a;
            "a * b + c": |a, b, c| a * b + c;
            "mul_add": |a, b, c| a.mul_add(b, c);
            "div_euclid": |a, b, _| a.div_euclid(b);
            "rem_euclid": |a, b, _| a.rem_euclid(b);
            "powi": |a, b, _| a.powi(b as i32 % 40);
            "powi of any exponent": |a, b, _| a.powi(b as i32);
            "sqrt": |a, _, _| a.sqrt();
            "floor": |a, _, _| a.floor();
            "ceil": |a, _, _| a.ceil();
            "round": |a, _, _| a.round();
            "round_ties_even": |a, _, _| a.round_ties_even();
            "trunc": |a, _, _| a.trunc();
            "fract": |a, _, _| a.fract();
            "abs": |a, _, _| a.abs();
            "signum": |a, _, _| a.signum();
            "copysign": |a, b, _| a.copysign(b);
            "recip": |a, _, _| a.recip();
            "to_degrees": |a, _, _| a.to_degrees();
            "to_radians": |a, _, _| a.to_radians();
            "min": |a, b, _| a.min(b);
            "max": |a, b, _| a.max(b);
            "minimum": |a, b, _| a.minimum_of(b);
            "maximum": |a, b, _| a.maximum_of(b);
            "clamp": |a, b, c| if b <= c { a.clamp(b, c) } else { a };
            "midpoint": |a, b, _| a.midpoint(b);
            "next_up": |a, _, _| a.next_up();
            "next_down": |a, _, _| a.next_down();
            "total_cmp": |a, b, _| a.total_cmp(&b);
            "partial_cmp": |a, b, _| a.partial_cmp(&b);
            "a < b": |a, b, _| a < b;
            "a <= b": |a, b, _| a <= b;
            "a > b": |a, b, _| a > b;
            "a >= b": |a, b, _| a >= b;
            "a == b": |a, b, _| a == b;
            "a != b": |a, b, _| a != b;
            "is_nan": |a, _, _| a.is_nan();
            "is_infinite": |a, _, _| a.is_infinite();
            "is_finite": |a, _, _| a.is_finite();
            "is_normal": |a, _, _| a.is_normal();
            "is_subnormal": |a, _, _| a.is_subnormal();
            "classify": |a, _, _| a.classify() as u8;
            "is_sign_negative": |a, _, _| a.is_sign_negative();
            "to_bits": |a, _, _| a.to_bits();
            "as i8": |a, _, _| a as i8;
            "as i16": |a, _, _| a as i16;
            "as i32": |a, _, _| a as i32;
            "as i64": |a, _, _| a as i64;
            "as i128": |a, _, _| a as i128;
            "as u8": |a, _, _| a as u8;
            "as u16": |a, _, _| a as u16;
            "as u32": |a, _, _| a as u32;
            "as u64": |a, _, _| a as u64;
            "as u128": |a, _, _| a as u128;
            "as f32": |a, _, _| a as f32;
            "as f64": |a, _, _| a as f64;
            "as the other and back": |a, _, _| a as $other as $type;
            $($name: $operation;)*
        }
    )*};
}
float_operations! {
    f32 f64 { "cbrt": |a, _, _| a.cbrt(); }
    // The `f64` version reads a table in local memory, which kernels here must not have.
    f64 f32 {}
}
