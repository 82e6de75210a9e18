//! This project's contestants.

mod ladder;
mod naive;

use self::ladder::Step;
use self::naive::Naive;
use super::Contestant;
use crate::GpuDevice;

/// All of them, in every configuration. Each new kernel is a file beside this one and a row in this list.
pub fn own(device: &GpuDevice) -> Vec<Box<dyn Contestant + '_>> {
    let mut own: Vec<Box<dyn Contestant + '_>> = vec![Box::new(Naive::new(device))];
    own.extend(Step::all(device).map(|step| Box::new(step) as Box<dyn Contestant>));
    own
}
