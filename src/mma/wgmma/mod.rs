//! `wgmma`: asynchronous matrix multiply-accumulate by a warpgroup (PTX ISA 9.7.15).

mod accumulator;
mod accumulator_tile;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod forms;
mod operand;
mod rows;
mod shared;
mod sparse;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
mod sparse_forms;

use crate::element::Element;
use crate::fragment::{FragmentA, FragmentShape, Registers, RoleA, Shape};
use crate::isa::Plain;
use crate::lane::{PerLane, Sealed, Site};
use crate::machine::wgmma::{Form, Simulation, check_finished, commit, fence, settled, wait_for};
use crate::mma::Transposition;
use crate::scope::WarpGroup;
use crate::target::{BuildTarget, BuiltFor, OnlyArch, Supports};
use accumulator::RegistersOf;
pub use accumulator::{GroupAccumulator, M64, WgmmaColumns};
use core::marker::PhantomData;
pub use operand::{
    DenseA, MatrixA, MatrixB, Multiplicand, PatternSwizzle, SparseA, SparsityA, Transposable,
};
#[allow(unused_imports, reason = "kernels by a form's name are the host's")]
pub(crate) use operand::{descriptor, width};
pub use shared::{PeerAccumulator, SharedAccumulator};
pub use sparse::{IssueSparse, WgmmaSparse, WgmmaSparseForm};

/// Multiplies A and B, and accumulates: D = A x B + D, 64 x `N`, asynchronously, for one warpgroup.
///
/// PTX: `wgmma.mma_async.sync.aligned.m64nNkK.D.A.B{.OPTION}` (PTX ISA 9.7.15). Needs sm_90a. No
/// newer GPU has it.
///
/// | A, B | D | K | N | option |
/// | --- | --- | --- | --- | --- |
/// | f16 | f32, f16 | 16 | multiples of 8 up to 256 | |
/// | bf16 | f32 | 16 | the same | |
/// | [`tf32`] | f32 | 8 | the same | |
/// | [`F8E4M3`], [`F8E5M2`] | f32, f16 | 32 | the same | |
/// | i8, u8 | i32 | 32 | 8, 16, 24, 32, and multiples of 16 up to 256 | [`SatFinite`] |
/// | [`b1`] | i32 | 256 | the same | [`AndPopc`] |
///
/// Where a row names two element types, A and B may have different ones. For a structured sparse A,
/// use [`WgmmaSparse`].
///
/// A and B are in swizzled shared tiles
/// ([`SharedTile::matrix_a`](crate::memory::SharedTile::matrix_a)). A may be in registers instead.
/// `wgmma` reads shared memory through the async proxy:
///
/// - It sees ordinary stores after a [`Warp::fence_for_bulk`](crate::scope::Warp::fence_for_bulk)
///   of the storing warps, and a `sync`.
/// - It sees TMA loads after the wait for their `mbarrier`.
///
/// Accumulators in flight have the type [`InFlight`], which cannot be read. [`InFlight::finish`]
/// waits for them. `docs/NUMERICS.md` describes the rounding of this instruction.
///
/// ```
/// use ptx_matrix::{mma::{GroupAccumulator, Wgmma}, prelude::*};
///
/// /// D = A x B: 64 x 32, bf16 into f32, K = 64.
/// #[kernel(threads = 128, target = "sm_90a")]
/// fn multiply(
///     block: &Block,
///     #[shared] tile_a: SharedTile<bf16, 64, 64, Swizzle128>,
///     #[shared] tile_b: SharedTile<bf16, 64, 32, Swizzle128, ColMajor>,
///     a: Global<bf16>,
///     b: Global<bf16>,
///     d: GlobalMut<f32>,
/// ) {
///     let group = block.warp_group();
///     tile_a.fill(group, |row, k| a.get(row * 64 + k));
///     tile_b.fill(group, |k, col| b.get(k * 32 + col));
///     group.warp().fence_for_bulk();
///     group.sync();
///     let mut accumulators = GroupAccumulator::<32, f32>::zero().begin(group);
///     Wgmma::<32, bf16, bf16, f32>::issue(group, &mut accumulators, |issue| {
///         for k in 0..4 {
///             issue.accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
///         }
///     });
///     accumulators.finish(group).for_each(group, |row, col, value| d.set(row * 32 + col, value));
/// }
///
/// let a: Vec<bf16> = (0..64 * 64).map(|i| bf16::from_f32((i % 7) as f32)).collect();
/// let b: Vec<bf16> = (0..64 * 32).map(|i| bf16::from_f32((i % 5) as f32)).collect();
/// let mut d = vec![0.0; 64 * 32];
/// multiply::simulate(1, &a, &b, &mut d).check();
/// let expected: f32 = (0..64).map(|k| a[50 * 64 + k].to_f32() * b[k * 32 + 9].to_f32()).sum();
/// assert_eq!(d[50 * 32 + 9], expected);
/// ```
///
/// [`tf32`]: crate::element::tf32
/// [`F8E4M3`]: crate::element::F8E4M3
/// [`F8E5M2`]: crate::element::F8E5M2
/// [`SatFinite`]: crate::isa::SatFinite
/// [`b1`]: crate::element::b1
/// [`AndPopc`]: crate::isa::AndPopc
pub struct Wgmma<const N: usize, A, B, D, O = Plain, Target = BuildTarget>(
    PhantomData<(A, B, D, O, Target)>,
);
impl<const N: usize, A, B, D, O, Target> Sealed for Wgmma<N, A, B, D, O, Target> {}

