//! A finding, and the error that consists of findings.

use super::cause::{Actor, Cause};
use super::misuse::{Agent, Misuse, Place};
use super::names::Names;
use crate::engine::findings::Report;
use crate::lane::{AccessKind, Grid};
use std::boxed::Box;
use std::fmt;
use std::vec::Vec;

/// The errors of a simulated run: one or more [`Finding`]s, each once.
///
/// Printed with `{}` or `{:?}` it looks like a compiler's errors, so `unwrap()` in a test shows
/// them. As a single error it stands for the first finding.
#[derive(Clone, PartialEq)]
pub struct SimError(Box<Failed>);

#[derive(Clone, PartialEq)]
struct Failed {
    /// At least one.
    findings: Vec<Finding>,
    report: Report,
}

impl SimError {
    /// The error of these findings, or the report if there are none.
    pub(crate) fn of(findings: Vec<Finding>, report: Report) -> Result<Report, Self> {
        let findings = mistakes_first(findings);
        if findings.is_empty() {
            Ok(report)
        } else {
            Err(SimError(Box::new(Failed { findings, report })))
        }
    }

    /// The findings. Those with a known [`cause`](Finding::cause) come first. The others come block
    /// by block, in the order of their discovery.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// The report of the run, with its profile and trace. It includes blocks that failed, up to
    /// their failure.
    pub fn report(&self) -> &Report {
        &self.0.report
    }
}

/// The findings without consequences of other findings. Mistakes come first.
fn mistakes_first(mut findings: Vec<Finding>) -> Vec<Finding> {
    let causes = || findings.iter().filter_map(|finding| finding.cause.as_deref());
    let (is_known, is_of_barrier) = (causes().next().is_some(), causes().any(Cause::is_of_barrier));
    findings.retain(|finding| {
        let is_deadlock = matches!(finding.misuse, Misuse::Deadlock { .. });
        !(finding.is_consequence() && if is_deadlock { is_of_barrier } else { is_known })
    });
    let causes: Vec<Cause> =
        findings.iter().filter_map(|finding| finding.cause.as_deref().cloned()).collect();
    findings.retain(|finding| {
        let cause = finding.cause.as_deref();
        !cause.is_some_and(|cause| causes.iter().any(|other| cause.follows_from(other)))
    });
    if findings.iter().any(|finding| matches!(finding.misuse, Misuse::PeerNotStarted { .. })) {
        findings.retain(|finding| !finding.is_of_peer_not_started());
    }
    // The same two lines race in both orders. A read may come before the write with which it races.
    let races: Vec<_> = findings.iter().filter_map(Finding::race).collect();
    let (reads, pairs): (Vec<_>, Vec<_>) = (
        races.iter().filter_map(|race| race.read.cloned()).collect(),
        races.iter().map(|race| (race.here.clone(), race.there.clone())).collect(),
    );
    // The operands of one `wgmma` lack the same wait or `sync`.
    let groups: Vec<_> = races.iter().map(|race| race.group.cloned()).collect();
    let mut index = 0;
    findings.retain(|finding| {
        if finding.race().is_some() {
            let ((here, there), group) = (&pairs[index], &groups[index]);
            let is_of_known_group = group.is_some() && groups[..index].contains(group);
            let is_known = pairs[..index].iter().any(|of| (&of.1, &of.0) == (here, there));
            index += 1;
            return !is_known && !is_of_known_group;
        }
        let is_unwritten = matches!(finding.misuse, Misuse::SharedUnwritten { .. });
        !(is_unwritten && finding.place.as_ref().is_some_and(|place| reads.contains(place)))
    });
    // A warp that reads memory before it is written also releases it too early.
    let mut is_behind_early_read = false;
    findings.retain(|finding| {
        let is_dropped = is_behind_early_read && finding.is_consequence();
        is_behind_early_read |= matches!(finding.misuse, Misuse::SharedUnwritten { .. });
        !(is_dropped && matches!(finding.misuse, Misuse::Barrier { .. }))
    });
    findings.sort_by_key(|finding| !finding.is_mistake());
    findings
}

