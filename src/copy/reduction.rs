//! Reductions: at the destination of a bulk copy (`cp.reduce.async.bulk`, `red.async`), and of an
//! element by one lane (`red`).

use crate::element::{Element, bf16, f16};
#[doc(hidden)]
pub use crate::isa::Operation;
use crate::isa::Semantics;
use crate::lane::Sealed;
use crate::raw;
use crate::target::AtLeast;

/// A reduction of elements in global memory: `element = op(element, tile's element)`.
///
/// The elements that each reduction takes:
///
/// | | elements |
/// | --- | --- |
/// | [`Add`] | `u32`, `i32`, `u64`, `f16`, `bf16`, `f32`, `f64` |
/// | [`Min`], [`Max`] | `u32`, `i32`, `u64`, `i64`, `f16`, `bf16` |
/// | [`Inc`], [`Dec`] | `u32` |
/// | [`And`], [`Or`], [`Xor`] | `u32`, `i32`, `u64`, `i64` |
///
/// Through a tensor map, `i64` has only [`Min`] and [`Max`].
///
/// Subnormal numbers are not flushed to zero, also in `f32`. If one of two operands of `Min` or
/// `Max` is a NaN, the result is the other one.
#[diagnostic::on_unimplemented(
    message = "a bulk copy cannot reduce `{T}` by `{Self}`",
    note = "the table of `ptx_matrix::copy::reduction::Reduction` says which elements have which \
            reductions"
)]
pub trait Reduction<T: Element>: Operates {
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce(to: *mut u8, from: u32, bytes: u32);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_cached(to: *mut u8, from: u32, bytes: u32, policy: u64);
}

/// A reduction of elements in another block's shared memory (DSMEM), by a bulk copy or by a value
/// in registers.
///
/// It takes fewer elements than [`Reduction`]:
///
/// | | elements |
/// | --- | --- |
/// | [`Add`] | `u32`, `i32`, `u64`, `i64` |
/// | [`Min`], [`Max`] | `u32`, `i32` |
/// | [`Inc`], [`Dec`] | `u32` |
/// | [`And`], [`Or`], [`Xor`] | `u32`, `i32` |
#[diagnostic::on_unimplemented(
    message = "`{T}` in shared memory cannot be reduced by `{Self}`",
    note = "the table of `ptx_matrix::copy::reduction::SharedReduction` says which elements have \
            which reductions there"
)]
pub trait SharedReduction<T: Element>: Sealed + Copy {
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_shared(to: u32, from: u32, bytes: u32, barrier: u32);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_by(to: u32, value: T, barrier: u32);
}

/// A reduction of an element by a lane's value: in global memory for
/// [`GlobalMut::reduce`](crate::memory::GlobalMut::reduce), in the block's shared memory for
/// [`SharedTile::reduce`](crate::memory::SharedTile::reduce). With a result:
/// [`GlobalAtomic::fetch`](crate::memory::GlobalAtomic::fetch) and
/// [`SharedTile::fetch`](crate::memory::SharedTile::fetch).
///
/// | | elements |
/// | --- | --- |
/// | [`Add`] | `u32`, `i32`, `u64`, `i64`, `f32`, `f64`, `f16`, and on sm_90 `bf16` |
/// | [`Min`], [`Max`] | `u32`, `i32`, `u64`, `i64` |
/// | [`Inc`], [`Dec`] | `u32` |
/// | [`And`], [`Or`], [`Xor`] | `u32`, `i32`, `u64`, `i64` |
#[diagnostic::on_unimplemented(
    message = "an atomic reduction of `{T}` by `{Self}` does not exist",
    note = "the table of `ptx_matrix::copy::reduction::AtomicReduction` says which elements have \
            which reductions"
)]
pub trait AtomicReduction<T: Element>: Operates {
    /// The GPUs that have it.
    #[doc(hidden)]
    type Needs;
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_in_global(to: *mut T, value: T);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn fetch_in_global(at: *mut T, value: T, order: Semantics) -> T;
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn reduce_in_shared(to: u32, value: T);
    /// # Safety
    /// As for the raw function.
    #[doc(hidden)]
    unsafe fn fetch_in_shared(at: u32, value: T) -> T;
}

/// The operation of a reduction, for any element type.
pub trait Operates: Sealed + Copy {
    #[doc(hidden)]
    const OPERATION: Operation;
}

