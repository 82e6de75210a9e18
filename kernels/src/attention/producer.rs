//! The warp that has tiles copied, as many ahead of those that multiply them as there are stages.

use super::{KEYS, Keys, LINE, Queries, STAGES, Values};
use core::ops::Range;
use ptx_matrix::*;

/// Warps that check values: those of the warpgroup that copy nothing.
pub const CHECKERS: usize = 3;

/// Of 64 features, the first key that each checker has found an infinite or NaN value of; else `u32::MAX`.
pub type FirstStrange = SharedTile<u32, CHECKERS, LINE>;

/// A block's tiles, each of `PARTS` times 64 features, and what is told when they have come, and when they have been multiplied.
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
    /// Tiles of values have come that are to be checked: the last ones, each in a stage of its own.
    pub values_to_check: BarrierRing<STAGES>,
    /// They have been checked.
    pub values_checked: BarrierRing<STAGES>,
    /// The values that were replaced.
    pub first_strange: SharedRing<FirstStrange, PARTS>,
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

/// Has the queries from (query, head) on copied, and so many tiles of keys and values of their head. The tiles of
/// values from `checked` on go to the checkers first.
#[inline(always)]
pub fn bring<T: Element, const PARTS: usize>(
    warp: Warp<'_>,
    tiles: &Tiles<T, PARTS>,
    Maps { q, k, v }: Maps<'_, T>,
    (first, head, head_of_keys): (u32, u32, u32),
    checked: u32,
    steps: u32,
) {
    let Tiles { queries, asked, .. } = *tiles;
    warp.elect(|lane| {
        asked.arrive_expecting(lane, (2 * PARTS) as u32 * Queries::<T>::BOX_BYTES);
        for half in 0..2 {
            for part in 0..PARTS {
                let at = [(part * LINE) as i32, (first + half as u32 * 64) as i32, head as i32];
                queries.part(half).part(part).load_box(lane, q, at, asked);
            }
        }
    });
    let mut turn = Turn::<STAGES>::FIRST;
    for step in 0..steps {
        let (keys, values) = (tiles.keys.stage(turn.index()), tiles.values.stage(turn.index()));
        let keys_full = tiles.keys_full.stage(turn.index());
        let values_full = if step < checked { tiles.values_full } else { tiles.values_to_check }.stage(turn.index());
        let at = |part: usize| [(part * LINE) as i32, (step * KEYS as u32) as i32, head_of_keys as i32];
        tiles.keys_empty.stage(turn.index()).wait(warp, turn.phase_before());
        warp.elect(|lane| {
            keys_full.arrive_expecting(lane, PARTS as u32 * Keys::<T>::BOX_BYTES);
            for part in 0..PARTS {
                keys.part(part).load_box(lane, k, at(part), keys_full);
            }
        });
        tiles.values_empty.stage(turn.index()).wait(warp, turn.phase_before());
        warp.elect(|lane| {
            values_full.arrive_expecting(lane, PARTS as u32 * Values::<T>::BOX_BYTES);
            for part in 0..PARTS {
                values.part(part).load_box(lane, v, at(part), values_full);
            }
        });
        turn = turn.next();
    }
}

/// Replaces the infinite and NaN values of the last tiles by zeros, as one of the checkers, and notes the first
/// of each feature. Each of these tiles is in a stage of its own.
///
/// Tensor cores multiply a hidden value by its weight of zero, and zero times NaN is NaN. Consumers later make
/// NaN what a seen value would have made NaN.
#[inline(always)]
pub fn check_values<T: Rounded, const PARTS: usize>(
    warp: Warp<'_>,
    tiles: &Tiles<T, PARTS>,
    checker: usize,
    steps: Range<u32>,
) {
    for step in steps.clone() {
        let stage = step as usize % STAGES;
        let values = tiles.values.part(stage);
        tiles.values_to_check.part(stage).wait(warp, Phase::FIRST);
        for part in 0..PARTS {
            let (values, first_strange) = (values.part(part), tiles.first_strange.part(part));
            warp.each(|lane| {
                for col in [lane.id(), lane.id() + LANES] {
                    let is_first = step == steps.start;
                    let mut strange = if is_first { u32::MAX } else { first_strange.get(lane, (checker, col)) };
                    let mut key = checker;
                    while key < KEYS {
                        if !values.get(lane, (key, col)).widen().is_finite() {
                            values.set((key, col), Zeroable::zeroed());
                            strange = strange.min(step * KEYS as u32 + key as u32);
                        }
                        key += CHECKERS;
                    }
                    first_strange.set((checker, col), strange);
                }
            });
        }
        warp.fence_for_bulk();
        warp.sync();
        warp.elect(|lane| _ = tiles.values_checked.part(stage).arrive(lane));
    }
}
