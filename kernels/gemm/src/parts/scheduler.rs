//! The tile scheduler: assigns tiles of D to blocks, in an L2-friendly order.

use super::args::ProblemShape;
use ptx_matrix::launch::{Dependent, PrecedingEnded};
use ptx_matrix::memory::Global;
use ptx_matrix::scope::Warp;

/// A tile shape: M x N of D, and K of a pipeline stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// K of a stage.
    pub k: usize,
}

/// The place of an element in a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixCoord {
    /// The row.
    pub row: u32,
    /// The column.
    pub col: u32,
}

impl MatrixCoord {
    /// The element `rows` and `cols` further.
    #[inline]
    pub fn offset(self, rows: u32, cols: u32) -> Self {
        MatrixCoord { row: self.row + rows, col: self.col + cols }
    }
}

/// As [`WorkTile::rows`] or [`WorkTile::cols`]: all of the tile's count as in bounds.
pub const WHOLE_TILE: u32 = u32::MAX;

/// A tile of D, or the part of its work that one split of K has.
#[derive(Clone, Copy)]
pub struct WorkTile {
    /// The GEMM of the batch.
    pub batch: u32,
    /// The matrix of partial accumulators, in the order (split, batch).
    pub partial: u32,
    /// Its first row.
    pub row: u32,
    /// Its first column.
    pub col: u32,
    /// Its first k.
    pub k_start: u32,
    /// The length along K.
    pub k_len: u32,
    /// Rows of A in bounds, counted from its first row.
    pub rows: u32,
    /// Columns of B in bounds, counted from its first column.
    pub cols: u32,
    /// Its group, in a grouped GEMM.
    pub group: Option<Group>,
}

impl WorkTile {
    /// Its first element in D.
    #[inline]
    pub fn origin(&self) -> MatrixCoord {
        MatrixCoord { row: self.row, col: self.col }
    }

    /// The matrix B that it takes: its group's, or its batch's.
    #[inline]
    pub fn batch_of_b(&self) -> u32 {
        self.group.map_or(self.batch, |group| group.index)
    }

    /// K-tiles (pipeline stages) of length `tile_k`.
    #[inline]
    pub fn k_tiles(&self, tile_k: usize) -> u32 {
        self.k_len.div_ceil(tile_k as u32)
    }

    /// The rest of the tile after `k` elements of K, or none at its end.
    #[inline]
    pub fn after(self, k: u32) -> Option<Self> {
        (self.k_len > k).then(|| WorkTile {
            k_start: self.k_start + k,
            k_len: self.k_len - k,
            ..self
        })
    }
}

/// Tiles of D that consecutive blocks take along M before they go on along N (rasterization).
/// Together they read few columns of B, which stay in the L2 cache.
pub const RASTER_M: u32 = 8;

impl ProblemShape {
    /// Returns (tile row, tile column) of tile `index` of `tiles_m` x `tiles_n`, in groups of
    /// `raster_m` along M.
    #[inline]
    pub fn raster(index: u32, raster_m: u32, tiles_m: u32, tiles_n: u32) -> (u32, u32) {
        let first = index / (raster_m * tiles_n) * raster_m;
        let height = (tiles_m - first).min(raster_m);
        let index = index % (raster_m * tiles_n);
        (first + index % height, index / height)
    }

    /// Returns the tile of the block with this rank in cluster tile `index`.
    #[inline]
    pub fn work_tile(self, tile: TileShape, cluster: u32, index: u32, rank: u32) -> WorkTile {
        let (tiles_m, tiles_n) = self.cluster_tiles(tile, cluster);
        let partial = index / (tiles_m * tiles_n);
        let raster_m = if self.cluster_along_n { RASTER_M } else { RASTER_M / cluster };
        let (row, col) = Self::raster(index % (tiles_m * tiles_n), raster_m, tiles_m, tiles_n);
        let (row, col) = if self.cluster_along_n {
            (row, col * cluster + rank)
        } else {
            (row * cluster + rank, col)
        };
        let (split, batch) = (partial / self.batches, partial % self.batches);
        let k_start = split * self.k_per_split;
        let (row, col) = (row * tile.m as u32, col * tile.n as u32);
        let (rows, cols) = (self.m.saturating_sub(row), self.n.saturating_sub(col));
        let k_len = (self.k - k_start).min(self.k_per_split);
        WorkTile { batch, partial, row, col, k_start, k_len, rows, cols, group: None }
    }

