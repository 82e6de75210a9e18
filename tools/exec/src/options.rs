//! The options of `wgmma` in a file.

use ptx_matrix::forms::{WgmmaForm, WgmmaOptions};
use serde::{Deserialize, Serialize};

/// The options of a `wgmma`: its immediate operands, and the place of A. An absent option means no,
/// except for `scale_d`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupOptions {
    /// Whether A is in registers. Otherwise it is in shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in_registers: Option<bool>,
    /// Whether the instruction adds to D: `scale-d`. The default is yes; no overwrites D.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_d: Option<bool>,
    /// Whether A is negated: `imm-scale-a` is -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negates_a: Option<bool>,
    /// Whether B is negated: `imm-scale-b` is -1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negates_b: Option<bool>,
    /// Whether A is M-major in shared memory (elements of a column are adjacent): `imm-trans-a` is
    /// 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposes_a: Option<bool>,
    /// Whether B is N-major in shared memory (elements of a row are adjacent): `imm-trans-b` is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transposes_b: Option<bool>,
}

impl GroupOptions {
    /// All options of a form with their values.
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

    /// The options of the simulator, with the metadata's selector, and whether the instruction adds
    /// to D.
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
