//! The peak throughput of the tensor cores: `mma.sync` on registers, and nothing else.

use core::array::from_fn;
use ptx_matrix::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use ptx_matrix::mma::{MmaForm, Plain};
use ptx_matrix::prelude::*;
use ptx_matrix::target::{AtLeast, BuildTarget, Supports};

/// `mma` instructions per warp and round.
pub const PRODUCTS: usize = 64;

/// Elements of A, and of B, that a block reads for an `mma` of this K: fragment after fragment.
pub const fn elements(k: usize) -> (usize, usize) {
    (2 * 4 * 16 * k, 2 * 8 * k * 8)
}

/// Each warp multiplies 4 fragments of A by 8 of B, into 32 independent accumulators, like a warp
/// of a fast GEMM. Every second half of a round uses another 4 and 8, so that operands change as in
/// a GEMM, and with them the power. The sum goes to `out`, one element per thread, so that the
/// compiler removes nothing.
macro_rules! ceilings {
    ($($kernel:ident $shape:ident $element:ident $sum:ident;)*) => {$(
        #[kernel(threads = 256, min_blocks = 1, target = "sm_80")]
        pub fn $kernel(
            block: &Block,
            a: Global<$element>,
            b: Global<$element>,
            out: GlobalMut<f32>,
            rounds: u32,
        ) {
            let warp = block.warp();
            let long = $shape::K;
            let a: [[FragmentA<$shape, $element>; 4]; 2] = from_fn(|half| {
                from_fn(|i| {
                    FragmentA::from_fn(warp, |row, k| a.get(((half * 4 + i) * 16 + row) * long + k))
                })
            });
            let b: [[FragmentB<$shape, $element>; 8]; 2] = from_fn(|half| {
                from_fn(|j| {
                    FragmentB::from_fn(warp, |k, col| b.get(((half * 8 + j) * long + k) * 8 + col))
                })
            });
            let mut acc: [[Accumulator<$shape, $sum>; 8]; 4] = Zeroable::zeroed();
            for _ in 0..rounds {
                for (a, b) in a.iter().zip(&b) {
                    multiply::<$shape, $element, $sum, BuildTarget>(warp, &mut acc, a, b);
                }
            }
            let first = (block.index().x as usize * block.warps() + warp.index()) * LANES;
            warp.each(|lane| {
                let mut sum = 0.0;
                for acc in acc.as_flattened() {
                    for i in 0..4 {
                        sum += acc.get(lane, i) as f32;
                    }
                }
                out.set(first + lane.id(), sum);
            });
        }
    )*};
}

ceilings! {
    ceiling_f16 M16N8K16 f16 f32;
    ceiling_bf16 M16N8K16 bf16 f32;
    ceiling_tf32 M16N8K8 tf32 f32;
    ceiling_s8 M16N8K32 i8 i32;
}

/// `acc[i][j] += a[i] x b[j]`.
#[inline]
fn multiply<S, T: Element, C: Element, Target: Supports<AtLeast<80>>>(
    warp: Warp<'_>,
    acc: &mut [[Accumulator<S, C>; 8]; 4],
    a: &[FragmentA<S, T>; 4],
    b: &[FragmentB<S, T>; 8],
) where
    S: FragmentShape<RoleA, T::Width>
        + FragmentShape<RoleB, T::Width>
        + FragmentShape<RoleC, C::Width>,
    Mma<S, T, T, C, Plain, Target>: MmaForm<
            A = FragmentA<S, T>,
            B = FragmentB<S, T>,
            C = Accumulator<S, C>,
            D = Accumulator<S, C>,
            Needs = AtLeast<80>,
        >,
{
    for (a, acc) in a.iter().zip(acc) {
        for (b, acc) in b.iter().zip(acc) {
            Mma::<S, T, T, C, Plain, Target>::accumulate(warp, acc, a, b);
        }
    }
}
