//! Warnings of tensor boxes that lie completely outside their tensor.
//!
//! A load of such a box fills the tile with zeros, and a store of one writes nothing. Kernels use
//! this on purpose as padding, if a tile extends beyond the end of a matrix. But such kernels also
//! copy the whole matrix. A kernel with exchanged coordinates, or with coordinates in bytes, omits
//! a part of it. So a launch warns of an outside box if one of these conditions holds:
//!
//! - all boxes that the launch copies with this map lie outside;
//! - along a dimension in which the box lies outside, the other boxes do not cover the whole
//!   tensor;
//! - with two coordinates exchanged, the box would cover elements that no other box covers.

use crate::engine::{
    findings::{Misuse, Uncovered},
    memory::race::Access,
    warps::block::BlockState,
};
use crate::isa::{TensorAccess, TensorEncoding};
use crate::lane::Grid;
use core::ops::Range;
use core::panic::Location;
use std::vec::Vec;

/// The boxes that a launch copied, by tensor map.
#[derive(Default)]
pub(crate) struct Boxes(Vec<OfMap>);

/// The boxes of one map: either the loaded or the stored ones.
struct OfMap {
    map: TensorEncoding,
    loads: bool,
    /// The coordinates covered by boxes inside the tensor: for each dimension, disjoint ranges in
    /// order.
    covered: [Vec<Range<i64>>; 5],
    /// The first outside box of each set of coordinates.
    outside: Vec<Outside>,
}

/// Outside boxes kept for a map. More add no information.
const KEPT: usize = 64;

/// An outside box, and the access that copied it.
#[derive(Clone)]
pub(crate) struct Outside {
    coordinates: Vec<i64>,
    pub(crate) block: Grid,
    pub(crate) warp: usize,
    pub(crate) lane: Option<usize>,
    pub(crate) location: &'static Location<'static>,
}

impl Boxes {
    /// Records a box that the running lane copies.
    pub(crate) fn note(
        &mut self,
        block: &BlockState,
        by: Access,
        map: &TensorEncoding,
        coordinates: &[i32],
        loads: bool,
    ) {
        let TensorAccess::Tiled { box_sizes } = map.access else { return };
        let of_map = self.of_map(map, loads);
        let spans = coordinates
            .iter()
            .zip(box_sizes)
            .map(|(&at, size)| i64::from(at)..i64::from(at) + i64::from(size));
        let is_outside =
            |(span, &size): (Range<i64>, &u64)| span.start >= size as i64 || span.end <= 0;
        if spans.clone().zip(&map.sizes).any(is_outside) {
            let outside = || Outside {
                coordinates: coordinates.iter().map(|&at| at.into()).collect(),
                block: block.index,
                warp: block.running(),
                lane: by.lane(),
                location: by.location,
            };
            of_map.add_outside(outside());
        } else {
            spans.zip(&mut of_map.covered).for_each(|(span, covered)| cover(covered, span));
        }
    }

    fn of_map(&mut self, map: &TensorEncoding, loads: bool) -> &mut OfMap {
        let known = self.0.iter().position(|of| of.loads == loads && of.map == *map);
        let index = known.unwrap_or_else(|| {
            self.0.push(OfMap {
                map: *map,
                loads,
                covered: Default::default(),
                outside: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// Appends the boxes of later blocks.
    pub(crate) fn append(&mut self, other: Boxes) {
        for of in other.0 {
            let known = self.of_map(&of.map, of.loads);
            of.outside.into_iter().for_each(|outside| known.add_outside(outside));
            for (known, covered) in known.covered.iter_mut().zip(of.covered) {
                covered.into_iter().for_each(|span| cover(known, span));
            }
        }
    }

    /// The warnings, after all blocks have run.
    pub(crate) fn warnings(self) -> impl Iterator<Item = (Misuse, Outside)> {
        self.0.into_iter().filter_map(|of_map| {
            let OfMap { map, loads, ref outside, .. } = of_map;
            let TensorAccess::Tiled { box_sizes } = map.access else { return None };
            let (outside, uncovered) = outside.iter().find_map(|outside| {
                Some((outside.clone(), of_map.mistake(outside, &box_sizes)?))
            })?;
            let misuse = Misuse::BoxOutside {
                loads,
                coordinates: outside.coordinates.clone(),
                size: box_sizes[..map.rank].to_vec(),
                tensor: map.sizes[..map.rank].to_vec(),
                uncovered,
            };
            Some((misuse, outside))
        })
    }
}

impl OfMap {
    fn add_outside(&mut self, outside: Outside) {
        let is_new = || self.outside.iter().all(|known| known.coordinates != outside.coordinates);
        if self.outside.len() < KEPT && is_new() {
            self.outside.push(outside);
        }
    }

    /// The reason why an outside box is a mistake: the uncovered part of the tensor.
    ///
    /// `Some(None)` if no box lies inside. `None` if the box is padding.
    fn mistake(&self, outside: &Outside, box_sizes: &[u32]) -> Option<Option<Uncovered>> {
        if self.covered[0].is_empty() {
            return Some(None);
        }
        let coordinates = &outside.coordinates[..];
        let size = |dimension: usize| self.map.sizes[dimension] as i64;
        let beyond = |dimension: usize, at: i64| {
            at >= size(dimension) || at + i64::from(box_sizes[dimension]) <= 0
        };
        let gap = |dimension: usize| {
            let first = &self.covered[dimension][0];
            let end = if first.start > 0 { 0 } else { first.end };
            (end < size(dimension)).then_some(Uncovered { dimension, end })
        };
        let rank = self.map.rank;
        let along =
            (0..rank).filter(|&dimension| beyond(dimension, coordinates[dimension])).find_map(gap);
        // Whether no other box covers the place of a box at this coordinate.
        let is_missed = |dimension: usize, at: i64| {
            let (from, to) =
                (at.max(0), (at + i64::from(box_sizes[dimension])).min(size(dimension)));
            !self.covered[dimension].iter().any(|span| span.start <= from && to <= span.end)
        };
        let exchanged = || {
            let pairs =
                (0..rank).flat_map(|first| (first + 1..rank).map(move |second| [first, second]));
            pairs.into_iter().find_map(|[first, second]| {
                let mut coordinates = coordinates.to_vec();
                coordinates.swap(first, second);
                let is_inside =
                    (0..rank).all(|dimension| !beyond(dimension, coordinates[dimension]));
                let missed = [first, second]
                    .into_iter()
                    .find(|&dimension| is_missed(dimension, coordinates[dimension]));
                missed.filter(|_| is_inside).and_then(gap)
            })
        };
        along.or_else(exchanged).map(Some)
    }
}

/// Adds a range to disjoint ranges in order.
fn cover(spans: &mut Vec<Range<i64>>, mut added: Range<i64>) {
    if spans.iter().any(|span| span.start <= added.start && added.end <= span.end) {
        return;
    }
    spans.retain(|span| {
        let touches = span.start <= added.end && added.start <= span.end;
        if touches {
            added = added.start.min(span.start)..added.end.max(span.end);
        }
        !touches
    });
    let at = spans.partition_point(|span| span.start < added.start);
    spans.insert(at, added);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one() {
        let mut spans = Vec::new();
        [8..12, 0..4, 20..24, 4..8, 5..6].into_iter().for_each(|span| cover(&mut spans, span));
        assert_eq!(spans, [0..12, 20..24]);
        cover(&mut spans, 12..21);
        assert_eq!(spans, [Range { start: 0, end: 24 }]);
    }
}
