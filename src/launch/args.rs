//! Structs and arrays as kernel parameters: plain data, and structs that also contain memory.
//!
//! Each is one PTX parameter, by value in the `.param` space, as a `__grid_constant__` of CUDA C++.
//! `#[derive(KernelArgs)]` writes the implementations for structs.

use super::{Dependent, KernelParam, TypeName};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Device, Params};
use crate::copy::{BoxTile, TensorMap, TensorMapMut, TensorMode};
use crate::element::{Element, bf16, f16};
use crate::isa::TensorMapWords;
use crate::machine::host_items;
use crate::memory::{Global, GlobalAtomic, GlobalMut};

/// Plain data as a kernel parameter: numbers, `bool`, arrays and structs of these.
///
/// `#[derive(KernelArgs)]` implements it for a `#[repr(C)]` struct of such fields.
///
/// # Safety
/// The type has the same layout on the host and on the device. `KernelParam::values` appends one
/// parameter of `size_of::<Self>()` bytes. They are a valid value of the type there, and padding is
/// zeros.
#[diagnostic::on_unimplemented(
    message = "a kernel's arguments cannot hold a `{Self}`",
    label = "not plain data",
    note = "plain data: numbers, `bool`, arrays, and structs with `#[derive(KernelArgs)]`",
    note = "memory, such as a `Global<'k, T>`, belongs in a struct with a lifetime `'k`"
)]
pub unsafe trait KernelData:
    Copy + 'static + for<'k> KernelParam<In<'k> = Self> + KernelField<Stored = Self>
{
}

/// A field of a struct with `#[derive(KernelArgs)]`: plain data, memory, or another such struct.
///
/// # Safety
/// The parameters that `KernelParam::values` appends, concatenated, are the bytes of `Stored`.
#[diagnostic::on_unimplemented(
    message = "a kernel's arguments cannot hold a `{Self}`",
    label = "neither plain data nor memory",
    note = "plain data: numbers, `bool`, arrays, and structs with `#[derive(KernelArgs)]`",
    note = "memory: `Global`, `GlobalMut`, `GlobalAtomic`, `TensorMap`, `TensorMapMut`, with a \
            lifetime `'k`"
)]
pub unsafe trait KernelField: KernelParam {
    /// The field's representation in the `.param` space.
    type Stored: Copy + 'static;

    /// Makes the field from its bytes in the `.param` space.
    ///
    /// # Safety
    /// The bytes are those that the host's launch made of such a field.
    unsafe fn load<'k>(stored: &'static Self::Stored, name: &'static str) -> Self::In<'k>;
}

/// Plain data is stored unchanged.
macro_rules! stored_as_it_is {
    ($([$($generics:tt)*] $data:ty;)*) => {$(
        // SAFETY: `KernelData` promises one parameter with the bytes of the type itself.
        unsafe impl<$($generics)*> KernelField for $data {
            type Stored = Self;

            #[inline]
            unsafe fn load<'k>(stored: &'static Self, _: &'static str) -> Self::In<'k> {
                *stored
            }
        }
    )*};
}

stored_as_it_is! {
    [] bool;
    [T: KernelData, const N: usize] [T; N];
}

/// A slice's representation in the `.param` space.
#[doc(hidden)]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StoredSlice<T> {
    start: *mut T,
    len: usize,
}

macro_rules! memory {
    ($([$($generics:tt)*] $field:ty: $stored:ty, |$from:ident| ($head:expr, $tail:expr);)*) => {$(
        // SAFETY: `values` appends the bytes of `Head`, then of `Tail`, which have no padding.
        unsafe impl<$($generics)*> KernelField for $field {
            type Stored = $stored;

            #[inline]
            unsafe fn load<'k>($from: &'static Self::Stored, name: &'static str) -> Self::In<'k> {
                // SAFETY: the caller upholds the conditions.
                unsafe { <Self as KernelParam>::enter($head, $tail, name) }
            }
        }
    )*};
}

memory! {
    [T: Element] Global<'_, T>: StoredSlice<T>, |slice| (slice.start, slice.len);
    [T: Element] GlobalMut<'_, T>: StoredSlice<T>, |slice| (slice.start, slice.len);
    [T: Element] GlobalAtomic<'_, T>: StoredSlice<T>, |slice| (slice.start, slice.len);
    [Tile: BoxTile, const RANK: usize, Mode: TensorMode] TensorMap<'_, Tile, RANK, Mode>:
        TensorMapWords, |map| (map, ());
    [Tile: BoxTile, const RANK: usize, Mode: TensorMode] TensorMapMut<'_, Tile, RANK, Mode>:
        TensorMapWords, |map| (map, ());
    [P: KernelParam<Head = *const TensorMapWords, Tail = ()>] Option<P>:
        TensorMapWords, |map| (map, ());
}

// SAFETY: as for the memory itself.
unsafe impl<P: KernelField> KernelField for Dependent<P> {
    type Stored = P::Stored;

    #[inline]
    unsafe fn load<'k>(stored: &'static P::Stored, name: &'static str) -> Self::In<'k> {
        // SAFETY: the caller upholds the conditions.
        Dependent::new(unsafe { P::load(stored, name) })
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        // SAFETY: a number's bytes are the same on both sides, and it has no padding.
        unsafe impl KernelData for $number {}

        stored_as_it_is! {
            [] $number;
        }
    )*};
}
numbers!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f16 bf16 f32 f64);

