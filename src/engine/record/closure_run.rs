//! The accesses of a lane closure's 32 runs, put together to the instructions of the warp.
//!
//! On a GPU the lanes run side by side; here one runs after the other. What they do at the same
//! place is taken for one instruction: the first time that each comes there, the second time, and
//! so on.

use crate::engine::record::instruction::{Code, Instruction, LaneAccess, Traffic};
use std::collections::HashMap;
use std::vec::Vec;

#[derive(Default)]
pub(crate) struct ClosureRun {
    /// In the order in which the first lane came to them.
    instructions: Vec<Instruction>,
    visits: HashMap<Code, Visits>,
}

/// How the lanes came by one place.
#[derive(Default)]
struct Visits {
    /// The instruction of each time, in `instructions`.
    instructions: Vec<usize>,
    /// The lane that came last, and how often it has.
    lane: usize,
    times: usize,
}

impl ClosureRun {
    /// A lane's access. Lanes come in order, each with all of its accesses.
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

    /// The last lane has run.
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
    fn the_nth_time_at_a_place_is_one_instruction() {
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
