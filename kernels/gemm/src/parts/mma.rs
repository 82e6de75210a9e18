//! The `mma.sync` of a kernel: element types, shape and fragments.

use super::number::Output;
use core::marker::PhantomData;
use ptx_matrix::element::{Bits8, Bits16, Bits32, Bits64};
use ptx_matrix::fragment::{
    Fragment, FragmentShape, M8N8K4, M16N8K8Pairs, Order, Role, RoleA, RoleB, RoleC,
};
use ptx_matrix::memory::{Swizzle, SwizzleWords};
use ptx_matrix::mma::MmaForm;
use ptx_matrix::prelude::*;
use ptx_matrix::target::{BuildTarget, Supports};

/// An `mma.sync` instruction with the element types of its matrices.
pub trait MmaOp: 'static {
    /// The element type of A and B in memory.
    type Input: Element;
    /// The element type of C, D and the bias; it determines the accumulator type.
    type Output: Output;
    /// The shape of the `mma`.
    type Shape: FragmentShape<RoleC, Width<Acc<Self>>> + FragmentShape<RoleC, Width<Self::Output>>;
    /// A fragment of A.
    type A: Copy;
    /// A fragment of B.
    type B: Copy;
    /// The swizzle of K-major tiles.
    type KMajorSwizzle: Swizzle;
    /// The swizzle of MN-major tiles.
    type MnMajorSwizzle: Swizzle;

    /// Loads `N` fragments of A, adjacent along M.
    fn load_a<const N: usize, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<Self::Input, ROWS, COLS, S, O>,
        at: (usize, usize),
    ) -> [Self::A; N];

    /// Loads `N` pairs of fragments of B, adjacent along N.
    fn load_b<const N: usize, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<Self::Input, ROWS, COLS, S, O>,
        at: (usize, usize),
    ) -> [[Self::B; 2]; N];

    /// `accumulator += a x b`.
    fn multiply(
        warp: Warp<'_>,
        accumulator: &mut AccumulatorFragment<Self>,
        a: &Self::A,
        b: &Self::B,
    );
}

/// The element type of the accumulators.
pub type Acc<P> = <<P as MmaOp>::Output as Output>::Acc;
/// An accumulator fragment.
pub type AccumulatorFragment<P> = Accumulator<<P as MmaOp>::Shape, Acc<P>>;
type Width<T> = <T as Element>::Width;

/// The `mma` of shape `S` with output `D`: operands are `I` in memory, and `E` to the instruction.
pub struct Of<S, I, E, D>(PhantomData<(S, I, E, D)>);

impl<S, I, E, D> MmaOp for Of<S, I, E, D>
where
    I: Element,
    E: Element<Width = I::Width>,
    D: Output,
    S: FragmentShape<RoleA, I::Width>
        + FragmentShape<RoleB, I::Width>
        + FragmentShape<RoleC, Width<D::Acc>>
        + FragmentShape<RoleC, Width<D>>,
    I::Width: Swizzled,
    Mma<S, E, E, D::Acc>: MmaForm<
            A = FragmentA<S, E>,
            B = FragmentB<S, E>,
            C = Accumulator<S, D::Acc>,
            D = Accumulator<S, D::Acc>,
        >,
    BuildTarget: Supports<<Mma<S, E, E, D::Acc> as MmaForm>::Needs>,
    Self: 'static,
{
    type Input = I;
    type Output = D;
    type Shape = S;
    type A = FragmentA<S, E>;
    type B = FragmentB<S, E>;
    type KMajorSwizzle = <I::Width as Swizzled>::KMajorSwizzle;
    type MnMajorSwizzle = <I::Width as Swizzled>::MnMajorSwizzle;

    #[inline]
    fn load_a<const N: usize, const ROWS: usize, const COLS: usize, W: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<I, ROWS, COLS, W, O>,
        at: (usize, usize),
    ) -> [Self::A; N] {
        as_multiplied(FragmentA::<S, I>::load_run(warp, tile, at))
    }

    #[inline]
    fn load_b<const N: usize, const ROWS: usize, const COLS: usize, W: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<I, ROWS, COLS, W, O>,
        at: (usize, usize),
    ) -> [[Self::B; 2]; N] {
        FragmentB::<S, I>::load_pairs(warp, tile, at).map(as_multiplied)
    }

    #[inline]
    fn multiply(
        warp: Warp<'_>,
        accumulator: &mut AccumulatorFragment<Self>,
        a: &Self::A,
        b: &Self::B,
    ) {
        Mma::<S, E, E, D::Acc>::accumulate(warp, accumulator, a, b);
    }
}

