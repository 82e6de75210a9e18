//! The tables of `mma.sp` and `mma.sp::ordered_metadata` (PTX ISA 9.7.14.6.3).

use super::{Form, ptx};
use crate::target::Requirement;

/// Passes the forms that exist with metadata in any order and with `::ordered_metadata` to a macro.
/// The arguments after the macro's name come first. A row has the forms that differ only in the
/// elements of A and B:
///
/// - the shape, and the option (`plain`: none);
/// - the elements of D, of A and B (in pairs), and of C;
/// - the number of registers of D, A, B and C in a lane;
/// - the number of matrices whose metadata is in one register; the selector chooses one of them;
/// - the minimum target and PTX version (with `::ordered_metadata`, 8.5);
/// - its [`Nature`](crate::isa::Nature) on sm_90.
///
/// (ptxas accepts a selector of 2 or 3 for `m16n8k32` with f16, but an H200 refuses to run it:
/// there are two.)
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_forms {
    ($with:ident $($before:ident)*) => {
        $with! {
            [$($before)*]
            m16n8k8   plain     f32 [(tf32 tf32)] f32 (4 2 2 4) 4 sm_80 7.1 native;
            m16n8k16  plain     f32 [(tf32 tf32)] f32 (4 4 4 4) 2 sm_80 7.1 native;

            m16n8k16  plain     f16 [(f16 f16)] f16 (2 2 2 2) 4 sm_80 7.1 native;
            m16n8k16  plain     f32 [(f16 f16) (bf16 bf16)] f32 (4 2 2 4) 4 sm_80 7.1 native;
            m16n8k32  plain     f16 [(f16 f16)] f16 (2 4 4 2) 2 sm_80 7.1 native;
            m16n8k32  plain     f32 [(f16 f16) (bf16 bf16)] f32 (4 4 4 4) 2 sm_80 7.1 native;

            // Integers, modulo 2^32 or saturated to 32 bits.
            m16n8k32  plain     s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 (4 2 2 4) 2 sm_80 7.1 native;
            m16n8k32  satfinite s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 (4 2 2 4) 2 sm_80 7.1 native;
            m16n8k64  plain     s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 (4 4 4 4) 1 sm_80 7.1 native;
            m16n8k64  satfinite s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 (4 4 4 4) 1 sm_80 7.1 native;
            m16n8k64  plain     s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 (4 2 2 4) 2 sm_80 7.1 emulated;
            m16n8k64  satfinite s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 (4 2 2 4) 2 sm_80 7.1 emulated;
            m16n8k128 plain     s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 (4 4 4 4) 1 sm_80 7.1 emulated;
            m16n8k128 satfinite s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 (4 4 4 4) 1 sm_80 7.1 emulated;

            // fp8.
            m16n8k64  plain     f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f32 (4 4 4 4) 1 sm_89 8.4 emulated;
        }
    };
}

/// Passes the forms that exist only with `::ordered_metadata` to a macro, like `mma_sparse_forms`.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_ordered_forms {
    ($with:ident $($before:ident)*) => {
        $with! {
            [$($before)*]
            // fp8, fp6 and fp4 in bytes. Forms with only fp8 and an f32 result are on all of
            // Blackwell.
            m16n8k64 f8f6f4 f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f32 (4 4 4 4) 1 blackwell 8.6 absent;
            m16n8k64 f8f6f4 f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f16 (2 4 4 2) 1 blackwell_120 8.7 absent;
            m16n8k64 f8f6f4 f16 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2)
            ] f16 (2 4 4 2) 1 blackwell_120 8.7 absent;
            m16n8k64 f8f6f4 f32 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2)
            ] f32 (4 4 4 4) 1 blackwell_120 8.7 absent;
        }
    };
}

/// A form as in PTX. `any` is `mma.sp`; `ordered` is `mma.sp::ordered_metadata`.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_ptx {
    ($order:ident $q:ident $shape:ident $d:ident $a:ident $b:ident $c:ident) => {
        concat!(
            $crate::mma_sparse_ptx!(@order $order), ".sync.aligned.", stringify!($shape),
            ".row.col", $crate::mma_sparse_ptx!(@option $q),
            ".", stringify!($d), ".", stringify!($a), ".", stringify!($b), ".", stringify!($c)
        )
    };
    (@order any) => { "mma.sp" };
    (@order ordered) => { "mma.sp::ordered_metadata" };
    (@option plain) => { "" };
    (@option satfinite) => { ".satfinite" };
    (@option f8f6f4) => { ".kind::f8f6f4" };
}

/// Passes the function name of a form to a macro, before other arguments. The name is PTX's with
/// `_` for `.` and `::`.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_named {
    (
        $order:ident $q:ident $shape:ident $d:ident $a:ident $b:ident $c:ident
            => $with:ident $arguments:tt
    ) => {
        $crate::__private::paste! { $crate::mma_sparse_named! {
            @$order $q $with $arguments [$shape] [[<$d _ $a _ $b _ $c>]]
        } }
    };
    (@any $q:ident $with:ident $arguments:tt [$shape:ident] $elements:tt) => {
        $crate::__private::paste! { $crate::mma_sparse_named! {
            @$q $with $arguments [[<mma_sp_sync_aligned_ $shape _row_col>]] $elements
        } }
    };
    (@ordered $q:ident $with:ident $arguments:tt [$shape:ident] $elements:tt) => {
        $crate::__private::paste! { $crate::mma_sparse_named! {
            @$q $with $arguments [[<
                mma_sp_ordered_metadata_sync_aligned_ $shape _row_col
            >]] $elements
        } }
    };
    (@plain $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! { @named [<$shape _ $elements>] $arguments } }
    };
    (@satfinite $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! { @named [<$shape _satfinite_ $elements>] $arguments } }
    };
    (@f8f6f4 $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! {
            @named [<$shape _kind_f8f6f4_ $elements>] $arguments
        } }
    };
}

macro_rules! records {
    ([$name:ident $family:ident $order:ident] $($shape:ident $q:ident $d:ident
        [$(($a:ident $b:ident))*] $c:ident ($nd:literal $na:literal $nb:literal $nc:literal)
        $selectors:literal $needs:ident $version:tt $nature:ident;)*) => {
        pub(super) const $name: &[Form] = &[$($(Form {
            family: $family,
            ptx: crate::mma_sparse_ptx!($order $q $shape $d $a $b $c),
            register_bits: 32,
            arrangement: None,
            d: $nd,
            a: $na,
            b: $nb,
            c: $nc,
            scales: 0,
            selectors: $selectors,
            needs: <ptx::$needs as Requirement>::NEEDS,
            ptx_version: records!(@version $order $version),
            on_sm_90: ptx::$nature,
        }),*),*];
    };
    // The first version with `::ordered_metadata`.
    (@version ordered 7.1) => { "8.5" };
    (@version ordered 8.4) => { "8.5" };
    (@version $order:ident $version:tt) => { stringify!($version) };
}

const SP: &str = "mma.sp";
const ORDERED_SP: &str = "mma.sp::ordered_metadata";

mma_sparse_forms!(records ANY SP any);
mma_sparse_forms!(records ORDERED ORDERED_SP ordered);
mma_sparse_ordered_forms!(records ORDERED_ONLY ORDERED_SP ordered);
