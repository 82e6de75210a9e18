//! The legal forms of the matrix instructions, as tables and as values.
//!
//! The crate makes its raw functions, its typed instructions and its tests from these tables. The
//! test `tests/forms.rs` compares them with the list of forms that ptxas accepts.
//!
//! The files `dense.rs`, `scaled.rs`, `sparse.rs`, `sparse_scaled.rs`, `matrices.rs` and `wgmma.rs`
//! have a table each, and `options.rs` the options as types. `lacking.rs` names the GPUs that lack
//! an instruction. `values/` has kernels, options and tensor maps as values.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`all`], [`FORMS`], [`Form`] | forms of `mma`, `mma.sp`, `ldmatrix`, `stmatrix`, `movmatrix` |
//! | `all_wgmma`, `WgmmaForm` | the forms of `wgmma`, on the host |
//! | [`Needs`], [`Nature`] | the GPUs that have a form, and its nature on sm_90 |
//! | [`SatFinite`], [`Rn`], [`XorPopc`] and others | options of instructions, as types |
//! | `TensorMapError`, `TensorEncoding` | tensor maps as the driver encodes them, on the host |
//!
//! [`forms`](crate::forms) adds the functions that execute a form by its name.
//!
//! ```
//! use ptx_matrix::isa;
//!
//! let name = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
//! let form = isa::all().find(|form| form.ptx == name).unwrap();
//! assert_eq!((form.a, form.b, form.d), (4, 2, 4)); // Registers of a lane.
//! assert!(form.needs.are_met_by("sm_80") && !form.needs.are_met_by("sm_75"));
//! ```

mod dense;
#[cfg(not(target_arch = "nvptx64"))]
mod lacking;
mod matrices;
mod operation;
mod options;
mod scaled;
mod semantics;
mod sparse;
mod sparse_scaled;
mod tensor;
#[cfg(not(target_arch = "nvptx64"))]
mod values;
mod wgmma;

pub use crate::target::Needs;
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use lacking::lacking;
#[doc(hidden)]
pub use operation::Operation;
pub use options::{
    AndPopc, AnyOrder, F8F6F4, Ordered, Plain, Rm, Rn, Rp, Rz, SatFinite, Widen, XorPopc,
};
#[doc(hidden)]
pub use options::{Quad, WarpGroupFp8};
#[doc(hidden)]
pub use semantics::Semantics;
pub use tensor::TensorMapWords;
#[cfg(not(target_arch = "nvptx64"))]
pub use values::*;

use crate::fragment::Arrangement;

/// The nature of a form on some GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// One matrix instruction.
    Native,
    /// Several instructions, which ptxas generates.
    Emulated,
    /// The GPU lacks it.
    Absent,
}

/// A form of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// `mma`, `ldmatrix`, ...
    pub family: &'static str,
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// Bits of a register.
    pub register_bits: usize,
    /// The layout of the matrices of `ldmatrix`, `stmatrix` and `movmatrix`; for `movmatrix`, of
    /// the result.
    pub arrangement: Option<Arrangement>,
    /// Registers of D in a lane; zero without D.
    pub d: usize,
    /// Registers of A in a lane; for `stmatrix` and `movmatrix`, of the source.
    pub a: usize,
    /// Registers of B in a lane.
    pub b: usize,
    /// Registers of C in a lane.
    pub c: usize,
    /// Number of scales of each row of A and column of B, or zero.
    pub scales: usize,
    /// Number of sparsity selectors, or zero for a dense A.
    pub selectors: usize,
    /// The GPUs that have it.
    pub needs: Needs,
    /// The minimum PTX version, as in `7.8`.
    pub ptx_version: &'static str,
    /// Its nature on sm_90.
    pub on_sm_90: Nature,
}

/// All forms, table by table.
pub const FORMS: &[&[Form]] = &[
    matrices::LOADS,
    matrices::STORES,
    matrices::MOVES,
    dense::FORMS,
    scaled::FORMS,
    sparse::ANY,
    sparse::ORDERED,
    sparse::ORDERED_ONLY,
    sparse_scaled::FORMS,
];

/// All forms, in the order of the tables.
pub fn all() -> impl Iterator<Item = &'static Form> {
    FORMS.iter().copied().flatten()
}

