//! The forms of `wgmma.mma_async` and `wgmma.mma_async.sp` as values.

use crate::isa::{Needs, ptx};
use crate::target::Requirement;
use std::string::String;
use std::vec::Vec;

/// Bytes of shared memory that all 128 threads of a form's kernel fill at once, each with 16.
pub(crate) const FILLED: usize = 16 * 128;

/// A form of `wgmma.mma_async` or `wgmma.mma_async.sp`. Of each there are two: with A in shared
/// memory, and in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WgmmaForm {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// The same with `N` for the number of columns: what forms have in common that differ in
    /// nothing else.
    pub family: &'static str,
    /// The elements of D, A and B, as in PTX.
    pub elements: [&'static str; 3],
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
        $selectors:tt $version:literal;)*) => {$($({
        let mut add = |n, ptx| $forms.push(WgmmaForm {
            ptx,
            family: crate::wgmma_ptx!($selectors "N" $d $a $b $k $option),
            elements: [stringify!($d), stringify!($a), stringify!($b)],
            n,
            k: $k,
            d: n / 8 * $per,
            negates: stringify!($behind) != "nothing",
            transposes: stringify!($behind) == "transpose",
            selectors: $selectors,
            ptx_version: stringify!($version),
        });
        crate::wgmma_columns! { $columns $per => records (add $d $a $b $k $option $selectors) }
    })*)*};
    (@form $n:literal $registers:tt ($add:ident $d:ident $a:ident $b:ident $k:literal $option:ident $selectors:tt)) => {
        $add($n, crate::wgmma_ptx!($selectors $n $d $a $b $k $option));
    };
}

/// All forms, row by row of the tables.
pub fn all() -> impl Iterator<Item = WgmmaForm> {
    let mut forms = Vec::new();
    crate::wgmma_forms!(records forms);
    crate::wgmma_sparse_forms!(records forms);
    forms.into_iter()
}

impl WgmmaForm {
    /// What a GPU must be to have them: all of them, as there is no other with `wgmma`.
    pub const NEEDS: Needs = <ptx::sm_90a as Requirement>::NEEDS;

    /// The name of the form's functions in [`raw`](crate::raw), without `_ss` and `_rs`, which say
    /// where A is.
    pub fn name(&self) -> String {
        self.ptx.replace('.', "_")
    }

    /// Columns of A that are there: K, or, of a sparse A, half of it.
    pub const fn kept(&self) -> usize {
        if self.selectors > 0 { self.k / 2 } else { self.k }
    }

    /// Bits of an element of A or B: a row of A has 32 bytes, of whatever elements.
    pub const fn element_bits(&self) -> usize {
        ROW_BITS / self.kept()
    }
}

/// Bits of a row of A.
const ROW_BITS: usize = 256;
