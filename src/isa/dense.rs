//! The table of `mma.sync` (PTX ISA 9.7.14.5.14).

use super::{Form, ptx};
use crate::target::Requirement;

/// Passes the forms to a macro. A row has the forms that differ only in the elements of A and B:
///
/// - the shape, and the layouts of A and B;
/// - the option (`plain`: none; `widen`: C is f16 and D is f32);
/// - the elements of D, of A and B (in pairs), and of C;
/// - the width of a register, and the number of registers of D, A, B and C in a lane;
/// - the minimum target and PTX version;
/// - its [`Nature`](crate::isa::Nature) on sm_90.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_forms {
    ($with:ident) => {
        $with! {
            // Four `mma`s at once, of eight lanes each (9.7.14.5.1).
            m8n8k4   row col plain     f16 [(f16 f16)] f16 b32 (4 2 2 4) sm_75 6.4 emulated;
            m8n8k4   row col widen     f32 [(f16 f16)] f16 b32 (8 2 2 4) sm_75 6.4 emulated;
            m8n8k4   row col plain     f32 [(f16 f16)] f32 b32 (8 2 2 8) sm_75 6.4 emulated;
            m8n8k4   row row plain     f16 [(f16 f16)] f16 b32 (4 2 2 4) sm_75 6.4 emulated;
            m8n8k4   row row widen     f32 [(f16 f16)] f16 b32 (8 2 2 4) sm_75 6.4 emulated;
            m8n8k4   row row plain     f32 [(f16 f16)] f32 b32 (8 2 2 8) sm_75 6.4 emulated;
            m8n8k4   col col plain     f16 [(f16 f16)] f16 b32 (4 2 2 4) sm_75 6.4 emulated;
            m8n8k4   col col widen     f32 [(f16 f16)] f16 b32 (8 2 2 4) sm_75 6.4 emulated;
            m8n8k4   col col plain     f32 [(f16 f16)] f32 b32 (8 2 2 8) sm_75 6.4 emulated;
            m8n8k4   col row plain     f16 [(f16 f16)] f16 b32 (4 2 2 4) sm_75 6.4 emulated;
            m8n8k4   col row widen     f32 [(f16 f16)] f16 b32 (8 2 2 4) sm_75 6.4 emulated;
            m8n8k4   col row plain     f32 [(f16 f16)] f32 b32 (8 2 2 8) sm_75 6.4 emulated;

            // f16, bf16 and tf32 (.4, .7, .8).
            m16n8k8  row col plain     f16 [(f16 f16)] f16 b32 (2 2 1 2) sm_75 6.5 native;
            m16n8k8  row col plain     f32 [(f16 f16)] f32 b32 (4 2 1 4) sm_75 6.5 native;
            m16n8k16 row col plain     f16 [(f16 f16)] f16 b32 (2 4 2 2) sm_80 7.0 native;
            m16n8k16 row col plain     f32 [(f16 f16)] f32 b32 (4 4 2 4) sm_80 7.0 native;
            m16n8k8  row col plain     f32 [(bf16 bf16)] f32 b32 (4 2 1 4) sm_80 7.0 native;
            m16n8k16 row col plain     f32 [(bf16 bf16)] f32 b32 (4 4 2 4) sm_80 7.0 native;
            m16n8k4  row col plain     f32 [(tf32 tf32)] f32 b32 (4 2 1 4) sm_80 7.0 native;
            m16n8k8  row col plain     f32 [(tf32 tf32)] f32 b32 (4 4 2 4) sm_80 7.0 native;

            // f64, rounded to nearest unless the option says otherwise.
            m8n8k4   row col plain     f64 [(f64 f64)] f64 b64 (2 1 1 2) sm_80 7.0 native;
            m8n8k4   row col rn        f64 [(f64 f64)] f64 b64 (2 1 1 2) sm_80 7.0 native;
            m8n8k4   row col rz        f64 [(f64 f64)] f64 b64 (2 1 1 2) sm_80 7.0 native;
            m8n8k4   row col rm        f64 [(f64 f64)] f64 b64 (2 1 1 2) sm_80 7.0 native;
            m8n8k4   row col rp        f64 [(f64 f64)] f64 b64 (2 1 1 2) sm_80 7.0 native;
            m16n8k4  row col plain     f64 [(f64 f64)] f64 b64 (4 2 1 4) sm_90 7.8 native;
            m16n8k4  row col rn        f64 [(f64 f64)] f64 b64 (4 2 1 4) sm_90 7.8 native;
            m16n8k4  row col rz        f64 [(f64 f64)] f64 b64 (4 2 1 4) sm_90 7.8 native;
            m16n8k4  row col rm        f64 [(f64 f64)] f64 b64 (4 2 1 4) sm_90 7.8 native;
            m16n8k4  row col rp        f64 [(f64 f64)] f64 b64 (4 2 1 4) sm_90 7.8 native;
            m16n8k8  row col plain     f64 [(f64 f64)] f64 b64 (4 4 2 4) sm_90 7.8 native;
            m16n8k8  row col rn        f64 [(f64 f64)] f64 b64 (4 4 2 4) sm_90 7.8 native;
            m16n8k8  row col rz        f64 [(f64 f64)] f64 b64 (4 4 2 4) sm_90 7.8 native;
            m16n8k8  row col rm        f64 [(f64 f64)] f64 b64 (4 4 2 4) sm_90 7.8 native;
            m16n8k8  row col rp        f64 [(f64 f64)] f64 b64 (4 4 2 4) sm_90 7.8 native;
            m16n8k16 row col plain     f64 [(f64 f64)] f64 b64 (4 8 4 4) sm_90 7.8 native;
            m16n8k16 row col rn        f64 [(f64 f64)] f64 b64 (4 8 4 4) sm_90 7.8 native;
            m16n8k16 row col rz        f64 [(f64 f64)] f64 b64 (4 8 4 4) sm_90 7.8 native;
            m16n8k16 row col rm        f64 [(f64 f64)] f64 b64 (4 8 4 4) sm_90 7.8 native;
            m16n8k16 row col rp        f64 [(f64 f64)] f64 b64 (4 8 4 4) sm_90 7.8 native;

            // Integers, modulo 2^32 or saturated to 32 bits.
            m8n8k16  row col plain     s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (2 1 1 2) sm_75 6.5 native;
            m8n8k16  row col satfinite s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (2 1 1 2) sm_75 6.5 native;
            m16n8k16 row col plain     s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (4 2 1 4) sm_80 7.0 native;
            m16n8k16 row col satfinite s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (4 2 1 4) sm_80 7.0 native;
            m16n8k32 row col plain     s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (4 4 2 4) sm_80 7.0 native;
            m16n8k32 row col satfinite s32 [(s8 s8) (s8 u8) (u8 s8) (u8 u8)]
                s32 b32 (4 4 2 4) sm_80 7.0 native;
            m8n8k32  row col plain     s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (2 1 1 2) sm_75 6.5 emulated;
            m8n8k32  row col satfinite s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (2 1 1 2) sm_75 6.5 emulated;
            m16n8k32 row col plain     s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (4 2 1 4) sm_80 7.0 emulated;
            m16n8k32 row col satfinite s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (4 2 1 4) sm_80 7.0 emulated;
            m16n8k64 row col plain     s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (4 4 2 4) sm_80 7.0 emulated;
            m16n8k64 row col satfinite s32 [(s4 s4) (s4 u4) (u4 s4) (u4 u4)]
                s32 b32 (4 4 2 4) sm_80 7.0 emulated;

            // Bits: the number of ones in the XOR or the AND.
            m8n8k128 row col xor_popc  s32 [(b1 b1)] s32 b32 (2 1 1 2) sm_75 7.0 emulated;
            m8n8k128 row col and_popc  s32 [(b1 b1)] s32 b32 (2 1 1 2) sm_80 7.1 native;
            m16n8k128 row col xor_popc  s32 [(b1 b1)] s32 b32 (4 2 1 4) sm_80 7.0 emulated;
            m16n8k128 row col and_popc  s32 [(b1 b1)] s32 b32 (4 2 1 4) sm_80 7.1 native;
            m16n8k256 row col xor_popc  s32 [(b1 b1)] s32 b32 (4 4 2 4) sm_80 7.0 emulated;
            m16n8k256 row col and_popc  s32 [(b1 b1)] s32 b32 (4 4 2 4) sm_80 7.1 native;

            // fp8.
            m16n8k16 row col plain     f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f16 b32 (2 2 1 2) sm_89 8.7 emulated;
            m16n8k16 row col plain     f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f32 b32 (4 2 1 4) sm_89 8.7 emulated;
            m16n8k32 row col plain     f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f16 b32 (2 4 2 2) sm_89 8.7 emulated;
            m16n8k32 row col plain     f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f32 b32 (4 4 2 4) sm_89 8.4 emulated;

            // fp8, fp6 and fp4 in bytes. Forms with only fp8 are on all of Blackwell.
            m16n8k32 row col f8f6f4    f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f16 b32 (2 4 2 2) blackwell 8.7 absent;
            m16n8k32 row col f8f6f4    f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)]
                f32 b32 (4 4 2 4) blackwell 8.6 absent;
            m16n8k32 row col f8f6f4    f16 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2)
            ] f16 b32 (2 4 2 2) blackwell_120 8.7 absent;
            m16n8k32 row col f8f6f4    f32 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2)
            ] f32 b32 (4 4 2 4) blackwell_120 8.7 absent;
        }
    };
}

