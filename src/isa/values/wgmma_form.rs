//! The forms of `wgmma.mma_async` and `wgmma.mma_async.sp` as values.

use crate::isa::{Needs, ptx};
use crate::target::Requirement;
use std::string::String;
use std::vec::Vec;

/// Bytes of shared memory that the 128 threads of a form's kernel fill in one step, 16 bytes each.
pub(crate) const FILLED: usize = 16 * 128;

/// A form of `wgmma.mma_async` or `wgmma.mma_async.sp`. Each has two variants: A in shared memory
/// or in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WgmmaForm {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// The same with `N` for the number of columns: the common name of forms that differ only in
    /// N.
    pub family: &'static str,
    /// The elements of D, A and B, as in PTX.
    pub elements: [&'static str; 3],
    /// N: columns of B and D.
    pub n: usize,
    /// K: columns of A and rows of B.
    pub k: usize,
    /// Registers of D in a lane.
    pub d: usize,
    /// Whether A and B can be negated.
    pub negates: bool,
    /// Whether B, and A in shared memory, can be transposed (MN-major).
    pub transposes: bool,
    /// Number of sparsity selectors, or zero for a dense A.
    pub selectors: usize,
    /// The minimum PTX version, as in `8.0`.
    pub ptx_version: &'static str,
}

macro_rules! records {
    ($forms:ident $($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident
        $per:tt $behind:ident $selectors:tt $version:literal;)*) => {$($({
        let family = WgmmaForm {
            ptx: "",
            family: crate::wgmma_ptx!($selectors "N" $d $a $b $k $option),
            elements: [stringify!($d), stringify!($a), stringify!($b)],
            n: 8,
            k: $k,
            d: $per,
            negates: stringify!($behind) != "nothing",
            transposes: stringify!($behind) == "transpose",
            selectors: $selectors,
            ptx_version: stringify!($version),
        };
        crate::wgmma_columns! {
            $columns => records ($forms family $d $a $b $k $option $selectors)
        }
    })*)*};
    (
        @form $n:literal (
            $forms:ident $family:ident $d:ident $a:ident $b:ident $k:literal $option:ident
                $selectors:tt
        )
    ) => {
        add(&mut $forms, &$family, $n, crate::wgmma_ptx!($selectors $n $d $a $b $k $option));
    };
}

/// Adds a family's form with `n` columns. It is called 1074 times, so it is not inlined.
#[inline(never)]
fn add(forms: &mut Vec<WgmmaForm>, family: &WgmmaForm, n: usize, ptx: &'static str) {
    forms.push(WgmmaForm { ptx, n, d: n / family.n * family.d, ..*family });
}

/// All forms, row by row of the tables.
pub fn all() -> impl Iterator<Item = WgmmaForm> {
    let mut forms = Vec::new();
    crate::wgmma_forms!(records forms);
    crate::wgmma_sparse_forms!(records forms);
    forms.into_iter()
}

impl WgmmaForm {
    /// The GPUs that have them. It is one requirement for all forms: no other GPU has `wgmma`.
    pub const NEEDS: Needs = <ptx::sm_90a as Requirement>::NEEDS;

    /// The name of the form's functions in [`raw`](crate::raw), without `_ss` and `_rs`, which give
    /// the location of A.
    pub fn name(&self) -> String {
        self.ptx.replace('.', "_")
    }

    /// Stored columns of A: K, or half of it for a sparse A.
    pub const fn kept(&self) -> usize {
        if self.selectors > 0 { self.k / 2 } else { self.k }
    }

    /// Bits of an element of A or B. A row of A has 32 bytes for all element types.
    pub const fn element_bits(&self) -> usize {
        ROW_BITS / self.kept()
    }
}

/// Bits of a row of A.
const ROW_BITS: usize = 256;