/// Reinterprets fragments as the element type that the instruction takes; the bits stay the same.
#[inline]
fn as_multiplied<R: Role, S, I: Element, E: Element<Width = I::Width>, const N: usize>(
    fragments: [Fragment<R, S, I>; N],
) -> [Fragment<R, S, E>; N]
where
    S: FragmentShape<R, I::Width>,
{
    fragments.map(|fragment| Fragment::from_registers(fragment.registers()))
}

/// The swizzles with which a warp loads fragments of this element width without bank conflicts. It
/// loads rows of 16 bytes by `ldmatrix`. Where `ldmatrix` cannot make the fragments, it loads
/// single elements of four rows or columns. (8-bit MN-major tiles have conflicts with any swizzle;
/// no kernel has such tiles.)
pub trait Swizzled {
    /// The swizzle of K-major tiles.
    type KMajorSwizzle: Swizzle;
    /// The swizzle of MN-major tiles.
    type MnMajorSwizzle: Swizzle;
}

macro_rules! swizzled {
    ($($width:ident $k_major:ident $mn_major:ident;)*) => {$(
        impl Swizzled for $width {
            type KMajorSwizzle = $k_major;
            type MnMajorSwizzle = $mn_major;
        }
    )*};
}
swizzled! {
    Bits8 Swizzle128 Swizzle128;
    Bits16 Swizzle128 Swizzle128;
    Bits32 Swizzle128 SwizzleWords;
    Bits64 SwizzleWords SwizzleWords;
}

/// 16-bit elements, accumulated in f32.
pub type Bits16Op<T, D = T> = Of<M16N8K16, T, T, D>;
/// f16 on sm_75, where K = 8 is the largest.
pub type F16OnTuring = Of<M16N8K8, f16, f16, f16>;
/// f32 in memory, multiplied as tf32: the tensor cores truncate the lower bits.
pub type Tf32 = Of<M16N8K8, f32, tf32, f32>;
/// f64 on sm_80, which has only the small `mma`.
pub type F64OnAmpere = Of<M8N8K4, f64, f64, f64>;
/// f64 with MN-major A.
pub type F64 = Of<M16N8K16, f64, f64, f64>;
/// f64 with K-major A: the larger `mma` would spill registers here.
pub type F64KMajor = Of<M16N8K8, f64, f64, f64>;
/// f64 with column-major tiles, from which one load takes two adjacent elements.
pub type F64Paired = Of<M16N8K8Pairs, f64, f64, f64>;
/// Signed 8-bit integers, accumulated in s32 with wrap-around.
pub type S8 = Of<M16N8K32, i8, i8, i32>;
/// 8-bit floats, accumulated in f32.
pub type Fp8<T, D> = Of<M16N8K32, T, T, D>;

/// Selects one of two swizzles by the order of an operand's tiles.
pub trait SelectSwizzle: Order {
    /// `Rows` for row-major tiles, `Cols` for column-major ones.
    type Swizzle<Rows: Swizzle, Cols: Swizzle>: Swizzle;
}
impl SelectSwizzle for RowMajor {
    type Swizzle<Rows: Swizzle, Cols: Swizzle> = Rows;
}
impl SelectSwizzle for ColMajor {
    type Swizzle<Rows: Swizzle, Cols: Swizzle> = Cols;
}

/// The block's tile of A, of one k-tile.
pub type TileA<P, O, const M: usize, const K: usize> = SharedTile<
    <P as MmaOp>::Input,
    M,
    K,
    <O as SelectSwizzle>::Swizzle<<P as MmaOp>::KMajorSwizzle, <P as MmaOp>::MnMajorSwizzle>,
    O,
>;
/// The block's tile of B, of one k-tile.
pub type TileB<P, O, const K: usize, const N: usize> = SharedTile<
    <P as MmaOp>::Input,
    K,
    N,
    <O as SelectSwizzle>::Swizzle<<P as MmaOp>::MnMajorSwizzle, <P as MmaOp>::KMajorSwizzle>,
    O,
>;
/// The tiles of one stage.
pub type Stage<P, OA, OB, const M: usize, const N: usize, const K: usize> =
    (TileA<P, OA, M, K>, TileB<P, OB, K, N>);
