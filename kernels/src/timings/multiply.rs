//! `mma.sync`, a form a kernel.

use super::time;
use crate::mma_kernels;
use core::array::from_fn;
use core::num::Wrapping;
use core::ops::Add;
use ptx_matrix::*;

/// Products of a warp in one round.
pub const PRODUCTS: usize = 8;
/// Accumulators of a warp where the throughput is measured: so many products in a row do not wait for each other.
const CHAINS: usize = 4;

/// One row a form, as in [`mma_kernels`]: its two kernels.
macro_rules! kernels {
    ($($kernel:ident $shape:ident $a:ident $b:ident $c:ident $target:literal;)*) => {$(
        #[doc = concat!("A warp multiplies by the form of `", stringify!($kernel), "` into one accumulator, time after time.")]
        #[kernel(threads = 32, target = $target)]
        pub fn ${concat(latency_, $kernel)}(
            block: &Block,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            vary: u32,
        ) {
            kernels!(@time 1, $shape $a $b $c, block clocks out rounds vary);
        }

        #[doc = concat!("Each warp multiplies by the form of `", stringify!($kernel), "` into several accumulators.")]
        #[kernel(threads = 256, target = $target)]
        pub fn ${concat(time_, $kernel)}(
            block: &Block,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            vary: u32,
        ) {
            kernels!(@time CHAINS, $shape $a $b $c, block clocks out rounds vary);
        }
    )*};
    // Where the GPU has no such instruction, what others make of the factors must not stay the same from one product to the next:
    // that would be done once. Where it has, the factors need not change, and changing them would take longer than the product. There all
    // have the same A, as products in a GEMM's row have: the tensor cores take it from the registers once. (Not for f64, for which
    // ptxas 13.5 fails then, and takes so long for each product that it does not matter.)
    (@time $chains:expr, $shape:ident $a:ident $b:ident $c:ident,
     $block:ident $clocks:ident $out:ident $rounds:ident $vary:ident) => {
        time($block, $clocks, |warp, first| {
            let mut a: [_; $chains] = from_fn(|_| FragmentA::<$shape, $a>::from_registers(Zeroable::zeroed()).registers());
            let mut b: [_; $chains] = from_fn(|_| FragmentB::<$shape, $b>::from_registers(Zeroable::zeroed()).registers());
            for i in 0..$chains {
                warp.update(&mut a[i], |_, a| change(a, (i as u32 * $vary) << 8));
                warp.update(&mut b[i], |_, b| change(b, (i as u32 * $vary) << 8));
            }
            let mut sums: [Accumulator<$shape, $c>; $chains] = Zeroable::zeroed();
            for _ in 0..$rounds {
                for _ in 0..PRODUCTS / $chains {
                    for i in 0..$chains {
                        let of_a = if is_emulated(stringify!($a)) || size_of::<$c>() == 8 { i } else { 0 };
                        if is_emulated(stringify!($a)) {
                            warp.update(&mut a[i], |_, a| change(a, $vary));
                            warp.update(&mut b[i], |_, b| change(b, $vary));
                        }
                        let (a, b) = (Fragment::from_registers(a[of_a]), Fragment::from_registers(b[i]));
                        Mma::<$shape, $a, $b, $c>::accumulate(warp, &mut sums[i], &a, &b);
                    }
                }
            }
            let registers = sums.map(|sum| sum.registers());
            warp.each(|lane| {
                let all = registers.iter().flat_map(|registers| lane.get(registers)).fold(0, |all, register| all ^ register as u32);
                $out.set(first + lane.id(), all);
            });
        });
    };
}
mma_kernels!(kernels);

/// Changes registers to others, which only the host knows; time after time, to others again.
#[inline(always)]
fn change<R: Copy + From<u32>>(registers: &mut [R], vary: u32)
where
    Wrapping<R>: Add<Output = Wrapping<R>>,
{
    for register in registers {
        *register = (Wrapping(*register) + Wrapping(vary.into())).0;
    }
}

/// Whether products of elements of this name are made of other instructions on sm_90.
const fn is_emulated(a: &str) -> bool {
    matches!(a.as_bytes(), b"F8E4M3" | b"F8E5M2")
}
