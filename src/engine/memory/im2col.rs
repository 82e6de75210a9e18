//! The pixels of a TMA copy in im2col mode (PTX ISA 5.5.4).

use crate::engine::findings::Misuse;
use crate::isa::{TensorAccess, TensorEncoding};
use std::vec::Vec;

/// Checks that each offset fits the instruction. Its bits depend on the rank: 16 bits in total, or
/// 15.
pub(super) fn check_offsets(map: &TensorEncoding, offsets: &[u16]) -> Result<(), Misuse> {
    let limit: u32 = match map.rank {
        3 => 1 << 16,
        4 => 1 << 8,
        _ => 1 << 5,
    };
    match offsets.iter().position(|&offset| u32::from(offset) >= limit) {
        Some(index) => {
            Err(Misuse::Im2colOffset { dimension: index + 1, offset: offsets[index], limit })
        }
        None => Ok(()),
    }
}

/// Checks that the first pixel is in the bounding box.
pub(super) fn check_in_bounds(map: &TensorEncoding, at: [i64; 5]) -> Result<(), Misuse> {
    for (dimension, &coordinate) in at.iter().enumerate().take(map.rank - 1).skip(1) {
        let (first, last) = map.bounds(dimension);
        if !(first..=last).contains(&coordinate) {
            return Err(Misuse::OutOfBoundingBox { dimension, coordinate, first, last });
        }
    }
    Ok(())
}

/// The coordinates of the pixels, in order, along all dimensions except the channels.
///
/// The pixels follow each other along W. At the end of the bounding box they continue at its start,
/// one step further in the next dimension, and finally in the next image.
pub(super) fn pixels(map: &TensorEncoding, at: [i64; 5], offsets: &[u16]) -> Vec<[i64; 4]> {
    let TensorAccess::Im2col { pixels, .. } = map.access else {
        unreachable!("a map of im2col mode")
    };
    let (images, mut at) = (map.rank - 1, at);
    let next = |at: &mut [i64; 5]| {
        for (dimension, coordinate) in at.iter_mut().enumerate().take(images).skip(1) {
            let (first, last) = map.bounds(dimension);
            *coordinate += i64::from(map.steps[dimension]);
            if *coordinate <= last {
                return;
            }
            *coordinate = first;
        }
        at[images] += 1;
    };
    let places = (0..pixels).map(|_| {
        let mut place: [i64; 4] = core::array::from_fn(|d| at[d + 1]);
        place
            .iter_mut()
            .zip(offsets)
            .for_each(|(coordinate, &offset)| *coordinate += i64::from(offset));
        next(&mut at);
        place
    });
    places.collect()
}
