//! The table of `mma.sync` with scaled blocks (PTX ISA 9.7.14.3 and 9.7.14.5.14).

/// Hands the forms to a macro, as `mma_forms` does: the shape; the kind, how many scales a row of A and a column of B have, and
/// of which elements these are; the elements of A and B; the target and the PTX version from which on there is the form. C and D
/// are f32, and the registers of D, A, B and C are four, four, two and four of 32 bits. None is on sm_90.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_scaled_forms {
    ($with:ident) => {
        $with! {
            m16n8k32 mxf8f6f4 1 ue8m0 [
                (e2m1 e2m1) (e2m1 e2m3) (e2m1 e3m2) (e2m1 e4m3) (e2m1 e5m2)
                (e2m3 e2m1) (e2m3 e2m3) (e2m3 e3m2) (e2m3 e4m3) (e2m3 e5m2)
                (e3m2 e2m1) (e3m2 e2m3) (e3m2 e3m2) (e3m2 e4m3) (e3m2 e5m2)
                (e4m3 e2m1) (e4m3 e2m3) (e4m3 e3m2) (e4m3 e4m3) (e4m3 e5m2)
                (e5m2 e2m1) (e5m2 e2m3) (e5m2 e3m2) (e5m2 e4m3) (e5m2 e5m2)
            ] blackwell_120 8.7;
            m16n8k64 mxf4 2 ue8m0 [(e2m1 e2m1)] blackwell_120 8.7;
            m16n8k64 mxf4nvf4 2 ue8m0 [(e2m1 e2m1)] blackwell_120 8.7;
            m16n8k64 mxf4nvf4 4 ue4m3 [(e2m1 e2m1)] blackwell_120 8.7;
            m16n8k64 mxf4nvf4 4 ue8m0 [(e2m1 e2m1)] blackwell_120 9.1;
        }
    };
}
