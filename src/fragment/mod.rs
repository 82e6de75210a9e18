//! Fragments: matrix operands in the registers of a warp's lanes, and their layouts.
//!
//! A fragment's type has its role (A, B or accumulator), its shape and its element type. So it fits
//! one operand only.
//!
//! | item | purpose |
//! | --- | --- |
//! | [`FragmentA`], [`FragmentB`], [`Accumulator`] | A (M x K), B (K x N), and C or D (M x N) |
//! | [`FragmentSparseA`] | the kept half of a sparse A |
//! | [`M16N8K16`] and others | shapes |
//! | [`RowMajor`], [`ColMajor`] | orders of matrices in memory |
//! | [`Layout`] | which lane holds which element |
//! | [`ScaleA`], [`ScaleB`] | scales of block scaling |
//! | [`Mxf8f6f4`], [`Mxf4`], [`Mxf4Nvf4`] | kinds of block scaling |
//!
//! Loads, stores and multiplications of fragments are in [`mma`](crate::mma).
//!
//! ```
//! use ptx_matrix::element::f16;
//! use ptx_matrix::fragment::{FragmentA, M16N8K16};
//!
//! type A = FragmentA<M16N8K16, f16>;
//! assert_eq!((A::ROWS, A::COLS), (16, 16));
//! assert_eq!(A::position(5, 0), (1, 2)); // Lane 5's first element is in row 1, column 2.
//! assert_eq!(A::owner(1, 2), (5, 0));
//! ```

mod arrangement;
mod kept;
mod layout;
mod layouts;
mod order;
mod row;
mod scales;
mod shape;
mod sparse;
mod tile;

pub use arrangement::{Arrangement, Packed};
pub use kept::Kept;
pub(crate) use layout::Bit;
pub use layout::Layout;
pub use order::{ColMajor, Order, RowMajor};
pub use row::RowAddr;
pub use scales::{Mxf4, Mxf4Nvf4, Mxf8f6f4, ScaleA, ScaleB, ScaledKind, Scales, Selected};
pub use shape::{
    FragmentShape, M8N8K4, M8N8K4Quad, M8N8K16, M8N8K32, M8N8K128, M16N8K4, M16N8K8, M16N8K8Pairs,
    M16N8K16, M16N8K32, M16N8K64, M16N8K128, M16N8K256, Registers, Role, RoleA, RoleB, RoleC,
    Shape,
};
pub use sparse::{RoleSparseA, SparseWidth};
pub use tile::{SwizzleBits, TileSize};

use crate::element::Element;
use crate::element::Width;
use crate::lane::{Lane, PerLane};
use core::marker::PhantomData;

/// A matrix operand in the registers of a warp's lanes: role `R`, shape `S`, element type `T`.
///
/// [`FragmentA`], [`FragmentB`] and [`Accumulator`] name the roles. [`LAYOUT`](Self::LAYOUT) says
/// which lane holds which element (PTX ISA 9.7.14.5.7 and .8).
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// /// D = A x B: row-major A, column-major B, both 16-bit. D is stored as bf16.
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
///     let b = FragmentB::<M16N8K16, f16>::load(warp, &tile_b, (0, 0)); // ldmatrix.x2
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

/// The A operand of an `mma`: M x K.
pub type FragmentA<S, T> = Fragment<RoleA, S, T>;
/// The kept elements of a sparse A: M x K/2. [`Metadata`](crate::mma::Metadata) has their columns.
pub type FragmentSparseA<S, T> = Fragment<RoleSparseA, S, T>;
/// The B operand of an `mma`: K x N.
pub type FragmentB<S, T> = Fragment<RoleB, S, T>;
/// The accumulator of an `mma`, C and D: M x N.
pub type Accumulator<S, T> = Fragment<RoleC, S, T>;

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Clone for Fragment<R, S, T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Copy for Fragment<R, S, T> {}

// SAFETY: all-zero registers are all-zero elements. (`bytemuck::zeroed()` makes arrays of
// accumulators without a loop over their elements. Such a loop would keep them in memory.)
unsafe impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> bytemuck::Zeroable
    for Fragment<R, S, T>
{
}

impl<R: Role, S: FragmentShape<R, T::Width>, T: Element> Fragment<R, S, T> {
    /// Which lane holds which element.
    pub const LAYOUT: Layout = S::LAYOUT;
    /// Rows of the matrix.
    pub const ROWS: usize = S::LAYOUT.rows();
    /// Columns of the matrix.
    pub const COLS: usize = S::LAYOUT.cols();

    /// The (row, column) of element `index` of `lane`.
    #[inline]
    pub const fn position(lane: usize, index: usize) -> (usize, usize) {
        S::LAYOUT.position(lane, index)
    }

    /// The (lane, index) that holds the element at (row, column).
    #[inline]
    pub const fn owner(row: usize, col: usize) -> (usize, usize) {
        S::LAYOUT.owner(row, col)
    }

    /// Makes the matrix of zeros.
    #[inline]
    pub fn zero() -> Self {
        bytemuck::Zeroable::zeroed()
    }

    /// Returns element `index` of the lane: the one at [`position`](Self::position)`(lane.id(),
    /// index)`.
    #[inline]
    #[track_caller]
    pub fn get(&self, lane: Lane<'_>, index: usize) -> T {
        assert!(
            index < S::LAYOUT.elements(),
            "the index is out of range: a lane of this fragment holds {} elements",
            S::LAYOUT.elements()
        );
        take::<T>(self.registers.lane_ref(lane).as_ref(), index)
    }

    /// The registers, in the form that the instructions take.
    #[inline]
    pub fn registers(&self) -> PerLane<S::Registers> {
        self.registers
    }

    /// Makes a fragment of its registers.
    #[inline]
    pub const fn from_registers(registers: PerLane<S::Registers>) -> Self {
        Fragment { registers, _element: PhantomData }
    }
}

/// Returns element `index` of a lane's registers.
#[inline]
pub(crate) fn take<T: Element>(registers: &[<T::Width as Width>::Register], index: usize) -> T {
    let per_register = T::Width::PER_REGISTER;
    T::from_bits(T::Width::unpack(registers[index / per_register], index % per_register))
}

/// Writes element `index` of a lane's registers.
#[inline]
pub(crate) fn put<T: Element>(
    registers: &mut [<T::Width as Width>::Register],
    index: usize,
    value: T,
) {
    let per_register = T::Width::PER_REGISTER;
    T::Width::pack(&mut registers[index / per_register], index % per_register, value.to_bits());
}
