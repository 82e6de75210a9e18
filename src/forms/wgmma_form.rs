//! The forms of `wgmma.mma_async` as values, and as PTX text.

use std::format;
use std::string::String;
use std::vec::Vec;

/// A form of `wgmma.mma_async`. Of each there are two: with A in shared memory, and in registers.
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
    /// The PTX version from which on there is the form, as in `8.0`.
    pub ptx_version: &'static str,
}

macro_rules! records {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt $behind:ident $version:literal;)*) => {
        /// All forms, row by row of the table.
        #[allow(clippy::vec_init_then_push, reason = "the rows of the table")]
        pub fn all() -> impl Iterator<Item = WgmmaForm> {
            let mut forms = Vec::with_capacity(546);
            $($(crate::wgmma_columns! { $columns $per => records (forms $d $a $b $k $option $behind $version) })*)*
            forms.into_iter()
        }
    };
    (@form $n:literal [$($r:ident)*] ($forms:ident $d:ident $a:ident $b:ident $k:literal $option:ident $behind:ident $version:literal)) => {
        $forms.push(WgmmaForm {
            ptx: crate::wgmma_ptx!($n $d $a $b $k $option),
            n: $n,
            k: $k,
            d: [$(stringify!($r)),*].len(),
            negates: !matches!(stringify!($behind).as_bytes(), b"nothing"),
            transposes: matches!(stringify!($behind).as_bytes(), b"transpose"),
            ptx_version: stringify!($version),
        });
    };
}
crate::wgmma_forms!(records);

impl WgmmaForm {
    /// A kernel that executes the form once, with A in shared memory or `in_registers`, and stores what that leaves, as PTX text; what it
    /// computes on is of no account.
    pub fn kernel(&self, name: &str, in_registers: bool) -> String {
        let d: Vec<String> = (0..self.d).map(|register| format!("%d{register}")).collect();
        let a = if in_registers { "{%a0, %a1, %a2, %a3}" } else { "%from" };
        let negated = if self.negates { ", -1, 1" } else { "" };
        let transposed = match (self.transposes, in_registers) {
            (true, true) => ", 1",
            (true, false) => ", 1, 0",
            (false, _) => "",
        };
        let stores: String =
            d.iter().enumerate().map(|(i, d)| format!("  st.global.b32 [%from+{}], {d};\n", 4 * i)).collect();
        format!(
            ".visible .entry {name}(.param .u64 in) {{\n  .reg .b32 %d<{}>, %a<4>; .reg .b64 %from; .reg .pred %add;\n  \
             ld.param.u64 %from, [in]; setp.ne.u64 %add, %from, 0;\n  wgmma.fence.sync.aligned;\n  \
             {} {{{}}}, {a}, %from, %add{negated}{transposed};\n  \
             wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n{stores}  ret;\n}}\n",
            self.d,
            self.ptx,
            d.join(", "),
        )
    }
}
