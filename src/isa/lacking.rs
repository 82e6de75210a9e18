//! The requirements of instructions by name, and the GPUs that lack them.

use super::{FORMS, Form, Needs, WgmmaForm};
use crate::target::Arch;
use std::collections::HashMap;
use std::sync::OnceLock;

impl Form {
    /// Whether a GPU has the form. (Volta has `m8n8k4` with f16, but no kernel is built for it.)
    pub fn is_on(&self, gpu: Arch) -> bool {
        lacking(gpu, self.ptx).is_none()
    }
}

impl WgmmaForm {
    /// Whether a GPU has the form: only Hopper does.
    pub fn is_on(&self, gpu: Arch) -> bool {
        gpu.has(Self::NEEDS)
    }
}

/// Substrings of other instructions' names, with their requirements. The first match applies.
const OTHERS: [(&str, Needs); 15] = [
    ("wgmma.", WgmmaForm::NEEDS),
    ("setmaxnreg", Needs { specific: true, ..Needs::at_least(90) }),
    ("cluster", Needs::at_least(90)),
    ("cp.async.bulk", Needs::at_least(90)),
    ("cp.reduce.async", Needs::at_least(90)),
    ("try_wait", Needs::at_least(90)),
    ("_tx", Needs::at_least(90)),
    ("elect.sync", Needs::at_least(90)),
    ("fence.proxy", Needs::at_least(90)),
    ("griddepcontrol", Needs::at_least(90)),
    ("approx.ftz.bf16x2", Needs::at_least(90)),
    ("approx.bf16x2", Needs::at_least(90)),
    ("cp.async", Needs::at_least(80)),
    ("mbarrier", Needs::at_least(80)),
    ("", Needs::at_least(70)),
];

/// The requirement of an instruction if the GPU does not meet it.
pub(crate) fn lacking(gpu: Arch, ptx: &str) -> Option<Needs> {
    static MATRICES: OnceLock<HashMap<&'static str, Needs>> = OnceLock::new();
    let matrices = MATRICES.get_or_init(|| {
        FORMS.iter().copied().flatten().map(|form| (form.ptx, form.needs)).collect()
    });
    let other = || {
        let families = ["mma.", "ldmatrix.", "stmatrix.", "movmatrix."];
        let is_matrix = families.iter().any(|family| ptx.starts_with(family));
        assert!(!is_matrix, "`{ptx}` has no row in the tables of `isa`, which say what it needs");
        OTHERS.iter().find(|(part, _)| ptx.contains(part)).map(|&(_, needs)| needs)
    };
    let needs = matrices.get(ptx).copied().or_else(other)?;
    let on_volta = gpu == Arch::SM_70 && ptx.contains(".m8n8k4.") && ptx.contains(".f16.f16.");
    (!on_volta && !gpu.has(needs)).then_some(needs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "has no row in the tables of `isa`")]
    fn missing_mma_row_panics() {
        lacking(Arch::SM_90, "mma.sync.aligned.m16n8k64.row.col.f32.f16.f16.f32");
    }

    #[test]
    fn older_gpus_lack_newer_instructions() {
        let lacks = |gpu, ptx: &str| lacking(gpu, ptx).map(|needs| std::format!("{needs}"));
        let needs = |of: &str| Some(of.into());
        let quad = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32";
        assert_eq!(lacks(Arch::SM_70, quad), None);
        assert_eq!(
            lacks(Arch::SM_70, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"),
            needs("sm_75")
        );
        assert_eq!(
            lacks(Arch::SM_70, "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"),
            needs("sm_80")
        );
        assert_eq!(lacks(Arch::SM_70, "bar.sync"), None);
        assert_eq!(lacks(Arch::SM_75, "cp.async.ca.shared.global"), needs("sm_80"));
        assert_eq!(lacks(Arch::SM_80, "cp.async.ca.shared.global"), None);
        assert_eq!(lacks(Arch::SM_80, "mbarrier.arrive.shared::cta.b64"), None);
        assert_eq!(lacks(Arch::SM_89, "mbarrier.arrive.expect_tx.shared::cta.b64"), needs("sm_90"));
        assert_eq!(lacks(Arch::SM_89, "mapa.shared::cluster.u32"), needs("sm_90"));
        assert_eq!(lacks(Arch::SM_89, "stmatrix.sync.aligned.m8n8.x1.shared.b16"), needs("sm_90"));
        assert_eq!(lacks(Arch::SM_120, "wgmma.fence.sync.aligned"), needs("sm_90a"));
        assert_eq!(lacks(Arch::SM_120, "setmaxnreg.inc.sync.aligned.u32"), None);
        assert_eq!(
            lacks(Arch::SM_90, "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"),
            needs("sm_100a or sm_100f")
        );
        let scaled = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32\
                      .e2m1.e2m1.f32.ue8m0";
        assert_eq!(
            (lacks(Arch::SM_100, scaled), lacks(Arch::SM_121, scaled)),
            (needs("sm_120a or sm_120f"), None)
        );
    }
}
