//! A lane's clock.

use crate::lane::Lane;
use crate::raw;

impl Lane<'_> {
    /// The multiprocessor's clock, in cycles (`%clock64`, PTX ISA 10.22): what lies between two
    /// readings, on one multiprocessor, is how long the instructions between took. Each
    /// multiprocessor has its own.
    ///
    /// The simulator knows no time; there it counts how often it was read.
    ///
    /// ```
    /// use ptx_matrix::{mma::{B16, MovMatrix, Trans}, prelude::*};
    ///
    /// /// How long a `movmatrix` takes, one that waits for nothing else.
    /// #[kernel(threads = 32)]
    /// fn time(block: &Block, cycles: GlobalMut<u64>, d: GlobalMut<u32>) {
    ///     let warp = block.warp();
    ///     let start = warp.each(|lane| lane.clock());
    ///     let transposed = MovMatrix::<Trans, B16>::transpose(warp, warp.each(|lane| lane.id() as u32));
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
    #[inline(always)]
    #[track_caller]
    pub fn clock(self) -> u64 {
        // SAFETY: a lane, so this is a lane closure.
        unsafe { raw::index::clock() }
    }
}
