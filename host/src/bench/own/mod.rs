//! This project's contestants.

mod naive;

use self::naive::Naive;
use super::Contestant;
use crate::GpuDevice;

/// All of them, in every configuration. Each new kernel is a file beside this one and a row in this list.
pub fn own(device: &GpuDevice) -> Vec<Box<dyn Contestant + '_>> {
    vec![Box::new(Naive::new(device))]
}
