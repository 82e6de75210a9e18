/// The size of a grid in blocks, in three dimensions, or the coordinates of one of its blocks.
///
/// ```
/// use ptx_matrix::lane::Grid;
/// assert_eq!(Grid::from((8, 4)), Grid { x: 8, y: 4, z: 1 });
/// assert_eq!(Grid::from(8).blocks(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// The innermost dimension.
    pub x: u32,
    /// The second dimension.
    pub y: u32,
    /// The third dimension.
    pub z: u32,
}

impl Grid {
    /// The number of blocks.
    pub const fn blocks(self) -> u64 {
        (self.x as u64).saturating_mul(self.y as u64).saturating_mul(self.z as u64)
    }

    /// Whether `self` divides `grid` in each dimension.
    pub const fn divides(self, grid: Grid) -> bool {
        grid.x.is_multiple_of(self.x)
            && grid.y.is_multiple_of(self.y)
            && grid.z.is_multiple_of(self.z)
    }
}

impl From<u32> for Grid {
    fn from(x: u32) -> Self {
        Grid { x, y: 1, z: 1 }
    }
}

impl From<(u32, u32)> for Grid {
    fn from((x, y): (u32, u32)) -> Self {
        Grid { x, y, z: 1 }
    }
}

impl From<(u32, u32, u32)> for Grid {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Grid { x, y, z }
    }
}

impl From<[u32; 3]> for Grid {
    #[inline]
    fn from([x, y, z]: [u32; 3]) -> Self {
        Grid { x, y, z }
    }
}

impl core::fmt::Display for Grid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}
