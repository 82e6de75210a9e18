//! Mistakes that are planted in correct pipelines.

use super::program::{Arrives, Program, Shape, Step};
use fastrand::Rng;
use ptx_matrix_fuzz_kernels::pipeline::{BARRIERS, WARPS};

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    MissingWait,
    RefillWithoutWait,
    WrongPhase,
    PhaseNotAdvanced,
    MissingFence,
    WrongBytes,
    BytesNotExpected,
    EarlyRelease,
    WrongCount,
    MissingArrival,
    WrongBarrier,
    MissingSync,
    MissingClusterSync,
    EarlyExit,
    WrongDepth,
    WrongScope,
    WrongTile,
    LostStep,
}

impl Mistake {
    pub const ALL: [Mistake; 18] = [
        Mistake::MissingWait,
        Mistake::RefillWithoutWait,
        Mistake::WrongPhase,
        Mistake::PhaseNotAdvanced,
        Mistake::MissingFence,
        Mistake::WrongBytes,
        Mistake::BytesNotExpected,
        Mistake::EarlyRelease,
        Mistake::WrongCount,
        Mistake::MissingArrival,
        Mistake::WrongBarrier,
        Mistake::MissingSync,
        Mistake::MissingClusterSync,
        Mistake::EarlyExit,
        Mistake::WrongDepth,
        Mistake::WrongScope,
        Mistake::WrongTile,
        Mistake::LostStep,
    ];

    /// The program with a mistake of this kind; `None` if it has no place for one.
    pub fn plant(self, random: &mut Rng, right: &Program) -> Option<Program> {
        let mut program = right.clone();
        match self {
            Mistake::MissingClusterSync => {
                let syncs =
                    program.warps[0].iter().filter(|entry| entry.step == Step::ClusterSync).count();
                let lost = random.usize(..syncs.checked_sub(1)? + 1);
                program.warps.iter_mut().for_each(|steps| remove_sync(steps, lost));
            }
            Mistake::EarlyExit => {
                let rank = random.usize(..program.blocks);
                let syncs =
                    program.warps[0].iter().filter(|entry| entry.step == Step::ClusterSync).count();
                let lost = syncs.checked_sub(1)?;
                program.warps[rank * WARPS..][..WARPS]
                    .iter_mut()
                    .for_each(|steps| remove_sync(steps, lost));
            }
            _ => {
                let places: Vec<(usize, usize)> = (0..program.warps.len())
                    .flat_map(|warp| (0..program.warps[warp].len()).map(move |at| (warp, at)))
                    .filter(|&(warp, at)| self.fits(&program, warp, at))
                    .collect();
                let (warp, at) = random.choice(places)?;
                self.change(random, &mut program, warp, at)?;
            }
        }
        (program != *right).then_some(program)
    }

    /// Whether a step can get this mistake.
    fn fits(self, program: &Program, warp: usize, at: usize) -> bool {
        let steps = &program.warps[warp];
        // Whether the wait is before a stage is filled, and not before it is used.
        let refills = || {
            let next = steps[at + 1..].iter().find(|next| next.channel == steps[at].channel);
            next.is_some_and(|next| {
                matches!(
                    next.step,
                    Step::Load { .. }
                        | Step::Expect { .. }
                        | Step::Fill { .. }
                        | Step::CopyAsync { .. }
                        | Step::SetPeer { .. }
                        | Step::Send { .. }
                )
            })
        };
        match (self, steps[at].step) {
            (Mistake::MissingWait, Step::Wait { .. }) => !refills(),
            (Mistake::MissingWait, Step::WaitToken) => true,
            (Mistake::RefillWithoutWait, Step::Wait { .. }) => refills(),
            (Mistake::WrongPhase, Step::Wait { .. }) => true,
            (Mistake::PhaseNotAdvanced, Step::Wait { phase, .. }) => phase > 0,
            (Mistake::MissingFence, Step::Fence) => true,
            (Mistake::WrongBytes | Mistake::BytesNotExpected, Step::Expect { .. }) => true,
            (Mistake::EarlyRelease, Step::Arrive { .. } | Step::ArriveToken { .. }) => at > 0,
            (Mistake::WrongCount, Step::Arrive { by, .. }) => by != Arrives::HavingRead,
            (Mistake::MissingArrival, Step::Arrive { .. } | Step::ArriveToken { .. }) => true,
            (Mistake::MissingArrival, Step::ArriveWhenCopied { .. } | Step::Expect { .. }) => true,
            (
                Mistake::WrongBarrier,
                Step::Arrive { .. } | Step::Load { .. } | Step::ArriveToken { .. },
            ) => true,
            (Mistake::WrongBarrier, Step::Expect { .. } | Step::Wait { .. }) => true,
            (Mistake::MissingSync, Step::WarpSync | Step::GroupSync | Step::BlockSync) => true,
            (
                Mistake::WrongDepth,
                Step::WaitStores { .. } | Step::WaitWgmmas { .. } | Step::TakeAccumulators { .. },
            ) => true,
            (Mistake::WrongDepth, Step::Commit) => true,
            (Mistake::WrongScope, Step::Wait { cluster, .. }) => cluster,
            (Mistake::WrongScope, Step::Arrive { by, ranks, .. }) => {
                by == Arrives::Elected && ranks != 0
            }
            (
                Mistake::WrongTile,
                Step::Load { .. } | Step::Fill { .. } | Step::Read { .. } | Step::Store { .. },
            ) => true,
            (
                Mistake::WrongTile,
                Step::Multiply { .. } | Step::SetPeer { .. } | Step::Send { .. },
            ) => true,
            (Mistake::LostStep, _) => true,
            _ => false,
        }
    }

