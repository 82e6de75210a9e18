//! Kernels whose blocks come before the kernels ahead have ended: PTX ISA 9.7.13.14
//! `griddepcontrol`, sm_90, PTX 7.8.

use super::param::check_bytes;
use super::{ByValue, KernelInfo, KernelParam, ParamInfo, TypeName};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Device, Params};
use crate::copy::{BoxTile, TensorMap, TensorMode};
use crate::lane::Lane;
use crate::machine::{dependent, host_items};
use crate::scope::Block;
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;

/// Memory that a kernel of `#[kernel(early = true)]` is not to touch before the kernels ahead in
/// the stream have ended: a [`Global`](crate::memory::Global), a
/// [`GlobalMut`](crate::memory::GlobalMut), a [`TensorMap`] or a
/// [`TensorMapMut`](crate::copy::TensorMapMut).
///
/// A kernel with such parameters is waited for where it asks, with
/// [`Block::wait_for_kernels_ahead`]; what it does before, such as to initialise barriers, goes on
/// while the kernel ahead ends. All its memory is `Early`. One without waits at its start.
///
/// ```
/// use ptx_matrix::{launch::Early, prelude::*};
///
/// #[kernel(threads = 32, early = true)]
/// fn double(block: &Block, #[shared] factor: SharedTile<f32, 1, 32>, a: Early<Global<f32>>, d: Early<GlobalMut<f32>>) {
///     let warp = block.warp();
///     factor.fill(warp, |_, _| 2.0);
///     warp.sync();
///     let ended = block.wait_for_kernels_ahead();
///     let (a, d) = (a.get(ended), d.get(ended));
///     warp.each(|lane| d.set(lane.id(), a.get(lane.id()) * factor.get(lane, (0, lane.id()))));
/// }
///
/// let (a, mut d) = ([21.0; 32], [0.0; 32]);
/// double::simulate(1, &a, &mut d).check();
/// assert_eq!(d, [42.0; 32]);
/// ```
///
/// Memory that is not does not go with it:
///
/// ```compile_fail,E0080
/// use ptx_matrix::{launch::Early, prelude::*};
///
/// #[kernel(threads = 32, early = true)]
/// fn copy(block: &Block, a: Global<f32>, d: Early<GlobalMut<f32>>) {}
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Early<P>(P);

/// The kernels ahead in the stream have ended, and what they wrote is seen:
/// [`Block::wait_for_kernels_ahead`].
#[derive(Debug, Clone, Copy)]
pub struct AheadEnded<'b> {
    _block: PhantomData<&'b ()>,
}

impl<P> Early<P> {
    #[inline(always)]
    pub(super) fn new(memory: P) -> Self {
        Early(memory)
    }

    /// The memory, now that it may be touched.
    #[inline(always)]
    pub fn get(self, _: AheadEnded<'_>) -> P {
        self.0
    }
}

impl<'k, Tile: BoxTile, const RANK: usize, Mode: TensorMode>
    Early<TensorMap<'k, Tile, RANK, Mode>>
{
    /// As [`TensorMap::prefetch`]: the map itself is the kernel's own.
    #[inline(always)]
    #[track_caller]
    pub fn prefetch(&self, lane: Lane<'_>)
    where
        TensorMap<'k, Tile, RANK, Mode>: BuiltFor<AtLeast<90>>,
    {
        self.0.prefetch(lane);
    }
}

impl Block<'_> {
    /// Waits until the kernels ahead in the stream have ended, and what they wrote is seen
    /// (`griddepcontrol.wait`). For each thread that touches memory; on a GPU older than sm_90,
    /// or a simulator, a kernel begins behind those ahead anyway.
    #[inline(always)]
    pub fn wait_for_kernels_ahead(&self) -> AheadEnded<'_> {
        dependent::wait();
        AheadEnded { _block: PhantomData }
    }
}

// SAFETY: as that of the memory.
unsafe impl<P: KernelParam> KernelParam for Early<P> {
    type In<'k> = Early<P::In<'k>>;
    type Head = P::Head;
    type Tail = P::Tail;
    const BY_VALUE: Option<ByValue> = P::BY_VALUE;
    const IS_EARLY: bool = true;
    const TYPE: TypeName =
        TypeName::Parts(&[TypeName::Text("Early<"), P::TYPE, TypeName::Text(">")]);

    #[inline(always)]
    unsafe fn enter<'k>(head: Self::Head, tail: Self::Tail, name: &'static str) -> Self::In<'k> {
        // SAFETY: the caller's.
        Early(unsafe { P::enter(head, tail, name) })
    }

    host_items! {
        type Host<'h, D: Device + 'h> = P::Host<'h, D>;
        fn bind<'h, D: Device + 'h>(device: &D, host: Self::Host<'h, D>, name: &'static str) -> Self::In<'h> {
            Early(P::bind(device, host, name))
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            P::values(bound.0, into);
        }
    }
}

/// Whether a kernel asks itself when those ahead have ended, by what its parameters are.
#[doc(hidden)]
pub const fn asks(kernel: &KernelInfo, parameters: &[ParamInfo]) -> bool {
    check_bytes(parameters);
    let (mut asks, mut index) = (false, 0);
    while index < parameters.len() {
        asks |= parameters[index].is_early;
        index += 1;
    }
    assert!(
        !asks || kernel.early,
        "a kernel with `Early` parameters is one of `#[kernel(early = true)]`"
    );
    index = 0;
    while index < parameters.len() {
        let ParamInfo { is_memory, is_early, .. } = parameters[index];
        assert!(
            !asks || is_early || !is_memory,
            "if some of a kernel's memory is `Early`, all of it is"
        );
        index += 1;
    }
    asks
}

/// What a kernel of `early = true` does first: it lets the blocks of the kernel behind come, where
/// there is room for them as its own end: where a multiprocessor has one of these at a time. Where
/// it has several, those that are alone on theirs would be joined by two, and others by none; then
/// the kernel behind comes when this one has ended. And it waits, unless it asks later.
#[doc(hidden)]
#[inline(always)]
pub fn begin_early(kernel: &KernelInfo, asks: bool) {
    if kernel.min_blocks == 1 {
        dependent::launch();
    }
    if !asks {
        dependent::wait();
    }
}

/// What it does last: whoever waits for it to end has waited for those ahead of it, too.
#[doc(hidden)]
#[inline(always)]
pub fn end_early(asks: bool) {
    if asks {
        dependent::wait();
    }
}
