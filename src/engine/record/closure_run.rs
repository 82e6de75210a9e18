//! Combines the accesses of a lane closure's 32 runs into instructions of the warp.
//!
//! On a GPU the lanes run side by side; here they run one after the other. The n-th visits of all
//! lanes to one source position count as one instruction.

use crate::engine::record::instruction::{Code, Instruction, LaneAccess, Traffic};
use std::collections::HashMap;
use std::vec::Vec;

#[derive(Default)]
pub(crate) struct ClosureRun {
    /// In the order in which the first lane reached them.
    instructions: Vec<Instruction>,
    visits: HashMap<Code, Visits>,
}

/// The lanes' visits to one source position.
#[derive(Default)]
struct Visits {
    /// The index in `instructions` for each visit number.
    instructions: Vec<usize>,
    /// The last lane that came, and its number of visits.
    lane: usize,
    times: usize,
}

impl ClosureRun {
    /// Adds an access of a lane. Lanes come in order, each with all of its accesses.
    pub(crate) fn add(&mut self, code: Code, traffic: Traffic, access: LaneAccess) {
        let visits = self.visits.entry(code).or_default();
        if visits.lane != access.lane {
            (visits.lane, visits.times) = (access.lane, 0);
        }
        let index = match visits.instructions.get(visits.times) {
            Some(&index) => index,
            None => {
                visits.instructions.push(self.instructions.len());
                self.instructions.push(Instruction {
                    code,
                    traffic,
                    lanes: 0,
                    accesses: Vec::new(),
                });
                self.instructions.len() - 1
            }
        };
        visits.times += 1;
        let instruction = &mut self.instructions[index];
        instruction.lanes += 1;
        instruction.accesses.push(access);
    }

    /// Returns the instructions after the last lane has run.
    pub(crate) fn end(&mut self) -> Vec<Instruction> {
        self.visits.clear();
        std::mem::take(&mut self.instructions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    #[test]
    fn nth_time_at_place_is_one_instruction() {
        let location = Location::caller();
        let [load, store] = ["load", "store"].map(|form| Code { location, form });
        let mut run = ClosureRun::default();
        for lane in 0..3 {
            let access = |address| LaneAccess { lane, address, bytes: 4 };
            for time in 0..=lane {
                run.add(load, Traffic::SharedRead, access(time * 100 + lane));
            }
            if lane != 1 {
                run.add(store, Traffic::SharedWrite, access(1000));
            }
        }
        let seen: Vec<_> = run
            .end()
            .into_iter()
            .map(|of| {
                (of.code.form, of.accesses.iter().map(|access| access.address).collect::<Vec<_>>())
            })
            .collect();
        let expected = [
            ("load", std::vec![0, 1, 2]),
            ("store", std::vec![1000, 1000]),
            ("load", std::vec![101, 102]),
            ("load", std::vec![202]),
        ];
        assert_eq!(seen, expected);
        assert!(run.end().is_empty());
    }
}
