//! Fragments: the matrices of an `mma`, spread over the registers of a warp's lanes.

mod arrangement;
mod layout;
mod layouts;
mod shape;
mod sparse;

pub use arrangement::{Arrangement, Packed};
pub use layout::{Bit, Layout};
pub use shape::{
    FragmentShape, M8N8K4, M8N8K4Quad, M8N8K16, M8N8K32, M8N8K128, M16N8K4, M16N8K8, M16N8K8Pairs, M16N8K16, M16N8K32,
    M16N8K64, M16N8K128, M16N8K256, Registers, Role, RoleA, RoleB, RoleC, Shape,
};
pub use sparse::{RoleSparseA, SparseWidth};

use crate::element::{Bits16, Bits32, Rounded, Width};
use crate::target::BuiltFor;
use crate::{Element, Lane, LaneCapture, PerLane, Warp};
use core::marker::PhantomData;

/// A matrix of role `R` in a multiplication of shape `S`, with elements of type `T`, spread over a warp's lanes.
///
/// Role, shape and element type are part of its type, so that a fragment only goes where it belongs. Which
/// lane holds which element is [`LAYOUT`](Self::LAYOUT) (PTX ISA 9.7.14.5.7 and .8).
///
/// ```
/// use ptx_matrix::*;
///
/// /// D = A x B for a row-major A and a column-major B, both 16-bit; D goes out as bf16.
/// #[kernel(threads = 32, target = "sm_80")]
/// fn multiply(
///     block: &Block,
///     #[shared] tile_a: SharedTile<f16, 16, 16>,
///     #[shared] tile_b: SharedTile<f16, 16, 8, Unswizzled, ColMajor>,
///     a: Global<f16>,
///     b: Global<f16>,
///     d: GlobalMut<bf16>,
/// ) {
///     let warp = block.warp();
///     tile_a.fill(warp, |row, k| a.get(row * 16 + k));
///     tile_b.fill(warp, |k, col| b.get(col * 16 + k));
///     block.sync();
///     let a = FragmentA::<M16N8K16, f16>::load(warp, &tile_a, (0, 0)); // ldmatrix.x4
///     let b = FragmentB::<M16N8K16, f16>::load(warp, &tile_b, (0, 0)); // ldmatrix.x2, without .trans
///     let mut acc = Accumulator::<M16N8K16, f32>::zero();
///     Mma::<M16N8K16, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b);
///     let rounded = acc.map(warp, |_, _, value| bf16::from_f32(value));
///     rounded.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
/// }
///
/// let (a, b) = ([f16::ONE; 256], [f16::from_f32(2.0); 128]);
/// let mut d = [bf16::ZERO; 128];
/// multiply::simulate(1, &a, &b, &mut d).unwrap();
/// assert_eq!(d[77], bf16::from_f32(32.0));
/// ```
pub struct Fragment<R: Role, S: FragmentShape<R, T::Width>, T: Element> {
    pub(crate) registers: PerLane<S::Registers>,
    _element: PhantomData<fn() -> T>,
}

/// The left factor of a multiplication: M x K.
pub type FragmentA<S, T> = Fragment<RoleA, S, T>;
/// What is kept of a sparse left factor: M x K/2. [`Metadata`](crate::Metadata) says which columns they are of.
pub type FragmentSparseA<S, T> = Fragment<RoleSparseA, S, T>;
/// The right factor of a multiplication: K x N.
pub type FragmentB<S, T> = Fragment<RoleB, S, T>;
/// What a multiplication adds to: M x N, C and D.
pub type Accumulator<S, T> = Fragment<RoleC, S, T>;

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Clone for Fragment<R, S, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Copy for Fragment<R, S, T> {}

