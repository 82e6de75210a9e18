//! The shapes of `mma`, and the roles of matrices in it.

use super::layout::Layout;
use crate::element::Width;
use crate::lane::{LaneCapture, Sealed};
use core::marker::PhantomData;

/// The shape of a matrix multiplication: A is M x K, B is K x N, C and D are M x N.
pub trait Shape: Sealed + Copy + 'static {
    /// Rows of A, C and D.
    const M: usize;
    /// Columns of B, C and D.
    const N: usize;
    /// Columns of A, rows of B.
    const K: usize;
    /// Simultaneous multiplications. Fragments of A and C hold `COUNT` matrices, adjacent along M.
    /// Fragments of B hold them adjacent along N.
    const COUNT: usize = 1;
}

macro_rules! shapes {
    ($($shape:ident $m:literal $n:literal $k:literal;)*) => {$(
        #[doc = concat!("`.m", $m, "n", $n, "k", $k, "`")]
        #[derive(Debug, Clone, Copy)]
        pub struct $shape;
        impl Sealed for $shape {}
        impl Shape for $shape {
            const M: usize = $m;
            const N: usize = $n;
            const K: usize = $k;
        }
    )*};
}
shapes! {
    M8N8K4 8 8 4;
    M8N8K16 8 8 16;
    M8N8K32 8 8 32;
    M8N8K128 8 8 128;
    M16N8K4 16 8 4;
    M16N8K8 16 8 8;
    M16N8K16 16 8 16;
    M16N8K32 16 8 32;
    M16N8K64 16 8 64;
    M16N8K128 16 8 128;
    M16N8K256 16 8 256;
}

/// Four simultaneous multiplications `.m8n8k4` with f16 (PTX ISA 9.7.14.5.1).
///
/// `OrderA` and `OrderB` are the [`Order`](crate::fragment::Order)s of A and B.
///
/// Eight lanes compute each multiplication: four neighbours, and the four lanes 16 further. The
/// fragments hold four matrices. Those of A and C have 32 rows, adjacent along M. Those of B have
/// 32 columns, adjacent along N. With a row-major A, registers hold neighbours of a row. The order
/// in memory is independent of this.
#[derive(Debug, Clone, Copy)]
pub struct M8N8K4Quad<OrderA, OrderB>(PhantomData<(OrderA, OrderB)>);
impl<OrderA, OrderB> Sealed for M8N8K4Quad<OrderA, OrderB> {}
impl<OrderA: Copy + 'static, OrderB: Copy + 'static> Shape for M8N8K4Quad<OrderA, OrderB> {
    const M: usize = 8;
    const N: usize = 8;
    const K: usize = 4;
    const COUNT: usize = 4;
}

