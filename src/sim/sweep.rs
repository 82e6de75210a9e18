use crate::engine::SimError;
use crate::sim::Simulator;
use rayon::prelude::*;
use std::ops::Range;

impl Simulator {
    /// Runs `launch` on a simulator of each seed, in parallel.
    ///
    /// If `launch` is a single launch, [`schedules`](Simulator::schedules) does the same more
    /// simply. Use this one for several launches, and for assertions about their results.
    ///
    /// # Errors
    /// The error of the lowest seed with an error; it names the seed.
    ///
    /// ```
    /// use ptx_matrix::{prelude::*, sim::Simulator};
    ///
    /// /// The last warp to come decides: a race, in any order.
    /// #[kernel(threads = 128)]
    /// fn last(block: &Block, d: GlobalMut<u32>) {
    ///     let warp = block.warp().index() as u32;
    ///     block.warp().each(|_| d.set(0, warp));
    /// }
    ///
    /// let launch = |simulator: &Simulator| last::launch(simulator, 1, &mut [0]);
    /// let error = Simulator::sweep(0..100, launch).unwrap_err();
    /// assert!(error.to_string().starts_with("error: race: write of element 0 of `d`"));
    /// assert_eq!(error.seed, 0);
    /// ```
    pub fn sweep<R>(
        seeds: Range<u64>,
        launch: impl Fn(&Simulator) -> Result<R, SimError> + Sync,
    ) -> Result<(), SimError> {
        let shown =
            seeds.into_par_iter().find_map_first(|seed| launch(&Simulator::new(seed)).err());
        shown.map_or(Ok(()), Err)
    }
}
