//! The mainloop with promotion of 8-bit floats to `f32` (two-level accumulation). The tensor cores
//! accumulate with 13 bits of fraction. After each stage, the partial accumulators are added to
//! `f32` accumulators.

use super::sm90_wgmma::{Consumer, K_SLICES, Mainloop, Op};
use crate::parts::tma::WGMMA_M;
use crate::parts::{Number, WgmmaA, WgmmaB};
use core::marker::PhantomData;
use core::mem::replace;
use ptx_matrix::element::Bits32;

use ptx_matrix::mma::{GroupAccumulator, M64, WgmmaColumns, WgmmaForm};
use ptx_matrix::prelude::*;

/// `m64nNk*` of 8-bit floats with promotion, `N_SLICE` columns at a time.
///
/// While one consumer adds, the tensor cores can multiply for the other.
pub struct Promote<const N: usize, const N_SLICE: usize, T>(PhantomData<T>);

impl<A, B, T, const N: usize, const N_SLICE: usize> Mainloop<A, B> for Promote<N, N_SLICE, T>
where
    A: WgmmaA,
    B: WgmmaB<N_SLICE>,
    T: Number + Element<Width = Bits32>,
    M64<N>: WgmmaColumns<Bits32>,
    M64<N_SLICE>: WgmmaColumns<Bits32>,
    Op<N_SLICE, A, B, T>: WgmmaForm<Registers = <M64<N_SLICE> as WgmmaColumns<Bits32>>::Registers>,
{
    type Accumulators = [GroupAccumulator<N, T>; 1];
    const ROWS: usize = WGMMA_M;
    const COLS: usize = N;
    const FAST_ACCUMULATION: bool = false;

    #[inline]
    fn run<const STAGES: usize, const CLUSTER: usize>(
        consumer: &mut Consumer<'_, A, B, STAGES, CLUSTER>,
        k_tiles: u32,
    ) -> Self::Accumulators {
        let (group, rows_a, tile_b) = (consumer.group, consumer.rows_a, consumer.tile_b);
        let mut accumulator = GroupAccumulator::<N, T>::zero();
        let mut partial = GroupAccumulator::<N_SLICE, T>::zero();
        if k_tiles > 0 {
            consumer.wait();
        }
        let mut before = consumer.state;
        for k_tile in 0..k_tiles {
            let (a, b) = consumer.stages.stage(consumer.state.index());
            let next = consumer.state.next();
            for col in (0..N).step_by(N_SLICE) {
                let mut in_flight = partial.begin(group);
                Op::<N_SLICE, A, B, T>::issue(group, &mut in_flight, |issue| {
                    issue.multiply(a.descriptor(rows_a, 0, 0), b.descriptor(tile_b, col, 0));
                    for k_slice in 1..K_SLICES {
                        issue.accumulate(
                            a.descriptor(rows_a, 0, k_slice),
                            b.descriptor(tile_b, col, k_slice),
                        );
                    }
                });
                // Release and wait overlap the multiplication; only the additions follow it.
                if col == 0 && k_tile > 0 {
                    consumer.release(before, false);
                }
                if col + N_SLICE == N {
                    before = replace(&mut consumer.state, next);
                    if k_tile + 1 < k_tiles {
                        consumer.wait();
                    }
                }
                partial = in_flight.finish(group);
                accumulator = accumulator
                    .zip(group, col, &partial, |acc, partial| acc.plus(T::ONE, partial))
                    .settled(group);
            }
        }
        if k_tiles > 0 {
            consumer.release(before, false);
        }
        [accumulator]
    }
}
