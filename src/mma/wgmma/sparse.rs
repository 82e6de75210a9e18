//! `wgmma` with a structured sparse A (PTX ISA 9.7.15.6).

use super::accumulator::RegistersOf;
use super::{InFlight, M64, MatrixA, MatrixB, SparseA, Subtracts, WgmmaColumns, in_group};
use crate::element::Element;
use crate::fragment::{FragmentShape, FragmentSparseA, Registers, RoleSparseA, Shape, SparseWidth};
use crate::isa::Plain;
use crate::lane::{PerLane, Sealed, Site};
use crate::machine::wgmma::{Form, Simulation};
use crate::mma::{Among, Metadata, Selector, Transposition};
use crate::scope::WarpGroup;
use crate::target::{BuildTarget, OnlyArch, Supports};
use core::marker::PhantomData;

/// Multiplies a structured sparse A and a dense B, and accumulates: D = A x B + D, 64 x `N`,
/// asynchronously, for one warpgroup.
///
/// PTX: `wgmma.mma_async.sp.sync.aligned.m64nNkK.D.A.B{.OPTION}` (PTX ISA 9.7.15.6). Needs sm_90a.
/// No newer GPU has it.
///
/// Half of each chunk of a row of A is zero: two of four columns (2:4 sparsity), or one of two for
/// tf32.
///
/// | A, B | D | K | selectors | N | option |
/// | --- | --- | --- | --- | --- | --- |
/// | f16 | f32, f16 | 32 | 2 | multiples of 8 up to 256 | |
/// | bf16 | f32 | 32 | 2 | the same | |
/// | [`tf32`] | f32 | 16 | 2 | the same | |
/// | [`F8E4M3`], [`F8E5M2`] | f32, f16 | 64 | 1 | the same | |
/// | i8, u8 | i32 | 64 | 1 | 8, 16, 24, 32, and multiples of 16 up to 256 | [`SatFinite`] |
///
/// Where a row names two element types, A and B may have different ones.
///
/// The differences from [`Wgmma`](crate::mma::Wgmma):
///
/// - A has only its kept elements, 64 x K/2. In shared memory
///   ([`SharedTile::matrix_a`](crate::memory::SharedTile::matrix_a)) it still has 32 bytes of each
///   row. In registers, each warp holds the [`FragmentSparseA`] of a 16-row `mma.sp`.
/// - B has twice the extent along K: 64 bytes.
/// - [`Metadata`] holds the positions of the kept elements. Each warp has the metadata of its 16
///   rows in a register, in the layout of `mma.sp`. The selector chooses one of the matrices in it.
///   The kept elements may be named in any order.
///
/// ```
/// use ptx_matrix::mma::{CompressError, Compressed, GroupAccumulator, Metadata, WgmmaSparse};
/// use ptx_matrix::prelude::*;
///
/// /// D = A x B: 64 x 16, f16 into f32, K = 64, with both selectors.
/// #[kernel(threads = 128, target = "sm_90a")]
/// fn multiply(
///     block: &Block,
///     #[shared] tile_a: SharedTile<f16, 64, 32, Swizzle64>,
///     #[shared] tile_b: SharedTile<f16, 64, 16, Swizzle128, ColMajor>,
///     values: Global<f16>,
///     words: Global<u32>,
///     b: Global<f16>,
///     d: GlobalMut<f32>,
/// ) {
///     let group = block.warp_group();
///     tile_a.fill(group, |row, k| values.get(row * 32 + k));
///     tile_b.fill(group, |k, col| b.get(k * 16 + col));
///     let metadata = Metadata::load(group.warp(), words, group.warp_rank());
///     group.warp().fence_for_bulk();
///     group.sync();
///     let mut accumulators = GroupAccumulator::<16, f32>::zero().begin(group);
///     WgmmaSparse::<16, f16, f16, f32>::issue(group, &mut accumulators, |issue| {
///         issue.accumulate::<0>(tile_a.matrix_a((0, 0)), tile_b.matrix_b((0, 0)), &metadata);
///         issue.accumulate::<1>(tile_a.matrix_a((0, 16)), tile_b.matrix_b((32, 0)), &metadata);
///     });
///     accumulators.finish(group).for_each(group, |row, col, value| d.set(row * 16 + col, value));
/// }
///
/// // Two of each four elements of a row are nonzero: which two depends on the row.
/// let there = |row: usize, k: usize| k % 4 == row % 4 || k % 4 == (row + 1) % 4;
/// let number = |i: usize| f16::from_f32((i % 7) as f32 - 3.0);
/// let dense: Vec<f16> = (0..64 * 64)
///     .map(|i| if there(i / 64, i % 64) { number(i) } else { f16::ZERO })
///     .collect();
/// let b: Vec<f16> = (0..64 * 16).map(|i| number(i / 3)).collect();
/// let a = Compressed::of(&dense, 64, 64)?;
/// let mut d = vec![0.0; 64 * 16];
/// multiply::simulate(1, a.values(), &a.metadata(), &b, &mut d).check();
/// let expected: f32 = (0..64).map(|k| dense[50 * 64 + k].to_f32() * b[k * 16 + 9].to_f32()).sum();
/// assert_eq!(d[50 * 16 + 9], expected);
/// # Ok::<(), CompressError>(())
/// ```
///
/// [`tf32`]: crate::element::tf32
/// [`F8E4M3`]: crate::element::F8E4M3
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`SatFinite`]: crate::isa::SatFinite
pub struct WgmmaSparse<const N: usize, A, B, D, O = Plain, Target = BuildTarget>(
    PhantomData<(A, B, D, O, Target)>,
);
impl<const N: usize, A, B, D, O, Target> Sealed for WgmmaSparse<N, A, B, D, O, Target> {}

