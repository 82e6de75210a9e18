//! The arithmetic of reductions of a memory element by a value.

use crate::engine::memory::race::{Access, History};
pub(crate) use crate::isa::Operation;
use core::cmp::Ordering;
use half::{bf16, f16};
use std::vec::Vec;

/// The type of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "PTX's names")]
pub(crate) enum Kind {
    u32,
    s32,
    u64,
    s64,
    b32,
    b64,
    f16,
    bf16,
    f32,
    /// f32 with subnormal operands and results as zeros.
    f32_ftz,
    f64,
    /// f64 in which a NaN becomes a quiet one, the element's before the value's.
    f64_quiet,
}

/// A reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) operation: Operation,
    pub(crate) kind: Kind,
}

/// Reductions of one class give the same result in any order, but for the rounding of sums, and for
/// `inc` and `dec` with different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(Reduction);

/// The reductions of an element by their class. Those of a class do not race with each other, like
/// the reads of a history.
#[derive(Clone, Default)]
pub(crate) struct ByClass(Vec<(Class, History)>);

impl ByClass {
    pub(crate) fn of(&mut self, class: Class) -> &mut History {
        let index = self.0.iter().position(|(of, _)| *of == class).unwrap_or_else(|| {
            self.0.push((class, History::default()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    /// Each reduction.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Class, Access)> + '_ {
        self.0.iter().flat_map(|(class, history)| history.reads().map(|by| (*class, by)))
    }

    /// The histories of all, but for those of a class.
    pub(crate) fn without(&self, class: Option<Class>) -> impl Iterator<Item = &History> {
        let other = move |(of, _): &&(Class, History)| Some(*of) != class;
        self.0.iter().filter(other).map(|(_, history)| history)
    }
}

impl Reduction {
    /// The same by `red` or `atom`. Unlike a bulk copy, they flush subnormal numbers to zero in
    /// f32.
    pub(crate) fn in_global_by_lane(self) -> Self {
        let kind = if self.kind == Kind::f32 { Kind::f32_ftz } else { self.kind };
        Reduction { kind, ..self }
    }

    pub(crate) fn class(self) -> Class {
        let kind = match (self.operation, self.kind) {
            (_, Kind::f32_ftz) => Kind::f32,
            (_, Kind::f64_quiet) => Kind::f64,
            (Operation::Add, Kind::s32) => Kind::u32,
            (Operation::Add, Kind::s64) => Kind::u64,
            (_, kind) => kind,
        };
        Class(Reduction { kind, ..self })
    }
}

impl Kind {
    /// Bytes of an element.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Kind::f16 | Kind::bf16 => 2,
            Kind::u32 | Kind::s32 | Kind::b32 | Kind::f32 | Kind::f32_ftz => 4,
            Kind::u64 | Kind::s64 | Kind::b64 | Kind::f64 | Kind::f64_quiet => 8,
        }
    }
}

/// Every NaN that a reduction computes, in a type of up to 32 bits: all bits are 1, except for the
/// sign.
const NAN_F16: u16 = 0x7fff;
const NAN_F32: u32 = 0x7fff_ffff;
/// The sum of infinities of both signs.
const NAN_F64: u64 = 0xfff8 << 48;
/// The bit of a quiet NaN.
const QUIET_F64: u64 = 1 << 51;

impl Reduction {
    /// The operation on integers, as unsigned numbers. Min and max order them by `compare`.
    fn on_bits(self, memory: u64, value: u64, compare: impl Fn(u64, u64) -> Ordering) -> u64 {
        match self.operation {
            Operation::Add => memory.wrapping_add(value),
            Operation::Min => {
                if compare(value, memory).is_lt() {
                    value
                } else {
                    memory
                }
            }
            Operation::Max => {
                if compare(value, memory).is_gt() {
                    value
                } else {
                    memory
                }
            }
            // `inc` wraps to 0 after the value; `dec` wraps from 0 to the value.
            Operation::Inc => {
                if memory >= value {
                    0
                } else {
                    memory + 1
                }
            }
            Operation::Dec => {
                if memory == 0 || memory > value {
                    value
                } else {
                    memory - 1
                }
            }
            Operation::And => memory & value,
            Operation::Or => memory | value,
            Operation::Xor => memory ^ value,
        }
    }

    /// The operation on numbers of 16 bits. The sums have 24 bits, and so may be rounded again: 2p
    /// + 2 bits suffice for a precision of p, and f16 has 11.
    fn on_floats(self, memory: f32, value: f32) -> f32 {
        match self.operation {
            Operation::Add => memory + value,
            // Of a NaN (of either sign) and a number, the result is the number. -0 is less than 0.
            _ if value.is_nan() => memory,
            _ if memory.is_nan() => value,
            Operation::Min => {
                if value.total_cmp(&memory).is_lt() {
                    value
                } else {
                    memory
                }
            }
            _ => {
                if value.total_cmp(&memory).is_gt() {
                    value
                } else {
                    memory
                }
            }
        }
    }

    /// Applies the reduction to an element of memory.
    pub(crate) fn apply(self, memory: &mut [u8], value: &[u8]) {
        let word = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        let (old, value) = (word(memory), word(value));
        let new = match self.kind {
            Kind::u32 | Kind::u64 | Kind::b32 | Kind::b64 => {
                self.on_bits(old, value, |a, b| a.cmp(&b))
            }
            Kind::s32 => self.on_bits(old, value, |a, b| (a as i32).cmp(&(b as i32))),
            Kind::s64 => self.on_bits(old, value, |a, b| (a as i64).cmp(&(b as i64))),
            Kind::f16 => {
                let [old, value] = [old, value].map(|bits| f16::from_bits(bits as u16).to_f32());
                let new = f16::from_f32(self.on_floats(old, value));
                u64::from(if new.is_nan() { NAN_F16 } else { new.to_bits() })
            }
            Kind::bf16 => {
                let [old, value] = [old, value].map(|bits| bf16::from_bits(bits as u16).to_f32());
                let new = bf16::from_f32(self.on_floats(old, value));
                u64::from(if new.is_nan() { NAN_F16 } else { new.to_bits() })
            }
            Kind::f32 => {
                let [old, value] = [old, value].map(|bits| f32::from_bits(bits as u32));
                let new = old + value;
                u64::from(if new.is_nan() { NAN_F32 } else { new.to_bits() })
            }
            Kind::f32_ftz => {
                let flushed = |value: f32| {
                    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
                };
                let [old, value] = [old, value].map(|bits| flushed(f32::from_bits(bits as u32)));
                let new = flushed(old + value);
                u64::from(if new.is_nan() { NAN_F32 } else { new.to_bits() })
            }
            // An operand that is a NaN stays as it is, even a signalling one.
            Kind::f64 | Kind::f64_quiet => {
                let (operands, quiet) = match self.kind {
                    Kind::f64_quiet => ([old, value], QUIET_F64),
                    _ => ([value, old], 0),
                };
                match operands.into_iter().find(|&bits| f64::from_bits(bits).is_nan()) {
                    Some(nan) => nan | quiet,
                    None => {
                        let new = f64::from_bits(old) + f64::from_bits(value);
                        if new.is_nan() { NAN_F64 } else { new.to_bits() }
                    }
                }
            }
        };
        let bytes = memory.len();
        memory.copy_from_slice(&new.to_le_bytes()[..bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced<const N: usize>(
        operation: Operation,
        kind: Kind,
        memory: [u8; N],
        value: [u8; N],
    ) -> [u8; N] {
        assert_eq!(kind.bytes(), N);
        let mut memory = memory;
        Reduction { operation, kind }.apply(&mut memory, &value);
        memory
    }

    #[test]
    fn integers() {
        let u32s = |operation, memory: u32, value: u32| {
            u32::from_le_bytes(reduced(
                operation,
                Kind::u32,
                memory.to_le_bytes(),
                value.to_le_bytes(),
            ))
        };
        assert_eq!(u32s(Operation::Add, u32::MAX, 3), 2);
        assert_eq!(
            [u32s(Operation::Inc, 4, 5), u32s(Operation::Inc, 5, 5), u32s(Operation::Inc, 9, 5)],
            [5, 0, 0]
        );
        assert_eq!(
            [u32s(Operation::Dec, 4, 5), u32s(Operation::Dec, 0, 5), u32s(Operation::Dec, 9, 5)],
            [3, 5, 5]
        );
        let s32s = |operation| {
            i32::from_le_bytes(reduced(
                operation,
                Kind::s32,
                (-3i32).to_le_bytes(),
                2i32.to_le_bytes(),
            ))
        };
        assert_eq!([s32s(Operation::Min), s32s(Operation::Max), s32s(Operation::Add)], [-3, 2, -1]);
        let b64s = |operation| {
            u64::from_le_bytes(reduced(
                operation,
                Kind::b64,
                0b1100u64.to_le_bytes(),
                0b1010u64.to_le_bytes(),
            ))
        };
        assert_eq!(
            [b64s(Operation::And), b64s(Operation::Or), b64s(Operation::Xor)],
            [0b1000, 0b1110, 0b0110]
        );
    }

    #[test]
    fn floats() {
        let f16s = |operation, memory: f32, value: f32| {
            let [memory, value] = [memory, value].map(|value| f16::from_f32(value).to_le_bytes());
            f16::from_le_bytes(reduced(operation, Kind::f16, memory, value)).to_f32()
        };
        assert_eq!(f16s(Operation::Add, 2048.0, 1.0), 2048.0, "to the nearest, ties to even");
        let [half, least] = [f32::powi(2.0, -11), f32::powi(2.0, -24)];
        assert_eq!(f16s(Operation::Add, 1.0, half + least * 8.0), 1.0 + 2.0 * half, "above a tie");
        assert_eq!(
            f16s(Operation::Add, f32::powi(2.0, -24), f32::powi(2.0, -24)),
            f32::powi(2.0, -23),
            "subnormal"
        );
        assert_eq!([f16s(Operation::Min, -1.0, 2.0), f16s(Operation::Max, -1.0, 2.0)], [-1.0, 2.0]);
        for nan in [f32::NAN, -f32::NAN] {
            for operation in [Operation::Min, Operation::Max] {
                assert_eq!(
                    [f16s(operation, nan, 1.5), f16s(operation, 1.5, nan)],
                    [1.5; 2],
                    "{nan} is no number"
                );
                let bf16s = |memory: f32, value: f32| {
                    let [memory, value] =
                        [memory, value].map(|value| bf16::from_f32(value).to_le_bytes());
                    bf16::from_le_bytes(reduced(operation, Kind::bf16, memory, value)).to_f32()
                };
                assert_eq!([bf16s(nan, -1.5), bf16s(-1.5, nan)], [-1.5; 2], "{nan} is no number");
                assert!(f16s(operation, nan, f32::NAN).is_nan(), "nor is one of two");
            }
        }
        assert_eq!(f16s(Operation::Min, 0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(f16s(Operation::Max, -0.0, 0.0).to_bits(), 0.0f32.to_bits());
        let f32s = |memory: f32, value: f32| {
            f32::from_le_bytes(reduced(
                Operation::Add,
                Kind::f32,
                memory.to_le_bytes(),
                value.to_le_bytes(),
            ))
        };
        assert_eq!(f32s(1.5, 2.25), 3.75);
        assert_eq!(f32s(1e-40, -3e-40), 1e-40 - 3e-40, "subnormal numbers are no zeros");
        assert_eq!(f32s(f32::MIN_POSITIVE, -f32::from_bits(1)).to_bits(), 0x7f_ffff);
    }

    /// As on an H200.
    #[test]
    fn results_that_are_nans() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for [memory, value] in [[inf, -inf], [nan, 1.0], [1.0, -nan], [nan, nan]] {
            let add = |kind, memory: &[u8], value: &[u8]| {
                let mut memory = memory.to_vec();
                Reduction { operation: Operation::Add, kind }.apply(&mut memory, value);
                memory
            };
            let sum = add(Kind::f32, &memory.to_le_bytes(), &value.to_le_bytes());
            assert_eq!(sum, 0x7fff_ffffu32.to_le_bytes(), "{memory} {value}");
            let halves = [memory, value].map(|value| f16::from_f32(value).to_le_bytes());
            assert_eq!(add(Kind::f16, &halves[0], &halves[1]), [0xff, 0x7f], "{memory} {value}");
            let halves = [memory, value].map(|value| bf16::from_f32(value).to_le_bytes());
            assert_eq!(add(Kind::bf16, &halves[0], &halves[1]), [0xff, 0x7f], "{memory} {value}");
        }
        let f64s = |memory: u64, value: u64| {
            let (memory, value) = (memory.to_le_bytes(), value.to_le_bytes());
            u64::from_le_bytes(reduced(Operation::Add, Kind::f64, memory, value))
        };
        let [one, inf] = [1.0, f64::INFINITY].map(f64::to_bits);
        let [quiet, signalling] = [0xfff8_0000_0000_0005, 0x7ff0_0000_0000_0001];
        assert_eq!(f64s(quiet, quiet + 2), quiet + 2);
        assert_eq!([f64s(signalling, one), f64s(one, signalling)], [signalling; 2]);
        assert_eq!(f64s(inf, inf | 1 << 63), 0xfff8 << 48);
    }
}
