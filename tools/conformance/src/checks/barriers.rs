//! `mbarrier`, and named barriers.

use super::{Check, upload, with_output};
use crate::data::Rng;
use crate::{bytes, elements};
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::barriers::{
    NO_ARRIVAL, Step, WAYS, barrier_script, barrier_stages, barrier_waits, named_barriers,
};
use rand::RngExt;
use std::borrow::Borrow;

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let named = "bar.sync and bar.arrive, rows through named barriers";
    vec![
        script("few arrivals", 12),
        script("many arrivals", (1 << 20) - 1),
        rows("mbarrier, rows through stages", Needs::at_least(90), false),
        rows(named, Needs::at_least(75), true),
        waits(),
    ]
}

/// Steps in a script.
pub(super) const STEPS: usize = 96;

/// A barrier by its definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Model {
    count: u32,
    pending: u32,
    bytes: i64,
    pub(super) phase: u32,
}

impl Model {
    pub(super) fn new(count: u32) -> Self {
        Model { count, pending: count, bytes: 0, phase: 0 }
    }

    /// The barrier after a step; `None` if the step would be invalid.
    pub(super) fn after(mut self, step: Step, operand: u32) -> Option<Self> {
        let arrivals = match step {
            Step::Expect | Step::Complete => 0,
            Step::ArriveTimes | Step::LeaveTimes => operand,
            _ => 1,
        };
        match step {
            Step::ArriveExpecting | Step::LeaveExpecting | Step::Expect => {
                self.bytes += i64::from(operand)
            }
            Step::Complete => self.bytes -= i64::from(operand),
            _ => {}
        }
        if matches!(step, Step::Leave | Step::LeaveTimes | Step::LeaveExpecting) {
            self.count = self.count.checked_sub(arrivals).filter(|&count| count > 0)?;
        }
        self.pending = self.pending.checked_sub(arrivals)?;
        if self.bytes.abs() >= 1 << 20 || (self.pending == 0 && self.bytes < 0) {
            return None;
        }
        if self.pending == 0 && self.bytes == 0 {
            self = Model { pending: self.count, phase: self.phase + 1, ..self };
        }
        Some(self)
    }
}

/// Input: the barrier's count, and a valid script. Its steps often complete the current phase.
fn script<D: Device + 'static>(name: &str, most: u32) -> Check<D> {
    Check {
        name: format!("mbarrier, every form, {name}"),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 32,
        element: 4,
        inputs: Box::new(move |rng| {
            let count = rng.random_range(most / 2..=most);
            let mut model = Model::new(count);
            let mut script = Vec::new();
            while script.len() < STEPS * 2 {
                let (step, operand) = draw(rng, model);
                if let Some(after) = model.after(step, operand) {
                    model = after;
                    script.extend([step as u32, operand]);
                }
            }
            vec![bytes(&script), bytes(&[count])]
        }),
        run: Box::new(|device, inputs| {
            let script = upload::<D, u32>(device, &inputs[0])?;
            let [count] = elements::<u32>(&inputs[1])[..] else { panic!("one count") };
            with_output::<D, u32>(device, STEPS * 2, |out| {
                barrier_script::launch(device, 1, script.borrow(), count, out)
            })
        }),
        reference: Box::new(|inputs| {
            let mut model = Model::new(elements::<u32>(&inputs[1])[0]);
            let script = elements::<u32>(&inputs[0]);
            let output = script.chunks(2).flat_map(|step| {
                let before = model;
                let code = Step::ALL[step[0] as usize];
                model = before.after(code, step[1]).expect("a script that is right");
                let arrives = !matches!(code, Step::Expect | Step::Complete);
                // The current phase is incomplete. The phase before it is complete, and also the
                // one before the first.
                [
                    if arrives { before.pending } else { NO_ARRIVAL },
                    if model.phase.is_multiple_of(2) { 2 } else { 1 },
                ]
            });
            bytes(&output.collect::<Vec<u32>>())
        }),
    }
}

pub(super) fn draw(rng: &mut Rng, model: Model) -> (Step, u32) {
    let step = Step::ALL[rng.random_range(0..Step::ALL.len())];
    let operand = match step {
        Step::Arrive | Step::Leave => 0,
        // In half of the cases, all pending arrivals.
        Step::ArriveTimes if rng.random_ratio(1, 2) => model.pending.max(1),
        Step::ArriveTimes => rng.random_range(1..=model.pending.max(1)),
        Step::LeaveTimes => rng.random_range(1..=3),
        Step::Complete if model.bytes > 0 && rng.random_ratio(2, 3) => model.bytes as u32,
        _ => {
            let bits = rng.random_range(1..20);
            rng.random_range(0..1 << bits)
        }
    };
    (step, operand)
}

/// Input: the matrix, row by row. Its rows pass through named barriers, or through stages.
fn rows<D: Device + 'static>(name: &str, needs: Needs, named: bool) -> Check<D> {
    const ROWS: usize = 20;
    Check {
        name: name.into(),
        needs,
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| {
            vec![bytes(&(0..ROWS * 64).map(|_| rng.random::<u32>() >> 2).collect::<Vec<u32>>())]
        }),
        run: Box::new(move |device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, ROWS * 3 * 64, |out| {
                if named {
                    named_barriers::launch(device, 1, a.borrow(), out)
                } else {
                    barrier_stages::launch(device, 1, a.borrow(), out)
                }
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            let element = |index: usize| {
                a[index / 192 * 64 + ((index % 64) ^ 33)] * (index / 64 % 3 + 1) as u32
            };
            bytes(&(0..ROWS * 3 * 64).map(element).collect::<Vec<u32>>())
        }),
    }
}

/// Input: the rows.
fn waits<D: Device + 'static>() -> Check<D> {
    const ROWS: usize = WAYS * 4;
    Check {
        name: "mbarrier, waited for in every way".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| {
            vec![bytes(&(0..ROWS * 32).map(|_| rng.random::<u32>()).collect::<Vec<u32>>())]
        }),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, ROWS * 32, |out| {
                barrier_waits::launch(device, 1, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            bytes(&(0..a.len()).map(|i| a[i ^ 9]).collect::<Vec<u32>>())
        }),
    }
}
