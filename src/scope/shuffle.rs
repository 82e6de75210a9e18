//! Warp shuffles: exchange of values between lanes (`shfl.sync`, PTX ISA 9.7.9.6).

use crate::lane::{PerLane, Site};
use crate::machine;
use crate::scope::Warp;
use bytemuck::Pod;

/// Warp shuffles: lanes exchange values without memory, 32 bits in each `shfl.sync` (PTX ISA
/// 9.7.9.6).
///
/// `T` consists of whole registers: its size and alignment are multiples of 4 bytes. Another type
/// does not compile. Needs sm_75.
impl Warp<'_> {
    /// Each lane gets the value of lane `id ^ mask` (`shfl.sync.bfly.b32`). `mask` is from 0 to 31.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Computes in each lane the sum over all lanes.
    /// #[kernel(threads = 32)]
    /// fn total(block: &Block, d: GlobalMut<f32>) {
    ///     let warp = block.warp();
    ///     let mut sums = warp.each(|lane| lane.id() as f32);
    ///     for mask in [16, 8, 4, 2, 1] {
    ///         let others = warp.shuffle_xor(&sums, mask);
    ///         warp.update(&mut sums, |lane, sum| *sum += lane.get(&others));
    ///     }
    ///     warp.each(|lane| d.set(lane.id(), lane.get(&sums)));
    /// }
    ///
    /// let mut d = [0.0; 32];
    /// total::simulate(1, &mut d).check();
    /// assert_eq!(d, [496.0; 32]);
    /// ```
    ///
    /// # Panics
    /// If `mask` is more than 31.
    #[inline]
    #[track_caller]
    pub fn shuffle_xor<T: Pod>(self, values: &PerLane<T>, mask: u32) -> PerLane<T> {
        const { assert_registers::<T>() }
        assert!(mask < 32, "`mask` must be less than 32: a warp has 32 lanes");
        // SAFETY: warp scope is converged.
        unsafe { machine::shuffle_xor(Site::here(), values, mask) }
    }

    /// Each lane gets the value of lane `id - by` (`shfl.sync.up.b32`). The first `by` lanes keep
    /// their own. `by` is from 0 to 31.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Computes in each lane the sum over the lanes up to it.
    /// #[kernel(threads = 32)]
    /// fn running_sum(block: &Block, d: GlobalMut<u64>) {
    ///     let warp = block.warp();
    ///     let mut sums = warp.each(|lane| lane.id() as u64);
    ///     for by in [1, 2, 4, 8, 16] {
    ///         let before = warp.shuffle_up(&sums, by);
    ///         warp.update(&mut sums, |lane, sum| {
    ///             if lane.id() >= by as usize {
    ///                 *sum += lane.get(&before);
    ///             }
    ///         });
    ///     }
    ///     warp.each(|lane| d.set(lane.id(), lane.get(&sums)));
    /// }
    ///
    /// let mut d = [0; 32];
    /// running_sum::simulate(1, &mut d).check();
    /// assert_eq!((d[0], d[4], d[31]), (0, 10, 496));
    /// ```
    ///
    /// # Panics
    /// If `by` is more than 31.
    #[inline]
    #[track_caller]
    pub fn shuffle_up<T: Pod>(self, values: &PerLane<T>, by: u32) -> PerLane<T> {
        const { assert_registers::<T>() }
        assert!(by < 32, "`by` must be less than 32: a warp has 32 lanes");
        // SAFETY: warp scope is converged.
        unsafe { machine::shuffle_up(Site::here(), values, by) }
    }

    /// Each lane gets the value of lane `id + by` (`shfl.sync.down.b32`). The last `by` lanes keep
    /// their own. `by` is from 0 to 31.
    ///
    /// # Panics
    /// If `by` is more than 31.
    #[inline]
    #[track_caller]
    pub fn shuffle_down<T: Pod>(self, values: &PerLane<T>, by: u32) -> PerLane<T> {
        const { assert_registers::<T>() }
        assert!(by < 32, "`by` must be less than 32: a warp has 32 lanes");
        // SAFETY: warp scope is converged.
        unsafe { machine::shuffle_down(Site::here(), values, by) }
    }

    /// Each lane gets the value of lane `from & 31`, with a `from` of its own
    /// (`shfl.sync.idx.b32`).
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// #[kernel(threads = 32)]
    /// fn reverse(block: &Block, a: Global<f64>, d: GlobalMut<f64>) {
    ///     let warp = block.warp();
    ///     let numbers = warp.each(|lane| a.get(lane.id()));
    ///     let reversed = warp.shuffle(&numbers, &warp.each(|lane| 31 - lane.id() as u32));
    ///     warp.each(|lane| d.set(lane.id(), lane.get(&reversed)));
    /// }
    ///
    /// let a: Vec<f64> = (0..32).map(f64::from).collect();
    /// let mut d = [0.0; 32];
    /// reverse::simulate(1, &a, &mut d).check();
    /// assert_eq!((d[0], d[30]), (31.0, 1.0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn shuffle<T: Pod>(self, values: &PerLane<T>, from: &PerLane<u32>) -> PerLane<T> {
        const { assert_registers::<T>() }
        // SAFETY: warp scope is converged.
        unsafe { machine::shuffle(Site::here(), values, from) }
    }

    /// Returns the value of lane 0, for the whole warp (`shfl.sync.idx.b32`).
    ///
    /// A lane's value reaches warp scope so: for conditions, indices of tiles, and operands that
    /// are the same in all lanes.
    ///
    /// ```
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Doubles numbers until the largest one is at least `limit`. (Lane 0 has the largest one.)
    /// #[kernel(threads = 32)]
    /// fn double(block: &Block, d: GlobalMut<u32>, limit: u32) {
    ///     let warp = block.warp();
    ///     let mut numbers = warp.each(|lane| d.get(lane, lane.id()));
    ///     while warp.broadcast(&numbers) < limit {
    ///         warp.update(&mut numbers, |_, number| *number *= 2);
    ///     }
    ///     warp.each(|lane| d.set(lane.id(), lane.get(&numbers)));
    /// }
    ///
    /// let mut d: Vec<u32> = (1..=32).rev().collect();
    /// double::simulate(1, &mut d, 1000).check();
    /// assert_eq!((d[0], d[31]), (1024, 32));
    /// ```
    #[inline]
    #[track_caller]
    pub fn broadcast<T: Pod>(self, values: &PerLane<T>) -> T {
        const { assert_registers::<T>() }
        // SAFETY: warp scope is converged.
        unsafe { machine::broadcast(Site::here(), values) }
    }
}

/// Each public function evaluates it, so that the compiler names the caller in an error.
const fn assert_registers<T>() {
    assert!(
        size_of::<T>().is_multiple_of(4) && align_of::<T>().is_multiple_of(4),
        "lanes exchange whole registers: size and alignment of the type must be multiples of 32 \
         bits"
    );
}
