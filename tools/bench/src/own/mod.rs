//! This project's contestants.

mod gemm;
mod ladder;
mod naive;

use self::gemm::OwnGemm;
use self::ladder::Step;
use self::naive::Naive;
use super::{Contestant, Gemms, Measured, Outcome, Problem};
use ptx_matrix_gemm::TunedGemm;
use ptx_matrix_host::GpuDevice;

/// All contestants of this project, in every configuration. A new kind of kernel is a file in this
/// folder and a row of this list.
pub fn own(device: &GpuDevice) -> Vec<Box<dyn Contestant + '_>> {
    let mut own: Vec<Box<dyn Contestant + '_>> = vec![Box::new(Naive::new(device))];
    own.extend(Step::all(device).map(|step| Box::new(step) as Box<dyn Contestant>));
    own.extend(OwnGemm::all(device).into_iter().map(|gemm| Box::new(gemm) as Box<dyn Contestant>));
    own
}

/// The fastest right configuration of a GEMM, as [`Tuned`](ptx_matrix_gemm::Tuned) stores it;
/// `None` for a grouped GEMM.
pub fn fastest(device: &GpuDevice, problem: &Problem, measured: &[Measured]) -> Option<TunedGemm> {
    if let Gemms::Groups(_) = problem.gemms {
        return None;
    }
    let timed =
        measured.iter().filter(|one| one.contestant == gemm::NAME && one.outcome == Outcome::Right);
    let (_, config) = timed
        .filter_map(|one| Some((one.micros?.median, &one.config)))
        .min_by(|one, other| one.0.total_cmp(&other.0))?;
    let choice = (config != gemm::AUTO).then(|| config.parse()).transpose().ok()?;
    gemm::tuned(device, problem, choice)
}
