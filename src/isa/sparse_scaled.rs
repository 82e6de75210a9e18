//! The table of `mma.sp::ordered_metadata` with block scaling (PTX ISA 9.7.14.3 and 9.7.14.6.3).

use super::{Form, Nature, ptx};
use crate::target::Requirement;

/// Passes the forms to a macro, like `mma_scaled_forms`. C and D are f32, and each matrix has four
/// registers of 32 bits. A metadata register has the metadata of one matrix.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_scaled_forms {
    ($with:ident) => {
        $with! {
            m16n8k64 mxf8f6f4 1 ue8m0 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2) (e4m3 e4m3) (e4m3 e5m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2) (e5m2 e4m3) (e5m2 e5m2)
            ] blackwell_120 8.7;
            m16n8k128 mxf4 2 ue8m0 [(e2m1 e2m1)] only_120 8.7;
            m16n8k128 mxf4nvf4 2 ue8m0 [(e2m1 e2m1)] only_120 8.7;
            m16n8k128 mxf4nvf4 4 ue4m3 [(e2m1 e2m1)] only_120 8.7;
            m16n8k128 mxf4nvf4 4 ue8m0 [(e2m1 e2m1)] only_120 9.1;
        }
    };
}

/// The instruction of a form, as in PTX.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_scaled_ptx {
    ($shape:ident $kind:ident $vec:literal $scale:ident $a:ident $b:ident) => {
        concat!(
            "mma.sp::ordered_metadata.sync.aligned.",
            stringify!($shape),
            ".row.col.kind::",
            stringify!($kind),
            ".block_scale.scale_vec::",
            $vec,
            "X.f32.",
            stringify!($a),
            ".",
            stringify!($b),
            ".f32.",
            stringify!($scale)
        )
    };
}

/// Passes the function name of a form to a macro, before other arguments. The name is PTX's with
/// `_` for `.` and `::`.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_sparse_scaled_named {
    (
        $shape:ident $kind:ident $vec:literal $scale:ident $a:ident $b:ident
            => $with:ident $arguments:tt
    ) => {
        $crate::__private::paste! { $with! {
            @named [<
                mma_sp_ordered_metadata_sync_aligned_ $shape _row_col_kind_ $kind
                    _block_scale_scale_vec_ $vec x_f32_ $a _ $b _f32_ $scale
            >] $arguments
        } }
    };
}

macro_rules! records {
    (
        $(
            $shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*]
                $needs:ident $version:literal;
        )*
    ) => {
        pub(super) const FORMS: &[Form] = &[$($(Form {
            family: "mma.sp::ordered_metadata",
            ptx: crate::mma_sparse_scaled_ptx!($shape $kind $vec $scale $a $b),
            register_bits: 32,
            arrangement: None,
            d: 4,
            a: 4,
            b: 4,
            c: 4,
            scales: $vec,
            selectors: 1,
            needs: <ptx::$needs as Requirement>::NEEDS,
            ptx_version: stringify!($version),
            on_sm_90: Nature::Absent,
        }),*),*];
    };
}
mma_sparse_scaled_forms!(records);