/// `true` is the byte 1, and `false` the byte 0.
// SAFETY: one parameter, a byte.
unsafe impl KernelParam for bool {
    type In<'k> = bool;
    type Head = u8;
    type Tail = ();
    const IS_MEMORY: bool = false;
    const TYPE: TypeName = TypeName::Text("bool");

    #[inline]
    unsafe fn enter<'k>(head: u8, _: (), _: &'static str) -> Self::In<'k> {
        head != 0
    }

    host_items! {
        type Host<'h, D: Device + 'h> = bool;
        fn bind<'h, D: Device + 'h>(
            _: &D,
            host: Self::Host<'h, D>,
            _: &'static str,
        ) -> Self::In<'h> {
            host
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            into.push(u8::from(bound));
        }
    }
}

// SAFETY: the byte that `values` appends is a valid `bool`.
unsafe impl KernelData for bool {}

/// An array is one parameter, like a struct.
// SAFETY: one parameter: the bytes of the elements. The builder makes `Head` point to them.
unsafe impl<T: KernelData, const N: usize> KernelParam for [T; N] {
    type In<'k> = [T; N];
    type Head = &'static [T; N];
    type Tail = ();
    const BY_VALUE: Option<ByValue> = Some(ByValue::of::<[T; N]>());
    const IS_MEMORY: bool = false;
    const TYPE: TypeName = TypeName::Parts(&[
        TypeName::Text("["),
        T::TYPE,
        TypeName::Text(" x "),
        TypeName::Number(N),
        TypeName::Text("]"),
    ]);

    #[inline]
    unsafe fn enter<'k>(head: &'static [T; N], _: (), _: &'static str) -> Self::In<'k> {
        *head
    }

    host_items! {
        type Host<'h, D: Device + 'h> = [T; N];
        fn bind<'h, D: Device + 'h>(
            _: &D,
            host: Self::Host<'h, D>,
            _: &'static str,
        ) -> Self::In<'h> {
            host
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            into.push_struct(size_of::<[T; N]>(), |elements| {
                for (index, element) in bound.into_iter().enumerate() {
                    elements.put::<T>(index * size_of::<T>(), element);
                }
            });
        }
    }
}

/// A reference to plain data is the same parameter. The kernel reads it in place, also at an index
/// that is known only at run time.
// SAFETY: one parameter: the bytes. The builder makes `Head` point to them.
unsafe impl<T: KernelData> KernelParam for &T {
    type In<'k> = &'k T;
    type Head = &'static T;
    type Tail = ();
    const BY_VALUE: Option<ByValue> = Some(ByValue::of::<T>());
    const IS_MEMORY: bool = false;
    const TYPE: TypeName = TypeName::Parts(&[TypeName::Text("&"), T::TYPE]);

    #[inline]
    unsafe fn enter<'k>(head: &'static T, _: (), _: &'static str) -> Self::In<'k> {
        head
    }

    host_items! {
        type Host<'h, D: Device + 'h> = &'h T;
        fn bind<'h, D: Device + 'h>(
            _: &D,
            host: Self::Host<'h, D>,
            _: &'static str,
        ) -> Self::In<'h> {
            host
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            into.push_struct(size_of::<T>(), |data| data.put_data(0, *bound));
        }
    }
}

// SAFETY: `values` appends the bytes of `T`.
unsafe impl<T: KernelData> KernelField for &T {
    type Stored = T;

    #[inline]
    unsafe fn load<'k>(stored: &'static T, _: &'static str) -> Self::In<'k> {
        stored
    }
}

// SAFETY: an array's only padding is that of its elements.
unsafe impl<T: KernelData, const N: usize> KernelData for [T; N] {}

/// The size and alignment of a parameter that is passed by value and that the kernel has a pointer
/// to: `.param .align ALIGN .b8 name[BYTES]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByValue {
    /// The size in bytes.
    pub bytes: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// The most bytes of a kernel's parameters on every GPU.
pub(super) const MAX_PARAM_BYTES: usize = 4096;

impl ByValue {
    /// The size and alignment of a type.
    #[doc(hidden)]
    pub const fn of<T>() -> Self {
        let (bytes, align) = (size_of::<T>(), align_of::<T>());
        assert!(
            bytes > 0,
            "a kernel parameter has no bytes: PTX has no such parameter, so leave it out"
        );
        assert!(
            bytes <= MAX_PARAM_BYTES,
            "a kernel parameter has more than 4096 bytes: let the kernel read it from a `Global`"
        );
        assert!(align <= 128, "a kernel parameter is aligned to at most 128 bytes");
        ByValue { bytes, align }
    }
}

/// Whether a struct of these fields, each given as (is memory, is [`Dependent`]), is [`Dependent`].
#[doc(hidden)]
pub const fn any_early(fields: &[(bool, bool)]) -> bool {
    let (mut dependent, mut other, mut index) = (false, false, 0);
    while index < fields.len() {
        let (is_memory, is_dependent) = fields[index];
        dependent |= is_dependent;
        other |= is_memory && !is_dependent;
        index += 1;
    }
    assert!(
        !(dependent && other),
        "if some of a struct's memory is `Dependent`, all of it must be"
    );
    dependent
}
