//! A kernel's name and how to use it, as users read and write it.

use crate::layout::{Operand, Repacked};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A kernel, the operands that are repacked for it, and its splits of K.
///
/// As text it is `sm80_bf16_nn_64x64x64/4` with 4 splits, the name alone without, and
/// `sm80_bf16_nn_64x64x64+a+b/4` with A and B repacked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The kernel's name.
    pub kernel: String,
    /// The splits of K: 1 without split-K.
    #[serde(alias = "parts")]
    pub k_splits: usize,
    /// The operands that are repacked first: see
    /// [`Gemm::repack_workspace_up_to`](crate::Gemm::repack_workspace_up_to).
    #[serde(default, skip_serializing_if = "Repacked::is_none", alias = "copied")]
    pub repacked: Repacked,
}

impl Choice {
    /// A kernel that reads A and B in their own layouts, with some splits of K.
    pub fn new(kernel: impl Into<String>, k_splits: usize) -> Self {
        Self { kernel: kernel.into(), k_splits, repacked: Repacked::None }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kernel)?;
        for (suffix, operand) in [("+a", Operand::A), ("+b", Operand::B)] {
            if self.repacked.has(operand) {
                f.write_str(suffix)?;
            }
        }
        if self.k_splits > 1 { write!(f, "/{}", self.k_splits) } else { Ok(()) }
    }
}

/// A text that is not a [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is no choice: expected a kernel's name, then `+a` and `+b` for repacked operands, then \
     `/` and the splits of K, such as sm80_bf16_nn_64x64x64/4 or sm80_bf16_nn_64x64x64+a+b/4"
)]
pub struct ParseChoiceError(String);

impl FromStr for Choice {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, ParseChoiceError> {
        let (rest, splits) = text.split_once('/').unwrap_or((text, "1"));
        let (rest, b) = rest.strip_suffix("+b").map_or((rest, false), |rest| (rest, true));
        let (kernel, a) = rest.strip_suffix("+a").map_or((rest, false), |rest| (rest, true));
        let is_name = |name: &str| !name.is_empty() && !name.contains('+');
        let splits = splits.parse().ok().filter(|&splits| splits > 0 && is_name(kernel));
        splits
            .map(|k_splits| Self { kernel: kernel.to_owned(), k_splits, repacked: [a, b].into() })
            .ok_or_else(|| ParseChoiceError(text.to_owned()))
    }
}
