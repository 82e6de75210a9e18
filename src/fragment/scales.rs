//! The scales of block scaling, and the lanes that hold them.

use super::{Role, RoleA, RoleB};
use crate::element::{Bits8, Element, ue4m3, ue8m0};
use crate::lane::{PerLane, Sealed};
use core::marker::PhantomData;

/// A kind of block scaling: [`Mxf8f6f4`], [`Mxf4`] or [`Mxf4Nvf4`].
pub trait ScaledKind: Sealed + Copy + 'static {
    /// The element type of the scales.
    type Scale: Element<Width = Bits8>;
    /// The scales of a row of A or a column of B, as an array type.
    type Scales;
    /// The number of scales of a row of A or a column of B.
    const SCALES: usize;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ty, $scales:literal $scale:ident;)*) => {$(
        impl Sealed for $kind {}
        impl ScaledKind for $kind {
            type Scale = $scale;
            type Scales = [$scale; $scales];
            const SCALES: usize = $scales;
        }
    )*};
}

/// Block scaling of 32 elements, with one scale (`.kind::mxf8f6f4`, `.scale_vec::1X`).
#[derive(Debug, Clone, Copy)]
pub struct Mxf8f6f4;
/// Block scaling of 64 elements, with one scale for each 32 (`.kind::mxf4`, `.scale_vec::2X`).
#[derive(Debug, Clone, Copy)]
pub struct Mxf4;
/// Block scaling of 64 elements, with `SCALES` scales of type `T` (`.kind::mxf4nvf4`).
///
/// [`ue8m0`]: two or four scales. [`ue4m3`]: four.
#[derive(Debug, Clone, Copy)]
pub struct Mxf4Nvf4<const SCALES: usize, T>(PhantomData<T>);

kinds! {
    Mxf8f6f4, 1 ue8m0;
    Mxf4, 2 ue8m0;
    Mxf4Nvf4<2, ue8m0>, 2 ue8m0;
    Mxf4Nvf4<4, ue8m0>, 4 ue8m0;
    Mxf4Nvf4<4, ue4m3>, 4 ue4m3;
}

/// A [`Select`](crate::mma::Select) as a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Selected {
    /// The first byte.
    pub byte: usize,
    /// The lanes of each four.
    pub thread: usize,
}

/// The scales of role `R` and kind `K`: one register in each lane.
pub struct Scales<R, K> {
    pub(crate) register: PerLane<u32>,
    _kind: PhantomData<fn() -> (R, K)>,
}

/// The scales of the rows of A.
pub type ScaleA<K> = Scales<RoleA, K>;
/// The scales of the columns of B.
pub type ScaleB<K> = Scales<RoleB, K>;

impl<R, K> Clone for Scales<R, K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<R, K> Copy for Scales<R, K> {}

impl<R: Role, K: ScaledKind> Scales<R, K> {
    /// The scale in byte `byte` of the register of `lane`: its set as a selection, its row of A (or
    /// column of B), and its block along K.
    pub const fn position(lane: usize, byte: usize) -> (Selected, usize, usize) {
        let (group, thread) = (lane / 4, lane % 4);
        let (thread, line) =
            if R::RUNS_DOWN { (thread / 2, group + 8 * (thread % 2)) } else { (thread, group) };
        let block = byte % K::SCALES;
        (Selected { byte: byte - block, thread }, line, block)
    }

    /// The registers, in the form that the instruction takes.
    #[inline]
    pub fn registers(&self) -> PerLane<u32> {
        self.register
    }

    /// Makes scales of their registers.
    #[inline]
    pub const fn from_registers(register: PerLane<u32>) -> Self {
        Scales { register, _kind: PhantomData }
    }
}
