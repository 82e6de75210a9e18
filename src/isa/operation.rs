//! The reductions of bulk copies.

/// A reduction as a value. It selects the simulator's arithmetic and the instruction of a tensor
/// copy.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
}

impl Operation {
    /// Whether a tensor copy can reduce elements of this type of the driver
    /// (`CUtensorMapDataType`). On an H200, the other pairs end with an illegal instruction.
    pub const fn is_of_tensors(self, data_type: u32) -> bool {
        use Operation::{Add, Dec, Inc, Max, Min};
        match data_type {
            // u32.
            2 => true,
            // i32 and u64.
            3 | 4 => !matches!(self, Inc | Dec),
            // i64.
            5 => matches!(self, Min | Max),
            // f16 and bf16.
            6 | 9 => matches!(self, Add | Min | Max),
            // f32 and f64.
            7 | 8 => matches!(self, Add),
            _ => false,
        }
    }
}
