//! The warp that has tiles copied, as many ahead of those that multiply them as there are stages.

use crate::kernel::{KEYS, Keys, LINE, Queries, STAGES, Values};
use ptx_matrix::prelude::*;
use ptx_matrix::sync::BarrierRing;

/// A block's tiles, each of `PARTS` times 64 features, and what is told when they have come, and
/// when they have been multiplied.
#[derive(Clone, Copy)]
pub struct Tiles<T: Element, const PARTS: usize> {
    /// The queries, of each consumer.
    pub queries: SharedRing<SharedRing<Queries<T>, PARTS>, 2>,
    /// They have come.
    pub asked: Barrier,
    /// Tiles of keys.
    pub keys: SharedRing<SharedRing<Keys<T>, PARTS>, STAGES>,
    /// They have come.
    pub keys_full: BarrierRing<STAGES>,
    /// Both consumers have multiplied them.
    pub keys_empty: BarrierRing<STAGES>,
    /// Tiles of values.
    pub values: SharedRing<SharedRing<Values<T>, PARTS>, STAGES>,
    /// They have come.
    pub values_full: BarrierRing<STAGES>,
    /// Both consumers have multiplied them.
    pub values_empty: BarrierRing<STAGES>,
    /// It is this consumer's turn to give the tensor cores work.
    pub turns: BarrierRing<2>,
}

/// What is copied.
#[derive(Clone, Copy)]
pub struct Maps<'k, T: Element> {
    /// The queries of all heads.
    pub q: TensorMap<'k, Queries<T>, 3>,
    /// Their keys.
    pub k: TensorMap<'k, Keys<T>, 3>,
    /// And the values.
    pub v: TensorMap<'k, Values<T>, 3>,
}

/// Has the queries from (query, head) on copied, and so many tiles of keys and values of their
/// head.
#[inline(always)]
pub fn bring<T: Element, const PARTS: usize>(
    warp: Warp<'_>,
    tiles: &Tiles<T, PARTS>,
    Maps { q, k, v }: Maps<'_, T>,
    (first, head, head_of_keys): (u32, u32, u32),
    steps: u32,
) {
    let Tiles { queries, asked, .. } = *tiles;
    warp.elect(|lane| {
        asked.arrive_expecting(lane, (2 * PARTS) as u32 * Queries::<T>::BOX_BYTES);
        for half in 0..2 {
            for part in 0..PARTS {
                let at = [(part * LINE) as i32, (first + half as u32 * 64) as i32, head as i32];
                queries.part(half).part(part).load_tma(lane, q.at(at), asked);
            }
        }
    });
    let mut turn = Turn::<STAGES>::FIRST;
    for step in 0..steps {
        let (keys, values) = (tiles.keys.stage(turn.index()), tiles.values.stage(turn.index()));
        let (keys_full, values_full) =
            (tiles.keys_full.stage(turn.index()), tiles.values_full.stage(turn.index()));
        let at =
            |part: usize| [(part * LINE) as i32, (step * KEYS as u32) as i32, head_of_keys as i32];
        tiles.keys_empty.stage(turn.index()).wait(warp, turn.phase_before());
        warp.elect(|lane| {
            keys_full.arrive_expecting(lane, PARTS as u32 * Keys::<T>::BOX_BYTES);
            for part in 0..PARTS {
                keys.part(part).load_tma(lane, k.at(at(part)), keys_full);
            }
        });
        tiles.values_empty.stage(turn.index()).wait(warp, turn.phase_before());
        warp.elect(|lane| {
            values_full.arrive_expecting(lane, PARTS as u32 * Values::<T>::BOX_BYTES);
            for part in 0..PARTS {
                values.part(part).load_tma(lane, v.at(at(part)), values_full);
            }
        });
        turn = turn.next();
    }
}
