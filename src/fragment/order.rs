//! The order of a matrix in memory: row-major or column-major.

use crate::lane::Sealed;

/// The order of a tile in memory: [`RowMajor`] or [`ColMajor`].
pub trait Order: Sealed + Copy + 'static {
    /// Whether the elements of a row are neighbours. Otherwise, those of a column are.
    const ROW_MAJOR: bool;
}

/// Row-major: the elements of a row are neighbours.
#[derive(Debug, Clone, Copy)]
pub struct RowMajor;
impl Sealed for RowMajor {}
impl Order for RowMajor {
    const ROW_MAJOR: bool = true;
}

/// Column-major: the elements of a column are neighbours.
#[derive(Debug, Clone, Copy)]
pub struct ColMajor;
impl Sealed for ColMajor {}
impl Order for ColMajor {
    const ROW_MAJOR: bool = false;
}
