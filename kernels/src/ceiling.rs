//! How fast the tensor cores can go: `mma.sync` on registers and nothing else.

use core::array::from_fn;
use ptx_matrix::target::{AtLeast, BuildTarget, Supports};
use ptx_matrix::*;

/// Products of a warp in one round.
pub const PRODUCTS: usize = 64;

/// Elements of A, and of B, that a block reads: one fragment after the other.
pub const A_ELEMENTS: usize = 2 * 4 * 16 * 16;
/// See [`A_ELEMENTS`].
pub const B_ELEMENTS: usize = 2 * 8 * 16 * 8;

/// Each warp multiplies 4 fragments of A by 8 of B, into 32 accumulators that do not depend on each other, as a warp
/// of a fast GEMM does; in every second half of a round by another 4 and 8, so that operands change as a GEMM's do,
/// and with them the power that is drawn. The sum goes to `out`, an element a thread, so that nothing of it can be
/// left out.
macro_rules! ceilings {
    ($($kernel:ident $element:ident;)*) => {$(
        #[kernel(threads = 256, min_blocks = 1, target = "sm_80")]
        pub fn $kernel(block: &Block, a: Global<$element>, b: Global<$element>, out: GlobalMut<f32>, rounds: u32) {
            let warp = block.warp();
            let a: [[FragmentA<M16N8K16, $element>; 4]; 2] = from_fn(|half| {
                from_fn(|i| FragmentA::from_fn(warp, |row, k| a.get(((half * 4 + i) * 16 + row) * 16 + k)))
            });
            let b: [[FragmentB<M16N8K16, $element>; 8]; 2] = from_fn(|half| {
                from_fn(|j| FragmentB::from_fn(warp, |k, col| b.get(((half * 8 + j) * 16 + k) * 8 + col)))
            });
            let mut acc: [[Accumulator<M16N8K16, f32>; 8]; 4] = Zeroable::zeroed();
            for _ in 0..rounds {
                for (a, b) in a.iter().zip(&b) {
                    multiply::<$element, BuildTarget>(warp, &mut acc, a, b);
                }
            }
            let first = (block.index().x as usize * block.warps() + warp.index()) * LANES;
            warp.each(|lane| {
                let mut sum = 0.0;
                for acc in acc.as_flattened() {
                    for i in 0..4 {
                        sum += acc.get(lane, i);
                    }
                }
                out.set(first + lane.id(), sum);
            });
        }
    )*};
}

ceilings! {
    ceiling_f16 f16;
    ceiling_bf16 bf16;
}

/// `acc[i][j] += a[i] x b[j]`.
#[inline(always)]
fn multiply<T: Element<Width = Bits16>, Target: Supports<AtLeast<80>>>(
    warp: Warp<'_>,
    acc: &mut [[Accumulator<M16N8K16, f32>; 8]; 4],
    a: &[FragmentA<M16N8K16, T>; 4],
    b: &[FragmentB<M16N8K16, T>; 8],
) where
    Mma<M16N8K16, T, T, f32, Plain, Target>: MmaForm<
            A = FragmentA<M16N8K16, T>,
            B = FragmentB<M16N8K16, T>,
            C = Accumulator<M16N8K16, f32>,
            D = Accumulator<M16N8K16, f32>,
            Needs = AtLeast<80>,
        >,
{
    for (a, acc) in a.iter().zip(acc) {
        for (b, acc) in b.iter().zip(acc) {
            Mma::<M16N8K16, T, T, f32, Plain, Target>::accumulate(warp, acc, a, b);
        }
    }
}