impl std::ops::Deref for SimError {
    type Target = Finding;

    fn deref(&self) -> &Finding {
        &self.0.findings[0]
    }
}

/// A misuse by a simulated kernel, with its place.
#[derive(Clone, PartialEq)]
pub struct Finding {
    /// The misuse.
    pub misuse: Misuse,
    /// The mistake behind it, if known. Then `place`, `warp` and `lane` are those of the mistake.
    pub cause: Option<Box<Cause>>,
    /// The kernel's name.
    pub kernel: &'static str,
    /// The line of the kernel's source.
    pub place: Option<Place>,
    /// The block.
    pub block: Option<Grid>,
    /// The warp in the block.
    pub warp: Option<usize>,
    /// The lane, for a misuse in a lane closure or in one lane's operand.
    pub lane: Option<usize>,
    /// The seed that reproduces it.
    pub seed: u64,
    pub(crate) names: Option<Names>,
}

/// The lines of a race without a known cause.
struct RaceLines<'f> {
    here: &'f Place,
    there: &'f Place,
    /// The line that reads.
    read: Option<&'f Place>,
    /// The line of the `wgmma`, if one races.
    group: Option<&'f Place>,
}

impl Finding {
    fn race(&self) -> Option<RaceLines<'_>> {
        let (None, Some(here), Misuse::Race { access, other_access, other_place, other, .. }) =
            (&self.cause, &self.place, &self.misuse)
        else {
            return None;
        };
        let there = other_place;
        let read = match (*access, *other_access) {
            (AccessKind::Read, _) => Some(here),
            (_, AccessKind::Read) => Some(there),
            _ => None,
        };
        let group = matches!(other, Agent::WarpGroup).then_some(there);
        Some(RaceLines { here, there, read, group })
    }

    /// Moves the finding to the line of its cause.
    pub(super) fn blame(&mut self) {
        if let Some(Actor { block, warp, lane, place }) =
            self.cause.as_ref().and_then(|cause| cause.blamed()).cloned()
        {
            (self.place, self.warp, self.lane) = (Some(place), Some(warp), lane);
            self.block = block.or(self.block);
        }
    }

    /// Whether both are the same mistake at the same line. Without a known mistake: the same misuse
    /// at the same lines.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (&self.cause, &other.cause) {
            (Some(cause), Some(cause2)) => {
                return cause.is_like(cause2) && self.place == other.place;
            }
            (None, None) => {}
            _ => return false,
        }
        let same_lines = match (&self.misuse, &other.misuse) {
            (
                Misuse::Race { access, other_access, other_place, .. },
                Misuse::Race {
                    access: access2,
                    other_access: other_access2,
                    other_place: other_place2,
                    ..
                },
            ) => (access, other_access, other_place) == (access2, other_access2, other_place2),
            // All lack the first `sync` of the cluster.
            (Misuse::PeerNotStarted { .. }, Misuse::PeerNotStarted { .. }) => return true,
            (Misuse::Barrier { misuse, .. }, Misuse::Barrier { misuse: misuse2, .. }) => {
                misuse == misuse2
            }
            (Misuse::ClusterBarrier { misuse }, Misuse::ClusterBarrier { misuse: misuse2 }) => {
                misuse == misuse2
            }
            (Misuse::CopyInFlight { place, .. }, Misuse::CopyInFlight { place: place2, .. }) => {
                place == place2
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        };
        same_lines && self.place == other.place
    }
}

impl std::error::Error for SimError {}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Debug for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", **self)?;
        for finding in &self.findings()[1..] {
            write!(f, "\n\n{finding}")?;
        }
        if self.findings().len() > 1 {
            write!(f, "\n\nerror: {} findings in kernel `{}`", self.findings().len(), self.kernel)?;
        }
        Ok(())
    }
}
