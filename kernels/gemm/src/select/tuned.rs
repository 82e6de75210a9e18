//! Choices that were measured, kept in a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Choice;
use crate::Order;

/// The fastest measured choice for some GEMMs, on one kind of GPU. `cargo xtask bench --tune FILE`
/// makes such a file.
///
/// A file may name a kernel that this version no longer has. It loads; [`plan`](crate::Gemm::plan)
/// refuses a GEMM with this choice, and says why.
///
/// ```
/// use ptx_matrix::element::bf16;
/// use ptx_matrix_gemm::{Gemm, Layout, Tuned};
/// let tuned: Tuned = r#"{ "device": "NVIDIA H200", "gemms": [{
///     "element": "bf16", "a": "row_major", "b": "col_major",
///     "m": 64, "n": 256, "k": 512, "batches": 1,
///     "choice": { "kernel": "sm80_bf16_nt_64x64x64", "k_splits": 2 }
/// }]}"#.parse()?;
/// let gemm = Gemm::<bf16>::new(64, 256, 512).b(Layout::col_major(512)).tuned(&tuned);
/// let plan = gemm.plan(&ptx_matrix::sim::Simulator::default())?;
/// assert_eq!(plan.choice().unwrap().k_splits, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// The GPU that was measured on.
    pub device: String,
    /// The GEMMs, each once.
    #[serde(alias = "products")]
    pub gemms: Vec<TunedGemm>,
}

/// A GEMM and the fastest choice for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedGemm {
    /// The elements, such as `bf16`.
    pub element: String,
    /// The order of A.
    pub a: Order,
    /// The order of B.
    pub b: Order,
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// GEMMs of the batch.
    pub batches: usize,
    /// Whether [`fast_accumulation`](crate::Gemm::fast_accumulation) is allowed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fast: bool,
    /// The choice.
    pub choice: Choice,
}

impl TunedGemm {
    /// Whether both are the same GEMM; their choices may differ.
    fn is(&self, other: &TunedGemm) -> bool {
        let key = |one: &TunedGemm| (one.a, one.b, one.m, one.n, one.k, one.batches, one.fast);
        self.element == other.element && key(self) == key(other)
    }
}

/// Why a file of tuned choices cannot be used.
#[derive(Debug, Error)]
pub enum TunedError {
    /// The file cannot be read or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The text is not a list of tuned choices.
    #[error("{} has no tuned choices: {source}", file.display())]
    Text {
        /// The file.
        file: PathBuf,
        /// The place, and the reason.
        source: serde_json::Error,
    },
}

impl Tuned {
    /// Reads a file.
    pub fn load(file: &Path) -> Result<Self, TunedError> {
        let text = fs::read_to_string(file)
            .map_err(|source| TunedError::File { file: file.to_owned(), source })?;
        text.parse().map_err(|source| TunedError::Text { file: file.to_owned(), source })
    }

    /// Writes a file.
    pub fn save(&self, file: &Path) -> Result<(), TunedError> {
        let text = serde_json::to_string_pretty(self).expect("names and numbers are JSON");
        fs::write(file, text + "\n")
            .map_err(|source| TunedError::File { file: file.to_owned(), source })
    }

    /// Adds a GEMM, or replaces its choice.
    pub fn insert(&mut self, gemm: TunedGemm) {
        match self.gemms.iter_mut().find(|known| known.is(&gemm)) {
            Some(known) => *known = gemm,
            None => self.gemms.push(gemm),
        }
    }

    /// The choice for a GEMM. The choice that the argument has is ignored.
    pub(crate) fn find(&self, gemm: &TunedGemm) -> Option<&Choice> {
        self.gemms.iter().find(|known| known.is(gemm)).map(|known| &known.choice)
    }
}

impl std::str::FromStr for Tuned {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
