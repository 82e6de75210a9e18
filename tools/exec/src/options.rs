//! What there is to choose of a `wgmma`.

use ptx_matrix::forms::{WgmmaForm, WgmmaOptions};
use serde::{Deserialize, Serialize};

/// How a `wgmma` is executed: what stands behind its operands, and where A is. What a file leaves
/// out is no, but for `scale_d`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupOptions {
    /// Whether A is in registers, and not in shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in_registers: Option<bool>,
    /// Whether it adds to D, and does not overwrite it: `scale-d`. It does unless this says no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_d: Option<bool>,
    /// Whether A is negated: an `imm-scale-a` of -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negates_a: Option<bool>,
    /// Whether B is: an `imm-scale-b` of -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negates_b: Option<bool>,
    /// Whether elements of a column of A are neighbours in shared memory: an `imm-trans-a` of 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposes_a: Option<bool>,
    /// Whether elements of a row of B are: an `imm-trans-b` of 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposes_b: Option<bool>,
}

impl GroupOptions {
    /// All that a form takes, said.
    pub(super) fn of(form: &WgmmaForm, options: &WgmmaOptions, adds: bool) -> Self {
        let signs = |negates: bool| form.negates.then_some(negates);
        GroupOptions {
            a_in_registers: Some(options.a_in_registers),
            scale_d: Some(adds),
            negates_a: signs(options.negates_a),
            negates_b: signs(options.negates_b),
            transposes_a: (form.transposes && !options.a_in_registers)
                .then_some(options.transposes_a),
            transposes_b: form.transposes.then_some(options.transposes_b),
        }
    }

    /// With the selector of the metadata; and whether it adds to D.
    pub(super) fn read(self, selector: u32) -> (WgmmaOptions, bool) {
        let options = WgmmaOptions {
            a_in_registers: self.a_in_registers.unwrap_or_default(),
            negates_a: self.negates_a.unwrap_or_default(),
            negates_b: self.negates_b.unwrap_or_default(),
            transposes_a: self.transposes_a.unwrap_or_default(),
            transposes_b: self.transposes_b.unwrap_or_default(),
            selector,
        };
        (options, self.scale_d.unwrap_or(true))
    }
}
