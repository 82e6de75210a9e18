//! Accumulators of `wgmma`: 64 rows in the registers of a warpgroup.

use crate::element::{Bits16, Bits32, Element, Width};
use crate::fragment::{
    Accumulator, Fragment, FragmentShape, M16N8K16, Registers, RoleC, put, take,
};
use crate::lane::{LANES, Lane, LaneCapture, PerLane, Sealed};
use crate::mma::Rounded;
use crate::scope::{Threads, WarpGroup};
use crate::target::BuiltFor;

/// The shape of a `wgmma` accumulator: 64 rows and `N` columns.
#[derive(Debug, Clone, Copy)]
pub struct M64<const N: usize>;
impl<const N: usize> Sealed for M64<N> {}

/// An accumulator shape that exists with elements of width `W`: `N` is a multiple of 8, at most
/// 256.
#[diagnostic::on_unimplemented(
    message = "there is no accumulator `{Self}`",
    note = "N is a multiple of 8, from 8 to 256"
)]
pub trait WgmmaColumns<W: Width>: Sealed {
    /// The registers of one lane.
    type Registers: Registers<Register = u32>;
}

macro_rules! accumulators {
    ($(#[$doc:meta])* $($n:literal)*) => {$(
        impl WgmmaColumns<Bits16> for M64<$n> {
            type Registers = [u32; $n / 4];
        }
        impl WgmmaColumns<Bits32> for M64<$n> {
            type Registers = [u32; $n / 2];
        }
    )*};
}
accumulators! {
    8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128 136 144 152 160 168 176 184 192 200 208 216
    224 232 240 248 256
}

/// The registers of an accumulator in one lane.
pub(super) type RegistersOf<const N: usize, T> =
    <M64<N> as WgmmaColumns<<T as Element>::Width>>::Registers;

/// A 64 x `N` accumulator (C and D) of a [`Wgmma`](crate::mma::Wgmma), in the registers of a
/// warpgroup (PTX ISA 9.7.15.5.1, "Register fragments").
///
/// Warp `w` of the four holds the rows from `16 * w` on, as `N / 8` accumulators of `mma.m16n8`,
/// adjacent along N: see [`part`](Self::part). Element `i` of thread `t` of the warpgroup is:
///
/// | row | column |
/// | --- | --- |
/// | `16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2)` | `8 * (i / 4) + 2 * (t % 4) + i % 2` |
///
/// ```
/// use ptx_matrix::mma::GroupAccumulator;
/// type Sums = GroupAccumulator<24, f32>;
/// assert_eq!(Sums::position(37, 6), (16 + 9, 8 + 2)); // lane 5 of warp 1
/// assert_eq!(Sums::owner(25, 10), (37, 6));
/// ```
pub struct GroupAccumulator<const N: usize, T: Element>
where
    M64<N>: WgmmaColumns<T::Width>,
{
    pub(super) registers: PerLane<RegistersOf<N, T>>,
}

