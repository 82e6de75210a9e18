//! What a run goes on after: races within a warp.
//!
//! On today's GPUs a warp mostly goes in step and they leave nothing to chance, but PTX does not promise it;
//! compute-sanitizer warns of them too.

use super::error::{Agent, Finding, Misuse, Place};
use super::race::{Access, Lanes};
use std::cell::RefCell;
use std::vec::Vec;

/// The warnings of one block, each pair of lines once.
#[derive(Default)]
pub(super) struct Warnings(RefCell<Vec<(Access, Misuse)>>);

impl Warnings {
    /// Notes a race, if it is one to go on after; else gives it back.
    pub(super) fn note(&self, by: Access, race: Misuse) -> Result<(), Misuse> {
        let Misuse::Race { access, other_access, other_place, other, .. } = &race else { return Err(race) };
        let within_a_warp = matches!(other, Agent::LaneOfWarp(_) | Agent::SameWarp);
        if !within_a_warp || (*access, *other_access) == ("write", "write") {
            return Err(race);
        }
        let mut noted = self.0.borrow_mut();
        let known = noted.iter().any(|(known, misuse)| {
            known.location == by.location
                && matches!(misuse, Misuse::Race { other_place: place, .. } if place == other_place)
        });
        if !known {
            noted.push((by, race));
        }
        Ok(())
    }

    /// The warnings as findings: `of` makes one of the misuse, its place, warp and lane.
    pub(super) fn findings(
        &self,
        of: impl Fn(Misuse, Option<Place>, Option<usize>, Option<usize>) -> Finding,
    ) -> Vec<Finding> {
        let noted = self.0.take();
        let findings = noted.into_iter().map(|(by, misuse)| {
            let lane = if let Lanes::One(lane) = by.by { Some(lane) } else { None };
            of(misuse, Some(by.location.into()), Some(by.agent), lane)
        });
        findings.collect()
    }
}