/// For each operation: its name in PTX, and three lists of element types with the suffix of the raw
/// function. They are for bulk copies to global memory, for shared memory of other blocks, and for
/// single lanes. The last list has the lowest GPU, too.
macro_rules! reductions {
    (
        $(
            $(#[$doc:meta])* $name:ident $ptx:ident: [$($element:ty = $kind:ident),*]
                [$($shared:ty = $shared_kind:ident),*]
                [$($atomic:ty = $atomic_kind:ident $sm:literal),*];
        )*
    ) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Sealed for $name {}
        impl Operates for $name {
            const OPERATION: Operation = Operation::$name;
        }
        $(
            impl Reduction<$element> for $name {
                #[inline]
                #[track_caller]
                unsafe fn reduce(to: *mut u8, from: u32, bytes: u32) {
                    // SAFETY: the caller upholds the conditions.
                    unsafe {
                        pastey::paste!(raw::[<
                            cp_reduce_async_bulk_global_shared_cta_bulk_group_ $ptx _ $kind
                        >])(to, from, bytes)
                    }
                }

                #[inline]
                #[track_caller]
                unsafe fn reduce_cached(to: *mut u8, from: u32, bytes: u32, policy: u64) {
                    let reduce = pastey::paste!(raw::[<
                        cp_reduce_async_bulk_global_shared_cta_bulk_group_L2_cache_hint_ $ptx _
                            $kind
                    >]);
                    // SAFETY: the caller upholds the conditions.
                    unsafe { reduce(to, from, bytes, policy) }
                }
            }
        )*
        $(
            impl SharedReduction<$shared> for $name {
                #[inline]
                #[track_caller]
                unsafe fn reduce_shared(to: u32, from: u32, bytes: u32, barrier: u32) {
                    let reduce = pastey::paste!(raw::[<
                        cp_reduce_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes_
                            $ptx _ $shared_kind
                    >]);
                    // SAFETY: the caller upholds the conditions.
                    unsafe { reduce(to, from, bytes, barrier) }
                }

                #[inline]
                #[track_caller]
                unsafe fn reduce_by(to: u32, value: $shared, barrier: u32) {
                    let reduce = pastey::paste!(raw::[<
                        red_async_relaxed_cluster_shared_cluster_mbarrier_complete_tx_bytes_ $ptx _
                            $shared_kind
                    >]);
                    // SAFETY: the caller upholds the conditions.
                    unsafe { reduce(to, value.to_bits(), barrier) }
                }
            }
        )*
        $(
            impl AtomicReduction<$atomic> for $name {
                type Needs = AtLeast<$sm>;

                #[inline]
                #[track_caller]
                unsafe fn reduce_in_global(to: *mut $atomic, value: $atomic) {
                    let reduce =
                        pastey::paste!(raw::[<red_relaxed_gpu_global_ $ptx _ $atomic_kind>]);
                    // SAFETY: the caller upholds the conditions.
                    unsafe { reduce(to.cast(), value.to_bits()) }
                }

                #[inline]
                #[track_caller]
                unsafe fn fetch_in_global(
                    at: *mut $atomic,
                    value: $atomic,
                    order: Semantics,
                ) -> $atomic {
                    let (at, value) = (at.cast(), value.to_bits());
                    // Direct calls: through a pointer, the caller's line would be lost.
                    // SAFETY: the caller upholds the conditions.
                    Element::from_bits(pastey::paste!(unsafe {
                        match order {
                            Semantics::Relaxed => {
                                raw::[<atom_relaxed_gpu_global_ $ptx _ $atomic_kind>](at, value)
                            }
                            Semantics::Acquire => {
                                raw::[<atom_acquire_gpu_global_ $ptx _ $atomic_kind>](at, value)
                            }
                            Semantics::Release => {
                                raw::[<atom_release_gpu_global_ $ptx _ $atomic_kind>](at, value)
                            }
                            Semantics::AcquireRelease => {
                                raw::[<atom_acq_rel_gpu_global_ $ptx _ $atomic_kind>](at, value)
                            }
                        }
                    }))
                }

                #[inline]
                #[track_caller]
                unsafe fn reduce_in_shared(to: u32, value: $atomic) {
                    let reduce =
                        pastey::paste!(raw::[<red_relaxed_cta_shared_ $ptx _ $atomic_kind>]);
                    // SAFETY: the caller upholds the conditions.
                    unsafe { reduce(to, value.to_bits()) }
                }

                #[inline]
                #[track_caller]
                unsafe fn fetch_in_shared(at: u32, value: $atomic) -> $atomic {
                    let fetch =
                        pastey::paste!(raw::[<atom_relaxed_cta_shared_ $ptx _ $atomic_kind>]);
                    // SAFETY: the caller upholds the conditions.
                    Element::from_bits(unsafe { fetch(at, value.to_bits()) })
                }
            }
        )*
    )*};
}

reductions! {
    /// The sum; integers wrap.
    Add add: [u32 = u32, i32 = s32, u64 = u64, f32 = f32, f64 = f64, f16 = f16, bf16 = bf16]
        [u32 = u32, i32 = s32, u64 = u64, i64 = u64] // Modulo 2^64 a sign makes no difference.
        [
            u32 = u32 75, i32 = s32 75, u64 = u64 75, i64 = u64 75, f32 = f32 75, f64 = f64 75,
            f16 = f16 75, bf16 = bf16 90
        ];
    /// The minimum.
    Min min: [
        u32 = u32, i32 = s32, u64 = u64, i64 = s64, f16 = f16, bf16 = bf16
    ] [u32 = u32, i32 = s32] [u32 = u32 75, i32 = s32 75, u64 = u64 75, i64 = s64 75];
    /// The maximum.
    Max max: [
        u32 = u32, i32 = s32, u64 = u64, i64 = s64, f16 = f16, bf16 = bf16
    ] [u32 = u32, i32 = s32] [u32 = u32 75, i32 = s32 75, u64 = u64 75, i64 = s64 75];
    /// `element + 1`, or 0 if the element is at least the value.
    Inc inc: [u32 = u32] [u32 = u32] [u32 = u32 75];
    /// `element - 1`, or the value if the element is 0 or greater than that.
    Dec dec: [u32 = u32] [u32 = u32] [u32 = u32 75];
    /// Bitwise AND.
    And and: [u32 = b32, i32 = b32, u64 = b64, i64 = b64] [u32 = b32, i32 = b32]
        [u32 = b32 75, i32 = b32 75, u64 = b64 75, i64 = b64 75];
    /// Bitwise OR.
    Or or: [u32 = b32, i32 = b32, u64 = b64, i64 = b64] [u32 = b32, i32 = b32]
        [u32 = b32 75, i32 = b32 75, u64 = b64 75, i64 = b64 75];
    /// Bitwise XOR.
    Xor xor: [u32 = b32, i32 = b32, u64 = b64, i64 = b64] [u32 = b32, i32 = b32]
        [u32 = b32 75, i32 = b32 75, u64 = b64 75, i64 = b64 75];
}
