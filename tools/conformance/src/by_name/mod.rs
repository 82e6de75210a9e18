//! Forms of `wgmma` that are executed by their names. On a GPU, the driver compiles a kernel in PTX
//! text. On the simulator, its arithmetic computes the result. Compiling a kernel for each form
//! from Rust would take far too long.
//!
//! Each form has one check with two executions: A in shared memory, and A in registers. One of them
//! adds to D, the other overwrites D. The other options alternate from one N to the next. So every
//! combination of options occurs for each combination of elements.

mod device;
mod families;
mod matrices;
mod record;
mod run;

pub use device::ByName;
pub use record::Digests;
pub(super) use run::run;

use families::Family;
use ptx_matrix::forms::{self, WgmmaForm, WgmmaMatrices, WgmmaOptions};

/// A form with its data and its reference.
#[derive(Clone, Copy)]
pub struct FormCheck {
    /// The form.
    pub form: WgmmaForm,
    family: &'static Family,
}

/// The check of each form.
pub fn all() -> impl Iterator<Item = FormCheck> {
    forms::all_wgmma().map(|form| FormCheck { form, family: families::find(form.family) })
}

impl FormCheck {
    /// The name of the form, with a suffix that differs from those of the checks with kernels.
    pub fn name(&self) -> String {
        format!("{}, by name", self.form.ptx)
    }

    /// The options of both executions (A in shared memory, A in registers), and whether each adds
    /// to D.
    fn ways(&self) -> [(WgmmaOptions, bool); 2] {
        let number = self.form.n / 8 - 1;
        [false, true].map(|a_in_registers| {
            let all = self.form.options(a_in_registers);
            // The parity of the bits varies within each run of consecutive N, so adding to D is not
            // tied to another option.
            let adds = number.count_ones().is_multiple_of(2) != a_in_registers;
            (all[number % all.len()], adds)
        })
    }

    /// The matrices of a seed.
    fn matrices(&self, seed: u64) -> WgmmaMatrices {
        matrices::draw(seed, &self.form, self.family)
    }

    /// Bytes of an element of D.
    fn element(&self) -> usize {
        4 * self.form.d / (self.form.n / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Each combination of negations, transpositions and selectors occurs for each combination of
    /// elements, with A in shared memory and in registers. In families with fewer combinations than
    /// N, each combination occurs both adding to D and overwriting it.
    #[test]
    fn each_combination_of_options_occurs_in_each_family() {
        let mut families: BTreeMap<&str, Vec<FormCheck>> = BTreeMap::new();
        all().for_each(|check| families.entry(check.form.family).or_default().push(check));
        assert_eq!(families.len(), 21 + 20);
        for (family, checks) in families {
            for (which, a_in_registers) in [false, true].into_iter().enumerate() {
                let all = checks[0].form.options(a_in_registers);
                for options in &all {
                    let ways = checks
                        .iter()
                        .map(|check| check.ways()[which])
                        .filter(|(of, _)| of == options);
                    let adds: BTreeSet<bool> = ways.map(|(_, adds)| adds).collect();
                    assert_eq!(
                        adds.len(),
                        if all.len() < checks.len() { 2 } else { 1 },
                        "{family}: {options:?}"
                    );
                }
            }
        }
    }
}
