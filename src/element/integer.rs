//! Integer types of less than a byte.

use bytemuck::{Pod, Zeroable};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};

/// An integer type of few bits, held in the lowest bits of a byte.
macro_rules! integers {
    (
        $(
            $(#[$doc:meta])* $name:ident $held:ident $least:literal $greatest:literal |$bits:ident|
                $extended:expr;
        )*
    ) => {$(
        $(#[$doc])*
        #[allow(non_camel_case_types, reason = "as `i8` and `u8`")]
        #[derive(Clone, Copy, Default, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name($held);

        impl $name {
            /// The least value.
            pub const MIN: Self = Self($least);
            /// The greatest value.
            pub const MAX: Self = Self($greatest);

            /// Makes the integer of this value.
            ///
            /// # Panics
            /// If the value is less than `MIN` or greater than `MAX`.
            #[inline]
            pub const fn new(value: $held) -> Self {
                assert!(
                    Self::saturating(value as i32).0 == value,
                    "the number is not from `MIN` to `MAX`"
                );
                Self(value)
            }

            /// The value.
            #[inline]
            pub const fn get(self) -> $held {
                Self::from_bits(self.to_bits()).0
            }

            /// Makes the integer of these bits, the lowest of the byte. The others are dropped.
            #[inline]
            pub const fn from_bits($bits: u8) -> Self {
                Self($extended)
            }

            /// The bits, the lowest of the byte. The others are zero.
            #[inline]
            pub const fn to_bits(self) -> u8 {
                self.0 as u8 & (Self::MAX.0 as u8).wrapping_sub(Self::MIN.0 as u8)
            }

            /// Makes the nearest integer to a value.
            #[inline]
            pub const fn saturating(value: i32) -> Self {
                Self(if value < $least {
                    $least
                } else if value > $greatest {
                    $greatest
                } else {
                    value as $held
                })
            }
        }

        // Compares values, not bytes: the other bits of a byte from memory are arbitrary.
        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                self.get() == other.get()
            }
        }
        impl Eq for $name {}

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $name {
            #[inline]
            fn cmp(&self, other: &Self) -> Ordering {
                self.get().cmp(&other.get())
            }
        }

        impl Hash for $name {
            #[inline]
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.get().hash(state);
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.get()).finish()
            }
        }

        impl From<$name> for i32 {
            #[inline]
            fn from(value: $name) -> i32 {
                value.get() as i32
            }
        }

        impl TryFrom<i32> for $name {
            /// The value that is out of range.
            type Error = i32;

            #[inline]
            fn try_from(value: i32) -> Result<Self, i32> {
                if ($least..=$greatest).contains(&value) {
                    Ok(Self(value as $held))
                } else {
                    Err(value)
                }
            }
        }
    )*};
}

integers! {
    /// A signed 4-bit integer, -8 to 7 (`.s4`). A register holds eight; in memory, each has a byte.
    ///
    /// ```
    /// use ptx_matrix::element::s4;
    /// assert_eq!(s4::new(-3).to_bits(), 0b1101);
    /// assert_eq!(s4::from_bits(0b1101).get(), -3);
    /// assert_eq!(s4::saturating(100), s4::MAX);
    /// assert!(s4::try_from(8).is_err());
    /// ```
    s4 i8 -8 7 |bits| (bits << 4) as i8 >> 4;
    /// An unsigned 4-bit integer, 0 to 15 (`.u4`). A register holds eight; in memory, each has a
    /// byte.
    ///
    /// ```
    /// use ptx_matrix::element::u4;
    /// assert_eq!(u4::from_bits(0xfd).get(), 13);
    /// assert_eq!(u4::saturating(-1), u4::MIN);
    /// ```
    u4 u8 0 15 |bits| bits & 15;
    /// A bit (`.b1`). A register holds 32.
    ///
    /// ```
    /// use ptx_matrix::element::{Element, b1};
    /// assert_eq!(b1::from(true), b1::new(1));
    /// assert_eq!(<b1 as Element>::pack([true, false, true].map(b1::from)), 0b101);
    /// ```
    b1 u8 0 1 |bits| bits & 1;
}

impl From<bool> for b1 {
    #[inline]
    fn from(value: bool) -> b1 {
        b1(value as u8)
    }
}

impl From<b1> for bool {
    #[inline]
    fn from(value: b1) -> bool {
        value.to_bits() == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Element, Width};

    #[test]
    fn bits_round_trip_as_numbers() {
        for bits in 0..=u8::MAX {
            let two_complement =
                if bits & 8 == 0 { i32::from(bits & 7) } else { i32::from(bits & 7) - 8 };
            assert_eq!(i32::from(s4::from_bits(bits)), two_complement);
            assert_eq!(i32::from(u4::from_bits(bits)), i32::from(bits) % 16);
            assert_eq!(i32::from(b1::from_bits(bits)), i32::from(bits) % 2);
            assert_eq!(s4::from_bits(bits).to_bits(), bits & 15);
            assert_eq!(u4::from_bits(bits).to_bits(), bits & 15);
            assert_eq!(b1::from_bits(bits).to_bits(), bits & 1);
            assert_eq!(bytemuck::cast::<u8, s4>(bits), s4::from_bits(bits));
            assert_eq!(
                std::format!("{:?}", bytemuck::cast::<u8, u4>(bits)),
                std::format!("u4({})", bits & 15)
            );
        }
    }

    #[test]
    fn every_number_has_a_code_and_no_other_has() {
        for value in -300..300 {
            let in_range = |least, greatest| (least..=greatest).contains(&value);
            assert_eq!(s4::try_from(value).ok().map(i32::from), in_range(-8, 7).then_some(value));
            assert_eq!(u4::try_from(value).ok().map(i32::from), in_range(0, 15).then_some(value));
            assert_eq!(b1::try_from(value).ok().map(i32::from), in_range(0, 1).then_some(value));
            assert_eq!(i32::from(s4::saturating(value)), value.clamp(-8, 7));
            assert_eq!(i32::from(u4::saturating(value)), value.clamp(0, 15));
        }
    }

    #[test]
    fn packed_elements_have_disjoint_bits() {
        fn alone<T: Element<Width: Width<Bits = u8, Register = u32>>>(bits: usize) {
            let ones = T::from_bits(u8::MAX);
            for slot in 0..32 / bits {
                let mut register = 0;
                T::Width::pack(&mut register, slot, ones.to_bits());
                assert_eq!(register, (((1u64 << bits) - 1) << (slot * bits)) as u32);
                let mut register = u32::MAX;
                T::Width::pack(&mut register, slot, 0);
                assert_eq!(register, !(((1u64 << bits) - 1) << (slot * bits)) as u32);
                assert_eq!(T::Width::unpack(register, slot), 0);
            }
        }
        alone::<s4>(4);
        alone::<u4>(4);
        alone::<b1>(1);
        alone::<u8>(8);
    }
}
