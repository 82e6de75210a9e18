//! `shfl.sync`: each mode with operands per lane, and the typed functions.

use pastey::paste;
use ptx_matrix::prelude::*;
use ptx_matrix::raw;

/// Makes the kernels: one row per mode, with its PTX name.
macro_rules! shuffles {
    ($($mode:ident)*) => { paste! {$(
        /// Each lane's operands are three numbers of `source`: `a`, `b` and `c`. It writes the
        /// value that it gets, and whether that is another lane's.
        #[kernel(threads = 32)]
        pub fn [<shfl_sync_ $mode _b32>](block: &Block, source: Global<u32>, out: GlobalMut<u32>) {
            block.warp().each(|lane| {
                let [a, b, c] = [0, 1, 2].map(|operand| source.get(3 * lane.id() + operand));
                // SAFETY: all lanes call it together.
                let (d, within) = unsafe { raw::[<shfl_sync_ $mode _b32_p>](a, b, c) };
                // SAFETY: all lanes call it together.
                let same = unsafe { raw::[<shfl_sync_ $mode _b32>](a, b, c) };
                out.set(3 * lane.id(), d);
                out.set(3 * lane.id() + 1, same);
                out.set(3 * lane.id() + 2, within.into());
            });
        }
    )*}};
}
shuffles! { up down bfly idx }

/// Shifts the numbers of `source` up and down, exchanges them by `by` (xor), and reads them from
/// the lanes in `from`: 32 of 64 bits each.
#[kernel(threads = 32)]
pub fn shuffle(
    block: &Block,
    source: Global<u64>,
    from: Global<u32>,
    by: u32,
    out: GlobalMut<u64>,
) {
    let warp = block.warp();
    let numbers = warp.each(|lane| source.get(lane.id()));
    let from = warp.each(|lane| from.get(lane.id()));
    let passed = [
        warp.shuffle_up(&numbers, by),
        warp.shuffle_down(&numbers, by),
        warp.shuffle_xor(&numbers, by),
        warp.shuffle(&numbers, &from),
    ];
    for (index, numbers) in passed.iter().enumerate() {
        warp.each(|lane| out.set(32 * index + lane.id(), lane.get(numbers)));
    }
}