/// A form of `wgmma.mma_async.sp` that exists: see the table at [`WgmmaSparse`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`WgmmaSparse<N, A, B, D>` exists for f16 into f32 or f16, bf16 and tf32 into f32, \
            F8E4M3 and F8E5M2 into f32 or f16, for N of each multiple of 8 up to 256, and for i8 \
            and u8 into i32, for N of 8, 16, 24, 32 and each multiple of 16 up to 256",
    note = "among builds for GPUs, only those for sm_90a have it: give the kernel \
            `target = \"sm_90a\"`"
)]
pub trait WgmmaSparseForm: Sealed {
    /// The registers of D in one lane.
    type Registers: Registers<Register = u32>;
    /// The `mma.sp` shape of a warp's A fragment, for A in registers: 16 of the 64 rows.
    type Shape: Shape;
    /// The selectors, as [`SelectorsBelow`](crate::mma::SelectorsBelow) their number.
    type Selectors;
    /// The PTX instruction.
    const PTX: &'static str;

    /// The simulator's description of the form.
    #[doc(hidden)]
    const SIMULATED: Form;

    /// The instruction with A in shared memory. The default is its simulation.
    ///
    /// # Safety
    /// As for the raw functions.
    #[doc(hidden)]
    #[inline]
    unsafe fn shared<
        const SELECTOR: u32,
        const NEGATE: bool,
        const TRANS_A: bool,
        const TRANS_B: bool,
    >(
        site: Site,
        d: PerLane<Self::Registers>,
        a: u64,
        b: u64,
        metadata: PerLane<u32>,
        adds: bool,
    ) -> PerLane<Self::Registers> {
        let simulation = Simulation::new(site, Self::SIMULATED, (b, TRANS_B), adds, NEGATE);
        simulation.sparse(metadata, SELECTOR).with_a_in_shared_memory(d, a, TRANS_A)
    }