/// An instruction of `mma_forms`, as in PTX.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_ptx {
    ($q:ident $shape:ident $la:ident $lb:ident $d:ident $a:ident $b:ident $c:ident) => {
        concat!(
            "mma.sync.aligned.", stringify!($shape), ".", stringify!($la), ".", stringify!($lb),
            $crate::mma_ptx!(@before $q), ".",
            stringify!($d), ".", stringify!($a), ".", stringify!($b), ".", stringify!($c),
            $crate::mma_ptx!(@behind $q)
        )
    };
    (@before satfinite) => { ".satfinite" };
    (@before f8f6f4) => { ".kind::f8f6f4" };
    (@before $other:ident) => { "" };
    (@behind rn) => { ".rn" };
    (@behind rz) => { ".rz" };
    (@behind rm) => { ".rm" };
    (@behind rp) => { ".rp" };
    (@behind xor_popc) => { ".xor.popc" };
    (@behind and_popc) => { ".and.popc" };
    (@behind $other:ident) => { "" };
}

/// Passes the function name of a form of `mma_forms` to a macro, before other arguments. The name
/// is PTX's with `_` for `.` and `::`.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_named {
    (
        $q:ident $shape:ident $la:ident $lb:ident $d:ident $a:ident $b:ident $c:ident
            => $with:ident $arguments:tt
    ) => {
        $crate::__private::paste! { $crate::mma_named! {
            @$q $with $arguments
            [[<mma_sync_aligned_ $shape _ $la _ $lb>]] [[<$d _ $a _ $b _ $c>]]
        } }
    };
    (@plain $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! { @named [<$shape _ $elements>] $arguments } }
    };
    (@widen $($rest:tt)*) => { $crate::mma_named! { @plain $($rest)* } };
    (@satfinite $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! { @named [<$shape _satfinite_ $elements>] $arguments } }
    };
    (@f8f6f4 $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! {
            @named [<$shape _kind_f8f6f4_ $elements>] $arguments
        } }
    };
    (@$behind:ident $with:ident $arguments:tt [$shape:ident] [$elements:ident]) => {
        $crate::__private::paste! { $with! { @named [<$shape _ $elements _ $behind>] $arguments } }
    };
}

macro_rules! records {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident ($nd:literal $na:literal $nb:literal $nc:literal) $needs:ident $version:literal
        $nature:ident;)*) => {
        pub(super) const FORMS: &[Form] = &[$($(Form {
            family: "mma",
            ptx: crate::mma_ptx!($q $shape $la $lb $d $a $b $c),
            register_bits: size_of::<ptx::$width>() * 8,
            arrangement: None,
            d: $nd,
            a: $na,
            b: $nb,
            c: $nc,
            scales: 0,
            selectors: 0,
            needs: <ptx::$needs as Requirement>::NEEDS,
            ptx_version: stringify!($version),
            on_sm_90: ptx::$nature,
        }),*),*];
    };
}
crate::mma_forms!(records);