    /// The number of cluster tiles, of all GEMMs of the batch and all splits.
    #[inline]
    pub fn count(self, tile: TileShape, cluster: u32) -> u32 {
        let (tiles_m, tiles_n) = self.cluster_tiles(tile, cluster);
        tiles_m * tiles_n * self.batches * self.k.div_ceil(self.k_per_split)
    }

    /// The cluster tiles of D along M and along N.
    #[inline]
    fn cluster_tiles(self, tile: TileShape, cluster: u32) -> (u32, u32) {
        let (m, n) = (tile.m as u32, tile.n as u32);
        let (m, n) = if self.cluster_along_n { (m, cluster * n) } else { (cluster * m, n) };
        (self.m.div_ceil(m), self.n.div_ceil(n))
    }
}

/// A source of work tiles. Each warp iterates over them on its own; tile indices ascend.
pub trait TileScheduler {
    /// Returns the iterator of one warp, at its beginning.
    fn begin(self, tile: TileShape, cluster: u32, ended: PrecedingEnded<'_>) -> impl TileWalk;
}

/// One warp's iterator over the work tiles: the tile scheduler's state.
///
/// `while scheduler.advance_to(warp, index)` is CUTLASS's loop while `work_tile_info.is_valid()`;
/// [`work_tile`](Self::work_tile) is `get_current_work`.
pub trait TileWalk: Copy {
    /// Whether the blocks of a cluster have tiles adjacent along N; else along M.
    fn cluster_along_n(&self) -> bool;

    /// Advances to a tile. Returns whether it exists.
    fn advance_to(&mut self, warp: Warp<'_>, index: u32) -> bool;

    /// The current tile, for the block of this rank in its cluster.
    fn work_tile(&self, index: u32, rank: u32) -> WorkTile;
}

/// All tiles of a GEMM, or of a batch.
#[derive(Clone, Copy)]
struct AllTiles {
    shape: ProblemShape,
    tile: TileShape,
    cluster: u32,
    count: u32,
}

impl TileScheduler for ProblemShape {
    #[inline]
    fn begin(self, tile: TileShape, cluster: u32, _: PrecedingEnded<'_>) -> impl TileWalk {
        // This tells the compiler that single blocks are not adjacent along N.
        let shape = ProblemShape { cluster_along_n: cluster > 1 && self.cluster_along_n, ..self };
        AllTiles { shape, tile, cluster, count: shape.count(tile, cluster) }
    }
}

impl TileWalk for AllTiles {
    #[inline]
    fn cluster_along_n(&self) -> bool {
        self.shape.cluster_along_n
    }

    #[inline]
    fn advance_to(&mut self, _: Warp<'_>, index: u32) -> bool {
        index < self.count
    }

