//! A lane's clock.

use crate::lane::Lane;
use crate::raw;

impl Lane<'_> {
    /// Reads the SM's clock, in cycles (`%clock64`, PTX ISA 10.22).
    ///
    /// The difference of two readings on one SM is the time of the instructions between them. Each
    /// SM has its own clock. The simulator has no time: it returns how often the clock was read.
    ///
    /// ```
    /// use ptx_matrix::{mma::{B16, MovMatrix, Trans}, prelude::*};
    ///
    /// /// Measures the latency of a `movmatrix` that waits for nothing else.
    /// #[kernel(threads = 32)]
    /// fn time(block: &Block, cycles: GlobalMut<u64>, d: GlobalMut<u32>) {
    ///     let warp = block.warp();
    ///     let start = warp.each(|lane| lane.clock());
    ///     let transposed =
    ///         MovMatrix::<Trans, B16>::transpose(warp, warp.each(|lane| lane.id() as u32));
    ///     warp.each(|lane| {
    ///         d.set(lane.id(), lane.get(&transposed));
    ///         cycles.set(lane.id(), lane.clock() - lane.get(&start));
    ///     });
    /// }
    ///
    /// let (mut cycles, mut d) = ([0; 32], [0; 32]);
    /// time::simulate(1, &mut cycles, &mut d).unwrap();
    /// assert!(cycles.iter().all(|&cycles| cycles > 0));
    /// ```
    #[inline]
    #[track_caller]
    pub fn clock(self) -> u64 {
        // SAFETY: a `Lane` exists only in a lane closure.
        unsafe { raw::index::clock() }
    }
}