impl<const N: usize, T: Element> Clone for GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
{
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<const N: usize, T> Copy for GroupAccumulator<N, T>
where
    T: Element,
    M64<N>: WgmmaColumns<T::Width>,
{
}

/// Elements of a lane in 8 columns.
pub(super) const IN_PART: usize = 4;

impl<const N: usize, T: Element> GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
    M16N8K16: FragmentShape<RoleC, T::Width>,
{
    /// Elements that each lane holds.
    pub const ELEMENTS: usize = N / 2;

    /// The (row, column) of element `index` of a thread of the warpgroup, from 0 to 127.
    #[inline]
    pub const fn position(thread: usize, index: usize) -> (usize, usize) {
        let (row, col) = Accumulator::<M16N8K16, T>::position(thread % LANES, index % IN_PART);
        (16 * (thread / LANES) + row, 8 * (index / IN_PART) + col)
    }

    /// The (thread, index) that holds the element at (row, column).
    #[inline]
    pub const fn owner(row: usize, col: usize) -> (usize, usize) {
        let (lane, index) = Accumulator::<M16N8K16, T>::owner(row % 16, col % 8);
        (LANES * (row / 16) + lane, IN_PART * (col / 8) + index)
    }

    /// Makes the matrix of zeros.
    #[inline]
    pub fn zero() -> Self {
        bytemuck::Zeroable::zeroed()
    }

    /// Makes the matrix with the elements `value(row, col)`.
    #[inline]
    #[track_caller]
    pub fn from_fn(group: WarpGroup<'_>, value: impl Fn(usize, usize) -> T + LaneCapture) -> Self {
        Self::from_fn_with_lane(group, |_, row, col| value(row, col))
    }

    /// Makes the matrix with the elements `value(lane, row, col)`, in the lane that holds each. The
    /// lane may read shared memory, for example.
    #[inline]
    #[track_caller]
    pub fn from_fn_with_lane(
        group: WarpGroup<'_>,
        value: impl Fn(Lane<'_>, usize, usize) -> T + LaneCapture,
    ) -> Self {
        let registers = group.each_thread(|lane, thread| {
            let mut registers: RegistersOf<N, T> = bytemuck::Zeroable::zeroed();
            for index in 0..Self::ELEMENTS {
                let (row, col) = Self::position(thread, index);
                put::<T>(cast_mut::<T>(registers.as_mut()), index, value(lane, row, col));
            }
            registers
        });
        GroupAccumulator { registers }
    }

    /// Calls `read(row, col, value)` for every element, in the lane that holds it.
    #[inline]
    #[track_caller]
    pub fn for_each(&self, group: WarpGroup<'_>, read: impl Fn(usize, usize, T) + LaneCapture) {
        self.for_each_with_lane(group, |_, row, col, value| read(row, col, value));
    }

    /// Calls `read(lane, row, col, value)` for every element, in the lane that holds it.
    #[inline]
    #[track_caller]
    pub fn for_each_with_lane(
        &self,
        group: WarpGroup<'_>,
        read: impl Fn(Lane<'_>, usize, usize, T) + LaneCapture,
    ) {
        let registers = &self.registers;
        group.each_thread(|lane, thread| {
            let registers = lane.get(registers);
            for index in 0..Self::ELEMENTS {
                let (row, col) = Self::position(thread, index);
                read(lane, row, col, take::<T>(cast::<T>(registers.as_ref()), index));
            }
        });
    }

    /// Makes the matrix with the elements `value(row, col, element)`.
    ///
    /// The element type may change, for example from sums of `s8` products to scaled numbers:
    ///
    /// ```
    /// use ptx_matrix::{mma::GroupAccumulator, prelude::*};
    ///
    /// #[kernel(threads = 128, target = "sm_80")]
    /// fn dequantize(block: &Block, scales: Global<f32>, d: GlobalMut<f32>) {
    ///     let group = block.warp_group();
    ///     let sums = GroupAccumulator::<8, i32>::from_fn(group, |row, col| (row * col) as i32);
    ///     let scaled = sums.map(group, |_, col, sum| sum as f32 * scales.get(col));
    ///     scaled.for_each(group, |row, col, value| d.set(row * 8 + col, value));
    /// }
    ///
    /// let scales = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0];
    /// let mut d = [0.0; 64 * 8];
    /// dequantize::simulate(1, &scales, &mut d).check();
    /// assert_eq!(d[33 * 8 + 5], 33.0 * 5.0 * 3.0);
    /// ```
    #[inline]
    #[track_caller]
    pub fn map<U: Element>(
        &self,
        group: WarpGroup<'_>,
        value: impl Fn(usize, usize, T) -> U + LaneCapture,
    ) -> GroupAccumulator<N, U>
    where
        M64<N>: WgmmaColumns<U::Width>,
    {
        self.map_with_lane(group, |_, row, col, element| value(row, col, element))
    }

    /// Makes the matrix with the elements `value(lane, row, col, element)`, in the lane that holds
    /// each.
    #[inline]
    #[track_caller]
    pub fn map_with_lane<U: Element>(
        &self,
        group: WarpGroup<'_>,
        value: impl Fn(Lane<'_>, usize, usize, T) -> U + LaneCapture,
    ) -> GroupAccumulator<N, U>
    where
        M64<N>: WgmmaColumns<U::Width>,
    {
        let (old, first) = (&self.registers, group.warp_rank() * LANES);
        let registers = group.warp().each(|lane| {
            let old = lane.get(old);
            let mut new: RegistersOf<N, U> = bytemuck::Zeroable::zeroed();
            for index in 0..Self::ELEMENTS {
                let (row, col) = Self::position(first + lane.id(), index);
                let element = take::<T>(cast::<T>(old.as_ref()), index);
                put::<U>(cast_mut::<U>(new.as_mut()), index, value(lane, row, col, element));
            }
            new
        });
        GroupAccumulator { registers }
    }

    /// Replaces the elements of the columns from `first` on by `value(element, other)`.
    ///
    /// `other` has the replaced columns, at most `N`, as elements of any type. `first` is a
    /// multiple of 8, and the columns are in the matrix.
    ///
    /// ```
    /// use ptx_matrix::{mma::GroupAccumulator, prelude::*};
    ///
    /// #[kernel(threads = 128, target = "sm_80")]
    /// fn add(block: &Block, d: GlobalMut<f32>) {
    ///     let group = block.warp_group();
    ///     let rows = GroupAccumulator::<24, f32>::from_fn(group, |row, _| row as f32);
    ///     let cols = GroupAccumulator::<8, f32>::from_fn(group, |_, col| 100.0 * col as f32);
    ///     let sums = rows.zip(group, 16, &cols, |row, col| row + col);
    ///     sums.for_each(group, |row, col, sum| d.set(row * 24 + col, sum));
    /// }
    ///
    /// let mut d = [0.0; 64 * 24];
    /// add::simulate(1, &mut d).check();
    /// assert_eq!((d[33 * 24 + 15], d[33 * 24 + 21]), (33.0, 533.0));
    /// ```
    ///
    /// # Panics
    /// If the columns are not in the matrix, or `first` is no multiple of 8.
    #[inline]
    #[track_caller]
    pub fn zip<const COLS: usize, U: Element>(
        &self,
        group: WarpGroup<'_>,
        first: usize,
        other: &GroupAccumulator<COLS, U>,
        value: impl Fn(T, U) -> T + LaneCapture,
    ) -> Self
    where
        M64<COLS>: WgmmaColumns<U::Width>,
    {
        const { assert!(COLS <= N, "columns of the matrix are replaced") };
        assert!(
            first.is_multiple_of(8) && first <= N - COLS,
            "columns of the matrix from a multiple of 8 on"
        );
        let mut registers = self.registers;
        let others = &other.registers;
        group.warp().update(&mut registers, |lane, registers| {
            let others = lane.get(others);
            for index in 0..COLS / 2 {
                let registers = cast_mut::<T>(registers.as_mut());
                let at = first / 2 + index;
                let (element, other) =
                    (take::<T>(registers, at), take::<U>(cast::<U>(others.as_ref()), index));
                put::<T>(registers, at, value(element, other));
            }
        });
        GroupAccumulator { registers }
    }

    /// Copies the columns from `first` on, as many as the result has.
    ///
    /// `first` is a multiple of 8, and the columns are in the matrix.
    #[inline]
    #[track_caller]
    pub fn columns<const COLS: usize>(&self, first: usize) -> GroupAccumulator<COLS, T>
    where
        M64<COLS>: WgmmaColumns<T::Width>,
    {
        const { assert!(COLS <= N, "columns of the matrix") };
        assert!(
            first.is_multiple_of(8) && first <= N - COLS,
            "columns of the matrix from a multiple of 8 on"
        );
        let registers = self.registers.map(|all| {
            let mut some: RegistersOf<COLS, T> = bytemuck::Zeroable::zeroed();
            let count = some.as_ref().len();
            let start = first / 8 * (count / (COLS / 8));
            some.as_mut().copy_from_slice(&all.as_ref()[start..start + count]);
            some
        });
        GroupAccumulator { registers }
    }

    /// The fragment of columns `8 * index` to `8 * index + 7` in the 16 rows of the executing warp.
    ///
    /// It is an accumulator of `mma`, for example for a store with `stmatrix`.
    #[inline]
    #[track_caller]
    pub fn part(&self, index: usize) -> Accumulator<M16N8K16, T> {
        assert!(index < N / 8, "an accumulator has a part for each 8 columns");
        Fragment::from_registers(self.registers.map(|registers| {
            let mut part: <M16N8K16 as FragmentShape<RoleC, T::Width>>::Registers =
                bytemuck::Zeroable::zeroed();
            let count = part.as_ref().len();
            part.as_mut().copy_from_slice(
                &cast::<T>(registers.as_ref())[index * count..(index + 1) * count],
            );
            part
        }))
    }

    /// Returns element `index` of the lane: the one at
    /// [`position`](Self::position)`(thread, index)`, for the lane's number in the warpgroup.
    #[inline]
    #[track_caller]
    pub fn get(&self, lane: Lane<'_>, index: usize) -> T {
        assert!(index < Self::ELEMENTS, "a lane of this accumulator holds N / 2 elements");
        take::<T>(cast::<T>(self.registers.lane_ref(lane).as_ref()), index)
    }

    /// The registers, in the form that the raw functions take.
    #[inline]
    pub fn registers(&self) -> PerLane<RegistersOf<N, T>> {
        self.registers
    }

    /// Makes an accumulator of its registers.
    #[inline]
    pub const fn from_registers(registers: PerLane<RegistersOf<N, T>>) -> Self {
        GroupAccumulator { registers }
    }
}

impl<const N: usize> GroupAccumulator<N, f32>
where
    M64<N>: WgmmaColumns<Bits32> + WgmmaColumns<Bits16>,
{
    /// Rounds the accumulators to 16 bits.
    #[inline]
    pub fn round<U: Rounded>(&self, _: WarpGroup<'_>) -> GroupAccumulator<N, U>
    where
        Self: BuiltFor<U::Needs>,
    {
        let registers = self.registers.map(|registers| {
            let mut rounded: <M64<N> as WgmmaColumns<Bits16>>::Registers =
                bytemuck::Zeroable::zeroed();
            let (pairs, _) = registers.as_ref().as_chunks();
            for (pair, &[low, high]) in rounded.as_mut().iter_mut().zip(pairs) {
                *pair = U::round_pair(f32::from_bits(low), f32::from_bits(high));
            }
            rounded
        });
        GroupAccumulator { registers }
    }
}

// SAFETY: all-zero registers are all-zero elements.
unsafe impl<const N: usize, T: Element> bytemuck::Zeroable for GroupAccumulator<N, T> where
    M64<N>: WgmmaColumns<T::Width>
{
}

/// Reinterprets 32-bit registers as those of the elements' width. All accumulators have 32-bit
/// registers.
#[inline]
pub(super) fn cast<T: Element>(registers: &[u32]) -> &[<T::Width as Width>::Register] {
    bytemuck::must_cast_slice(registers)
}

#[inline]
pub(super) fn cast_mut<T: Element>(registers: &mut [u32]) -> &mut [<T::Width as Width>::Register] {
    bytemuck::must_cast_slice_mut(registers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    /// Each (thread, index) holds one element, and each element has one holder.
    #[test]
    fn layouts_are_bijections() {
        fn check<const N: usize, T: Element>()
        where
            M64<N>: WgmmaColumns<T::Width>,
            M16N8K16: FragmentShape<RoleC, T::Width>,
        {
            let mut seen = std::vec![false; 64 * N];
            for (thread, index) in
                (0..128).flat_map(|thread| (0..N / 2).map(move |index| (thread, index)))
            {
                let (row, col) = GroupAccumulator::<N, T>::position(thread, index);
                assert_eq!(GroupAccumulator::<N, T>::owner(row, col), (thread, index));
                assert!(!std::mem::replace(&mut seen[row * N + col], true));
            }
            assert!(seen.iter().all(|&seen| seen));
        }
        check::<8, f32>();
        check::<24, f32>();
        check::<256, f32>();
        check::<200, f16>();
    }

    /// The PTX ISA's formulas: row `16 * (thread / 32) + thread % 32 / 4`, plus 8 in every second
    /// pair; column `8 * (i / 4) + 2 * (thread % 4)`.
    #[test]
    fn layout_matches_ptx_isa() {
        for (thread, i) in (0..128).flat_map(|thread| (0..48).map(move |i| (thread, i))) {
            let row = 16 * (thread / 32) + thread % 32 / 4 + i / 2 % 2 * 8;
            let col = 8 * (i / 4) + thread % 4 * 2 + i % 2;
            assert_eq!(GroupAccumulator::<96, f32>::position(thread, i), (row, col));
            assert_eq!(GroupAccumulator::<96, f16>::position(thread, i), (row, col));
        }
    }
}
