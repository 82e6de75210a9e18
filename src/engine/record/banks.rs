//! Bank conflicts of shared memory.
//!
//! There are 32 banks of four bytes. A warp's access is served in phases of at most 128 bytes:
//!
//! | bytes of a lane | lanes of a phase |
//! | --- | --- |
//! | up to 4 | 32 |
//! | 8 | 16 |
//! | 16 | 8 |
//!
//! The eight rows of a matrix (16 bytes each) are one phase too. In a phase a bank delivers one
//! word, to any number of lanes. Each further word of that bank costs one more pass ("way").

use crate::engine::record::instruction::LaneAccess;
use crate::lane::LANES;
use std::vec::Vec;

const BANKS: usize = 32;
const WORD: usize = 4;

/// The number of the phase that serves an access.
fn phase(access: &LaneAccess) -> usize {
    access.lane / (LANES * WORD / access.bytes.max(WORD))
}

/// The phases of a warp's access, each with its number of ways.
pub(crate) fn phases(accesses: &[LaneAccess]) -> impl Iterator<Item = (u32, &[LaneAccess])> {
    accesses.chunk_by(|one, next| phase(one) == phase(next)).map(|phase| (ways(phase), phase))
}

fn ways(phase: &[LaneAccess]) -> u32 {
    let words =
        |access: &LaneAccess| access.address / WORD..(access.address + access.bytes).div_ceil(WORD);
    let mut words: Vec<usize> = phase.iter().flat_map(words).collect();
    words.sort_unstable();
    words.dedup();
    let mut in_bank = [0; BANKS];
    for word in words {
        in_bank[word % BANKS] += 1;
    }
    in_bank.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ways of each phase if each lane accesses `bytes` bytes at `address(lane)`.
    fn ways_of(lanes: usize, bytes: usize, address: impl Fn(usize) -> usize) -> Vec<u32> {
        let accesses: Vec<_> =
            (0..lanes).map(|lane| LaneAccess { lane, address: address(lane), bytes }).collect();
        phases(&accesses).map(|(ways, _)| ways).collect()
    }

    #[test]
    fn words() {
        assert_eq!(ways_of(32, 4, |lane| lane * 4), [1]);
        assert_eq!(ways_of(32, 4, |lane| lane * 8), [2]);
        assert_eq!(ways_of(32, 4, |lane| lane * 128), [32]);
        assert_eq!(ways_of(32, 4, |lane| lane * 132), [1]);
        assert_eq!(ways_of(32, 4, |_| 64), [1], "one word for all");
        assert_eq!(ways_of(32, 4, |lane| lane % 2 * 128), [2], "two words of one bank");
    }

    #[test]
    fn parts_of_words() {
        assert_eq!(ways_of(32, 2, |lane| lane * 2), [1]);
        assert_eq!(ways_of(32, 1, |lane| lane), [1]);
        assert_eq!(ways_of(32, 2, |lane| lane * 128), [32]);
        assert_eq!(ways_of(32, 2, |lane| lane / 2 * 128 + lane % 2 * 2), [16]);
    }

    #[test]
    fn several_words() {
        assert_eq!(ways_of(32, 8, |lane| lane * 8), [1, 1]);
        assert_eq!(ways_of(32, 8, |lane| lane * 16), [2, 2]);
        assert_eq!(ways_of(32, 8, |lane| if lane < 16 { lane * 8 } else { lane * 128 }), [1, 16]);
        assert_eq!(ways_of(32, 16, |lane| lane * 16), [1; 4]);
        assert_eq!(ways_of(32, 16, |lane| lane * 128), [8; 4]);
        assert_eq!(ways_of(32, 16, |_| 0), [1; 4]);
    }

    #[test]
    fn phase_of_no_lanes_takes_no_turn() {
        assert_eq!(ways_of(8, 16, |lane| lane * 144), [1]);
        assert_eq!(ways_of(16, 16, |lane| lane * 32), [2, 2]);
        assert_eq!(ways_of(3, 8, |lane| lane * 128), [3]);
        assert!(ways_of(0, 4, |lane| lane).is_empty());
    }
}
