//! A form by its name.

use super::Form;
use core::fmt;
use std::string::String;
use std::vec::Vec;

/// There is no form of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownForm {
    /// The name.
    pub name: String,
    /// Forms whose names are most like it.
    pub nearest: Vec<&'static str>,
}

impl core::error::Error for UnknownForm {}
impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no form `{}`; the nearest are:", self.name)?;
        self.nearest.iter().try_for_each(|form| write!(f, "\n  {form}"))
    }
}

/// How many forms are named where there is none.
const NEAREST: usize = 4;

/// The form of a name: an instruction as in PTX, or, as its function in [`raw`](crate::raw) is called, with `_` for `.` and `::`.
///
/// # Errors
/// There is none, and those whose names are most like it.
pub fn find(name: &str) -> Result<&'static Form, UnknownForm> {
    if let Some(form) = super::all().find(|form| form.ptx == name || form.name() == name) {
        return Ok(form);
    }
    let mut nearest: Vec<&'static str> = super::all().map(|form| form.ptx).collect();
    nearest.sort_by_key(|form| core::cmp::Reverse((form.contains(name), in_common(form, name))));
    nearest.truncate(NEAREST);
    Err(UnknownForm { name: name.into(), nearest })
}

/// Bytes that two names begin and end with alike.
fn in_common(one: &str, other: &str) -> usize {
    let same = |(one, other): &(u8, u8)| one == other;
    one.bytes().zip(other.bytes()).take_while(same).count()
        + one.bytes().rev().zip(other.bytes().rev()).take_while(same).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms;
    use std::string::ToString;

    #[test]
    fn every_form_is_found_by_both_names() {
        for form in forms::all() {
            assert_eq!(find(form.ptx), Ok(form));
            assert_eq!(find(&form.name()), Ok(form));
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_is_mended() {
        let nearest = |name| find(name).unwrap_err().nearest;
        let meant = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
        assert_eq!(nearest("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16")[0], meant);
        assert_eq!(nearest("mma.sync.aligned.m16n8k16.f32.bf16.bf16.f32")[0], meant);
        assert_eq!(nearest("movmatrix")[0], "movmatrix.sync.aligned.m8n8.trans.b16");
        let message = find("nonsense").unwrap_err().to_string();
        assert!(message.starts_with("there is no form `nonsense`; the nearest are:\n  "), "{message}");
        assert_eq!(message.lines().count(), 1 + NEAREST);
    }
}
