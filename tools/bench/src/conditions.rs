//! The state of the GPU during a measurement: clock, power, and reasons for a lower clock. NVML,
//! the monitoring library of the driver, reports them.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::statistics::median;
use ptx_matrix_host::DeviceInfo;

/// The file name in a driver's installation. By default the `nvml` crate looks for the toolkit's
/// file.
const FILE_NAME: &str = "libnvidia-ml.so.1";

/// The sampling period while work runs.
const PERIOD: Duration = Duration::from_millis(2);

/// Samples the state of a GPU while it works.
#[derive(Debug)]
pub struct Monitor {
    nvml: Nvml,
    pci_bus_id: String,
}

/// The state of the GPU while some work ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// The median SM clock in MHz.
    pub clock_mhz: Option<f64>,
    /// The median power in watts. Each reading is already a mean over some time.
    pub power_w: Option<f64>,
    /// The reasons that lowered the clock at any time, such as `SW_POWER_CAP`.
    pub throttle: Vec<String>,
}

impl Conditions {
    /// The medians over several pieces of work, and all their reasons.
    pub(super) fn over(all: &[Conditions]) -> Self {
        let mut throttle: Vec<String> =
            all.iter().flat_map(|one| one.throttle.iter().cloned()).collect();
        throttle.sort();
        throttle.dedup();
        Conditions {
            clock_mhz: median(all.iter().filter_map(|one| one.clock_mhz)),
            power_w: median(all.iter().filter_map(|one| one.power_w)),
            throttle,
        }
    }
}

impl Monitor {
    /// Opens NVML for a GPU. The error says why that is not possible.
    pub fn open(device: &DeviceInfo) -> Result<Self, String> {
        let open = || {
            let nvml = Nvml::builder().lib_path(OsStr::new(FILE_NAME)).init()?;
            nvml.device_by_pci_bus_id(device.pci_bus_id.as_str())?.clock_info(Clock::SM)?;
            Ok::<_, NvmlError>(nvml)
        };
        let nvml = open().map_err(|error| {
            format!("no clocks and no power, because NVML does not answer: {error}")
        })?;
        Ok(Self { nvml, pci_bus_id: device.pci_bus_id.clone() })
    }

    /// Runs some work that waits for the GPU. Returns the conditions too.
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> (R, Conditions) {
        let Ok(device) = self.nvml.device_by_pci_bus_id(self.pci_bus_id.as_str()) else {
            return (work(), Conditions::default());
        };
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let sampler = scope.spawn(|| {
                let mut samples = Samples::default();
                while !done.load(Ordering::Acquire) {
                    thread::sleep(PERIOD);
                    samples.take(&device);
                }
                samples
            });
            let result = work();
            done.store(true, Ordering::Release);
            (result, sampler.join().map(Samples::conditions).unwrap_or_default())
        })
    }
}

#[derive(Default)]
struct Samples {
    clocks: Vec<f64>,
    powers: Vec<f64>,
    reasons: Option<ThrottleReasons>,
}

impl Samples {
    /// Takes a sample. Values that NVML does not report are left out.
    fn take(&mut self, device: &Device<'_>) {
        self.clocks.extend(device.clock_info(Clock::SM).ok().map(f64::from));
        self.powers.extend(device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3));
        if let Ok(reasons) = device.current_throttle_reasons() {
            *self.reasons.get_or_insert(ThrottleReasons::empty()) |= reasons;
        }
    }

    fn conditions(self) -> Conditions {
        // The GPU is idle between two batches, which is no reason for a lower clock.
        let reasons = self.reasons.unwrap_or(ThrottleReasons::empty())
            - ThrottleReasons::GPU_IDLE
            - ThrottleReasons::NONE;
        Conditions {
            clock_mhz: median(self.clocks),
            power_w: median(self.powers),
            throttle: reasons.iter_names().map(|(name, _)| name.to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_become_medians_and_the_union_of_reasons() {
        let samples = Samples {
            clocks: vec![1980.0, 345.0, 1965.0],
            powers: vec![700.0, 500.0],
            reasons: Some(ThrottleReasons::SW_POWER_CAP | ThrottleReasons::GPU_IDLE),
        };
        let expected = Conditions {
            clock_mhz: Some(1965.0),
            power_w: Some(600.0),
            throttle: vec!["SW_POWER_CAP".to_owned()],
        };
        assert_eq!(samples.conditions(), expected);
        assert_eq!(Samples::default().conditions(), Conditions::default());
    }
}