/// A form of `wgmma.mma_async` that exists: see the table at [`Wgmma`].
#[diagnostic::on_unimplemented(
    message = "there is no form `{Self}`",
    note = "`Wgmma<N, A, B, D>` exists for f16 into f32 or f16, bf16 and tf32 into f32, F8E4M3 and \
            F8E5M2 into f32 or f16, for N of each multiple of 8 up to 256, and for i8 and u8 into \
            i32, and, with `AndPopc`, b1, for N of 8, 16, 24, 32 and each multiple of 16 up to 256",
    note = "among builds for GPUs, only those for sm_90a have it: give the kernel \
            `target = \"sm_90a\"`"
)]
pub trait WgmmaForm: Sealed {
    /// The registers of D in one lane.
    type Registers: Registers<Register = u32>;
    /// The `mma` shape of a warp's A fragment, for A in registers: 16 of the 64 rows.
    type Shape: Shape;
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
    unsafe fn shared<const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool>(
        site: Site,
        d: PerLane<Self::Registers>,
        a: u64,
        b: u64,
        adds: bool,
    ) -> PerLane<Self::Registers> {
        let simulation = Simulation::new(site, Self::SIMULATED, (b, TRANS_B), adds, NEGATE);
        simulation.with_a_in_shared_memory(d, a, TRANS_A)
    }

    /// The instruction with A in registers. The default is its simulation.
    ///
    /// # Safety
    /// As for the raw functions.
    #[doc(hidden)]
    #[inline]
    unsafe fn registers<const NEGATE: bool, const TRANS_B: bool>(
        site: Site,
        d: PerLane<Self::Registers>,
        a: PerLane<[u32; 4]>,
        b: u64,
        adds: bool,
    ) -> PerLane<Self::Registers> {
        let simulation = Simulation::new(site, Self::SIMULATED, (b, TRANS_B), adds, NEGATE);
        simulation.with_a_in_registers(d, a)
    }
}

/// A form of [`Wgmma`] or [`WgmmaSparse`] that can subtract the product: one of floating-point
/// elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not subtract",
    note = "`wgmma` negates floating-point operands only"
)]
pub trait Subtracts: Sealed {}

