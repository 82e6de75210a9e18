//! The producer: a warp that issues the TMA loads, up to `STAGES` tiles ahead of the consumers.

use crate::kernel::{KEYS, Keys, Queries, SLICE, STAGES, Values};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::BarrierRing;

/// The shared memory of a block: tiles of `PARTS` x 64 features, and their full and empty barriers.
#[derive(Clone, Copy)]
pub struct Tiles<T: Element, const PARTS: usize> {
    /// The queries of each consumer.
    pub queries: SharedRing<SharedRing<Queries<T>, PARTS>, 2>,
    /// Full barrier of the queries.
    pub queries_full: Barrier,
    /// Tiles of keys.
    pub keys: SharedRing<SharedRing<Keys<T>, PARTS>, STAGES>,
    /// Full barriers of the keys.
    pub keys_full: BarrierRing<STAGES>,
    /// Empty barriers of the keys: both consumers have read them.
    pub keys_empty: BarrierRing<STAGES>,
    /// Tiles of values.
    pub values: SharedRing<SharedRing<Values<T>, PARTS>, STAGES>,
    /// Full barriers of the values.
    pub values_full: BarrierRing<STAGES>,
    /// Empty barriers of the values: both consumers have read them.
    pub values_empty: BarrierRing<STAGES>,
    /// The order barriers: it is this consumer's turn on the tensor cores.
    pub order_barriers: BarrierRing<2>,
}

/// The tensor maps.
#[derive(Clone, Copy)]
pub struct Maps<'k, T: Element> {
    /// The queries of all heads.
    pub q: TensorMap<'k, Queries<T>, 3>,
    /// The keys.
    pub k: TensorMap<'k, Keys<T>, 3>,
    /// The values.
    pub v: TensorMap<'k, Values<T>, 3>,
}

/// Loads the queries from (query, head) on, and then `steps` tiles of keys and values of the head.
#[inline]
pub fn load<T: Element, const PARTS: usize>(
    warp: Warp<'_>,
    tiles: &Tiles<T, PARTS>,
    Maps { q, k, v }: Maps<'_, T>,
    (first, head, head_of_keys): (u32, u32, u32),
    steps: u32,
) {
    let Tiles { queries, queries_full, .. } = *tiles;
    warp.elect(|lane| {
        queries_full.arrive_expecting(lane, (2 * PARTS) as u32 * Queries::<T>::BOX_BYTES);
        for half in 0..2 {
            for part in 0..PARTS {
                let at = [(part * SLICE) as i32, (first + half as u32 * 64) as i32, head as i32];
                queries.part(half).part(part).load_tma(lane, q.at(at), queries_full);
            }
        }
    });
    let mut state = PipelineState::<STAGES>::FIRST;
    for step in 0..steps {
        let (keys, values) = (tiles.keys.stage(state.index()), tiles.values.stage(state.index()));
        let (keys_full, values_full) =
            (tiles.keys_full.stage(state.index()), tiles.values_full.stage(state.index()));
        let at =
            |part: usize| [(part * SLICE) as i32, (step * KEYS as u32) as i32, head_of_keys as i32];
        tiles.keys_empty.stage(state.index()).wait(warp, state.prev_phase());
        warp.elect(|lane| {
            keys_full.arrive_expecting(lane, PARTS as u32 * Keys::<T>::BOX_BYTES);
            for part in 0..PARTS {
                keys.part(part).load_tma(lane, k.at(at(part)), keys_full);
            }
        });
        tiles.values_empty.stage(state.index()).wait(warp, state.prev_phase());
        warp.elect(|lane| {
            values_full.arrive_expecting(lane, PARTS as u32 * Values::<T>::BOX_BYTES);
            for part in 0..PARTS {
                values.part(part).load_tma(lane, v.at(at(part)), values_full);
            }
        });
        state = state.next();
    }
}