/// The type of a shape. For `m8n8k4` with f16 it includes the layouts of A and B.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_shape {
    (m8n8k4 $la:ident $lb:ident f16) => {
        $crate::fragment::M8N8K4Quad<$crate::isa::ptx::$la, $crate::isa::ptx::$lb>
    };
    ($shape:ident row col $a:ident) => { $crate::isa::ptx::$shape };
}

/// The type of an element of A or B. `kind::f8f6f4` and `kind::mxf8f6f4` have e2m1 in bytes.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_element {
    (f8f6f4 e2m1) => { $crate::element::InByte<$crate::element::e2m1> };
    (mxf8f6f4 e2m1) => { $crate::element::InByte<$crate::element::e2m1> };
    ($q:ident $element:ident) => { $crate::isa::ptx::$element };
}

/// The type that selects the simulator's arithmetic of a form: its option, or `Quad` for `m8n8k4`
/// with f16.
#[allow(unused_macros, reason = "the simulator's")]
macro_rules! mma_arithmetic {
    (m8n8k4 f16 plain) => {
        crate::isa::Quad
    };
    ($shape:ident $a:ident $q:ident) => {
        crate::isa::ptx::$q
    };
}
#[allow(unused_imports, reason = "the simulator's")]
pub(crate) use mma_arithmetic;

/// The type of a kind of block scaling.
#[doc(hidden)]
#[macro_export]
macro_rules! mma_kind {
    (mxf8f6f4 $vec:tt ue8m0) => { $crate::fragment::Mxf8f6f4 };
    (mxf4 $vec:tt ue8m0) => { $crate::fragment::Mxf4 };
    (mxf4nvf4 $vec:tt $scale:ident) => {
        $crate::fragment::Mxf4Nvf4<$vec, $crate::isa::ptx::$scale>
    };
}

/// The entries of the tables as types and values.
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    missing_docs,
    reason = "as in PTX and in the tables"
)]
pub mod ptx {
    use super::Nature;
    use crate::target::{ArchOnly, ArchSpecific, AtLeast};

    pub use crate::element::{b1, bf16, e2m1, e2m3, e3m2, f16, s4, tf32, u4, ue4m3, ue8m0};
    pub use core::primitive::{f32, f64, u8};
    pub type e4m3 = crate::element::F8E4M3;
    pub type e5m2 = crate::element::F8E5M2;
    pub type s8 = i8;
    pub type s32 = i32;

    pub type m8n8k4 = crate::fragment::M8N8K4;
    pub type m8n8k16 = crate::fragment::M8N8K16;
    pub type m8n8k32 = crate::fragment::M8N8K32;
    pub type m8n8k128 = crate::fragment::M8N8K128;
    pub type m16n8k4 = crate::fragment::M16N8K4;
    pub type m16n8k8 = crate::fragment::M16N8K8;
    pub type m16n8k16 = crate::fragment::M16N8K16;
    pub type m16n8k32 = crate::fragment::M16N8K32;
    pub type m16n8k64 = crate::fragment::M16N8K64;
    pub type m16n8k128 = crate::fragment::M16N8K128;
    pub type m16n8k256 = crate::fragment::M16N8K256;

    pub type row = crate::fragment::RowMajor;
    pub type col = crate::fragment::ColMajor;

    pub use super::options::{
        AndPopc as and_popc, F8F6F4 as f8f6f4, Plain as plain, Rm as rm, Rn as rn, Rp as rp,
        Rz as rz, SatFinite as satfinite, Widen as widen, XorPopc as xor_popc,
    };

    pub type b32 = u32;
    pub type b64 = u64;

    pub type sm_75 = AtLeast<75>;
    pub type sm_80 = AtLeast<80>;
    pub type sm_89 = AtLeast<89>;
    pub type sm_90 = AtLeast<90>;
    pub use super::options::{AnyOrder as any, Ordered as ordered};

    pub type sm_90a = crate::target::OnlyArch<90>;
    pub type blackwell = ArchSpecific<100>;
    pub type blackwell_120 = ArchSpecific<120>;
    pub type only_120 = ArchOnly<120>;

    pub const native: Nature = Nature::Native;
    pub const emulated: Nature = Nature::Emulated;
    pub const absent: Nature = Nature::Absent;
}
