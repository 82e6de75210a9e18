//! The parameters of kernels: how the host passes them, and how the PTX entry receives them.

use super::args::MAX_PARAM_BYTES;
use super::{ByValue, TypeName, type_name};
use crate::element::{Element, bf16, f16};
use crate::machine::host_items;
use crate::memory::{Global, GlobalAtomic, GlobalMut};
#[cfg(not(target_arch = "nvptx64"))]
use {
    super::{Device, KernelData, KernelField},
    bytemuck::Pod,
    std::vec::Vec,
};

/// A type of kernel parameter.
///
/// [`Global`], [`GlobalMut`], [`GlobalAtomic`], [`TensorMap`](crate::copy::TensorMap),
/// [`TensorMapMut`](crate::copy::TensorMapMut), numbers, `bool`, arrays, and structs with
/// [`KernelArgs`](macro@crate::KernelArgs).
///
/// # Safety
/// `values` appends the PTX parameters that `enter` takes: the bytes of `Head`, then those of
/// `Tail`, unless it is `()`. Types whose parameters have different meanings have different names
/// in `TYPE`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a parameter of type `{Self}`",
    label = "not a kernel parameter",
    note = "kernels take `Global<T>`, `GlobalMut<T>`, `GlobalAtomic<T>`, `TensorMap<Tile, RANK>`, \
            `TensorMapMut<Tile, RANK>`, numbers, structs with `#[derive(KernelArgs)]`, and, \
            marked `#[shared]`, their shared memory"
)]
pub unsafe trait KernelParam {
    /// The parameter in a kernel that runs during `'k`.
    type In<'k>: Copy;
    /// The type of its first PTX parameter.
    type Head: Copy;
    /// The type of its second PTX parameter, or `()`.
    type Tail: Copy;
    /// The size and alignment of a first PTX parameter that is passed by value although `Head` is a
    /// pointer or a reference. It is a grid constant, and the builder makes `Head` point to it.
    const BY_VALUE: Option<ByValue> = None;
    /// Whether it is memory, which preceding kernels may have written.
    #[doc(hidden)]
    const IS_MEMORY: bool = true;
    /// Whether it is memory that is touched only after these have ended:
    /// [`Dependent`](super::Dependent).
    #[doc(hidden)]
    const IS_EARLY: bool = false;
    /// The type's name in fingerprints, by which a launch checks that the PTX takes such a
    /// parameter. It does not contain `; `.
    const TYPE: TypeName;
    /// The number of its PTX parameters.
    const PTX_PARAMS: usize = if size_of::<Self::Tail>() == 0 { 1 } else { 2 };

    /// Makes the parameter from its PTX parameters.
    ///
    /// # Safety
    /// They are those that the host's launch made of such a parameter.
    unsafe fn enter<'k>(head: Self::Head, tail: Self::Tail, name: &'static str) -> Self::In<'k>;

    /// The argument that the host passes for it, for a launch on `D`.
    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'h, D: Device + 'h>;
    /// Makes the parameter from the host's argument.
    #[cfg(not(target_arch = "nvptx64"))]
    fn bind<'h, D: Device + 'h>(
        device: &D,
        host: Self::Host<'h, D>,
        name: &'static str,
    ) -> Self::In<'h>;
    /// Appends the PTX parameters.
    #[cfg(not(target_arch = "nvptx64"))]
    fn values(bound: Self::In<'_>, into: &mut Params);
}

/// A parameter as `#[kernel]` describes it.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct ParamInfo {
    pub(super) name: &'static str,
    /// The name of its type.
    pub(super) type_name: &'static str,
    /// The first PTX parameter.
    pub(super) head: ByValue,
    /// The second PTX parameter, if there is one.
    pub(super) tail: Option<ByValue>,
    /// Whether the first is a grid constant.
    pub(super) is_constant: bool,
    pub(super) is_memory: bool,
    pub(super) is_dependent: bool,
}

impl ParamInfo {
    /// The parameter `name` of this type.
    pub const fn of<P: KernelParam>(name: &'static str) -> Self {
        ParamInfo {
            name,
            type_name: type_name::<P>(),
            head: match P::BY_VALUE {
                Some(of) => of,
                None => ByValue::of::<P::Head>(),
            },
            tail: if P::PTX_PARAMS == 2 { Some(ByValue::of::<P::Tail>()) } else { None },
            is_constant: P::BY_VALUE.is_some(),
            is_memory: P::IS_MEMORY,
            is_dependent: P::IS_EARLY,
        }
    }
}

/// Refuses parameters of more bytes than a launch can pass.
pub(super) const fn check_bytes(params: &[ParamInfo]) {
    let (mut bytes, mut index) = (0_usize, 0);
    while index < params.len() {
        let ParamInfo { head, tail, .. } = params[index];
        bytes = bytes.next_multiple_of(head.align) + head.bytes;
        if let Some(tail) = tail {
            bytes = bytes.next_multiple_of(tail.align) + tail.bytes;
        }
        index += 1;
    }
    assert!(
        bytes <= MAX_PARAM_BYTES,
        "the kernel's parameters have more than 4096 bytes: let it read some from a `Global`"
    );
}

