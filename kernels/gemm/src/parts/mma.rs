//! The `mma.sync` of a kernel: element types, shape, fragments.

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

/// An `mma.sync` with the element types of its matrices.
pub trait MmaOp: 'static {
    /// The element of A and B in memory.
    type Input: Element;
    /// The element of C, D and the bias, whose accumulator type is the instruction's.
    type Output: Output;
    /// The shape of the `mma`.
    type Shape: FragmentShape<RoleC, Width<Sum<Self>>> + FragmentShape<RoleC, Width<Self::Output>>;
    /// A fragment of A.
    type A: Copy;
    /// A fragment of B.
    type B: Copy;
    /// The swizzle of K-major tiles, and of MN-major ones.
    type Along: Swizzle;
    /// See [`Along`](Self::Along).
    type Across: Swizzle;

    /// Loads fragments of A, adjacent along M.
    fn load_a<const N: usize, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<Self::Input, ROWS, COLS, S, O>,
        at: (usize, usize),
    ) -> [Self::A; N];

    /// Loads pairs of fragments of B, adjacent along N.
    fn load_b<const N: usize, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<Self::Input, ROWS, COLS, S, O>,
        at: (usize, usize),
    ) -> [[Self::B; 2]; N];

    /// `accumulator += a x b`.
    fn multiply(warp: Warp<'_>, sum: &mut Sums<Self>, a: &Self::A, b: &Self::B);
}

/// The accumulator type.
pub type Sum<P> = <<P as MmaOp>::Output as Output>::Sum;
/// An accumulator fragment.
pub type Sums<P> = Accumulator<<P as MmaOp>::Shape, Sum<P>>;
type Width<T> = <T as Element>::Width;

/// Elements `I` in memory, which `mma` of shape `S` takes for `E`, into `D`.
pub struct Of<S, I, E, D>(PhantomData<(S, I, E, D)>);

impl<S, I, E, D> MmaOp for Of<S, I, E, D>
where
    I: Element,
    E: Element<Width = I::Width>,
    D: Output,
    S: FragmentShape<RoleA, I::Width>
        + FragmentShape<RoleB, I::Width>
        + FragmentShape<RoleC, Width<D::Sum>>
        + FragmentShape<RoleC, Width<D>>,
    I::Width: Swizzled,
    Mma<S, E, E, D::Sum>: MmaForm<
            A = FragmentA<S, E>,
            B = FragmentB<S, E>,
            C = Accumulator<S, D::Sum>,
            D = Accumulator<S, D::Sum>,
        >,
    BuildTarget: Supports<<Mma<S, E, E, D::Sum> as MmaForm>::Needs>,
    Self: 'static,
{
    type Input = I;
    type Output = D;
    type Shape = S;
    type A = FragmentA<S, E>;
    type B = FragmentB<S, E>;
    type Along = <I::Width as Swizzled>::Along;
    type Across = <I::Width as Swizzled>::Across;

    #[inline(always)]
    fn load_a<const N: usize, const ROWS: usize, const COLS: usize, W: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<I, ROWS, COLS, W, O>,
        at: (usize, usize),
    ) -> [Self::A; N] {
        as_multiplied(FragmentA::<S, I>::load_run(warp, tile, at))
    }

    #[inline(always)]
    fn load_b<const N: usize, const ROWS: usize, const COLS: usize, W: Swizzle, O: Order>(
        warp: Warp<'_>,
        tile: &SharedTile<I, ROWS, COLS, W, O>,
        at: (usize, usize),
    ) -> [[Self::B; 2]; N] {
        FragmentB::<S, I>::load_pairs(warp, tile, at).map(as_multiplied)
    }

    #[inline(always)]
    fn multiply(warp: Warp<'_>, sum: &mut Sums<Self>, a: &Self::A, b: &Self::B) {
        Mma::<S, E, E, D::Sum>::accumulate(warp, sum, a, b);
    }
}

/// Fragments as of the elements that they are multiplied as, whose bits are the same.
#[inline(always)]
fn as_multiplied<R: Role, S, I: Element, E: Element<Width = I::Width>, const N: usize>(
    fragments: [Fragment<R, S, I>; N],
) -> [Fragment<R, S, E>; N]
where
    S: FragmentShape<R, I::Width>,
{
    fragments.map(|fragment| Fragment::from_registers(fragment.registers()))
}

/// The swizzles that let a warp load fragments of elements of this width without bank conflicts:
/// rows of 16 bytes for `ldmatrix`, or, where it does not make such fragments, elements of four
/// lines. (Bytes across K have conflicts in any; no kernel has such tiles.)
pub trait Swizzled {
    /// Of tiles whose lines are along K.
    type Along: Swizzle;
    /// Of tiles whose lines are across.
    type Across: Swizzle;
}

macro_rules! swizzled {
    ($($width:ident $along:ident $across:ident;)*) => {$(
        impl Swizzled for $width {
            type Along = $along;
            type Across = $across;
        }
    )*};
}
swizzled! {
    Bits8 Swizzle128 Swizzle128;
    Bits16 Swizzle128 Swizzle128;
    Bits32 Swizzle128 SwizzleWords;
    Bits64 SwizzleWords SwizzleWords;
}

/// 16-bit elements, summed in f32.
pub type Bits16Op<T, D = T> = Of<M16N8K16, T, T, D>;
/// f16 where there is no longer `mma` than of K = 8.
pub type F16OnTuring = Of<M16N8K8, f16, f16, f16>;
/// f32 in memory, of which the tensor cores take what tf32 has, and cut off the rest.
pub type Tf32 = Of<M16N8K8, f32, tf32, f32>;
/// f64 where there is only the small `mma`.
pub type F64OnAmpere = Of<M8N8K4, f64, f64, f64>;
/// f64, where A's lines are across K.
pub type F64 = Of<M16N8K16, f64, f64, f64>;
/// f64, where they are along K: with the larger `mma`, registers are spilled there.
pub type F64KMajor = Of<M16N8K8, f64, f64, f64>;
/// f64, of column-major tiles, from which two neighbours are loaded at once.
pub type F64Paired = Of<M16N8K8Pairs, f64, f64, f64>;
/// Signed bytes, summed in s32, which wraps around.
pub type S8 = Of<M16N8K32, i8, i8, i32>;
/// Floats of 8 bits, summed in f32.
pub type Fp8<T, D> = Of<M16N8K32, T, T, D>;

/// Which of two swizzles a factor's tiles have: lines are rows, or columns.
pub trait Lines: Order {
    /// One of them.
    type Swizzle<Rows: Swizzle, Cols: Swizzle>: Swizzle;
}
impl Lines for RowMajor {
    type Swizzle<Rows: Swizzle, Cols: Swizzle> = Rows;
}
impl Lines for ColMajor {
    type Swizzle<Rows: Swizzle, Cols: Swizzle> = Cols;
}

/// The block's tile of A in one step.
pub type TileA<P, O, const M: usize, const K: usize> = SharedTile<
    <P as MmaOp>::Input,
    M,
    K,
    <O as Lines>::Swizzle<<P as MmaOp>::Along, <P as MmaOp>::Across>,
    O,
>;
/// The block's tile of B in one step.
pub type TileB<P, O, const K: usize, const N: usize> = SharedTile<
    <P as MmaOp>::Input,
    K,
    N,
    <O as Lines>::Swizzle<<P as MmaOp>::Across, <P as MmaOp>::Along>,
    O,
>;
/// The tiles of one step.
pub type Stage<P, OA, OB, const M: usize, const N: usize, const K: usize> =
    (TileA<P, OA, M, K>, TileB<P, OB, K, N>);
