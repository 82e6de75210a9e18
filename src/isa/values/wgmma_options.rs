//! The options of a `wgmma` that are not in its name: immediates, and the location of A.

use super::WgmmaForm;
use std::format;
use std::string::String;
use std::vec::Vec;

/// The options of one execution of a `wgmma`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WgmmaOptions {
    /// Whether A is in registers; otherwise it is in shared memory.
    pub a_in_registers: bool,
    /// Whether A is negated.
    pub negates_a: bool,
    /// Whether B is negated.
    pub negates_b: bool,
    /// Whether A in shared memory is MN-major: the elements of a column are neighbours. Otherwise
    /// it is K-major.
    pub transposes_a: bool,
    /// Whether B is MN-major: the elements of a row are neighbours. Otherwise it is K-major.
    pub transposes_b: bool,
    /// Selects one of the matrices whose metadata is in a register.
    pub selector: u32,
}

impl WgmmaOptions {
    /// Checks that a form takes these options. The error says which ones it takes.
    ///
    /// ```
    /// use ptx_matrix::forms::{self, WgmmaOptions};
    /// let name = "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32";
    /// let form = forms::all_wgmma().find(|form| form.ptx == name).unwrap();
    /// let negates = WgmmaOptions { negates_b: true, ..WgmmaOptions::default() };
    /// assert_eq!(negates.check(&form), Ok(()));
    /// let transposes = WgmmaOptions { transposes_b: true, ..WgmmaOptions::default() };
    /// let why = transposes.check(&form).unwrap_err();
    /// assert_eq!(why, "B is transposed; this form takes it with neighbours along K only");
    /// ```
    pub fn check(&self, form: &WgmmaForm) -> Result<(), String> {
        let last = form.selectors.max(1) as u32 - 1;
        if self.selector > last {
            let takes =
                if last == 0 { String::from("0 only") } else { format!("one from 0 to {last}") };
            return Err(format!(
                "the selector of the metadata is {}; this form takes {takes}",
                self.selector
            ));
        }
        for (operand, negates, transposes) in
            [("A", self.negates_a, self.transposes_a), ("B", self.negates_b, self.transposes_b)]
        {
            if negates && !form.negates {
                return Err(format!("{operand} is negated; this form takes it as it is only"));
            }
            if transposes && !form.transposes {
                return Err(format!(
                    "{operand} is transposed; this form takes it with neighbours along K only"
                ));
            }
        }
        if self.transposes_a && self.a_in_registers {
            return Err(String::from(
                "A is transposed, and in registers: only in shared memory it can lie either way",
            ));
        }
        Ok(())
    }
}

impl WgmmaForm {
    /// All valid options, with A in shared memory or in registers.
    pub fn options(&self, a_in_registers: bool) -> Vec<WgmmaOptions> {
        const EITHER: [bool; 2] = [false, true];
        let mut all = Vec::new();
        for selector in 0..self.selectors.max(1) as u32 {
            for (transposes_a, transposes_b) in
                EITHER.into_iter().flat_map(|a| EITHER.map(|b| (a, b)))
            {
                for (negates_a, negates_b) in
                    EITHER.into_iter().flat_map(|a| EITHER.map(|b| (a, b)))
                {
                    let options = WgmmaOptions {
                        a_in_registers,
                        negates_a,
                        negates_b,
                        transposes_a,
                        transposes_b,
                        selector,
                    };
                    all.extend(options.check(self).is_ok().then_some(options));
                }
            }
        }
        all
    }
}
