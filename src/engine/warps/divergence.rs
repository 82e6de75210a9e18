//! Checks that the lanes of a warp execute one collective together.

use crate::engine::findings::{Misuse, Place};
use crate::lane::LANES;
use crate::lane::Site;
use core::panic::Location;
use std::format;
use std::string::String;
use std::vec::Vec;

/// A collective that lanes may execute on different source lines, if all lanes execute it.
pub(crate) const BAR_WARP_SYNC: &str = "bar.warp.sync";

/// All such collectives: those without `.aligned`.
const UNALIGNED: [&str; 3] =
    [BAR_WARP_SYNC, "barrier.cluster.wait", "barrier.cluster.wait.acquire"];

/// The position of a waiting lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CollectiveAt {
    form: &'static str,
    location: &'static Location<'static>,
}

/// Lanes of a warp that wait at a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLanes {
    /// The lanes.
    pub lanes: Vec<usize>,
    /// The collective, as in PTX.
    pub form: &'static str,
    /// Its source line.
    pub place: Place,
}

impl CollectiveAt {
    pub(crate) fn new(form: &'static str, site: Site) -> Self {
        CollectiveAt { form, location: site.location }
    }

    /// Whether lanes at `self` and lanes at `other` execute one instruction.
    fn meets(self, other: Self) -> bool {
        self.form == other.form
            && (UNALIGNED.contains(&self.form) || self.location == other.location)
    }
}

/// Checks that all 32 lanes wait, at the same collective. At least one lane waits.
pub(crate) fn check(
    waiting: impl ExactSizeIterator<Item = (usize, CollectiveAt)> + Clone,
) -> Result<(), Misuse> {
    let Some((_, first)) = waiting.clone().next() else { return Ok(()) };
    if waiting.len() == LANES && waiting.clone().all(|(_, at)| at.meets(first)) {
        return Ok(());
    }
    let mut places: Vec<(CollectiveAt, Vec<usize>)> = Vec::new();
    for (lane, at) in waiting.clone() {
        match places.iter_mut().find(|(known, _)| *known == at) {
            Some((_, lanes)) => lanes.push(lane),
            None => places.push((at, Vec::from([lane]))),
        }
    }
    let ended =
        (0..LANES).filter(|lane| waiting.clone().all(|(waits, _)| waits != *lane)).collect();
    let waiting = places.into_iter().map(|(at, lanes)| {
        let place = at.location.into();
        WaitingLanes { lanes, form: at.form, place }
    });
    Err(Misuse::Divergence { waiting: waiting.collect(), ended })
}

/// "lane 3" or "lanes 0 to 7, 9".
pub(crate) fn lanes(lanes: &[usize]) -> String {
    let ranges = lanes.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [lane] => format!("{lane}"),
        [one, next] => format!("{one}, {next}"),
        range => format!("{} to {}", range[0], range[range.len() - 1]),
    });
    let plural = if lanes.len() == 1 { "lane" } else { "lanes" };
    format!("{plural} {}", ranges.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_in_a_row_are_a_range() {
        assert_eq!(lanes(&[3]), "lane 3");
        assert_eq!(lanes(&[3, 4]), "lanes 3, 4");
        assert_eq!(lanes(&[0, 1, 2, 3, 7, 9, 10, 11]), "lanes 0 to 3, 7, 9 to 11");
    }
}
