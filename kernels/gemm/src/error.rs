//! Why a product is refused: what was wrong, where, and what would be right.

use thiserror::Error;

use crate::kernels::LaunchError;

use super::{Activation, Order};

/// Why a product was not computed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum GemmError<E> {
    /// What is asked for makes no sense, or no kernel does it. Nothing was launched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The device failed.
    #[error(transparent)]
    Device(E),
    /// The driver makes no tensor map of a matrix.
    #[error("no tensor map of a matrix: {0}")]
    TensorMap(String),
}

impl<E> From<LaunchError<E>> for GemmError<E> {
    fn from(error: LaunchError<E>) -> Self {
        match error {
            LaunchError::Device(error) => GemmError::Device(error),
            LaunchError::TensorMap(error) => GemmError::TensorMap(error.to_string()),
        }
    }
}

/// What is wrong with a product.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A side is too long.
    #[error("{side} is {given}, more than the {limit} that kernels count to")]
    TooLarge {
        /// Which one.
        side: &'static str,
        /// Its length.
        given: usize,
        /// The longest.
        limit: usize,
    },
    /// Lines overlap.
    #[error(
        "{matrix} is {rows}x{cols} and {order}: its leading dimension is at least {length}, not {given}"
    )]
    LinesOverlap {
        /// Which matrix.
        matrix: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// Its order.
        order: Order,
        /// Elements of a line.
        length: usize,
        /// The leading dimension.
        given: usize,
    },
    /// A buffer is too short.
    #[error("{what} has {given} elements, and the product needs {needed}{}", why(.what))]
    TooShort {
        /// Which buffer.
        what: &'static str,
        /// Its elements.
        given: usize,
        /// What is needed.
        needed: usize,
    },
    /// Products of a batch would write the same elements.
    #[error(
        "the batch stride of D is {given}: its products of {needed} elements each would overlap"
    )]
    BatchOverlaps {
        /// The batch stride.
        given: usize,
        /// The least.
        needed: usize,
    },
    /// Rows in groups are not multiplied so.
    #[error("rows in groups: {reason}")]
    Groups {
        /// Why, and what would be right.
        reason: &'static str,
    },
    /// As many ends as groups are needed.
    #[error("there are {given} ends of groups, and the product has {groups} groups: each has one")]
    GroupEnds {
        /// The ends.
        given: usize,
        /// The groups.
        groups: usize,
    },
    /// `beta` is not zero, and there is no C.
    #[error("beta is {beta}, and there is no C: give one, or leave beta 0")]
    NoC {
        /// The factor, in words.
        beta: String,
    },
    /// There is a C, and nothing says its factor.
    #[error(
        "there is a C, and beta was not set: set it, 1 to add C as it is, 0 to leave it out, or give no C"
    )]
    NoBeta,
    /// The activation is not one of integers.
    #[error("{activation:?} is of floating-point numbers; integers have Identity and Relu")]
    NoActivation {
        /// The activation.
        activation: Activation,
    },
    /// No kernel has this name, or it does not do this.
    #[error(
        "no kernel `{name}` multiplies {what} on this device{}; there are: {}",
        renamed(name),
        list(at_hand)
    )]
    NoSuchKernel {
        /// The name.
        name: String,
        /// Elements and orders.
        what: String,
        /// What does it.
        at_hand: Vec<String>,
    },
    /// There is no kernel for this.
    #[error("no kernel of the PTX that the device has loaded multiplies {what}")]
    NoKernel {
        /// Elements and orders.
        what: String,
    },
    /// The kernel does not cut K in parts, or not in so many.
    #[error("{kernel} cannot cut a K of {k} in {parts} parts: {reason}")]
    Parts {
        /// The kernel.
        kernel: &'static str,
        /// K.
        k: usize,
        /// The parts.
        parts: usize,
        /// Why.
        reason: String,
    },
}

fn why(what: &str) -> &'static str {
    if what == "A" || what == "B" {
        " (lines of A and B are read in pieces of 16 bytes, the last one too)"
    } else {
        ""
    }
}

/// Names of before the kernels were called by their technique and tile.
fn renamed(name: &str) -> &'static str {
    let is_old = ["gemm_", "hopper_"].iter().any(|start| name.starts_with(start));
    if is_old {
        " (kernels have new names, by technique and tile: choose or tune again)"
    } else {
        ""
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
