//! Makes fragments from closures, and passes their elements to closures.

use super::Rounded;
use crate::element::{Bits16, Bits32, Element};
use crate::fragment::{Accumulator, Fragment, FragmentShape, Role, RoleC, put, take};
use crate::lane::{Lane, LaneCapture};
use crate::scope::Warp;
use crate::target::BuiltFor;

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    /// Makes the matrix with the elements `value(row, col)`.
    #[inline]
    #[track_caller]
    pub fn from_fn(warp: Warp<'_>, value: impl Fn(usize, usize) -> T + LaneCapture) -> Self {
        Self::from_fn_with_lane(warp, |_, row, col| value(row, col))
    }

    /// Makes the matrix with the elements `value(lane, row, col)`, in the lane that holds each. The
    /// lane may read shared memory, for example.
    #[inline]
    #[track_caller]
    pub fn from_fn_with_lane(
        warp: Warp<'_>,
        value: impl Fn(Lane<'_>, usize, usize) -> T + LaneCapture,
    ) -> Self {
        Self::from_registers(warp.each(|lane| {
            let mut registers: S::Registers = bytemuck::Zeroable::zeroed();
            for index in 0..S::LAYOUT.elements() {
                let (row, col) = S::LAYOUT.position(lane.id(), index);
                put::<T>(registers.as_mut(), index, value(lane, row, col));
            }
            registers
        }))
    }

    /// Calls `read(row, col, value)` for every element, in the lane that holds it.
    #[inline]
    #[track_caller]
    pub fn for_each(&self, warp: Warp<'_>, read: impl Fn(usize, usize, T) + LaneCapture) {
        self.for_each_with_lane(warp, |_, row, col, value| read(row, col, value));
    }

    /// Calls `read(lane, row, col, value)` for every element, in the lane that holds it.
    #[inline]
    #[track_caller]
    pub fn for_each_with_lane(
        &self,
        warp: Warp<'_>,
        read: impl Fn(Lane<'_>, usize, usize, T) + LaneCapture,
    ) {
        let registers = &self.registers;
        warp.each(|lane| {
            let registers = lane.get(registers);
            for index in 0..S::LAYOUT.elements() {
                let (row, col) = S::LAYOUT.position(lane.id(), index);
                read(lane, row, col, take::<T>(registers.as_ref(), index));
            }
        });
    }

    /// Makes a matrix of the same shape and role with the elements `value(row, col, old)`.
    ///
    /// The element type may change: for example from `f32` accumulators to `bf16`, before a store.
    #[inline]
    #[track_caller]
    pub fn map<U: Element>(
        &self,
        warp: Warp<'_>,
        value: impl Fn(usize, usize, T) -> U + LaneCapture,
    ) -> Fragment<R, S, U>
    where
        S: FragmentShape<R, U::Width>,
    {
        self.map_with_lane(warp, |_, row, col, old| value(row, col, old))
    }

    /// Makes a matrix of the same shape and role with the elements `value(lane, row, col, old)`, in
    /// the lane that holds each.
    #[inline]
    #[track_caller]
    pub fn map_with_lane<U: Element>(
        &self,
        warp: Warp<'_>,
        value: impl Fn(Lane<'_>, usize, usize, T) -> U + LaneCapture,
    ) -> Fragment<R, S, U>
    where
        S: FragmentShape<R, U::Width>,
    {
        const {
            assert!(
                <S as FragmentShape<R, T::Width>>::LAYOUT.elements()
                    == <S as FragmentShape<R, U::Width>>::LAYOUT.elements()
            )
        }
        let registers = &self.registers;
        Fragment::from_registers(warp.each(|lane| {
            let old = lane.get(registers);
            let mut new: <S as FragmentShape<R, U::Width>>::Registers =
                bytemuck::Zeroable::zeroed();
            for index in 0..Self::LAYOUT.elements() {
                let (row, col) = Self::LAYOUT.position(lane.id(), index);
                let element = take::<T>(old.as_ref(), index);
                put::<U>(new.as_mut(), index, value(lane, row, col, element));
            }
            new
        }))
    }
}

impl<S> Accumulator<S, f32>
where
    S: FragmentShape<RoleC, Bits32> + FragmentShape<RoleC, Bits16>,
{
    /// Rounds the accumulators to 16 bits.
    #[inline]
    pub fn round<U: Rounded>(&self, _: Warp<'_>) -> Accumulator<S, U>
    where
        Self: BuiltFor<U::Needs>,
    {
        Fragment::from_registers(self.registers.map(|registers| {
            let mut rounded: <S as FragmentShape<RoleC, Bits16>>::Registers =
                bytemuck::Zeroable::zeroed();
            let (pairs, _) = registers.as_ref().as_chunks();
            for (pair, &[low, high]) in rounded.as_mut().iter_mut().zip(pairs) {
                *pair = U::round_pair(f32::from_bits(low), f32::from_bits(high));
            }
            rounded
        }))
    }
}
