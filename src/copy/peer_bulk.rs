//! Bulk copies and bulk reductions from a tile to a tile of another block of the cluster (DSMEM).

use crate::copy::reduction::SharedReduction;
use crate::element::Element;
use crate::lane::Lane;
use crate::memory::{Order, SharedLayout, SharedTile, Swizzle};
use crate::raw;
use crate::scope::Peer;
use crate::sync::Barrier;
use crate::target::{AtLeast, BuiltFor};

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Starts to copy the tile to another block of the cluster
    /// (`cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`, PTX ISA
    /// 9.7.9.25.4).
    ///
    /// `to` and `barrier` are this block's handles; they name the same places in the shared memory
    /// of `peer`. The copy completes [`COPIED_BYTES`](Self::COPIED_BYTES) on the peer's barrier.
    /// Nobody may write this tile until the peer has waited. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    /// type Tile = SharedTile<u32, 1, 32>;
    ///
    /// /// Each block passes its tile to the next block.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn round(
    ///     block: &ClusterBlock<4>,
    ///     #[shared] (own, come): (Tile, Tile),
    ///     #[shared] full: BarrierMemory,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     own.fill(warp, |_, col| (rank * 100 + col) as u32);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         full.arrive_expecting(lane, Tile::COPIED_BYTES);
    ///     });
    ///     cluster.sync();
    ///     let next = cluster.peer((rank + 1) % 4);
    ///     warp.elect(|lane| own.copy_bulk_to(lane, next, come, full));
    ///     full.wait(warp, Phase::FIRST);
    ///     come.for_each(warp, |_, col, value| d.set(rank * 32 + col, value));
    ///     cluster.sync(); // The block's tile has been read before the block ends.
    /// }
    ///
    /// let mut d = [0; 128];
    /// round::simulate(4, &mut d).check();
    /// assert_eq!((d[0], d[33]), (300, 1));
    /// ```
    #[inline]
    #[track_caller]
    pub fn copy_bulk_to(self, lane: Lane<'_>, peer: Peer, to: Self, barrier: Barrier)
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = lane;
        // SAFETY: both tiles have the same size, and are aligned to 16 at least. The barrier is in
        // the same block as the second. The simulator checks the rest, as above.
        unsafe {
            raw::cp_async_bulk_shared_cluster_shared_cta_mbarrier_complete_tx_bytes(
                peer.map(to.address()),
                self.address(),
                Self::COPIED_BYTES,
                peer.map(barrier.address()),
            );
        }
    }

    /// Starts to reduce the elements of a tile in another block of the cluster by this tile's
    /// (`cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes`, PTX ISA
    /// 9.7.9.25.4).
    ///
    /// `to` and `barrier` are handles as for [`copy_bulk_to`](Self::copy_bulk_to). The reduction
    /// completes [`COPIED_BYTES`](Self::COPIED_BYTES) on the peer's barrier.
    ///
    /// Each element is reduced atomically, so that several blocks may reduce the same tile at once.
    /// Their order is undefined, which affects the results of [`Inc`](crate::copy::reduction::Inc)
    /// and [`Dec`](crate::copy::reduction::Dec). Any other access to the tile comes after a wait
    /// for the barriers of all reductions. After ordinary stores to the tile, the storing warp
    /// executes a [`fence_for_bulk`](crate::scope::Warp::fence_for_bulk). The simulator lets a
    /// reduction land as late as that allows.
    ///
    /// [`SharedReduction`] has the table of elements and reductions. Global memory
    /// ([`reduce_tma`](SharedTile::reduce_tma)) has more of them. `peer` may be the block itself.
    /// That works on an H200, but compute-sanitizer's memcheck (2025.3) reports an invalid write,
    /// and stops the kernel. Needs sm_90.
    ///
    /// ```
    /// use ptx_matrix::{copy::reduction, prelude::*};
    /// type Tile = SharedTile<u32, 1, 32>;
    ///
    /// /// Adds up the numbers of all blocks in block 0, without global memory.
    /// #[kernel(threads = 32, cluster = 4, target = "sm_90")]
    /// fn total(
    ///     block: &ClusterBlock<4>,
    ///     #[shared] (own, sums): (Tile, Tile),
    ///     #[shared] full: BarrierMemory,
    ///     a: Global<u32>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let full = full.init(block, 1);
    ///     let (warp, cluster) = (block.warp(), block.cluster());
    ///     let rank = cluster.rank();
    ///     own.fill(warp, |_, col| a.get(rank * 32 + col));
    ///     sums.fill(warp, |_, _| 0);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     if rank == 0 {
    ///         warp.elect(|lane| {
    ///             full.arrive_expecting(lane, 4 * Tile::COPIED_BYTES);
    ///         });
    ///     }
    ///     cluster.sync(); // Block 0's totals are zero, and its barrier expects the bytes.
    ///     let first = cluster.peer(0);
    ///     warp.elect(|lane| own.reduce_bulk_to(lane, reduction::Add, first, sums, full));
    ///     if rank == 0 {
    ///         full.wait(warp, Phase::FIRST);
    ///         sums.for_each(warp, |_, col, sum| d.set(col, sum));
    ///     }
    ///     cluster.sync(); // The block's tile has been read before the block ends.
    /// }
    ///
    /// let a: Vec<u32> = (0..128).collect();
    /// let mut d = [0; 32];
    /// total::simulate(4, &a, &mut d).check();
    /// assert_eq!(
    ///     d,
    ///     core::array::from_fn(|col| (0..4).map(|rank| (rank * 32 + col) as u32).sum::<u32>())
    /// );
    /// ```
    #[inline]
    #[track_caller]
    pub fn reduce_bulk_to<R: SharedReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        peer: Peer,
        to: Self,
        barrier: Barrier,
    ) where
        Self: BuiltFor<AtLeast<90>>,
    {
        let _ = (lane, reduction);
        let (to, barrier) = (peer.map(to.address()), peer.map(barrier.address()));
        // SAFETY: as above; the reduction exists for the element type.
        unsafe { R::reduce_shared(to, self.address(), Self::COPIED_BYTES, barrier) }
    }

    /// The bytes that [`copy_bulk_to`](Self::copy_bulk_to) and
    /// [`reduce_bulk_to`](Self::reduce_bulk_to) complete on the barrier.
    pub const COPIED_BYTES: u32 = <Self as SharedLayout>::BYTES as u32;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Swizzle128;

    /// A swizzle moves the last elements into the padding.
    #[test]
    fn copy_has_the_padding_of_the_tile() {
        type Padded = SharedTile<u32, 3, 12, Swizzle128>;
        assert!(Padded::offset(2, 8) >= 3 * 12 * 4);
        assert!(Padded::offset(2, 8) + 16 <= Padded::COPIED_BYTES);
    }
}
