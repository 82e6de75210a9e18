//! Boxes that lie completely outside of their tensor: padding, or a mistake?
//!
//! A load of such a box fills the tile with zeros, and a store of one writes nothing. Kernels do
//! that on purpose, where a tile reaches beyond the end of a matrix; but they copy all of the
//! matrix, too. With exchanged coordinates, or with coordinates in bytes, a part of it is left out.
//! So a launch is warned of if some boxes of a map lie outside, and the others do not reach all of
//! the tensor along each dimension.

use crate::sim::findings::Misuse;
use crate::sim::memory::race::Access;
use crate::sim::warps::block::BlockState;
use crate::{Grid, TensorAccess, TensorEncoding};
use core::panic::Location;
use std::vec::Vec;

/// The boxes that a launch copied, by tensor map.
#[derive(Default)]
pub(in crate::sim) struct Boxes(Vec<OfMap>);

/// The boxes of one map that were loaded, or stored.
struct OfMap {
    map: TensorEncoding,
    loads: bool,
    /// The coordinates that boxes inside of the tensor cover, along each dimension: from, to, in
    /// order, with gaps between.
    covered: [Vec<(i64, i64)>; 5],
    /// The first box that lies outside.
    outside: Option<Outside>,
}

/// A box that lies outside, and who copied it.
#[derive(Clone)]
pub(in crate::sim) struct Outside {
    coordinates: Vec<i64>,
    pub(in crate::sim) block: Grid,
    pub(in crate::sim) warp: usize,
    pub(in crate::sim) lane: Option<usize>,
    pub(in crate::sim) location: &'static Location<'static>,
}

impl Boxes {
    /// The running lane copies a box.
    pub(in crate::sim) fn note(
        &mut self,
        block: &BlockState,
        by: Access,
        map: &TensorEncoding,
        coordinates: &[i32],
        loads: bool,
    ) {
        let TensorAccess::Tiled { box_sizes } = map.access else { return };
        let of_map = self.of_map(map, loads);
        let spans =
            coordinates.iter().zip(box_sizes).map(|(&at, size)| (i64::from(at), i64::from(at) + i64::from(size)));
        let is_outside = |(span, &size): ((i64, i64), &u64)| span.0 >= size as i64 || span.1 <= 0;
        if spans.clone().zip(&map.sizes).any(is_outside) {
            let outside = || Outside {
                coordinates: coordinates.iter().map(|&at| at.into()).collect(),
                block: block.index,
                warp: block.running(),
                lane: by.lane(),
                location: by.location,
            };
            of_map.outside.get_or_insert_with(outside);
        } else {
            spans.zip(&mut of_map.covered).for_each(|(span, covered)| cover(covered, span));
        }
    }

    fn of_map(&mut self, map: &TensorEncoding, loads: bool) -> &mut OfMap {
        let known = self.0.iter().position(|of| of.loads == loads && of.map == *map);
        let index = known.unwrap_or_else(|| {
            self.0.push(OfMap { map: *map, loads, covered: Default::default(), outside: None });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// Those of other blocks, which come behind.
    pub(in crate::sim) fn append(&mut self, other: Boxes) {
        for of in other.0 {
            let known = self.of_map(&of.map, of.loads);
            known.outside = known.outside.take().or(of.outside);
            for (known, covered) in known.covered.iter_mut().zip(of.covered) {
                covered.into_iter().for_each(|span| cover(known, span));
            }
        }
    }

    /// What to warn of when all blocks have run.
    pub(in crate::sim) fn warnings(self) -> impl Iterator<Item = (Misuse, Outside)> {
        self.0.into_iter().filter_map(|OfMap { map, loads, covered, outside }| {
            let outside = outside?;
            let TensorAccess::Tiled { box_sizes } = map.access else { return None };
            let gap = |dimension: usize| {
                let (first, size) =
                    (covered[dimension].first().copied().unwrap_or((0, 0)), map.sizes[dimension] as i64);
                let end = if first.0 > 0 { 0 } else { first.1 };
                (end < size).then_some((dimension, end))
            };
            let is_none_inside = covered[0].is_empty();
            let uncovered = (0..map.rank).find_map(gap)?;
            let misuse = Misuse::BoxOutside {
                loads,
                coordinates: outside.coordinates.clone(),
                size: box_sizes[..map.rank].to_vec(),
                tensor: map.sizes[..map.rank].to_vec(),
                uncovered: (!is_none_inside).then_some(uncovered),
            };
            Some((misuse, outside))
        })
    }
}

/// Adds a span to spans that are in order and apart.
fn cover(spans: &mut Vec<(i64, i64)>, (mut from, mut to): (i64, i64)) {
    if spans.iter().any(|&(start, end)| start <= from && to <= end) {
        return;
    }
    spans.retain(|&(start, end)| {
        let touches = start <= to && from <= end;
        if touches {
            (from, to) = (from.min(start), to.max(end));
        }
        !touches
    });
    let at = spans.partition_point(|&(start, _)| start < from);
    spans.insert(at, (from, to));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one() {
        let mut spans = Vec::new();
        [(8, 12), (0, 4), (20, 24), (4, 8), (5, 6)].into_iter().for_each(|span| cover(&mut spans, span));
        assert_eq!(spans, [(0, 12), (20, 24)]);
        cover(&mut spans, (12, 21));
        assert_eq!(spans, [(0, 24)]);
    }
}