// SAFETY: all-zero registers are all-zero elements. (`bytemuck::zeroed()` makes arrays of accumulators without a
// loop over their elements, which would keep them in memory.)
unsafe impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> bytemuck::Zeroable for Fragment<R, S, T> {}

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    /// Which lane holds which element.
    pub const LAYOUT: Layout = S::LAYOUT;
    /// Rows of the matrix.
    pub const ROWS: usize = S::LAYOUT.rows();
    /// Columns of the matrix.
    pub const COLS: usize = S::LAYOUT.cols();

    /// The (row, column) of element `index` of `lane`.
    #[inline(always)]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        S::LAYOUT.position(lane, index)
    }

    /// The (lane, index) that holds the element at (row, column).
    #[inline(always)]
    pub const fn owner(row: usize, col: usize) -> (usize, usize) {
        S::LAYOUT.owner(row, col)
    }

    /// The matrix of zeros.
    #[inline(always)]
    pub fn zero() -> Self {
        bytemuck::Zeroable::zeroed()
    }

    /// The matrix of `value(row, col)`.
    #[inline(always)]
    #[track_caller]
    pub fn from_fn(warp: Warp<'_>, value: impl Fn(usize, usize) -> T + LaneCapture) -> Self {
        Self::from_registers(warp.each(|lane| {
            let mut registers: S::Registers = bytemuck::Zeroable::zeroed();
            for index in 0..S::LAYOUT.elements() {
                let (row, col) = S::LAYOUT.position(lane.id(), index);
                put::<T>(registers.as_mut(), index, value(row, col));
            }
            registers
        }))
    }

    /// Calls `read(row, col, value)` for every element, in the lane that holds it.
    #[inline(always)]
    #[track_caller]
    pub fn for_each(&self, warp: Warp<'_>, read: impl Fn(usize, usize, T) + LaneCapture) {
        let registers = &self.registers;
        warp.each(|lane| {
            let registers = lane.get(registers);
            for index in 0..S::LAYOUT.elements() {
                let (row, col) = S::LAYOUT.position(lane.id(), index);
                read(row, col, take::<T>(registers.as_ref(), index));
            }
        });
    }

    /// The matrix of `value(row, col, old)`, of the same shape and role; the element type may change
    /// (`f32` accumulators to `bf16` before they are stored).
    #[inline(always)]
    #[track_caller]
    pub fn map<U: Element>(
        &self,
        warp: Warp<'_>,
        value: impl Fn(usize, usize, T) -> U + LaneCapture,
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
            let mut new: <S as FragmentShape<R, U::Width>>::Registers = bytemuck::Zeroable::zeroed();
            for index in 0..Self::LAYOUT.elements() {
                let (row, col) = Self::LAYOUT.position(lane.id(), index);
                put::<U>(new.as_mut(), index, value(row, col, take::<T>(old.as_ref(), index)));
            }
            new
        }))
    }

    /// Element `index` of the lane: that at [`position`](Self::position)`(lane.id(), index)`.
    #[inline(always)]
    #[track_caller]
    pub fn get(&self, lane: Lane<'_>, index: usize) -> T {
        assert!(index < S::LAYOUT.elements(), "a lane of this fragment holds {} elements", S::LAYOUT.elements());
        take::<T>(self.registers.lane_ref(lane).as_ref(), index)
    }

    /// The registers, as the instructions take them.
    #[inline(always)]
    pub fn registers(&self) -> PerLane<S::Registers> {
        self.registers
    }

    /// The fragment whose registers these are.
    #[inline(always)]
    pub const fn from_registers(registers: PerLane<S::Registers>) -> Self {
        Fragment { registers, _element: PhantomData }
    }
}

impl<S> Accumulator<S, f32>
where
    S: FragmentShape<RoleC, Bits32> + FragmentShape<RoleC, Bits16>,
{
    /// The sums, rounded to 16 bits.
    #[inline(always)]
    pub fn round<U: Rounded>(&self, _: Warp<'_>) -> Accumulator<S, U>
    where
        Self: BuiltFor<U::Needs>,
    {
        Fragment::from_registers(self.registers.map(|sums| {
            let mut rounded: <S as FragmentShape<RoleC, Bits16>>::Registers = bytemuck::Zeroable::zeroed();
            for (pair, sums) in rounded.as_mut().iter_mut().zip(sums.as_ref().chunks_exact(2)) {
                *pair = U::round_pair(f32::from_bits(sums[0]), f32::from_bits(sums[1]));
            }
            rounded
        }))
    }
}

/// The whole matrix, row by row: what the simulator computes with.
#[cfg(not(target_arch = "nvptx64"))]
impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    pub(crate) fn matrix(&self) -> std::vec::Vec<T> {
        let mut matrix = std::vec![T::zeroed(); Self::ROWS * Self::COLS];
        let (of_lanes, of_elements) = S::LAYOUT.places();
        for (registers, first) in self.registers.array().iter().zip(of_lanes) {
            for (index, further) in of_elements.iter().enumerate() {
                matrix[first + further] = take::<T>(registers.as_ref(), index);
            }
        }
        matrix
    }

    pub(crate) fn from_matrix(matrix: &[T]) -> Self {
        let mut of_lanes: [S::Registers; crate::lane::LANES] = bytemuck::Zeroable::zeroed();
        let (places, of_elements) = S::LAYOUT.places();
        for (registers, first) in of_lanes.iter_mut().zip(places) {
            for (index, further) in of_elements.iter().enumerate() {
                put::<T>(registers.as_mut(), index, matrix[first + further]);
            }
        }
        Self::from_registers(PerLane::from_array(of_lanes))
    }
}

/// Element `index` of a lane's registers.
#[inline(always)]
pub(crate) fn take<T: Element>(registers: &[<T::Width as Width>::Register], index: usize) -> T {
    let per_register = T::Width::PER_REGISTER;
    T::from_bits(T::Width::unpack(registers[index / per_register], index % per_register))
}

/// Puts element `index` of a lane's registers.
#[inline(always)]
pub(crate) fn put<T: Element>(registers: &mut [<T::Width as Width>::Register], index: usize, value: T) {
    let per_register = T::Width::PER_REGISTER;
    T::Width::pack(&mut registers[index / per_register], index % per_register, value.to_bits());
}
