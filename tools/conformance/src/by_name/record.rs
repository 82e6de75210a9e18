//! Digests of a GPU's results for each form.

use super::all;
use super::device::{Outputs, simulate};
use ptx_matrix::forms::WgmmaMatrices;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Digests for the forms that were executed by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// The seed of the matrices.
    pub seed: u64,
    /// For each form, as in PTX: the digest of its matrices, and that of both outputs.
    pub forms: BTreeMap<String, [String; 2]>,
}

impl Digests {
    /// Executes the forms again on the simulator. Returns the differences.
    pub fn replay(&self) -> Vec<String> {
        let checks: BTreeMap<&str, _> = all().map(|check| (check.form.ptx, check)).collect();
        let difference = |(name, [given, returned]): (&String, &[String; 2])| {
            let Some(check) = checks.get(name.as_str()) else {
                return Some(format!("{name}: recorded, but there is no such form any more"));
            };
            let matrices = check.matrices(self.seed);
            if *given != of_matrices(&matrices) {
                return Some(format!(
                    "{name}: its matrices are not those that were recorded: record it again"
                ));
            }
            let differs = *returned != of_outputs(&simulate(check, &matrices));
            differs.then(|| format!("{name}: the simulator returns other bits"))
        };
        self.forms.par_iter().filter_map(difference).collect()
    }
}

/// The digest of a form's matrices.
pub(super) fn of_matrices(WgmmaMatrices { a, b, c, metadata }: &WgmmaMatrices) -> String {
    digest([a, b, c, metadata].map(|codes| bytemuck::cast_slice(codes)))
}

/// The digest of a form's outputs.
pub(super) fn of_outputs(outputs: &Outputs) -> String {
    digest(outputs.iter().map(Vec::as_slice))
}

/// 64 bits of SHA-256.
fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let hash =
        parts.into_iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16";

    /// The messages of a replay, for a changed record of one form.
    fn differences(change: impl FnOnce(&mut Digests)) -> Vec<String> {
        let check = all().find(|check| check.form.ptx == FORM).unwrap();
        let matrices = check.matrices(3);
        let recorded = [of_matrices(&matrices), of_outputs(&simulate(&check, &matrices))];
        let mut digests = Digests { seed: 3, forms: [(FORM.to_owned(), recorded)].into() };
        change(&mut digests);
        digests.replay()
    }

    #[test]
    fn differences_are_reported() {
        assert!(differences(|_| ()).is_empty());
        let other = |digests: &mut Digests| {
            digests.forms.get_mut(FORM).unwrap()[1] = "0123456789abcdef".to_owned()
        };
        assert_eq!(differences(other), [format!("{FORM}: the simulator returns other bits")]);
        let why = "its matrices are not those that were recorded: record it again";
        assert_eq!(differences(|digests| digests.seed = 4), [format!("{FORM}: {why}")]);
        let removed = |digests: &mut Digests| {
            digests.forms = [("wgmma.other".to_owned(), Default::default())].into()
        };
        assert_eq!(
            differences(removed),
            ["wgmma.other: recorded, but there is no such form any more"]
        );
    }
}