    #[inline]
    fn work_tile(&self, index: u32, rank: u32) -> WorkTile {
        self.shape.work_tile(self.tile, self.cluster, index, rank)
    }
}

/// The groups of a grouped GEMM: each group of rows of A and D has its own B.
#[derive(Clone, Copy)]
pub struct Groups<'k> {
    /// One row past the last of each group, where the next begins.
    pub ends: Global<'k, u32>,
    /// Rows of A and D.
    pub rows: u32,
}

/// A group of rows.
#[derive(Clone, Copy)]
pub struct Group {
    /// Its index.
    pub index: u32,
    /// Its first row.
    pub first: u32,
    /// One row past its last.
    pub end: u32,
}

/// A position in the list of groups.
#[derive(Clone, Copy)]
pub struct GroupCursor {
    /// The group.
    pub group: Group,
    /// Tiles of the groups before it.
    pub tiles_before: u32,
}

impl GroupCursor {
    /// The first group.
    pub const FIRST: Self =
        GroupCursor { group: Group { index: 0, first: 0, end: 0 }, tiles_before: 0 };
}

impl Groups<'_> {
    /// Finds the group of a tile; `tiles(rows)` is the number of tiles of a group. The search
    /// begins at `from`, which is not after the group. Returns none if there is no such tile.
    ///
    /// An end less than its predecessor counts as its predecessor. An end beyond the matrix counts
    /// as the end of the matrix. So groups never overlap, whatever the ends are.
    #[inline]
    pub fn find(
        &self,
        warp: Warp<'_>,
        from: GroupCursor,
        tile: u32,
        tiles: impl Fn(u32) -> u32,
    ) -> Option<GroupCursor> {
        let (Group { mut index, mut first, .. }, mut before) = (from.group, from.tiles_before);
        let mut end = first;
        while (index as usize) < self.ends.len() {
            end = self.ends.get(index as usize).min(self.rows).max(first);
            let tiles = tiles(end - first);
            if tile - before < tiles {
                break;
            }
            before += tiles;
            first = end;
            index += 1;
        }
        // `wgmma` follows: ptxas must see that the result is uniform across lanes.
        let [index, first, end, before] =
            [index, first, end, before].map(|number| warp.uniform(number));
        let group = Group { index, first, end };
        ((index as usize) < self.ends.len()).then_some(GroupCursor { group, tiles_before: before })
    }
}

/// The tile scheduler of a grouped GEMM, for blocks without a cluster.
pub struct GroupedTiles<'k> {
    /// The sizes of all groups together.
    pub shape: ProblemShape,
    /// One row past the last of each group.
    pub ends: Dependent<Global<'k, u32>>,
}

#[derive(Clone, Copy)]
struct GroupedWalk<'k> {
    groups: Groups<'k>,
    shape: ProblemShape,
    tile: TileShape,
    cursor: GroupCursor,
}

impl GroupedWalk<'_> {
    /// Tiles of a group of `rows` rows, along M and along N.
    #[inline]
    fn counts(&self, rows: u32) -> (u32, u32) {
        (rows.div_ceil(self.tile.m as u32), self.shape.n.div_ceil(self.tile.n as u32))
    }
}

impl TileScheduler for GroupedTiles<'_> {
    #[inline]
    fn begin(self, tile: TileShape, cluster: u32, ended: PrecedingEnded<'_>) -> impl TileWalk {
        assert!(cluster == 1, "the tiles of groups are for single blocks");
        let groups = Groups { ends: self.ends.get(ended), rows: self.shape.m };
        GroupedWalk { groups, shape: self.shape, tile, cursor: GroupCursor::FIRST }
    }
}

impl TileWalk for GroupedWalk<'_> {
    #[inline]
    fn cluster_along_n(&self) -> bool {
        false
    }

    #[inline]
    fn advance_to(&mut self, warp: Warp<'_>, index: u32) -> bool {
        let tiles = |rows| {
            let (tiles_m, tiles_n) = self.counts(rows);
            tiles_m * tiles_n
        };
        let Some(cursor) = self.groups.find(warp, self.cursor, index, tiles) else { return false };
        self.cursor = cursor;
        true
    }

    #[inline]
    fn work_tile(&self, index: u32, _: u32) -> WorkTile {
        let GroupCursor { group, tiles_before } = self.cursor;
        let (tiles_m, tiles_n) = self.counts(group.end - group.first);
        // As `raster`. `max(1)` and `clamp` remove the panic of a division by zero, which would be
        // an exit from the loop around `wgmma`.
        let index = index - tiles_before;
        let first = index / (RASTER_M * tiles_n).max(1) * RASTER_M;
        let height = (tiles_m - first).clamp(1, RASTER_M);
        let index = index % (RASTER_M * tiles_n).max(1);
        let (row, col) = (first + index % height, index / height);
        let (row, col) = (group.first + row * self.tile.m as u32, col * self.tile.n as u32);
        // Rows after the group's end belong to another group: loading them takes no longer.
        let (rows, cols) = (WHOLE_TILE, WHOLE_TILE);
        let group = Some(group);
        WorkTile {
            batch: 0,
            partial: 0,
            row,
            col,
            k_start: 0,
            k_len: self.shape.k,
            rows,
            cols,
            group,
        }
    }
}
