//! One execution of a `wgmma`, with a report of undefined operands.

use crate::engine::findings::{Misuse, SimError};
use crate::engine::wgmma::{A, Operands, Operation};
use crate::isa::{self, WgmmaForm, WgmmaOptions};
use crate::kernel;
use crate::lane::{LANES, PerLane, Site};
use crate::memory::Global;
use crate::scope::Block;
use crate::sim::{Execution, Simulator};
use std::vec::Vec;

impl Simulator {
    /// Executes a form once, by one warpgroup, like [`WgmmaForm::simulate`]. Reports also operands
    /// that PTX leaves undefined, such as invalid metadata of a sparse A.
    ///
    /// # Errors
    /// The simulated GPU lacks `wgmma`.
    ///
    /// # Panics
    /// If the form does not take the options, or the length of `input` is wrong.
    pub fn execute_group(
        &self,
        form: &WgmmaForm,
        options: &WgmmaOptions,
        adds: bool,
        input: &[u8],
    ) -> Result<Execution, SimError> {
        if let Some(gpu) = self.named_gpu().filter(|&gpu| !form.is_on(gpu)) {
            let misuse = Misuse::Absent { form: form.ptx, gpu, needs: WgmmaForm::NEEDS };
            return Err(self.refusal("once", misuse));
        }
        let output = form.simulate(options, adds, input);
        if form.selectors == 0 {
            return Ok(Execution { output, found: None });
        }
        let index = isa::all_wgmma().position(|of| of == *form).expect("the form is in the list");
        let metadata = &input[form.memory(options).metadata(0)..];
        let words: Vec<u32> = metadata.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
        let found = once::launch(self, 1, index as u32, options.selector, &words).err();
        Ok(Execution { output, found })
    }
}

/// Checks the metadata of a form, as the start of a `wgmma` does.
#[kernel(threads = 128)]
fn once(block: &Block, index: u32, selector: u32, metadata: Global<u32>) {
    let form = isa::all_wgmma().nth(index as usize).expect("the launch's").simulated();
    let group = block.warp_group();
    let first = group.warp_rank() * LANES;
    let metadata = group.warp().each(|lane| metadata.get(first + lane.id()));
    let operation = Operation {
        form,
        b: 0,
        transposes_b: false,
        accumulates: true,
        negates_a: false,
        negates_b: false,
        selector,
    };
    let a = A::Registers(PerLane::splat([0; 4]));
    (form.family.check)(Site::here(), &Operands { operation, a, metadata });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Arch;
    use std::string::ToString;

    const FORM: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16";

    /// The finding for a word of metadata in thread 37. That is lane 5 of its warp, which holds
    /// chunks of row 1.
    fn found(selector: u32, word: u32) -> Option<Misuse> {
        let form = isa::all_wgmma().find(|form| form.ptx == FORM).unwrap();
        let options = WgmmaOptions { selector, ..WgmmaOptions::default() };
        let memory = form.memory(&options);
        let mut input = std::vec![0x44; memory.input_bytes()];
        input[memory.metadata(37)..][..4].copy_from_slice(&word.to_le_bytes());
        let execution = Simulator::default().execute_group(&form, &options, true, &input).unwrap();
        assert_eq!(execution.output, form.simulate(&options, true, &input));
        execution.found.map(|error| {
            assert!(error.to_string().contains("warp 1"), "{error}");
            error.misuse.clone()
        })
    }

    #[test]
    fn other_gpus_have_no_wgmma() {
        let form = isa::all_wgmma().find(|form| form.ptx == FORM).unwrap();
        let options = WgmmaOptions::default();
        let input = std::vec![0; form.memory(&options).input_bytes()];
        let on = |gpu| Simulator::default().gpu(gpu).execute_group(&form, &options, true, &input);
        assert!(on(Arch::SM_90).is_ok());
        for gpu in [Arch::SM_89, Arch::SM_100, Arch::SM_120] {
            let expected = std::format!("error: `{FORM}` needs sm_90a, and {gpu} is simulated\n");
            assert!(on(gpu).unwrap_err().to_string().starts_with(&expected));
        }
    }

    #[test]
    fn metadata_that_ptx_does_not_define_is_said() {
        assert_eq!(found(0, 0x4444_4444), None);
        let Some(Misuse::Metadata { form: FORM, code: 0b1111, row: 17, .. }) =
            found(0, 0x4444_444f)
        else {
            panic!("{:?}", found(0, 0x4444_444f))
        };
        // Lanes 4 i and 4 i + 1 have the metadata of selector 0, the others that of selector 1.
        assert_eq!(found(1, 0x4444_444f), None);
    }
}
