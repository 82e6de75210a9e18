//! An accumulator in shared memory, as it lies in registers.

use super::accumulator::{GroupAccumulator, M64, RegistersOf, WgmmaColumns};
use crate::element::{Bits32, Element, Moved};
use crate::lane::{LaneCapture, Site, array};
use crate::memory::SharedLayout;
use crate::scope::{Threads, WarpGroup};
use crate::target::{AtLeast, BuiltFor};
use crate::{memory::OfPeer, scope::Peer};
use core::marker::PhantomData;

/// Threads of a warpgroup.
const THREADS: usize = 128;
/// Registers that a thread stores or loads at once.
const CHUNK: usize = 4;

/// Shared memory for a [`GroupAccumulator`] as it lies in registers: for a warpgroup that takes it
/// up again, whole; of the same block, or of another of its cluster, which adds it to its own. What
/// is to be read by rows and columns goes to a tile ([`GroupAccumulator::store`]).
///
/// Threads move 16 bytes at a time, neighbours beside each other, without bank conflicts. It has
/// 256 `N` bytes, of elements of 32 bits.
///
/// ```
/// use ptx_matrix::{mma::{GroupAccumulator, SharedAccumulator}, prelude::*};
///
/// /// Each block of a pair has the products of half of K, and adds up half of the columns.
/// #[kernel(threads = 128, cluster = 2, target = "sm_90")]
/// fn add(block: &ClusterBlock<2>, #[shared] halves: SharedRing<SharedAccumulator<8, f32>, 2>, d: GlobalMut<f32>) {
///     let (group, cluster) = (block.warp_group(), block.cluster());
///     let rank = cluster.rank();
///     let sums = GroupAccumulator::<16, f32>::from_fn(group, |row, col| (100 * rank + row + col) as f32);
///     halves.part(0).put(group, &sums.columns(0));
///     halves.part(1).put(group, &sums.columns(8));
///     cluster.sync(); // Both have stored.
///     let [one, other] = [0, 1].map(|peer| halves.of(cluster.peer(peer)).part(rank).get(group));
///     let sums = one.zip(group, 0, &other, |one, other| one + other);
///     sums.for_each(group, |row, col, sum| d.set(row * 16 + 8 * rank + col, sum));
///     cluster.sync(); // The other has read before this one ends.
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
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T> Copy for SharedAccumulator<N, T> {}

/// A [`SharedAccumulator`] of another block of the cluster: [`SharedAccumulator::of`] makes it.
///
/// The other block runs (behind a [`sync`](crate::scope::Cluster::sync) of the cluster), and does
/// not end meanwhile.
pub struct PeerAccumulator<const N: usize, T> {
    /// Its address is one of the `.shared::cluster` window.
    memory: SharedAccumulator<N, T>,
}

impl<const N: usize, T> Clone for PeerAccumulator<N, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T> Copy for PeerAccumulator<N, T> {}

// SAFETY: the chunks of a warpgroup's threads are so many bytes, and aligned to 16.
unsafe impl<const N: usize, T: Element<Width = Bits32>> SharedLayout for SharedAccumulator<N, T> {
    const BYTES: usize = THREADS * (N / 2) * size_of::<u32>();
    const ALIGN: usize = CHUNK * size_of::<u32>();

    #[inline(always)]
    unsafe fn at(address: u32) -> Self {
        SharedAccumulator { address, _element: PhantomData }
    }
}

impl<const N: usize, T: Element<Width = Bits32>> OfPeer for SharedAccumulator<N, T> {
    type Peer = PeerAccumulator<N, T>;

    #[inline(always)]
    unsafe fn at_peer(address: u32) -> Self::Peer {
        PeerAccumulator { memory: SharedAccumulator { address, _element: PhantomData } }
    }
}

impl<const N: usize, T: Element<Width = Bits32>> SharedAccumulator<N, T>
where
    M64<N>: WgmmaColumns<Bits32>,
{
    /// Stores an accumulator (`st.shared.v4.b32`). Those who take it up are behind a
    /// synchronisation.
    #[inline(always)]
    #[track_caller]
    pub fn put(self, group: WarpGroup<'_>, sums: &GroupAccumulator<N, T>) {
        let registers = &sums.registers;
        let site = Site::here();
        group.each_thread(|lane, thread| {
            let registers = lane.get(registers);
            for (index, chunk) in registers.as_ref().chunks_exact(CHUNK).enumerate() {
                let address = self.chunk(index, thread);
                let chunk: [u32; CHUNK] = array(|i| chunk[i]);
                // SAFETY: a chunk of this thread's, within the memory's bytes.
                unsafe { chunk.store_shared(site, address) };
            }
        });
    }

    /// Takes up what is stored (`ld.shared.v4.b32`).
    #[inline(always)]
    #[track_caller]
    pub fn get(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T> {
        let site = Site::here();
        // SAFETY: a chunk within the memory's bytes.
        self.read(group, |address| unsafe { Moved::load_shared(site, address) })
    }

    /// The same memory of another block of the cluster (`mapa`, PTX ISA 9.7.9.23). Needs sm_90.
    #[inline(always)]
    #[track_caller]
    pub fn of(self, peer: Peer) -> PeerAccumulator<N, T>
    where
        Self: BuiltFor<AtLeast<90>>,
    {
        // SAFETY: the other block's shared memory is laid out as this one's.
        unsafe { Self::at_peer(peer.map(self.address)) }
    }

    #[inline(always)]
    #[track_caller]
    fn read(
        self,
        group: WarpGroup<'_>,
        load: impl Fn(u32) -> [u32; CHUNK] + LaneCapture,
    ) -> GroupAccumulator<N, T> {
        let registers = group.each_thread(|_, thread| {
            let mut registers: RegistersOf<N, T> = bytemuck::Zeroable::zeroed();
            for (index, to) in registers.as_mut().chunks_exact_mut(CHUNK).enumerate() {
                to.copy_from_slice(&load(self.chunk(index, thread)));
            }
            registers
        });
        GroupAccumulator { registers }
    }

    /// Where chunk `index` of a thread lies.
    #[inline(always)]
    fn chunk(self, index: usize, thread: usize) -> u32 {
        self.address + ((index * THREADS + thread) * CHUNK * size_of::<u32>()) as u32
    }
}

impl<const N: usize, T: Element<Width = Bits32>> PeerAccumulator<N, T>
where
    M64<N>: WgmmaColumns<Bits32>,
{
    /// Takes up what is stored there (`ld.shared::cluster.v4.b32`).
    #[inline(always)]
    #[track_caller]
    pub fn get(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T> {
        let site = Site::here();
        // SAFETY: a chunk within the memory's bytes; that the other block runs is the simulator's
        // to check.
        self.memory.read(group, |address| unsafe { Moved::load_cluster(site, address) })
    }
}