/// Accumulators of `wgmma` in flight: nobody may touch the registers before
/// [`finish`](Self::finish).
///
/// The order in a mainloop: wait for the stage's tiles, multiply them with [`Wgmma::issue`], then
/// [`wait`](Self::wait) for the group that read them, and release the stage. Several accumulators
/// can be in flight. [`finish_behind`](Self::finish_behind) returns the older ones while the newer
/// ones continue.
///
/// The builder refuses a kernel in which ptxas ends the overlap. Two things between a `wgmma` and
/// its wait do that. One is a bounds check that may branch to a panic: load by `if i < a.len()`.
/// The other is making further accumulators: make zeros before.
#[must_use = "what is in flight is to be waited for, by `finish`"]
pub struct InFlight<const N: usize, T: Element>
where
    M64<N>: WgmmaColumns<T::Width>,
{
    registers: PerLane<RegistersOf<N, T>>,
}

impl<const N: usize, T: Element> GroupAccumulator<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
{
    /// Forces the computation of the accumulators to finish here. This is an optimisation barrier,
    /// no instruction.
    ///
    /// Otherwise the compiler may move parts of it past the following `wgmma`s, where it needs
    /// registers in addition to theirs.
    #[inline]
    pub fn settled(self, _: WarpGroup<'_>) -> Self
    where
        Self: BuiltFor<OnlyArch<90>>,
    {
        GroupAccumulator { registers: settled(Site::here(), self.registers) }
    }

    /// Hands the accumulators to `wgmma`.
    #[inline]
    pub fn begin(self, _: WarpGroup<'_>) -> InFlight<N, T>
    where
        Self: BuiltFor<OnlyArch<90>>,
    {
        InFlight { registers: settled(Site::here(), self.registers) }
    }
}

impl<const N: usize, T: Element> InFlight<N, T>
where
    M64<N>: WgmmaColumns<T::Width>,
{
    /// Waits until at most the `NEWEST` newest groups are in flight (`wgmma.wait_group`).
    ///
    /// The older groups have then read their tiles. Once the producer is notified, it can fill
    /// these tiles again.
    #[inline]
    #[track_caller]
    pub fn wait<const NEWEST: u32>(&mut self, group: WarpGroup<'_>)
    where
        Self: BuiltFor<OnlyArch<90>>,
    {
        // SAFETY: at warpgroup scope the warps are converged.
        unsafe { wait_for::<NEWEST>(Site::here(), group.block().at) };
    }

    /// Waits for all groups (`wgmma.wait_group 0`), and returns the accumulators.
    #[inline]
    #[track_caller]
    pub fn finish(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T>
    where
        Self: BuiltFor<OnlyArch<90>>,
    {
        let site = Site::here();
        // SAFETY: at warpgroup scope the warps are converged.
        unsafe { wait_for::<0>(site, group.block().at) };
        GroupAccumulator { registers: settled(site, self.registers) }
    }

    /// Waits until at most the `NEWEST` newest groups are in flight (`wgmma.wait_group`), and
    /// returns these accumulators.
    ///
    /// The newest groups add to other accumulators. The tensor cores work on them while the
    /// warpgroup computes with these.
    ///
    /// The type does not exclude that one of the newest groups adds to these accumulators. The
    /// simulator reports it. On a GPU, the values are then undefined.
    ///
    /// A loop that alternates two accumulators does two steps in each iteration, each with its own,
    /// and waits for both before the next iteration. With one step, or with a group in flight from
    /// one iteration to the next, ptxas may copy the registers in flight, and the builder refuses
    /// the kernel.
    ///
    /// ```
    /// use ptx_matrix::{mma::{GroupAccumulator, Wgmma}, prelude::*};
    ///
    /// /// D = A x B - A x C / 2. A x C is halved while A x B is in flight.
    /// #[kernel(threads = 128, target = "sm_90a")]
    /// fn beside(
    ///     block: &Block,
    ///     #[shared] tile_a: SharedTile<bf16, 64, 16, Swizzle32>,
    ///     #[shared] tile_b: SharedTile<bf16, 16, 8, Swizzle32, ColMajor>,
    ///     #[shared] tile_c: SharedTile<bf16, 16, 8, Swizzle32, ColMajor>,
    ///     d: GlobalMut<f32>,
    /// ) {
    ///     let group = block.warp_group();
    ///     tile_a.fill(group, |row, k| bf16::from_f32((row + k) as f32));
    ///     tile_b.fill(group, |k, col| bf16::from_f32((k * col % 3) as f32));
    ///     tile_c.fill(group, |k, col| bf16::from_f32((k == col) as u32 as f32));
    ///     group.warp().fence_for_bulk();
    ///     group.sync();
    ///     let mut first = GroupAccumulator::<8, f32>::zero().begin(group);
    ///     let mut second = GroupAccumulator::<8, f32>::zero().begin(group);
    ///     Wgmma::<8, bf16, bf16, f32>::issue(group, &mut first, |issue| {
    ///         issue.multiply(tile_a.matrix_a((0, 0)), tile_c.matrix_b((0, 0)));
    ///     });
    ///     Wgmma::<8, bf16, bf16, f32>::issue(group, &mut second, |issue| {
    ///         issue.multiply(tile_a.matrix_a((0, 0)), tile_b.matrix_b((0, 0)));
    ///     });
    ///     let half = first.finish_behind::<1>(group).map(group, |_, _, value| value * 0.5);
    ///     let acc = second.finish(group);
    ///     acc.zip(group, 0, &half, |acc, half| acc - half)
    ///         .for_each(group, |row, col, value| d.set(row * 8 + col, value));
    /// }
    ///
    /// let mut d = vec![0.0; 64 * 8];
    /// beside::simulate(1, &mut d).check();
    /// let sum: usize = (0..16).map(|k| (5 + k) * (k * 2 % 3)).sum();
    /// assert_eq!(d[5 * 8 + 2], sum as f32 - (5 + 2) as f32 * 0.5);
    /// ```
    #[inline]
    #[track_caller]
    pub fn finish_behind<const NEWEST: u32>(self, group: WarpGroup<'_>) -> GroupAccumulator<N, T>
    where
        Self: BuiltFor<OnlyArch<90>>,
    {
        let site = Site::here();
        // SAFETY: at warpgroup scope the warps are converged.
        unsafe { wait_for::<NEWEST>(site, group.block().at) };
        check_finished(site, &self.registers);
        GroupAccumulator { registers: settled(site, self.registers) }
    }
}

impl<const N: usize, A, B, D, O, Target> Wgmma<N, A, B, D, O, Target>
where
    A: Element,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    Self: WgmmaForm<Registers = RegistersOf<N, D>>,
{
    /// Issues the `wgmma`s of `work` as one group: `wgmma.fence` before them, `wgmma.commit_group`
    /// after them.
    ///
    /// The group is complete after [`InFlight::finish`], or after a [`wait`](InFlight::wait) that
    /// leaves at most the later groups in flight.
    #[inline]
    #[track_caller]
    pub fn issue(
        group: WarpGroup<'_>,
        accumulators: &mut InFlight<N, D>,
        work: impl FnOnce(&mut Issue<'_, N, A, B, D, O, Target>),
    ) where
        Target: Supports<OnlyArch<90>>,
    {
        in_group(Site::here(), group, || work(&mut Issue { accumulators, _form: PhantomData }));
    }
}

/// Makes one group of all `wgmma`s that `work` issues.
#[inline]
fn in_group(site: Site, _: WarpGroup<'_>, work: impl FnOnce()) {
    // SAFETY: at warpgroup scope the warps are converged.
    unsafe { fence(site) };
    work();
    // SAFETY: as above.
    unsafe { commit(site) };
}

/// The group of `wgmma`s that [`Wgmma::issue`] is issuing.
pub struct Issue<'s, const N: usize, A, B, D: Element, O, Target>
where
    M64<N>: WgmmaColumns<D::Width>,
{
    accumulators: &'s mut InFlight<N, D>,
    _form: PhantomData<Wgmma<N, A, B, D, O, Target>>,
}

impl<const N: usize, A, B, D, O, Target> Issue<'_, N, A, B, D, O, Target>
where
    A: Element,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    Wgmma<N, A, B, D, O, Target>: WgmmaForm<Registers = RegistersOf<N, D>>,
{
    /// Issues D = A x B + D.
    #[inline]
    #[track_caller]
    pub fn accumulate<X: Transposition, Y: Transposition>(
        &mut self,
        a: MatrixA<A, X>,
        b: MatrixB<N, B, Y>,
    ) {
        self.shared::<X, Y, false>(Site::here(), a, b, true);
    }

    /// Issues D = A x B. The previous value of D is ignored.
    #[inline]
    #[track_caller]
    pub fn multiply<X: Transposition, Y: Transposition>(
        &mut self,
        a: MatrixA<A, X>,
        b: MatrixB<N, B, Y>,
    ) {
        self.shared::<X, Y, false>(Site::here(), a, b, false);
    }

    /// Issues D = D - A x B.
    #[inline]
    #[track_caller]
    pub fn subtract<X: Transposition, Y: Transposition>(
        &mut self,
        a: MatrixA<A, X>,
        b: MatrixB<N, B, Y>,
    ) where
        Wgmma<N, A, B, D, O, Target>: Subtracts,
    {
        self.shared::<X, Y, true>(Site::here(), a, b, true);
    }

    #[inline]
    fn shared<X: Transposition, Y: Transposition, const NEGATE: bool>(
        &mut self,
        site: Site,
        a: MatrixA<A, X>,
        b: MatrixB<N, B, Y>,
        adds: bool,
    ) {
        let (d, a, b) = (self.accumulators.registers, a.descriptor(), b.descriptor());
        // SAFETY: `issue` has a converged warpgroup. The descriptors come from tiles. Only `finish`
        // gives access to the registers.
        let d = unsafe {
            match (X::TRANSPOSED, Y::TRANSPOSED) {
                (false, false) => Wgmma::<N, A, B, D, O, Target>::shared::<NEGATE, false, false>(
                    site, d, a, b, adds,
                ),
                (false, true) => Wgmma::<N, A, B, D, O, Target>::shared::<NEGATE, false, true>(
                    site, d, a, b, adds,
                ),
                (true, false) => Wgmma::<N, A, B, D, O, Target>::shared::<NEGATE, true, false>(
                    site, d, a, b, adds,
                ),
                (true, true) => Wgmma::<N, A, B, D, O, Target>::shared::<NEGATE, true, true>(
                    site, d, a, b, adds,
                ),
            }
        };
        self.accumulators.registers = d;
    }
}

/// The fragment of a warp's 16 rows of A.
type Left<const N: usize, A, B, D, O, Target> =
    FragmentA<<Wgmma<N, A, B, D, O, Target> as WgmmaForm>::Shape, A>;

/// A in registers: each warp holds the A fragment of a 16-row `mma`.
impl<const N: usize, A, B, D, O, Target> Issue<'_, N, A, B, D, O, Target>
where
    A: Element,
    D: Element,
    M64<N>: WgmmaColumns<D::Width>,
    Wgmma<N, A, B, D, O, Target>: WgmmaForm<
            Registers = RegistersOf<N, D>,
            Shape: FragmentShape<RoleA, A::Width, Registers = [u32; 4]>,
        >,
{
    /// Issues D = A x B + D. Each warp has its 16 rows of A in registers.
    ///
    /// A's registers stay in use until the wait. So make all fragments of a step before its first
    /// `accumulate_registers`. A loop that loads the next step's A before the wait needs other
    /// registers for it: unroll the loop by two, with a fragment for each step.
    /// Between the issue and the wait, avoid code that can panic in some lanes only, such as a
    /// bounds check. ptxas would insert a wait there. The builder refuses a kernel that
    /// overwrites A's registers, or for which ptxas remarks on a wait. It names the place.
    ///
    /// Weights of 4 bits: each lane loads its packed numbers, and makes its elements of A of them.
    /// The rows of the weights are the rows of A.
    ///
    /// ```
    /// use ptx_matrix::launch::Tensor;
    /// use ptx_matrix::math::{mul_f16x2, sub_f16x2};
    /// use ptx_matrix::mma::{GroupAccumulator, Wgmma};
    /// use ptx_matrix::prelude::*;
    /// use ptx_matrix::sim::Simulator;
    ///
    /// const ROWS: usize = 64; // Rows of the weights, and of A.
    /// const TOKENS: usize = 32; // Rows of the activations, and columns of B.
    /// const STEP: usize = 64; // Weights of a row that share a scale.
    /// type Activations = SharedTile<f16, STEP, TOKENS, Swizzle128, ColMajor>;
    ///
    /// /// The row, and the place along K, of weight `i` in word `word` of a thread. A word has
    /// /// eight weights, a thread four words in each step. Weights `2 * i` and `2 * i + 1` share a
    /// /// register of A.
    /// fn place(thread: usize, word: usize, i: usize) -> (usize, usize) {
    ///     let (warp, lane) = (thread / 32, thread % 32);
    ///     let row = 16 * warp + lane / 4 + 8 * (word % 2);
    ///     (row, 32 * (word / 2) + 8 * (i / 2) + 2 * (lane % 4) + i % 2)
    /// }
    ///
    /// /// A pair of a word's weights: numbers from 0 to 15, minus 8, times the scale.
    /// fn dequantised(word: u32, pair: usize, scale: f16) -> u32 {
    ///     // Behind the bits of 1024, a number n is the f16 1024 + n.
    ///     let biased = word >> (4 * pair) & 0x000f_000f | 0x6400_6400;
    ///     let biased = [biased, biased >> 16].map(|bits| f16::from_bits(bits as u16));
    ///     let weights = mul_f16x2(sub_f16x2(biased, [f16::from_f32(1032.0); 2]), [scale; 2]);
    ///     let [low, high] = weights.map(|weight| u32::from(weight.to_bits()));
    ///     low | high << 16
    /// }
    ///
    /// /// D = activations x weights^T, with `steps` scales for each row.
    /// #[kernel(threads = 128, target = "sm_90a")]
    /// fn multiply(
    ///     block: &Block,
    ///     #[shared] x: Activations,
    ///     #[shared] full: BarrierMemory,
    ///     weights: Global<u32>,
    ///     scales: Global<f16>,
    ///     activations: TensorMap<Activations, 2>,
    ///     d: GlobalMut<f32>,
    ///     steps: usize,
    /// ) {
    ///     let (group, warp, full) = (block.warp_group(), block.warp(), full.init(block, 1));
    ///     let index = warp.index();
    ///     let mut acc = GroupAccumulator::<TOKENS, f32>::zero();
    ///     for step in 0..steps {
    ///         if index == 0 {
    ///             warp.elect(|lane| {
    ///                 full.arrive_expecting(lane, Activations::BOX_BYTES);
    ///                 x.load_tma(lane, activations.at([(step * STEP) as i32, 0]), full);
    ///             });
    ///         }
    ///         let packed = warp.each(|lane| {
    ///             let thread = 32 * index + lane.id();
    ///             let scale = |word| scales.get(place(thread, word, 0).0 * steps + step);
    ///             (weights.get_vector::<4>((128 * step + thread) * 4), [scale(0), scale(1)])
    ///         });
    ///         let a: [_; 4] = core::array::from_fn(|k| {
    ///             FragmentA::from_registers(warp.each(|lane| {
    ///                 let (words, scales) = lane.get(&packed);
    ///                 core::array::from_fn(|i| {
    ///                     let (word, pair) = (words[k / 2 * 2 + i % 2], k % 2 * 2 + i / 2);
    ///                     dequantised(word, pair, scales[i % 2])
    ///                 })
    ///             }))
    ///         });
    ///         full.wait(warp, Phase::FIRST.after(step as u32));
    ///         let mut in_flight = acc.begin(group);
    ///         Wgmma::<TOKENS, f16, f16, f32>::issue(group, &mut in_flight, |issue| {
    ///             for k in 0..4 {
    ///                 issue.accumulate_registers(&a[k], x.matrix_b((k * 16, 0)));
    ///             }
    ///         });
    ///         acc = in_flight.finish(group);
    ///         block.sync(); // All warps have read the tile.
    ///     }
    ///     acc.for_each(group, |row, token, value| d.set(token * ROWS + row, value));
    /// }
    ///
    /// // The CPU computes with the same packed weights.
    /// const K: usize = 2 * STEP;
    /// let weights: Vec<u32> =
    ///     (1..=(ROWS * K / 8) as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    /// let halves = |len| -> Vec<f16> {
    ///     (0..len).map(|i| f16::from_f32((i % 7) as f32 / 4.0)).collect()
    /// };
    /// let (scales, x) = (halves(ROWS * 2), halves(TOKENS * K));
    /// let (mut d, device) = (vec![0.0; TOKENS * ROWS], Simulator::new(0));
    /// let map = Tensor::<Activations, 2>::new([K, TOKENS]).map(&device, &x[..]).unwrap();
    /// multiply::launch(&device, 1, &weights, &scales, &map, &mut d, 2).check();
    ///
    /// let mut expected = vec![0.0; TOKENS * ROWS];
    /// for (at, word) in weights.iter().enumerate() {
    ///     for i in 0..8 {
    ///         let (step, (row, k)) = (at / 512, place(at / 4 % 128, at % 4, i));
    ///         let number = word >> (16 * (i % 2) + 4 * (i / 2)) & 15;
    ///         let weight = (number as f32 - 8.0) * scales[row * 2 + step].to_f32();
    ///         for token in 0..TOKENS {
    ///             let x = x[token * K + step * STEP + k].to_f32();
    ///             expected[token * ROWS + row] += weight * x;
    ///         }
    ///     }
    /// }
    /// assert_eq!(d, expected);
    /// ```
    #[inline]
    #[track_caller]
    pub fn accumulate_registers<Y: Transposition>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, Y>,
    ) {
        self.registers::<Y, false>(Site::here(), a, b, true);
    }

    /// Issues D = A x B. The previous value of D is ignored.
    #[inline]
    #[track_caller]
    pub fn multiply_registers<Y: Transposition>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, Y>,
    ) {
        self.registers::<Y, false>(Site::here(), a, b, false);
    }

    /// Issues D = D - A x B.
    #[inline]
    #[track_caller]
    pub fn subtract_registers<Y: Transposition>(
        &mut self,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, Y>,
    ) where
        Wgmma<N, A, B, D, O, Target>: Subtracts,
    {
        self.registers::<Y, true>(Site::here(), a, b, true);
    }

    #[inline]
    fn registers<Y: Transposition, const NEGATE: bool>(
        &mut self,
        site: Site,
        a: &Left<N, A, B, D, O, Target>,
        b: MatrixB<N, B, Y>,
        adds: bool,
    ) {
        let (d, a, b) = (self.accumulators.registers, a.registers(), b.descriptor());
        // SAFETY: as in `shared`. The compiler keeps A's registers.
        let d = unsafe {
            if Y::TRANSPOSED {
                Wgmma::<N, A, B, D, O, Target>::registers::<NEGATE, true>(site, d, a, b, adds)
            } else {
                Wgmma::<N, A, B, D, O, Target>::registers::<NEGATE, false>(site, d, a, b, adds)
            }
        };
        self.accumulators.registers = d;
    }
}
