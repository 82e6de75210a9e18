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
        let words: Vec<u32> =
            metadata.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
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
