//! Accumulators in shared memory, in the layout of their registers.

use super::accumulator::{GroupAccumulator, M64, RegistersOf, WgmmaColumns};
use crate::element::{Bits32, Element, Moved};
use crate::lane::{LaneCapture, Site};
use crate::memory::SharedLayout;
use crate::scope::{Threads, WarpGroup};
use crate::target::{AtLeast, BuiltFor};
use crate::{memory::OfPeer, scope::Peer};
use core::marker::PhantomData;

/// Threads of a warpgroup.
const THREADS: usize = 128;
/// Registers that a thread stores or loads at once.
const CHUNK: usize = 4;

/// Shared memory for a [`GroupAccumulator`], in the layout of its registers.
///
/// A warpgroup of the same block, or of another block of the cluster, loads the whole accumulator
/// again, for example to add it to its own (cluster split-K). For access by rows and columns, store
/// to a tile instead ([`GroupAccumulator::store`]).
///
/// It has 256 x `N` bytes, and elements of 32 bits. Each thread moves 16 bytes at a time.
/// Neighbouring threads access neighbouring bytes, without bank conflicts.
///
/// ```
/// use ptx_matrix::{mma::{GroupAccumulator, SharedAccumulator}, prelude::*};
///
/// /// Each block of a pair has the accumulators of half of K, and reduces half of the columns.
/// #[kernel(threads = 128, cluster = 2, target = "sm_90")]
/// fn add(
///     block: &ClusterBlock<2>,
///     #[shared] halves: SharedRing<SharedAccumulator<8, f32>, 2>,
///     d: GlobalMut<f32>,
/// ) {
///     let (group, cluster) = (block.warp_group(), block.cluster());
///     let rank = cluster.rank();
///     let sums = GroupAccumulator::<16, f32>::from_fn(group, |row, col| {
///         (100 * rank + row + col) as f32
///     });
///     halves.part(0).put(group, &sums.columns(0));
///     halves.part(1).put(group, &sums.columns(8));
///     cluster.sync(); // Both have stored.
///     let [one, other] = [0, 1].map(|peer| halves.of(cluster.peer(peer)).part(rank).get(group));
///     let sums = one.zip(group, 0, &other, |one, other| one + other);
///     sums.for_each(group, |row, col, sum| d.set(row * 16 + 8 * rank + col, sum));
///     cluster.sync(); // The other block reads before this one ends.
/// }
///
/// let mut d = [0.0; 64 * 16];
/// add::simulate(2, &mut d).check();
/// assert_eq!((d[0], d[5 * 16 + 12]), (100.0, 134.0));
/// ```
pub struct SharedAccumulator<const N: usize, T> {
    address: u32,
    _element: PhantomData<T>,
}

impl<const N: usize, T> Clone for SharedAccumulator<N, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T> Copy for SharedAccumulator<N, T> {}

/// A [`SharedAccumulator`] of another block of the cluster, made by [`SharedAccumulator::of`].
///
/// The other block must run: it has started after a [`sync`](crate::scope::Cluster::sync) of the
/// cluster, and does not end before the access.
pub struct PeerAccumulator<const N: usize, T> {
    /// Its address is in the `.shared::cluster` window.
    memory: SharedAccumulator<N, T>,
}

impl<const N: usize, T> Clone for PeerAccumulator<N, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T> Copy for PeerAccumulator<N, T> {}

// SAFETY: `BYTES` is the size of the chunks of all threads of a warpgroup. Chunks are aligned to 16
// bytes.
unsafe impl<const N: usize, T: Element<Width = Bits32>> SharedLayout for SharedAccumulator<N, T> {
    const BYTES: usize = THREADS * (N / 2) * size_of::<u32>();
    const ALIGN: usize = CHUNK * size_of::<u32>();

    #[inline]
    unsafe fn at(address: u32) -> Self {
        SharedAccumulator { address, _element: PhantomData }
    }
}

impl<const N: usize, T: Element<Width = Bits32>> OfPeer for SharedAccumulator<N, T> {
    type Peer = PeerAccumulator<N, T>;

    #[inline]
    unsafe fn at_peer(address: u32) -> Self::Peer {
        PeerAccumulator { memory: SharedAccumulator { address, _element: PhantomData } }
    }
}

impl<const N: usize, T: Element<Width = Bits32>> SharedAccumulator<N, T>
where
    M64<N>: WgmmaColumns<Bits32>,
{
    /// Stores an accumulator (`st.shared.v4.b32`). Readers need a synchronisation before they load
    /// it.
    #[inline]
    #[track_caller]
    pub fn put(self, group: WarpGroup<'_>, accumulator: &GroupAccumulator<N, T>) {
        let registers = &accumulator.registers;
        let site = Site::here();
        group.each_thread(|lane, thread| {
            let registers = lane.get(registers);
            let (chunks, _) = registers.as_ref().as_chunks::<CHUNK>();
            for (index, &chunk) in chunks.iter().enumerate() {
                let address = self.chunk(index, thread);
                // SAFETY: the chunk belongs to this thread and is in the memory's bytes.
                unsafe { chunk.store_shared(site, address) };
            }
        });
    }

    /// Loads the stored accumulator (`ld.shared.v4.b32`).
    #[inline]
    #[track_caller]
    pub fn get(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T> {
        let site = Site::here();
        // SAFETY: the chunk is in the memory's bytes.
        self.read(group, |address| unsafe { Moved::load_shared(site, address) })
    }

    /// Maps to the same memory of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs
    /// sm_90.
    #[inline]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerAccumulator<N, T>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the other block's shared memory has the same layout.
        unsafe { Self::at_peer(peer.map(self.address)) }
    }

    #[inline]
    #[track_caller]
    fn read(
        self,
        group: WarpGroup<'_>,
        load: impl Fn(u32) -> [u32; CHUNK] + LaneCapture,
    ) -> GroupAccumulator<N, T> {
        let registers = group.each_thread(|_, thread| {
            let mut registers: RegistersOf<N, T> = bytemuck::Zeroable::zeroed();
            let (chunks, _) = registers.as_mut().as_chunks_mut();
            for (index, to) in chunks.iter_mut().enumerate() {
                *to = load(self.chunk(index, thread));
            }
            registers
        });
        GroupAccumulator { registers }
    }

    /// The address of chunk `index` of a thread.
    #[inline]
    fn chunk(self, index: usize, thread: usize) -> u32 {
        self.address + ((index * THREADS + thread) * CHUNK * size_of::<u32>()) as u32
    }
}

impl<const N: usize, T: Element<Width = Bits32>> PeerAccumulator<N, T>
where
    M64<N>: WgmmaColumns<Bits32>,
{
    /// Loads the accumulator from the other block (`ld.shared::cluster.v4.b32`).
    #[inline]
    #[track_caller]
    pub fn get(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T> {
        let site = Site::here();
        // SAFETY: the chunk is in the memory's bytes. The simulator checks that the other block
        // runs.
        self.memory.read(group, |address| unsafe { Moved::load_cluster(site, address) })
    }
}
