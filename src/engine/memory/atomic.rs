//! Atomic operations on elements of global memory (`atom`), and ordered loads and stores.

use crate::engine::memory::reduction::{Kind, Operation, Reduction};

/// An atomic operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicOperation {
    Load,
    Store,
    Exchange,
    /// Its operands are the expected value, and the new one.
    CompareExchange,
    Reduce(Reduction),
}

impl AtomicOperation {
    /// A reduction.
    pub(crate) fn reduce(operation: Operation, kind: Kind) -> Self {
        AtomicOperation::Reduce(Reduction { operation, kind }.in_global_by_lane())
    }

    /// Applies the operation to an element of memory. Returns whether it writes.
    pub(super) fn apply(self, memory: &mut [u8], operands: &[&[u8]]) -> bool {
        match (self, operands) {
            (AtomicOperation::Load, _) => return false,
            (AtomicOperation::Store | AtomicOperation::Exchange, [value]) => {
                memory.copy_from_slice(value);
            }
            (AtomicOperation::CompareExchange, [expected, value]) => {
                if memory != *expected {
                    return false;
                }
                memory.copy_from_slice(value);
            }
            (AtomicOperation::Reduce(reduction), [value]) => reduction.apply(memory, value),
            _ => unreachable!("an operation with its operands"),
        }
        true
    }
}
