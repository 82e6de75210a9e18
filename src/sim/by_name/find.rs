//! Finds a form by its name.

use super::HeldMatrix;
use crate::isa::{self, Form, WgmmaForm};
use core::fmt;
use std::string::String;
use std::vec::Vec;

/// The error of a name that no form has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownForm {
    /// The name.
    pub name: String,
    /// The forms with the most similar names. Empty, if the name has nothing in common with any.
    pub nearest: Vec<&'static str>,
}

impl core::error::Error for UnknownForm {}
impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no form `{}`; ", self.name)?;
        if self.nearest.is_empty() {
            return f.write_str(
                "names begin with `mma`, `ldmatrix`, `stmatrix`, `movmatrix` or `wgmma`, \
                 such as `ldmatrix.sync.aligned.m8n8.x4.shared.b16`",
            );
        }
        f.write_str("the nearest are:")?;
        self.nearest.iter().try_for_each(|form| write!(f, "\n  {form}"))
    }
}

/// Number of similar names in the error.
const NEAREST: usize = 4;

/// A name is similar that has a qualifier in common, or as many letters at its start and end.
const LETTERS_IN_COMMON: usize = 4;

/// A form of a warp or of a warpgroup.
// A variant `Warp` would make the compiler's messages name the type `Warp` by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyForm {
    /// A form of `mma`, `mma.sp`, `ldmatrix`, `stmatrix` or `movmatrix`.
    OfWarp(&'static Form),
    /// A form of `wgmma`.
    OfWarpGroup(WgmmaForm),
}

impl AnyForm {
    /// The instruction, as in PTX.
    pub fn ptx(&self) -> &'static str {
        match self {
            AnyForm::OfWarp(form) => form.ptx,
            AnyForm::OfWarpGroup(form) => form.ptx,
        }
    }

    /// The matrices in registers: its operands and its result.
    pub fn matrices(&self) -> Vec<HeldMatrix> {
        match self {
            AnyForm::OfWarp(form) => form.matrices(),
            AnyForm::OfWarpGroup(form) => form.matrices(),
        }
    }

    /// The name of its function in `raw`.
    fn name(&self) -> String {
        match self {
            AnyForm::OfWarp(form) => form.name(),
            AnyForm::OfWarpGroup(form) => form.name(),
        }
    }
}

/// Finds a form of a warp by its name.
///
/// The name is the instruction as in PTX, or the name of its function in [`raw`](crate::raw), with
/// `_` for `.` and `::`.
///
/// # Errors
/// No form has this name. The error has the most similar names.
pub fn find(name: &str) -> Result<&'static Form, UnknownForm> {
    find_among(name, isa::all(), |form| form.ptx, |form| form.name())
}

/// The same for the forms of warps and warpgroups. The function names of `wgmma` are without `_ss`
/// and `_rs`.
///
/// ```
/// use ptx_matrix::forms::{AnyForm, find_any};
/// let found = find_any("wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16").unwrap();
/// assert!(matches!(found, AnyForm::OfWarpGroup(form) if form.n == 24));
/// ```
///
/// # Errors
/// As [`find`].
pub fn find_any(name: &str) -> Result<AnyForm, UnknownForm> {
    let all = isa::all().map(AnyForm::OfWarp).chain(isa::all_wgmma().map(AnyForm::OfWarpGroup));
    find_among(name, all, AnyForm::ptx, AnyForm::name)
}

fn find_among<F>(
    name: &str,
    all: impl Iterator<Item = F>,
    ptx: fn(&F) -> &'static str,
    raw: fn(&F) -> String,
) -> Result<F, UnknownForm> {
    let mut nearest = Vec::new();
    for form in all {
        if ptx(&form) == name || raw(&form) == name {
            return Ok(form);
        }
        nearest.push(ptx(&form));
    }
    nearest.retain(|form| {
        words_in_common(form, name) > 0 || in_common(form, name) >= LETTERS_IN_COMMON
    });
    nearest.sort_by_key(|form| {
        let similarity = (form.contains(name), words_in_common(form, name), in_common(form, name));
        core::cmp::Reverse(similarity)
    });
    nearest.truncate(NEAREST);
    Err(UnknownForm { name: name.into(), nearest })
}

/// The number of qualifiers in both names in the same order: their longest common subsequence.
fn words_in_common(one: &str, other: &str) -> usize {
    let words = |name| str::split(name, ['.', '_', ':']);
    let mut lengths = std::vec![0; words(other).count() + 1];
    for word in words(one) {
        let mut diagonal = 0;
        for (index, candidate) in words(other).enumerate() {
            let above = lengths[index + 1];
            lengths[index + 1] =
                if word == candidate { diagonal + 1 } else { above.max(lengths[index]) };
            diagonal = above;
        }
    }
    lengths[words(other).count()]
}

/// The length of the common prefix plus that of the common suffix.
fn in_common(one: &str, other: &str) -> usize {
    let same = |(one, other): &(u8, u8)| one == other;
    one.bytes().zip(other.bytes()).take_while(same).count()
        + one.bytes().rev().zip(other.bytes().rev()).take_while(same).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;
    use std::string::ToString;

    #[test]
    fn every_form_is_found_by_both_names() {
        for form in isa::all() {
            assert_eq!(find(form.ptx), Ok(form));
            assert_eq!(find(&form.name()), Ok(form));
            assert_eq!(find_any(form.ptx), Ok(AnyForm::OfWarp(form)));
        }
        for form in isa::all_wgmma().step_by(7) {
            assert_eq!(find_any(form.ptx), Ok(AnyForm::OfWarpGroup(form)));
            assert_eq!(find_any(&form.name()), Ok(AnyForm::OfWarpGroup(form)));
        }
    }

    #[test]
    fn nearly_right_names_get_the_right_ones() {
        let nearest = |name| find(name).unwrap_err().nearest;
        let meant = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
        assert_eq!(nearest("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16")[0], meant);
        assert_eq!(nearest("mma.sync.aligned.m16n8k16.f32.bf16.bf16.f32")[0], meant);
        assert_eq!(nearest("mma.m16n8k16.f32.bf16.bf16.f32")[0], meant);
        assert_eq!(
            nearest("ldmatrix.x4.trans.b16")[0],
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
        );
        assert_eq!(nearest("movmatrix")[0], "movmatrix.sync.aligned.m8n8.trans.b16");
        let found =
            find_any("wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8.satfinit").unwrap_err();
        assert_eq!(found.nearest[0], "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8.satfinite");
        let message = find("ldmatirx").unwrap_err().to_string();
        assert!(
            message.starts_with("there is no form `ldmatirx`; the nearest are:\n  ldmatrix."),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1 + NEAREST);
        let message = find("nonsense").unwrap_err().to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(
            find("ldmatrix.sync.aligned.m8n8.x4.shared.b16").is_ok()
                && message.contains("`ldmatrix.sync.aligned.m8n8.x4.shared.b16`"),
            "{message}"
        );
    }
}
