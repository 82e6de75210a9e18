//! Atomic reductions of elements by single lanes (`red`), in shared memory also with a result
//! (`atom`).

use super::reduction::AtomicReduction;
use crate::element::Element;
use crate::lane::{Lane, Site};
use crate::memory::{
    Coordinate, GlobalMatrixMut, GlobalMut, Order, SharedTile, Single, Swizzle, check_known,
};
use crate::target::{BuildTarget, Supports};

impl<T: Element> GlobalMut<'_, T> {
    /// Reduces element `index` by a value, atomically: `element = op(element, value)`. Beyond the
    /// slice, the kernel stops.
    ///
    /// Lanes of all blocks may reduce an element at the same time, by the same operation. Other
    /// accesses need an order: a `sync` of the block or of the cluster, another launch, or what a
    /// [`GlobalAtomic`](crate::memory::GlobalAtomic) releases. Bulk copies also need a
    /// [`fence_global_for_bulk`](crate::scope::Warp::fence_global_for_bulk). There is no result.
    ///
    /// The GPU applies the values as they arrive, so a sum of floating-point numbers may differ
    /// from run to run in its last bits. The simulator applies those of a block together, in the
    /// order of the blocks.
    ///
    /// In `f32`, subnormal operands and results become zero. There is no maximum of floating-point
    /// numbers: for those that are not negative, reduce their bits as `u32`.
    ///
    /// PTX: `red.relaxed.gpu.global` (ISA 9.7.13.6), from sm_75 on.
    /// [`AtomicReduction`] has the operations and elements.
    ///
    /// ```
    /// use ptx_matrix::copy::reduction::Add;
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Counts the numbers by their last decimal digit. A warp of any block counts 32 of them.
    /// #[kernel(threads = 64)]
    /// fn digits(block: &Block, numbers: Global<u32>, counts: GlobalMut<u32>) {
    ///     let first = block.index().x as usize * 64 + block.warp().index() * 32;
    ///     block.warp().each(|lane| {
    ///         let digit = numbers.get(first + lane.id()) % 10;
    ///         counts.reduce(lane, Add, digit as usize, 1);
    ///     });
    /// }
    ///
    /// let (numbers, mut counts) = ((0..256).collect::<Vec<u32>>(), [0; 10]);
    /// digits::simulate(4, &numbers, &mut counts).unwrap();
    /// assert_eq!(counts, [26, 26, 26, 26, 26, 26, 25, 25, 25, 25]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn reduce<R: AtomicReduction<T>>(self, lane: Lane<'_>, reduction: R, index: usize, value: T)
    where
        BuildTarget: Supports<R::Needs>,
    {
        let _ = (lane, reduction);
        // SAFETY: an element of the slice, for which this reduction exists. Other accesses at the
        // same time are races, which return wrong numbers.
        unsafe { R::reduce_in_global(self.raw().to_reduce(index, Site::here()), value) }
    }
}

