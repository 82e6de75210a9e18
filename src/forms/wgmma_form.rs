//! The forms of `wgmma.mma_async` and `wgmma.mma_async.sp` as values, and as PTX text.

use std::format;
use std::string::String;
use std::vec::Vec;

/// A form of `wgmma.mma_async` or `wgmma.mma_async.sp`. Of each there are two: with A in shared memory, and in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WgmmaForm {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Registers that D takes in a lane.
    pub d: usize,
    /// Whether A and B can be negated.
    pub negates: bool,
    /// Whether A, in shared memory, and B can lie the other way.
    pub transposes: bool,
    /// Sparsity selectors, or zero where A is dense.
    pub selectors: usize,
    /// The PTX version from which on there is the form, as in `8.0`.
    pub ptx_version: &'static str,
}

macro_rules! records {
    ($forms:ident $($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt $behind:ident
        $selectors:tt $version:literal;)*) => {$($(
        crate::wgmma_columns! { $columns $per => records ($forms $d $a $b $k $option $behind $selectors $version) }
    )*)*};
    (@form $n:literal [$($r:ident)*] ($forms:ident $d:ident $a:ident $b:ident $k:literal $option:ident $behind:ident
        $selectors:tt $version:literal)) => {
        $forms.push(WgmmaForm {
            ptx: crate::wgmma_ptx!($selectors $n $d $a $b $k $option),
            n: $n,
            k: $k,
            d: [$(stringify!($r)),*].len(),
            negates: !matches!(stringify!($behind).as_bytes(), b"nothing"),
            transposes: matches!(stringify!($behind).as_bytes(), b"transpose"),
            selectors: $selectors,
            ptx_version: stringify!($version),
        });
    };
}

/// All forms, row by row of the tables.
#[allow(clippy::vec_init_then_push, reason = "the rows of the tables")]
pub fn all() -> impl Iterator<Item = WgmmaForm> {
    let mut forms = Vec::new();
    crate::wgmma_forms!(records forms);
    crate::wgmma_sparse_forms!(records forms);
    forms.into_iter()
}

impl WgmmaForm {
    /// A kernel that executes the form once, with A in shared memory or `in_registers`, and with the last selector, and stores a register of what
    /// that leaves (to assemble a store of each takes as long again), as PTX text; what it computes on is of no account.
    pub fn kernel(&self, name: &str, in_registers: bool) -> String {
        let d: Vec<String> = (0..self.d).map(|register| format!("%d{register}")).collect();
        let a = if in_registers { "{%a0, %a1, %a2, %a3}" } else { "%from" };
        let sparsity = match self.selectors {
            0 => String::new(),
            selectors => format!(", %kept, {}", selectors - 1),
        };
        let negated = if self.negates { ", -1, 1" } else { "" };
        let transposed = match (self.transposes, in_registers) {
            (true, true) => ", 1",
            (true, false) => ", 1, 0",
            (false, _) => "",
        };
        format!(
            ".visible .entry {name}(.param .u64 in) {{\n  .reg .b32 %d<{}>, %a<4>, %kept; .reg .b64 %from; .reg .pred %add;\n  \
             ld.param.u64 %from, [in]; setp.ne.u64 %add, %from, 0;\n  wgmma.fence.sync.aligned;\n  \
             {} {{{}}}, {a}, %from{sparsity}, %add{negated}{transposed};\n  \
             wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n  st.global.b32 [%from], %d0;\n  ret;\n}}\n",
            self.d,
            self.ptx,
            d.join(", "),
        )
    }
}