    fn change(self, random: &mut Rng, program: &mut Program, warp: usize, at: usize) -> Option<()> {
        let steps = &mut program.warps[warp];
        let removes = match (self, &mut steps[at].step) {
            (Mistake::WrongPhase, Step::Wait { phase, .. }) => {
                *phase += 1;
                false
            }
            (Mistake::PhaseNotAdvanced, Step::Wait { phase, .. }) => {
                *phase -= 1;
                false
            }
            (Mistake::WrongBytes, Step::Expect { bytes, .. }) => {
                *bytes = match random.u8(..3) {
                    0 => *bytes * 2,
                    1 => *bytes / 2,
                    _ => *bytes + 16,
                };
                false
            }
            (Mistake::BytesNotExpected, Step::Expect { bytes, .. }) => {
                *bytes = 0;
                false
            }
            (Mistake::WrongCount, Step::Arrive { times, .. }) => {
                *times = if *times > 1 && random.bool() { *times - 1 } else { *times + 1 };
                false
            }
            (
                Mistake::WrongBarrier,
                Step::Arrive { barrier, .. }
                | Step::Load { barrier, .. }
                | Step::ArriveToken { barrier }
                | Step::Expect { barrier, .. }
                | Step::Wait { barrier, .. },
            ) => {
                // Another barrier with the same number of arrivals.
                let first = *barrier / BARRIERS * BARRIERS;
                *barrier = first + (*barrier - first + random.usize(1..BARRIERS)) % BARRIERS;
                false
            }
            (
                Mistake::WrongDepth,
                Step::WaitStores { newest, .. }
                | Step::WaitWgmmas { newest }
                | Step::TakeAccumulators { newest, .. },
            ) => {
                *newest += 1;
                false
            }
            (Mistake::WrongScope, Step::Wait { cluster, .. }) => {
                *cluster = false;
                false
            }
            (Mistake::WrongScope, Step::Arrive { by, .. }) => {
                *by = Arrives::HavingRead;
                false
            }
            (
                Mistake::WrongTile,
                Step::Load { tile, .. }
                | Step::Fill { tile, .. }
                | Step::Read { tile }
                | Step::Store { tile, .. },
            ) => {
                tile.slot = (tile.slot + random.usize(1..tile.shape.slots())) % tile.shape.slots();
                false
            }
            (Mistake::WrongTile, Step::Multiply { b, .. }) => {
                *b = (*b + 1) % Shape::B.slots();
                false
            }
            (Mistake::WrongTile, Step::SetPeer { slot, .. } | Step::Send { slot, .. }) => {
                *slot = (*slot + 1) % Shape::Row.slots();
                false
            }
            _ => true,
        };
        if self == Mistake::EarlyRelease {
            let uses = |step: Step| {
                matches!(
                    step,
                    Step::Read { .. }
                        | Step::WaitWgmmas { .. }
                        | Step::WaitStores { .. }
                        | Step::Fill { .. }
                        | Step::SetPeer { .. }
                )
            };
            let channel = steps[at].channel;
            let before = steps[..at]
                .iter()
                .rposition(|entry| entry.channel == channel && uses(entry.step))?;
            let entry = steps.remove(at);
            steps.insert(before, entry);
        } else if removes {
            steps.remove(at);
        }
        Some(())
    }
}

/// Removes the `number`th `sync` of the cluster.
fn remove_sync(steps: &mut Vec<super::program::Entry>, number: usize) {
    let mut syncs = (0..steps.len()).filter(|&at| steps[at].step == Step::ClusterSync);
    if let Some(at) = syncs.nth(number) {
        steps.remove(at);
    }
}
