//! The staging tiles of a consumer, and what an epilogue does with them.

use crate::parts::scheduler::{MatrixCoord, WorkTile};
use ptx_matrix::prelude::*;

/// The staging tiles of one consumer: TMA loads C into them, and stores D from them.
#[derive(Clone, Copy)]
pub struct Staging<Tiles> {
    /// The tiles.
    pub tiles: Tiles,
    /// Phase completes when C is in the tiles.
    full: Barrier,
    /// The phase of the first load for the next tile of D.
    phase: Phase,
    /// Whether a load is in flight.
    is_loading: bool,
}

impl<Tiles: Copy> Staging<Tiles> {
    /// The staging tiles of one consumer, whose loads of C complete phases of a barrier.
    #[inline]
    pub fn new(tiles: Tiles, full: Barrier) -> Self {
        Staging { tiles, full, phase: Phase::FIRST, is_loading: false }
    }

    /// Whether C is on its way to the tiles.
    #[inline]
    pub fn is_loading(&self) -> bool {
        self.is_loading
    }

    /// Says that C is on its way to the tiles from now on. Returns the barrier on which the load
    /// completes its bytes, and on which a thread expects them.
    #[inline]
    pub fn begin_load(&mut self) -> Barrier {
        self.is_loading = true;
        self.full
    }

    /// Counts the loads of a tile of D. Returns the phase of the first.
    #[inline]
    pub fn count_loads(&mut self, loads: u32) -> Phase {
        let first = self.phase;
        self.phase = first.after(loads);
        first
    }

    /// Waits until C is in the tiles.
    #[inline]
    pub fn wait(&mut self, group: WarpGroup<'_>, phase: Phase) {
        self.full.wait(group.warp(), phase);
        self.is_loading = false;
    }
}

/// The epilogue of a GEMM on `wgmma`: transforms accumulators and stores them. See
/// [`TmaStore`](super::TmaStore).
pub trait EpilogueStore<Tiles, Accumulators> {
    /// Starts to load what `store` will read, before the tile is multiplied. The consumer's first
    /// element is at `at` of D. All its threads call it.
    #[inline]
    fn begin(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<Tiles>,
        tile: &WorkTile,
        at: MatrixCoord,
    ) {
        let _ = (group, staging, tile, at);
    }

    /// Stores one consumer's accumulators; their first element is at `at` of D. All its threads
    /// call it. It waits until earlier TMA stores have read the staging tiles.
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<Tiles>,
        tile: &WorkTile,
        at: MatrixCoord,
        accumulators: &Accumulators,
    );
}