    /// The instruction with A in registers. The default is its simulation.
    ///
    /// # Safety
    /// As for the raw functions.
    #[doc(hidden)]
    #[inline]
    unsafe fn registers<const SELECTOR: u32, const NEGATE: bool, const TRANS_B: bool>(
        site: Site,
        d: PerLane<Self::Registers>,
        a: PerLane<[u32; 4]>,
        b: u64,
        metadata: PerLane<u32>,
        adds: bool,
    ) -> PerLane<Self::Registers> {
        let simulation = Simulation::new(site, Self::SIMULATED, (b, TRANS_B), adds, NEGATE);
        simulation.sparse(metadata, SELECTOR).with_a_in_registers(d, a)
    }
}

impl<const N: usize, A, B, D, O, Target> WgmmaSparse<N, A, B, D, O, Target>
where
    A: Element<Width: SparseWidth>,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    Self: WgmmaSparseForm<Registers = RegistersOf<N, D>>,
{
    /// Issues the `wgmma`s of `work` as one group, like [`Wgmma::issue`](crate::mma::Wgmma::issue).
    #[inline]
    #[track_caller]
    pub fn issue(
        group: WarpGroup<'_>,
        accumulators: &mut InFlight<N, D>,
        work: impl FnOnce(&mut IssueSparse<'_, N, A, B, D, O, Target>),
    ) where
        Target: Supports<OnlyArch<90>>,
    {
        in_group(Site::here(), group, || {
            work(&mut IssueSparse { accumulators, _form: PhantomData })
        });
    }
}

/// The group of `wgmma`s that [`WgmmaSparse::issue`] is issuing.
///
/// `SELECTOR` selects A's matrix in the metadata register.
pub struct IssueSparse<'s, const N: usize, A, B, D: Element, O, Target>
where
    M64<N>: WgmmaColumns<D::Width>,
{
    accumulators: &'s mut InFlight<N, D>,
    _form: PhantomData<WgmmaSparse<N, A, B, D, O, Target>>,
}

/// The selectors of a form.
type SelectorsOf<const N: usize, A, B, D, O, Target> =
    <WgmmaSparse<N, A, B, D, O, Target> as WgmmaSparseForm>::Selectors;

impl<const N: usize, A, B, D, O, Target> IssueSparse<'_, N, A, B, D, O, Target>
where
    A: Element<Width: SparseWidth>,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    WgmmaSparse<N, A, B, D, O, Target>: WgmmaSparseForm<Registers = RegistersOf<N, D>>,
{
    /// Issues D = A x B + D.
    #[inline]
    #[track_caller]
    pub fn accumulate<const SELECTOR: u32>(
        &mut self,
        a: MatrixA<A, impl Transposition>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
    {
        self.shared::<SELECTOR, _, _, false>(Site::here(), a, b, metadata, true);
    }

    /// Issues D = A x B. The previous value of D is ignored.
    #[inline]
    #[track_caller]
    pub fn multiply<const SELECTOR: u32>(
        &mut self,
        a: MatrixA<A, impl Transposition>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
    {
        self.shared::<SELECTOR, _, _, false>(Site::here(), a, b, metadata, false);
    }

    /// Issues D = D - A x B.
    #[inline]
    #[track_caller]
    pub fn subtract<const SELECTOR: u32>(
        &mut self,
        a: MatrixA<A, impl Transposition>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
        WgmmaSparse<N, A, B, D, O, Target>: Subtracts,
    {
        self.shared::<SELECTOR, _, _, true>(Site::here(), a, b, metadata, true);
    }

    #[inline]
    fn shared<const SELECTOR: u32, X: Transposition, Y: Transposition, const NEGATE: bool>(
        &mut self,
        site: Site,
        a: MatrixA<A, X>,
        b: MatrixB<N, B, Y, SparseA>,
        metadata: &Metadata<A::Width>,
        adds: bool,
    ) {
        let (d, a, b, kept) =
            (self.accumulators.registers, a.descriptor(), b.descriptor(), metadata.words());
        // SAFETY: `issue` has a converged warpgroup. The descriptors come from tiles. Only `finish`
        // gives access to the registers.
        let d = unsafe {
            match (X::TRANSPOSED, Y::TRANSPOSED) {
                (false, false) => {
                    WgmmaSparse::<N, A, B, D, O, Target>::shared::<SELECTOR, NEGATE, false, false>(
                        site, d, a, b, kept, adds,
                    )
                }
                (false, true) => {
                    WgmmaSparse::<N, A, B, D, O, Target>::shared::<SELECTOR, NEGATE, false, true>(
                        site, d, a, b, kept, adds,
                    )
                }
                (true, false) => {
                    WgmmaSparse::<N, A, B, D, O, Target>::shared::<SELECTOR, NEGATE, true, false>(
                        site, d, a, b, kept, adds,
                    )
                }
                (true, true) => {
                    WgmmaSparse::<N, A, B, D, O, Target>::shared::<SELECTOR, NEGATE, true, true>(
                        site, d, a, b, kept, adds,
                    )
                }
            }
        };
        self.accumulators.registers = d;
    }
}

/// The fragment of the kept elements in a warp's 16 rows of A.
type Left<const N: usize, A, B, D, O, Target> =
    FragmentSparseA<<WgmmaSparse<N, A, B, D, O, Target> as WgmmaSparseForm>::Shape, A>;

/// A in registers: each warp holds the A fragment of a 16-row `mma.sp`.
impl<const N: usize, A, B, D, O, Target> IssueSparse<'_, N, A, B, D, O, Target>
where
    A: Element<Width: SparseWidth>,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    WgmmaSparse<N, A, B, D, O, Target>: WgmmaSparseForm<
            Registers = RegistersOf<N, D>,
            Shape: FragmentShape<RoleSparseA, A::Width, Registers = [u32; 4]>,
        >,
{
    /// Issues D = A x B + D. Each warp has the kept elements of its 16 rows of A in registers.
    #[inline]
    #[track_caller]
    pub fn accumulate_registers<const SELECTOR: u32>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
    {
        self.registers::<SELECTOR, _, false>(Site::here(), a, b, metadata, true);
    }

    /// Issues D = A x B. The previous value of D is ignored.
    #[inline]
    #[track_caller]
    pub fn multiply_registers<const SELECTOR: u32>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
    {
        self.registers::<SELECTOR, _, false>(Site::here(), a, b, metadata, false);
    }

    /// Issues D = D - A x B.
    #[inline]
    #[track_caller]
    pub fn subtract_registers<const SELECTOR: u32>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, impl Transposition, SparseA>,
        metadata: &Metadata<A::Width>,
    ) where
        Selector<SELECTOR>: Among<SelectorsOf<N, A, B, D, O, Target>>,
        WgmmaSparse<N, A, B, D, O, Target>: Subtracts,
    {
        self.registers::<SELECTOR, _, true>(Site::here(), a, b, metadata, true);
    }

    #[inline]
    fn registers<const SELECTOR: u32, Y: Transposition, const NEGATE: bool>(
        &mut self,
        site: Site,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, Y, SparseA>,
        metadata: &Metadata<A::Width>,
        adds: bool,
    ) {
        let (d, a, b, kept) =
            (self.accumulators.registers, a.registers(), b.descriptor(), metadata.words());
        // SAFETY: as in `shared`. The compiler keeps the registers of A and of the metadata.
        let d = unsafe {
            if Y::TRANSPOSED {
                WgmmaSparse::<N, A, B, D, O, Target>::registers::<SELECTOR, NEGATE, true>(
                    site, d, a, b, kept, adds,
                )
            } else {
                WgmmaSparse::<N, A, B, D, O, Target>::registers::<SELECTOR, NEGATE, false>(
                    site, d, a, b, kept, adds,
                )
            }
        };
        self.accumulators.registers = d;
    }
}
