//! Coordinates in a tile: known at compile time ([`At`]) or at run time.

use crate::lane::Sealed;
use crate::lane::Site;
use crate::machine::check;

/// The part of a tile that an access touches: `ROWS` x `COLS` elements of a tile of `TILE_ROWS` x
/// `TILE_COLS`.
///
/// Its first row and column are multiples of the steps.
pub trait Window {
    /// Rows of the tile.
    const TILE_ROWS: usize;
    /// Columns of the tile.
    const TILE_COLS: usize;
    /// Rows of the window.
    const ROWS: usize;
    /// Columns of the window.
    const COLS: usize;
    /// The window's first row is a multiple of this.
    const ROW_STEP: usize;
    /// The window's first column is a multiple of this.
    const COL_STEP: usize;
}

/// The (row, column) at which a window starts in a tile.
///
/// `(row, col)` is checked at run time, unless the compiler can see that it is right. [`At`] is
/// checked at compile time.
pub trait Coordinate: Sealed + Copy {
    /// The coordinate, if its type determines it.
    const KNOWN: Option<(usize, usize)>;

    /// Returns the coordinate as numbers, after a check that the window is in the tile and aligned.
    /// `tile` is the tile's address, and `site` the access's source line.
    fn resolve<W: Window>(self, tile: u32, site: Site) -> (usize, usize);
}

impl Sealed for (usize, usize) {}
impl Coordinate for (usize, usize) {
    const KNOWN: Option<(usize, usize)> = None;

    #[inline]
    fn resolve<W: Window>(self, tile: u32, site: Site) -> (usize, usize) {
        let _ = tile;
        let (row, col) = self;
        let inside = row <= const { W::TILE_ROWS.saturating_sub(W::ROWS) }
            && col <= const { W::TILE_COLS.saturating_sub(W::COLS) }
            && const { W::ROWS <= W::TILE_ROWS && W::COLS <= W::TILE_COLS };
        check!(
            inside,
            site,
            TileOutOfBounds {
                memory: crate::engine::Memory::Shared { address: tile },
                at: self,
                size: crate::fragment::TileSize { rows: W::ROWS, cols: W::COLS },
                tile: crate::fragment::TileSize { rows: W::TILE_ROWS, cols: W::TILE_COLS }
            }
        );
        let aligned = row.is_multiple_of(W::ROW_STEP) && col.is_multiple_of(W::COL_STEP);
        check!(
            aligned,
            site,
            TileMisaligned {
                address: tile,
                at: self,
                step: crate::fragment::TileSize { rows: W::ROW_STEP, cols: W::COL_STEP }
            }
        );
        self
    }
}

/// A coordinate known at compile time: a wrong one does not compile.
#[derive(Debug, Clone, Copy)]
pub struct At<const ROW: usize, const COL: usize>;

impl<const ROW: usize, const COL: usize> Sealed for At<ROW, COL> {}
impl<const ROW: usize, const COL: usize> Coordinate for At<ROW, COL> {
    const KNOWN: Option<(usize, usize)> = Some((ROW, COL));

    #[inline]
    fn resolve<W: Window>(self, _: u32, _: Site) -> (usize, usize) {
        const { check_known::<Self, W>() };
        (ROW, COL)
    }
}

/// Refuses a known coordinate that is wrong for a window, at compile time.
///
/// Public methods evaluate it in a `const` block of their own, so that the compiler names the line
/// of the call.
pub(crate) const fn check_known<C: Coordinate, W: Window>() {
    let Some((row, col)) = C::KNOWN else { return };
    // No sums: release builds do not check a `const fn` for overflow, and 1 + `usize::MAX` is 0.
    assert!(
        W::ROWS <= W::TILE_ROWS && row <= W::TILE_ROWS - W::ROWS,
        "out of range: the last row lies beyond the tile's rows"
    );
    assert!(
        W::COLS <= W::TILE_COLS && col <= W::TILE_COLS - W::COLS,
        "out of range: the last column lies beyond the tile's columns"
    );
    assert!(
        row.is_multiple_of(W::ROW_STEP),
        "misaligned: in a column-major tile, a matrix starts at a multiple of 16 bytes of a \
         column: of 8 rows for elements of 16 bits; a vector starts at a multiple of its size"
    );
    assert!(
        col.is_multiple_of(W::COL_STEP),
        "misaligned: in a row-major tile, a matrix starts at a multiple of 16 bytes of a row: of 8 \
         columns for elements of 16 bits; a vector starts at a multiple of its size"
    );
}