/// `.m16n8k8` of f64 with permuted rows, columns and K, so that lanes hold pairs of neighbours.
/// Needs sm_90.
///
/// A lane's elements of A are pairs of neighbours in a column, and likewise for B. One load
/// (`ld.shared.v2.b64`) fetches each pair from a column-major tile, without bank conflicts if the
/// tile has [`Swizzle128`]. In the instruction's own order, a lane's elements are far from each
/// other. Permuting K in both operands changes only the rounding of the result.
///
/// ```
/// use ptx_matrix::{fragment::M16N8K8Pairs, prelude::*};
///
/// /// D = A x B, of 16 x 8 x 8, all column-major.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn multiply(
///     block: &Block,
///     #[shared] tile_a: SharedTile<f64, 16, 8, Swizzle128, ColMajor>,
///     #[shared] tile_b: SharedTile<f64, 8, 8, Swizzle64, ColMajor>,
///     a: Global<f64>,
///     b: Global<f64>,
///     d: GlobalMut<f64>,
/// ) {
///     let warp = block.warp();
///     tile_a.fill(warp, |row, k| a.get(k * 16 + row));
///     tile_b.fill(warp, |k, col| b.get(col * 8 + k));
///     block.sync();
///     let [a] = FragmentA::<M16N8K8Pairs, f64>::load_run(warp, &tile_a, (0, 0));
///     let [b] = FragmentB::<M16N8K8Pairs, f64>::load_run(warp, &tile_b, (0, 0));
///     let mut acc = Accumulator::<M16N8K8Pairs, f64>::zero();
///     Mma::<M16N8K8Pairs, f64, f64, f64>::accumulate(warp, &mut acc, &a, &b);
///     acc.for_each(warp, |row, col, value| d.set(col * 16 + row, value));
/// }
///
/// let a: Vec<f64> = (0..16 * 8).map(|i| (i % 11) as f64).collect();
/// let b: Vec<f64> = (0..8 * 8).map(|i| (i % 7) as f64).collect();
/// let mut d = vec![0.0; 16 * 8];
/// multiply::simulate(1, &a, &b, &mut d).check();
/// for (i, d) in d.iter().enumerate() {
///     let sum: f64 = (0..8).map(|k| a[k * 16 + i % 16] * b[i / 16 * 8 + k]).sum();
///     assert_eq!(*d, sum);
/// }
/// ```
///
/// [`Swizzle128`]: crate::memory::Swizzle128
#[derive(Debug, Clone, Copy)]
pub struct M16N8K8Pairs;
impl Sealed for M16N8K8Pairs {}
impl Shape for M16N8K8Pairs {
    const M: usize = 16;
    const N: usize = 8;
    const K: usize = 8;
}

/// The role of a matrix in a multiplication: [`RoleA`], [`RoleB`] or [`RoleC`].
pub trait Role: Sealed + Copy + 'static {
    /// The role's letter: `A`, `B` or `C`.
    const NAME: char;
    /// Whether a register's elements are neighbours in a row. Otherwise, they are neighbours in a
    /// column.
    const PACKS_ROWS: bool;
    /// Whether fragments of a run are adjacent along M (downwards). Otherwise, they are adjacent
    /// along the columns. A run of A or B has one range of K.
    const RUNS_DOWN: bool;
}

/// The A operand, M x K.
#[derive(Debug, Clone, Copy)]
pub struct RoleA;
impl Sealed for RoleA {}
impl Role for RoleA {
    const NAME: char = 'A';
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = true;
}

/// The B operand, K x N.
#[derive(Debug, Clone, Copy)]
pub struct RoleB;
impl Sealed for RoleB {}
impl Role for RoleB {
    const NAME: char = 'B';
    const PACKS_ROWS: bool = false;
    const RUNS_DOWN: bool = false;
}

/// The accumulator, M x N: C and D.
#[derive(Debug, Clone, Copy)]
pub struct RoleC;
impl Sealed for RoleC {}
impl Role for RoleC {
    const NAME: char = 'C';
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = false;
}

/// A shape that has fragments of role `R` with elements of width `W`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fragments of role `{R}` with elements of width `{W}`"
)]
pub trait FragmentShape<R: Role, W: Width>: Shape {
    /// The registers of one lane.
    type Registers: Registers<Register = W::Register>;
    /// Which lane holds which element.
    const LAYOUT: Layout;
}

/// The registers of a fragment in one lane.
pub trait Registers:
    Sealed + bytemuck::Pod + LaneCapture + AsRef<[Self::Register]> + AsMut<[Self::Register]>
{
    /// The type of a register: `u32` or `u64`.
    type Register: bytemuck::Pod + LaneCapture;
    /// The number of registers.
    const COUNT: usize;
}

impl<const N: usize> Sealed for [u32; N] {}
impl<const N: usize> Registers for [u32; N]
where
    [u32; N]: bytemuck::Pod,
{
    type Register = u32;
    const COUNT: usize = N;
}

impl<const N: usize> Sealed for [u64; N] {}
impl<const N: usize> Registers for [u64; N]
where
    [u64; N]: bytemuck::Pod,
{
    type Register = u64;
    const COUNT: usize = N;
}
