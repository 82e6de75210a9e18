//! The forms of the instructions that have many, a row each: `raw` makes its functions of them, and the typed instructions
//! theirs.

mod sparse;

/// Hands the forms of `mma.sync` to a macro: `SHAPE D A B C`, as the PTX ISA names them in
/// `mma.sync.aligned.SHAPE.row.col.D.A.B.C`; the width of a register, and how many of them D, A, B and C take in a lane; the
/// oldest target that has the form.
macro_rules! mma_forms {
    ($with:ident) => {
        $with! {
            m8n8k4   f64 f64  f64  f64  b64 (2 1 1 2) 80;

            m8n8k16  s32 s8   s8   s32  b32 (2 1 1 2) 75;
            m8n8k16  s32 s8   u8   s32  b32 (2 1 1 2) 75;
            m8n8k16  s32 u8   s8   s32  b32 (2 1 1 2) 75;
            m8n8k16  s32 u8   u8   s32  b32 (2 1 1 2) 75;

            m16n8k4  f32 tf32 tf32 f32  b32 (4 2 1 4) 80;
            m16n8k4  f64 f64  f64  f64  b64 (4 2 1 4) 90;

            m16n8k8  f16 f16  f16  f16  b32 (2 2 1 2) 75;
            m16n8k8  f32 f16  f16  f32  b32 (4 2 1 4) 75;
            m16n8k8  f32 bf16 bf16 f32  b32 (4 2 1 4) 80;
            m16n8k8  f32 tf32 tf32 f32  b32 (4 4 2 4) 80;
            m16n8k8  f64 f64  f64  f64  b64 (4 4 2 4) 90;

            m16n8k16 f16 f16  f16  f16  b32 (2 4 2 2) 80;
            m16n8k16 f32 f16  f16  f32  b32 (4 4 2 4) 80;
            m16n8k16 f32 bf16 bf16 f32  b32 (4 4 2 4) 80;
            m16n8k16 f64 f64  f64  f64  b64 (4 8 4 4) 90;
            m16n8k16 s32 s8   s8   s32  b32 (4 2 1 4) 80;
            m16n8k16 s32 s8   u8   s32  b32 (4 2 1 4) 80;
            m16n8k16 s32 u8   s8   s32  b32 (4 2 1 4) 80;
            m16n8k16 s32 u8   u8   s32  b32 (4 2 1 4) 80;
            m16n8k16 f16 e4m3 e4m3 f16  b32 (2 2 1 2) 89;
            m16n8k16 f16 e4m3 e5m2 f16  b32 (2 2 1 2) 89;
            m16n8k16 f16 e5m2 e4m3 f16  b32 (2 2 1 2) 89;
            m16n8k16 f16 e5m2 e5m2 f16  b32 (2 2 1 2) 89;
            m16n8k16 f32 e4m3 e4m3 f32  b32 (4 2 1 4) 89;
            m16n8k16 f32 e4m3 e5m2 f32  b32 (4 2 1 4) 89;
            m16n8k16 f32 e5m2 e4m3 f32  b32 (4 2 1 4) 89;
            m16n8k16 f32 e5m2 e5m2 f32  b32 (4 2 1 4) 89;

            m16n8k32 s32 s8   s8   s32  b32 (4 4 2 4) 80;
            m16n8k32 s32 s8   u8   s32  b32 (4 4 2 4) 80;
            m16n8k32 s32 u8   s8   s32  b32 (4 4 2 4) 80;
            m16n8k32 s32 u8   u8   s32  b32 (4 4 2 4) 80;
            m16n8k32 f16 e4m3 e4m3 f16  b32 (2 4 2 2) 89;
            m16n8k32 f16 e4m3 e5m2 f16  b32 (2 4 2 2) 89;
            m16n8k32 f16 e5m2 e4m3 f16  b32 (2 4 2 2) 89;
            m16n8k32 f16 e5m2 e5m2 f16  b32 (2 4 2 2) 89;
            m16n8k32 f32 e4m3 e4m3 f32  b32 (4 4 2 4) 89;
            m16n8k32 f32 e4m3 e5m2 f32  b32 (4 4 2 4) 89;
            m16n8k32 f32 e5m2 e4m3 f32  b32 (4 4 2 4) 89;
            m16n8k32 f32 e5m2 e5m2 f32  b32 (4 4 2 4) 89;
        }
    };
}
pub(crate) use mma_forms;

/// What the PTX ISA calls the shapes and elements.
#[allow(non_camel_case_types, reason = "as in PTX")]
#[allow(missing_docs)]
#[doc(hidden)]
pub mod ptx {
    pub use crate::{s4, u4, AnyOrder as any, Ordered as ordered, Plain as plain, SatFinite as satfinite};
    pub type m16n8k64 = crate::M16N8K64;
    pub type m16n8k128 = crate::M16N8K128;
    pub type sm_80 = crate::target::AtLeast<80>;
    pub type sm_89 = crate::target::AtLeast<89>;
    pub use crate::{bf16, f16, tf32};
    pub type e4m3 = crate::F8E4M3;
    pub type e5m2 = crate::F8E5M2;
    pub type s8 = i8;
    pub type s32 = i32;
    pub use core::primitive::{f32, f64, u8};
    pub type m8n8k4 = crate::M8N8K4;
    pub type m8n8k16 = crate::M8N8K16;
    pub type m16n8k4 = crate::M16N8K4;
    pub type m16n8k8 = crate::M16N8K8;
    pub type m16n8k16 = crate::M16N8K16;
    pub type m16n8k32 = crate::M16N8K32;
}

/// Shim.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_element {
    ($q:ident $element:ident) => { $crate::forms::ptx::$element };
}
