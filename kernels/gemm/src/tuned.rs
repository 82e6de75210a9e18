//! Choices that were measured, kept in a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Choice, Order};

/// What was measured to be the fastest for some products, on one kind of GPU. `cargo xtask bench
/// --tune FILE` makes such a file.
///
/// ```
/// use ptx_matrix::element::bf16;
/// use ptx_matrix_gemm::{Gemm, Tuned};
/// let tuned: Tuned = r#"{ "device": "NVIDIA H200", "products": [{
///     "element": "bf16", "a": "row_major", "b": "col_major", "m": 64, "n": 256, "k": 512, "batches": 1,
///     "choice": { "kernel": "sm80_bf16_nt_64x64x64", "parts": 2 }
/// }]}"#.parse()?;
/// let gemm = Gemm::<bf16>::new(64, 256, 512).b(ptx_matrix_gemm::Layout::col_major(512)).tuned(&tuned);
/// let plan = gemm.plan(&ptx_matrix::sim::Simulator::default())?;
/// assert_eq!(plan.choice().unwrap().parts, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// The GPU that was measured on.
    pub device: String,
    /// The products, each once.
    pub products: Vec<TunedProduct>,
}

/// A product and the fastest choice for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunedProduct {
    /// The elements, such as `bf16`.
    pub element: String,
    /// How A lies.
    pub a: Order,
    /// How B lies.
    pub b: Order,
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Products of a batch.
    pub batches: usize,
    /// Whether it may be of [`fast_accumulation`](super::Gemm::fast_accumulation).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fast: bool,
    /// The choice.
    pub choice: Choice,
}

impl TunedProduct {
    /// Whether it is the same product, whatever was chosen.
    fn is(&self, other: &TunedProduct) -> bool {
        let key = |one: &TunedProduct| (one.a, one.b, one.m, one.n, one.k, one.batches, one.fast);
        self.element == other.element && key(self) == key(other)
    }
}

/// Why a file of tuned choices is not there.
#[derive(Debug, Error)]
pub enum TunedError {
    /// It cannot be read, or written.
    #[error("{}: {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is not understood.
    #[error("{}: no tuned choices: {source}", file.display())]
    Text {
        /// The file.
        file: PathBuf,
        /// Where, and what is wrong.
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

    /// Adds a product, or replaces what is known of it.
    pub fn insert(&mut self, product: TunedProduct) {
        match self.products.iter_mut().find(|known| known.is(&product)) {
            Some(known) => *known = product,
            None => self.products.push(product),
        }
    }

    /// The choice for a product; what it chooses is of no account.
    pub(super) fn find(&self, product: &TunedProduct) -> Option<&Choice> {
        self.products.iter().find(|known| known.is(product)).map(|known| &known.choice)
    }
}

impl std::str::FromStr for Tuned {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}