/// The parameters of a PTX entry, in order: their bytes.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Debug, Clone, Default)]
pub struct Params {
    bytes: Vec<u8>,
    /// The end of each parameter in `bytes`.
    ends: Vec<usize>,
    /// Within a struct: the place of the next bytes.
    next: Option<usize>,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Params {
    /// No parameters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a parameter; within a struct, the next bytes of a field.
    pub fn push(&mut self, value: impl Pod) {
        let value = bytemuck::bytes_of(&value);
        match &mut self.next {
            Some(at) => {
                self.bytes[*at..][..value.len()].copy_from_slice(value);
                *at += value.len();
            }
            None => {
                self.bytes.extend_from_slice(value);
                self.ends.push(self.bytes.len());
            }
        }
    }

    /// Appends a struct of `size` bytes, as one parameter or as a field of another struct. `put`
    /// writes its fields. Padding is zeros.
    pub fn push_struct(&mut self, size: usize, put: impl FnOnce(&mut FieldBytes<'_>)) {
        let outer = self.next;
        let start = outer.unwrap_or(self.bytes.len());
        if outer.is_none() {
            self.bytes.resize(start + size, 0);
        }
        put(&mut FieldBytes { params: self, start });
        self.next = outer.map(|start| start + size);
        if outer.is_none() {
            self.ends.push(self.bytes.len());
        }
    }

    /// The last `len` bytes that were appended.
    pub(super) fn last(&self, len: usize) -> &[u8] {
        let end = self.next.unwrap_or(self.bytes.len());
        &self.bytes[end - len..end]
    }

    /// The bytes of each parameter.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = core::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// The bytes of a struct in [`Params`], written field by field.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub struct FieldBytes<'a> {
    params: &'a mut Params,
    start: usize,
}

#[cfg(not(target_arch = "nvptx64"))]
impl FieldBytes<'_> {
    /// Writes a field at its offset.
    pub fn put<P: KernelField>(&mut self, offset: usize, bound: P::In<'_>) {
        self.params.next = Some(self.start + offset);
        P::values(bound, self.params);
    }

    /// Writes a field of plain data at its offset.
    pub fn put_data<T: KernelData>(&mut self, offset: usize, value: T) {
        self.put::<T>(offset, value);
    }
}

/// Numbers are passed by value.
macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        // SAFETY: one parameter, of its own type.
        unsafe impl KernelParam for $scalar {
            type In<'k> = $scalar;
            type Head = $scalar;
            type Tail = ();
            const IS_MEMORY: bool = false;
            const TYPE: TypeName = TypeName::Text(stringify!($scalar));

            #[inline]
            unsafe fn enter<'k>(head: $scalar, _: (), _: &'static str) -> Self::In<'k> {
                head
            }

            host_items! {
                type Host<'h, D: Device + 'h> = $scalar;
                fn bind<'h, D: Device + 'h>(
                    _: &D, host: Self::Host<'h, D>, _: &'static str
                ) -> Self::In<'h> {
                    host
                }
                fn values(bound: Self::In<'_>, into: &mut Params) {
                    into.push(bound);
                }
            }
        }
    )*};
}
scalars!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f16 bf16 f32 f64);

/// A slice is passed as a pointer and a length. The pointer is typed, so that LLVM knows that it
/// points to global memory.
macro_rules! slices {
    ($($slice:ident $memory:ident [$($borrow:tt)+];)*) => {$(
        // SAFETY: a pointer and a length, each of 64 bits on a GPU.
        unsafe impl<T: Element> KernelParam for $slice<'_, T> {
            type In<'k> = $slice<'k, T>;
            type Head = *mut T;
            type Tail = usize;
            const TYPE: TypeName =
                TypeName::Parts(&[
                    TypeName::Text(concat!(stringify!($slice), "<")),
                    TypeName::Text(T::TYPE),
                    TypeName::Text(">"),
                ]);

            #[inline]
            unsafe fn enter<'k>(start: *mut T, len: usize, name: &'static str) -> $slice<'k, T> {
                // SAFETY: the caller guarantees that they are those of a buffer that the launch
                // borrows.
                unsafe { $slice::new(start, len, name) }
            }

            slices!(@host $slice $memory $($borrow)+);
        }
    )*};
    (@host $slice:ident $memory:ident $($borrow:tt)+) => {
        host_items! {
            type Host<'h, D: Device + 'h> = $($borrow)+ D::Buffer<T>;
            fn bind<'h, D: Device + 'h>(
                device: &D, host: Self::Host<'h, D>, name: &'static str
            ) -> $slice<'h, T> {
                let in_place = device.is_in_place(&*host);
                let (start, len) = device.$memory(host);
                // SAFETY: the buffer is borrowed for `'h`, mutably unless it is a `Global`.
                unsafe { $slice::new(start, len, name) }.in_place(in_place)
            }
            fn values(bound: $slice<'_, T>, into: &mut Params) {
                into.push(bound.address());
                into.push(bound.len() as u64);
            }
        }
    };
}
slices! {
    Global slice [&'h];
    GlobalMut slice_mut [&'h mut];
    GlobalAtomic slice_mut [&'h mut];
}
