//! The order of a matrix: along rows or along columns.

use crate::lane::Sealed;

/// Which elements of a tile are neighbours in memory.
pub trait Order: Sealed + Copy + 'static {
    /// Whether the elements of a row are; else those of a column.
    const ROW_MAJOR: bool;
}

/// The elements of a row are neighbours.
#[derive(Debug, Clone, Copy)]
pub struct RowMajor;
impl Sealed for RowMajor {}
impl Order for RowMajor {
    const ROW_MAJOR: bool = true;
}

/// The elements of a column are neighbours.
#[derive(Debug, Clone, Copy)]
pub struct ColMajor;
impl Sealed for ColMajor {}
impl Order for ColMajor {
    const ROW_MAJOR: bool = false;
}
