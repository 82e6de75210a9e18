//! Accesses to the memory of asynchronous copies before the copies have landed.

use super::{Matrix, load, misuses};
use ptx_matrix::copy::CpAsync;
use ptx_matrix::prelude::*;

type Tile = SharedTile<u32, 8, 8>;

/// Starts to copy a tile.
#[inline]
fn start(threads: impl Threads, tile: Tile, a: Global<u32>, first: usize) {
    tile.copy_async(threads, a, |row, col| first + row * 8 + col);
}

/// Stores a tile to `d`. Each lane reads elements that other lanes have copied.
#[inline]
fn read(warp: Warp<'_>, tile: Tile, d: GlobalMut<u32>) {
    warp.each(|lane| {
        let other = 31 - lane.id();
        d.set(lane.id(), tile.get(lane, (other / 8, other % 8)));
    });
}

misuses! {
    /// A tile is read before the wait for its copy.
    read_before_wait(32, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        start(warp, tile, a, 0);
        CpAsync::<16>::commit(warp);
        if mended {
            CpAsync::<16>::wait::<0>(warp);
        }
        warp.sync();
        read(warp, tile, d);
    }

    /// A wait for a copy that is in no group.
    wait_without_commit(32, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        start(warp, tile, a, 0);
        if mended {
            CpAsync::<16>::commit(warp);
        }
        CpAsync::<16>::wait::<0>(warp);
        warp.sync();
        read(warp, tile, d);
    }

    /// A wait that leaves the newest group in flight; then the tile of this group is read.
    wait_for_too_few(32, "sm_80", mended, block, tiles: [Tile; 2], a, d, _nothing) {
        let warp = block.warp();
        for (index, tile) in tiles.into_iter().enumerate() {
            start(warp, tile, a, index * 64);
            CpAsync::<16>::commit(warp);
        }
        if mended {
            CpAsync::<16>::wait::<0>(warp);
        } else {
            CpAsync::<16>::wait::<1>(warp);
        }
        warp.sync();
        read(warp, tiles[1], d);
    }

    /// A lane waits for its own copies, and reads those of another lane.
    wait_without_warp_sync(32, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        start(warp, tile, a, 0);
        CpAsync::<16>::commit(warp);
        CpAsync::<16>::wait::<0>(warp);
        if mended {
            warp.sync();
        }
        read(warp, tile, d);
    }

    /// A warp waits for its own copies, and another warp reads them.
    wait_without_block_sync(64, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        if warp.index() == 0 {
            start(warp, tile, a, 0);
            CpAsync::<16>::commit(warp);
            CpAsync::<16>::wait::<0>(warp);
        }
        if mended {
            block.sync();
        }
        if warp.index() == 1 {
            read(warp, tile, d);
        }
    }

    /// `ldmatrix` loads a tile before the wait for its copy.
    ldmatrix_before_wait(32, "sm_80", mended, block, tiles: [Tile; 2], a, d, _nothing) {
        let warp = block.warp();
        for tile in tiles {
            start(warp, tile, a, 0);
        }
        CpAsync::<16>::commit(warp);
        if mended {
            CpAsync::<16>::wait::<0>(warp);
        }
        warp.sync();
        // SAFETY: The two tiles are contiguous, and together have the 512 bytes of the matrix.
        load(warp, unsafe { Matrix::from_address(tiles[0].address()) }, d);
    }

    /// A tile is written while a copy to it is in flight.
    write_in_flight(32, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        start(warp, tile, a, 0);
        CpAsync::<16>::commit(warp);
        if mended {
            CpAsync::<16>::wait::<0>(warp);
            warp.sync();
        }
        tile.fill(warp, |_, _| 1);
        CpAsync::<16>::wait::<0>(warp);
        warp.sync();
        read(warp, tile, d);
    }

    /// Other lanes start a second copy to a tile while the first is in flight.
    copy_in_flight(32, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        for first in [0, 64] {
            warp.each(|lane| {
                let chunk = (lane.id() + first / 64) % 16;
                if lane.id() < 16 {
                    CpAsync::<16>::copy(
                        lane,
                        &tile,
                        (chunk / 2, chunk % 2 * 4),
                        a,
                        first + chunk * 4,
                    );
                }
            });
            CpAsync::<16>::commit(warp);
            if mended {
                CpAsync::<16>::wait::<0>(warp);
                warp.sync();
            }
        }
        CpAsync::<16>::wait::<0>(warp);
        warp.sync();
        read(warp, tile, d);
    }

    /// A warp starts a copy to a tile that another warp still reads.
    copy_over_anothers_read(64, "sm_80", mended, block, tile: Tile, a, d, _nothing) {
        let warp = block.warp();
        tile.fill(block, |_, _| 5);
        block.sync();
        if warp.index() == 0 {
            read(warp, tile, d);
        }
        if mended {
            block.sync();
        }
        if warp.index() == 1 {
            start(warp, tile, a, 0);
            CpAsync::<16>::commit(warp);
            CpAsync::<16>::wait::<0>(warp);
        }
    }

    /// Two stages and three copies: the third copy goes to the stage of the first, which is still
    /// read.
    pipeline(64, "sm_80", mended, block, stages: SharedRing<Tile, 2>, a, d, _nothing) {
        let warp = block.warp();
        let begin = |step: usize| {
            if step < 6 {
                start(block, stages.part(step % 2), a, step * 64);
            }
            CpAsync::<16>::commit(warp);
        };
        begin(0);
        begin(1);
        for step in 0..6 {
            CpAsync::<16>::wait::<1>(warp);
            block.sync();
            stages
                .part(step % 2)
                .for_each(block, |row, col, value| d.set(step * 64 + row * 8 + col, value));
            if mended {
                block.sync();
            }
            begin(step + 2);
        }
        CpAsync::<16>::wait::<0>(warp);
    }
}
