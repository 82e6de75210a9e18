//! TMA copies of boxes to and from a part of a tile, by `raw`.

use crate::tensor::Of128;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
// For sm_120 ptxas turns `.shared::cluster` into a call.
#[cfg(not(target_feature = "sm_100"))]
use raw::cp_async_bulk_tensor_2d_shared_cluster_global_tile_mbarrier_complete_tx_bytes as load;
#[cfg(target_feature = "sm_100")]
use raw::cp_async_bulk_tensor_2d_shared_cta_global_tile_mbarrier_complete_tx_bytes as load;

/// A tile that has an [`Of128`] from row 3 on.
pub type Around = SharedTile<u16, 32, 64, Swizzle128>;

/// As `tensor_2d_swizzle_128`, but the box is in a tile from row 3 on. Its address is a multiple of
/// 128 bytes, and not of the 1024 bytes after which the swizzle's pattern repeats.
#[kernel(threads = 64, target = "sm_90")]
pub fn tensor_2d_from_row_3(
    block: &Block,
    #[shared] tile: Around,
    #[shared] full: BarrierMemory,
    from: TensorMap<Of128, 2>,
    to: TensorMapMut<Of128, 2>,
    at: Global<i32>,
    out: GlobalMut<u16>,
) {
    let full = full.init(block, 1);
    let (warp, address) = (block.warp(), tile.address() + 3 * 128);
    tile.fill(block, |_, _| 0);
    warp.fence_for_bulk();
    block.sync();
    if warp.index() == 0 {
        warp.elect(|lane| {
            full.arrive_expecting(lane, Of128::BOX_BYTES);
            // SAFETY: 24 rows from row 3 on are in the tile.
            unsafe {
                load(address, from.as_ptr(), [at.get(0), at.get(1)], full.address());
            }
        });
    }
    full.wait(warp, Phase::FIRST);
    tile.for_each(block, |row, col, value| {
        if (3..27).contains(&row) {
            out.set((row - 3) * 64 + col, value);
        }
    });
    if warp.index() == 1 {
        warp.elect(|lane| {
            // SAFETY: as above.
            unsafe {
                raw::cp_async_bulk_tensor_2d_global_shared_cta_tile_bulk_group(
                    to.as_ptr(),
                    [at.get(2), at.get(3)],
                    address,
                );
            }
            BulkGroup::commit(lane);
            BulkGroup::wait_read::<0>(lane);
        });
    }
}
