//! The errors of a GEMM: each says what was wrong, where, and the remedy.

use std::fmt;
use thiserror::Error;

use crate::kernels::LaunchError;

use super::{Activation, Order};

/// The reason why a GEMM was not computed.
#[derive(Clone, PartialEq, Error)]
pub enum GemmError<E> {
    /// The request is inconsistent, or no kernel supports it. Nothing was launched.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The device failed.
    #[error(transparent)]
    Device(E),
    /// The driver cannot make a tensor map of a matrix.
    #[error("no tensor map of a matrix: {0}")]
    TensorMap(String),
}

/// The text, for `unwrap` and for the result of `main`.
impl<E: fmt::Debug> fmt::Debug for GemmError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GemmError::Refused(refusal) => fmt::Display::fmt(refusal, f),
            GemmError::Device(error) => fmt::Debug::fmt(error, f),
            GemmError::TensorMap(reason) => write!(f, "no tensor map of a matrix: {reason}"),
        }
    }
}

impl<E> From<LaunchError<E>> for GemmError<E> {
    fn from(error: LaunchError<E>) -> Self {
        match error {
            LaunchError::Device(error) => GemmError::Device(error),
            LaunchError::TensorMap(error) => GemmError::TensorMap(error.to_string()),
        }
    }
}

/// The reason why a GEMM is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A dimension is too large.
    #[error("{dimension} is {given}, more than the {limit} that kernels count to")]
    TooLarge {
        /// The dimension.
        dimension: &'static str,
        /// Its size.
        given: usize,
        /// The largest size.
        limit: usize,
    },
    /// The leading dimension is too small: rows or columns overlap.
    #[error(
        "{matrix} is {rows}x{cols} and {order}: its leading dimension is at least {length}, \
         not {given}"
    )]
    LinesOverlap {
        /// The matrix.
        matrix: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// Its order.
        order: Order,
        /// Elements of a row (of a column, if column-major).
        length: usize,
        /// The leading dimension.
        given: usize,
    },
    /// A buffer is too short.
    #[error("{buffer} has {given} elements; the GEMM needs {needed}{}", why(.padding))]
    TooShort {
        /// The buffer.
        buffer: &'static str,
        /// Its elements.
        given: usize,
        /// The elements that it must have.
        needed: usize,
        /// How many of these lie beyond the matrix.
        padding: usize,
    },
    /// GEMMs of a batch would write the same elements.
    #[error("the batch stride of D is {given}: matrices of {needed} elements each would overlap")]
    BatchOverlaps {
        /// The batch stride.
        given: usize,
        /// The smallest batch stride.
        needed: usize,
    },
    /// A grouped GEMM cannot have this property.
    #[error("grouped GEMM: {reason}")]
    Groups {
        /// The reason, and the remedy.
        reason: &'static str,
    },
    /// The number of ends is not the number of groups.
    #[error("there are {given} ends of groups, and {groups} groups: each group has one")]
    GroupEnds {
        /// The number of ends.
        given: usize,
        /// The number of groups.
        groups: usize,
    },
    /// `beta` is not zero, and there is no C.
    #[error("beta is {beta}, and there is no C: give one, or leave beta 0")]
    NoC {
        /// The value of beta, as text.
        beta: String,
    },
    /// There is a C, but `beta` was not set.
    #[error(
        "there is a C, and beta was not set: set it (1 adds C as it is, 0 leaves it out), or give \
         no C"
    )]
    NoBeta,
    /// Integers do not have this activation.
    #[error("{activation:?} is for floating-point numbers; integers have Identity and Relu")]
    NoActivation {
        /// The activation.
        activation: Activation,
    },
    /// No kernel has this name, or it does not support this GEMM.
    #[error(
        "no kernel `{name}` computes {gemm} with these leading dimensions and offsets on this \
         device{}; those that do: {}",
        known_or_not(*is_known),
        list(at_hand)
    )]
    NoSuchKernel {
        /// The name.
        name: String,
        /// Whether this version has a kernel of this name for these elements.
        is_known: bool,
        /// The elements and orders.
        gemm: String,
        /// The kernels that support it.
        at_hand: Vec<String>,
    },
    /// The device has no kernel for these elements at all.
    #[error(
        "the device has no kernel for {elements}: there are kernels for {}; a GPU has those of its \
         loaded PTX, and a simulator those for its GPU",
        targets.join(", ")
    )]
    NoKernelForElements {
        /// The elements.
        elements: String,
        /// The targets that have kernels for them, from old to new. Those for `sm_89` also run on
        /// newer GPUs, those for `sm_90a` do not.
        targets: Vec<&'static str>,
    },
    /// No kernel of the device computes this GEMM.
    #[error(
        "the device has no kernel for {gemm} with these leading dimensions and offsets{}: a GPU \
         has those of its loaded PTX, and a simulator those for its GPU",
        unless_repacked(*repack_len)
    )]
    NoKernel {
        /// The elements and orders.
        gemm: String,
        /// The elements that a kernel repacks, if one can compute the GEMM so.
        repack_len: Option<usize>,
    },
    /// A buffer starts at an address that the kernel cannot read from.
    #[error(
        "{buffer} starts at address {address:#x}, and the selected kernel reads multiples of \
         {alignment} bytes: let the buffer start at such an address before the matrix, and say \
         where the matrix starts, with `Layout::starting_at`"
    )]
    Misaligned {
        /// The buffer.
        buffer: &'static str,
        /// Its address.
        address: usize,
        /// What the address must be a multiple of, in bytes.
        alignment: usize,
    },
    /// The kernel cannot split K in this way.
    #[error("{kernel} cannot split a K of {k} in {k_splits}: {reason}")]
    KSplits {
        /// The kernel.
        kernel: &'static str,
        /// K.
        k: usize,
        /// The splits.
        k_splits: usize,
        /// Why.
        reason: String,
    },
}

fn why(padding: &usize) -> String {
    match padding {
        0 => String::new(),
        padding => format!(
            ", {padding} of them beyond the last row or column, which is read in whole 16 bytes"
        ),
    }
}

fn unless_repacked(repack_len: Option<usize>) -> String {
    repack_len.map_or_else(String::new, |elements| {
        format!(", except for repacked operands: `repack_workspace_up_to({elements})` allows them")
    })
}

/// Explains names of removed and renamed kernels, which [`Tuned`](crate::Tuned) files may have.
fn known_or_not(is_known: bool) -> &'static str {
    if is_known {
        ""
    } else {
        " (this version has no kernel of this name for these elements: choose another, or tune \
         again)"
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
