//! Programmatic dependent launch (PDL): kernels whose blocks start before the preceding kernels
//! have ended (`griddepcontrol`, PTX ISA 9.7.13.14, sm_90, PTX 7.8).

use super::param::check_bytes;
use super::{ByValue, KernelInfo, KernelParam, ParamInfo, TypeName};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Device, Params};
use crate::copy::{BoxTile, TensorMap, TensorMode};
use crate::lane::Lane;
use crate::machine::{dependent, host_items};
use crate::scope::Block;
use crate::target::{AtLeast, BuiltFor};
use core::fmt;
use core::marker::PhantomData;

/// A memory parameter of a dependent kernel (PDL), which it touches only after the preceding
/// kernels have ended.
///
/// `P` is a [`Global`](crate::memory::Global), a [`GlobalMut`](crate::memory::GlobalMut), a
/// [`GlobalAtomic`](crate::memory::GlobalAtomic), a [`TensorMap`] or a
/// [`TensorMapMut`](crate::copy::TensorMapMut), of a kernel with
/// `#[kernel(dependent = true)]`. If one memory parameter of a kernel is `Dependent`, all are. The
/// kernel then decides when it waits, with [`Block::wait_for_preceding_kernels`]. Its work before
/// that, such as the initialisation of barriers, overlaps the end of the preceding kernel. A kernel
/// with `dependent = true` and no `Dependent` parameter waits at its start.
///
/// ```
/// use ptx_matrix::{launch::Dependent, prelude::*};
///
/// #[kernel(threads = 32, dependent = true)]
/// fn double(
///     block: &Block,
///     #[shared] factor: SharedTile<f32, 1, 32>,
///     a: Dependent<Global<f32>>,
///     d: Dependent<GlobalMut<f32>>,
/// ) {
///     let warp = block.warp();
///     factor.fill(warp, |_, _| 2.0);
///     warp.sync();
///     let ended = block.wait_for_preceding_kernels();
///     let (a, d) = (a.get(ended), d.get(ended));
///     warp.each(|lane| d.set(lane.id(), a.get(lane.id()) * factor.get(lane, (0, lane.id()))));
/// }
///
/// let (a, mut d) = ([21.0; 32], [0.0; 32]);
/// double::simulate(1, &a, &mut d).check();
/// assert_eq!(d, [42.0; 32]);
/// ```
///
/// A kernel with both kinds of memory does not compile:
///
/// ```compile_fail,E0080
/// use ptx_matrix::{launch::Dependent, prelude::*};
///
/// #[kernel(threads = 32, dependent = true)]
/// fn copy(block: &Block, a: Global<f32>, d: Dependent<GlobalMut<f32>>) {}
/// ```
pub struct Dependent<P>(P);

// By hand: derived, these would call the implementation of `P`, which could touch the memory early.
impl<P: Copy> Clone for Dependent<P> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<P: Copy> Copy for Dependent<P> {}
impl<P> fmt::Debug for Dependent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dependent(..)")
    }
}

/// Proof that the preceding kernels in the stream have ended, and that their writes are visible:
/// from [`Block::wait_for_preceding_kernels`].
#[derive(Debug, Clone, Copy)]
pub struct PrecedingEnded<'b> {
    _block: PhantomData<&'b ()>,
}

impl<P> Dependent<P> {
    #[inline]
    pub(super) fn new(memory: P) -> Self {
        Dependent(memory)
    }

    /// Returns the memory.
    #[inline]
    pub fn get(self, _: PrecedingEnded<'_>) -> P {
        self.0
    }
}

impl<'k, Tile: BoxTile, const RANK: usize, Mode: TensorMode>
    Dependent<TensorMap<'k, Tile, RANK, Mode>>
{
    /// As [`TensorMap::prefetch`]. The map itself is a parameter, which no preceding kernel writes.
    #[inline]
    #[track_caller]
    pub fn prefetch(&self, lane: Lane<'_>)
    where
        TensorMap<'k, Tile, RANK, Mode>: BuiltFor<AtLeast<90>>,
    {
        self.0.prefetch(lane);
    }
}

impl Block<'_> {
    /// Waits until the preceding kernels in the stream have ended, and their writes are visible
    /// (`griddepcontrol.wait`).
    ///
    /// Each thread that touches memory calls it. On a GPU older than sm_90 and in the simulator, a
    /// kernel starts after the preceding ones anyway.
    #[inline]
    pub fn wait_for_preceding_kernels(&self) -> PrecedingEnded<'_> {
        dependent::wait();
        PrecedingEnded { _block: PhantomData }
    }
}

// SAFETY: as for the memory itself.
unsafe impl<P: KernelParam> KernelParam for Dependent<P> {
    type In<'k> = Dependent<P::In<'k>>;
    type Head = P::Head;
    type Tail = P::Tail;
    const BY_VALUE: Option<ByValue> = P::BY_VALUE;
    const IS_EARLY: bool = true;
    const TYPE: TypeName =
        TypeName::Parts(&[TypeName::Text("Dependent<"), P::TYPE, TypeName::Text(">")]);

    #[inline]
    unsafe fn enter<'k>(head: Self::Head, tail: Self::Tail, name: &'static str) -> Self::In<'k> {
        // SAFETY: the caller upholds the conditions.
        Dependent(unsafe { P::enter(head, tail, name) })
    }

    host_items! {
        type Host<'h, D: Device + 'h> = P::Host<'h, D>;
        fn bind<'h, D: Device + 'h>(
            device: &D, host: Self::Host<'h, D>, name: &'static str
        ) -> Self::In<'h> {
            Dependent(P::bind(device, host, name))
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            P::values(bound.0, into);
        }
    }
}

/// Whether a kernel decides itself when it waits for the preceding kernels: whether its parameters
/// are [`Dependent`].
#[doc(hidden)]
pub const fn asks(kernel: &KernelInfo, parameters: &[ParamInfo]) -> bool {
    check_bytes(parameters);
    let (mut asks, mut index) = (false, 0);
    while index < parameters.len() {
        asks |= parameters[index].is_dependent;
        index += 1;
    }
    assert!(
        !asks || kernel.dependent,
        "a kernel with `Dependent` parameters needs `#[kernel(dependent = true)]`"
    );
    index = 0;
    while index < parameters.len() {
        let ParamInfo { is_memory, is_dependent, .. } = parameters[index];
        assert!(
            !asks || is_dependent || !is_memory,
            "if some of a kernel's memory is `Dependent`, all of it must be"
        );
        index += 1;
    }
    asks
}

/// The prologue of a kernel with `dependent = true`.
///
/// With `min_blocks = 1` it lets the dependent kernel's blocks start
/// (`griddepcontrol.launch_dependents`). They take the SMs that this kernel's blocks leave. With
/// several blocks to an SM, SMs that have one block left would get two more, and others none. So
/// the dependent kernel then starts when this one has ended. The prologue also waits for the
/// preceding kernels, unless the kernel does that itself.
#[doc(hidden)]
#[inline]
pub fn begin_dependent(kernel: &KernelInfo, asks: bool) {
    if kernel.min_blocks == 1 {
        dependent::launch();
    }
    if !asks {
        dependent::wait();
    }
}

/// The epilogue of such a kernel: waits for the preceding kernels. A kernel that waits for this one
/// to end has then waited for those too.
#[doc(hidden)]
#[inline]
pub fn end_dependent(asks: bool) {
    if asks {
        dependent::wait();
    }
}
