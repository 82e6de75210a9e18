//! Selectors: the immediates of an instruction that say which lanes and bytes hold metadata and
//! scales.

use crate::fragment::Selected;
use crate::isa::Form;
use std::format;
use std::string::String;

/// The selectors of an instruction. Those that its form lacks are zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Selectors {
    /// Selects one of the matrices whose metadata is in a register.
    pub metadata: u32,
    /// Selects the scales of A.
    pub scales_a: Selected,
    /// Selects the scales of B.
    pub scales_b: Selected,
}

impl Selectors {
    /// Checks that a form takes these selectors. The error says which ones it takes.
    ///
    /// ```
    /// use ptx_matrix::forms::{self, Selectors};
    /// let name = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";
    /// let form = forms::all().find(|form| form.ptx == name).unwrap();
    /// let of = |metadata| Selectors { metadata, ..Selectors::default() }.check(form);
    /// assert_eq!(of(1), Ok(()));
    /// let error = of(2).unwrap_err();
    /// assert_eq!(error, "the selector of the metadata is 2; this form takes one from 0 to 1");
    /// ```
    pub fn check(&self, form: &Form) -> Result<(), String> {
        let last = form.selectors.max(1) as u32 - 1;
        if self.metadata > last {
            let takes =
                if last == 0 { String::from("0 only") } else { format!("one from 0 to {last}") };
            return Err(format!(
                "the selector of the metadata is {}; this form takes {takes}",
                self.metadata
            ));
        }
        let bytes: &[usize] = match form.scales {
            1 => &[0, 1, 2, 3],
            2 => &[0, 2],
            _ => &[0],
        };
        let has_scales = form.scales > 0;
        let sides = [
            ("A", self.scales_a, if has_scales { 1 } else { 0 }),
            ("B", self.scales_b, if has_scales { 3 } else { 0 }),
        ];
        for (side, Selected { byte, thread }, last_thread) in sides {
            if !bytes.contains(&byte) {
                return Err(format!(
                    "the scales of {side} are selected from byte {byte} on; this form takes \
                     {bytes:?}"
                ));
            }
            if thread > last_thread {
                return Err(format!(
                    "the scales of {side} are selected from thread {thread}; this form takes 0 to \
                     {last_thread}"
                ));
            }
        }
        Ok(())
    }
}