impl<T: Element, O: Order> GlobalMatrixMut<'_, T, O> {
    /// Reduces the element (row, col) by a value, atomically: see [`GlobalMut::reduce`]. Outside
    /// the matrix, the kernel stops.
    #[inline]
    #[track_caller]
    pub fn reduce<R: AtomicReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        (row, col): (usize, usize),
        value: T,
    ) where
        BuildTarget: Supports<R::Needs>,
    {
        self.elements().reduce(lane, reduction, self.index(row, col), value);
    }
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order>
    SharedTile<T, ROWS, COLS, S, O>
{
    /// Reduces an element by a value, atomically: `element = op(element, value)`.
    ///
    /// Lanes and warps of the block may reduce an element at the same time, by the same operation.
    /// Other accesses need an order, such as a `sync` of the block; and bulk copies and `wgmma`,
    /// which use the elements later, a
    /// [`fence_for_bulk`](crate::scope::Warp::fence_for_bulk). There is no result.
    ///
    /// Subnormal numbers are not flushed to zero.
    ///
    /// PTX: `red.relaxed.cta.shared` (ISA 9.7.13.6), from sm_75 on. [`AtomicReduction`] has the
    /// operations and elements.
    ///
    /// ```
    /// use ptx_matrix::copy::reduction::Add;
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Counts bytes: each block in its shared memory, and then all blocks in global memory.
    /// #[kernel(threads = 128)]
    /// fn histogram(
    ///     block: &Block,
    ///     #[shared] counts: SharedTile<u32, 1, 256>,
    ///     bytes: Global<u8>,
    ///     of_all: GlobalMut<u32>,
    /// ) {
    ///     counts.fill(block, |_, _| 0);
    ///     block.sync();
    ///     let (first, all) = (block.index().x as usize * 128, block.grid().x as usize * 128);
    ///     block.each_thread(|lane, rank| {
    ///         for i in (first + rank..bytes.len()).step_by(all) {
    ///             counts.reduce(lane, Add, (0, bytes.get(i) as usize), 1);
    ///         }
    ///     });
    ///     block.sync();
    ///     block.each_thread(|lane, rank| {
    ///         for byte in [rank, 128 + rank] {
    ///             of_all.reduce(lane, Add, byte, counts.get(lane, (0, byte)));
    ///         }
    ///     });
    /// }
    ///
    /// let (bytes, mut counts) = (vec![7u8; 1000], [0; 256]);
    /// histogram::simulate(2, &bytes, &mut counts).unwrap();
    /// assert_eq!((counts[7], counts[8]), (1000, 0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn reduce<C: Coordinate, R: AtomicReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        at: C,
        value: T,
    ) where
        BuildTarget: Supports<R::Needs>,
    {
        const { check_known::<C, Single<Self>>() };
        let _ = (lane, reduction);
        let (row, col) = at.resolve::<Single<Self>>(self.address(), Site::here());
        // SAFETY: an element of the tile, for which this reduction exists.
        unsafe { R::reduce_in_shared(self.element(row, col), value) }
    }

    /// Like [`reduce`](Self::reduce), and returns the element before.
    ///
    /// The GPU applies the values as they arrive, so the results depend on the order of lanes and
    /// warps. The simulator takes the order of the lanes, and of the warps by the seed.
    ///
    /// PTX: `atom.relaxed.cta.shared` (ISA 9.7.13.5), from sm_75 on.
    ///
    /// ```
    /// use ptx_matrix::copy::reduction::Add;
    /// use ptx_matrix::prelude::*;
    ///
    /// /// Moves the even numbers of a block's 128 to the front of its part of `d`, in any order.
    /// #[kernel(threads = 128)]
    /// fn evens(
    ///     block: &Block,
    ///     #[shared] count: SharedTile<u32, 1, 4>,
    ///     a: Global<u32>,
    ///     d: GlobalMut<u32>,
    /// ) {
    ///     let first = block.index().x as usize * 128;
    ///     count.fill(block, |_, _| 0);
    ///     block.sync();
    ///     block.each_thread(|lane, rank| {
    ///         let value = a.get(first + rank);
    ///         if value % 2 == 0 {
    ///             d.set(first + count.fetch(lane, Add, (0, 0), 1) as usize, value);
    ///         }
    ///     });
    /// }
    ///
    /// let (a, mut d) = (Vec::from_iter(0..256), [1; 256]);
    /// evens::simulate(2, &a, &mut d).check();
    /// assert!(d.chunks(64).map(|part| part[0] % 2).eq([0, 1, 0, 1]));
    /// ```
    #[inline]
    #[track_caller]
    pub fn fetch<C: Coordinate, R: AtomicReduction<T>>(
        self,
        lane: Lane<'_>,
        reduction: R,
        at: C,
        value: T,
    ) -> T
    where
        BuildTarget: Supports<R::Needs>,
    {
        const { check_known::<C, Single<Self>>() };
        let _ = (lane, reduction);
        let (row, col) = at.resolve::<Single<Self>>(self.address(), Site::here());
        // SAFETY: an element of the tile, for which this reduction exists.
        unsafe { R::fetch_in_shared(self.element(row, col), value) }
    }
}
