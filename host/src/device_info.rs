//! The properties of a device.

use std::ffi::{CStr, c_char};
use std::fmt;

use cust::device::{Device, DeviceAttribute};
use cust::sys::{
    CUdevice_attribute, cuDeviceGetAttribute, cuDeviceGetPCIBusId, cuDriverGetVersion,
};

use crate::arch::{Arch, Capability, best_arch};
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::launch::DeviceLimits;

/// A GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The device number, from 0.
    pub index: u32,
    /// The product name.
    pub name: String,
    /// The compute capability.
    pub capability: Capability,
    /// The memory size in bytes.
    pub memory_bytes: usize,
    /// The number of streaming multiprocessors (SMs).
    pub multiprocessors: u32,
    /// The size of the L2 cache in bytes.
    pub l2_bytes: usize,
    /// The PCI address, as the machine's own tools show it: `0000:3b:00.0`.
    pub pci_bus_id: String,
    /// The newest CUDA version that the driver supports.
    pub driver: CudaVersion,
    /// The limits on launches.
    pub limits: DeviceLimits,
}

impl DeviceInfo {
    pub(crate) fn of(index: u32, device: Device) -> Result<Self, DriverError> {
        let doing = "reading the device's properties";
        let attribute = |attribute| {
            let value = device.get_attribute(attribute).during(doing)?;
            Ok::<u32, DriverError>(value.try_into().unwrap_or_default())
        };
        Ok(Self {
            index,
            name: device.name().during(doing)?,
            capability: Capability {
                major: attribute(DeviceAttribute::ComputeCapabilityMajor)?,
                minor: attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            },
            memory_bytes: device.total_memory().during(doing)?,
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            l2_bytes: attribute(DeviceAttribute::L2CacheSize)? as usize,
            pci_bus_id: pci_bus_id(device)?,
            driver: driver_version()?,
            limits: DeviceLimits {
                grid: [
                    attribute(DeviceAttribute::MaxGridDimX)?,
                    attribute(DeviceAttribute::MaxGridDimY)?,
                    attribute(DeviceAttribute::MaxGridDimZ)?,
                ],
                threads: attribute(DeviceAttribute::MaxBlockDimX)?,
                shared_bytes: opt_in_shared_bytes(device)?,
            },
        })
    }

    /// Selects the best of the built architectures for this device.
    ///
    /// # Errors
    /// None of them runs on it.
    pub fn best_arch(&self, at_hand: &[Arch]) -> Result<Arch, GpuError> {
        best_arch(self.capability, at_hand.iter().copied())
            .ok_or_else(|| GpuError::NoArch { device: self.to_string(), at_hand: at_hand.to_vec() })
    }
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device {} ({}, {})", self.index, self.name, self.capability)
    }
}

/// A version of CUDA, such as 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaVersion {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn driver_version() -> Result<CudaVersion, DriverError> {
    let mut version = 0;
    // SAFETY: the function sets the integer behind its pointer.
    unsafe { cuDriverGetVersion(&raw mut version) }.during("reading the driver's version")?;
    let version: u32 = version.try_into().unwrap_or_default();
    Ok(CudaVersion { major: version / 1000, minor: version % 1000 / 10 })
}

/// The maximum shared memory of a block whose kernel requests it. `cust` has no name for this
/// attribute.
fn opt_in_shared_bytes(device: Device) -> Result<u32, DriverError> {
    let mut bytes = 0;
    let attribute = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    // SAFETY: the function sets the integer behind its pointer, and the driver returned the device.
    unsafe { cuDeviceGetAttribute(&raw mut bytes, attribute, device.as_raw()) }
        .during("reading the device's shared memory size")?;
    Ok(bytes.try_into().unwrap_or_default())
}

/// The PCI address. `cust` has no function for it.
fn pci_bus_id(device: Device) -> Result<String, DriverError> {
    let mut id: [c_char; 32] = [0; 32];
    // SAFETY: the function writes at most that many characters, and a nul as the last of them.
    unsafe { cuDeviceGetPCIBusId(id.as_mut_ptr(), id.len() as i32, device.as_raw()) }
        .during("reading the device's PCI address")?;
    // SAFETY: there is a nul: the function's, or at least the array's initial last one.
    Ok(unsafe { CStr::from_ptr(id.as_ptr()) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device() -> DeviceInfo {
        DeviceInfo {
            index: 1,
            name: "NVIDIA GeForce RTX 5090".to_owned(),
            capability: Capability { major: 12, minor: 0 },
            memory_bytes: 32 << 30,
            multiprocessors: 170,
            l2_bytes: 96 << 20,
            pci_bus_id: "0000:01:00.0".to_owned(),
            driver: CudaVersion { major: 13, minor: 0 },
            limits: DeviceLimits { grid: [1; 3], threads: 1024, shared_bytes: 101_376 },
        }
    }

    #[test]
    fn best_arch_error_names_the_device_and_the_choice() {
        let at_hand = ["sm_90a", "sm_100f"].map(|name| name.parse().unwrap());
        assert_eq!(
            device().best_arch(&at_hand).unwrap_err().to_string(),
            "none of the targets of this PTX runs on device 1 (NVIDIA GeForce RTX 5090, sm_120): \
             sm_90a, sm_100f; build it for the device's own target, or for an older one"
        );
        let message = device().best_arch(&[]).unwrap_err().to_string();
        assert!(message.contains(": none; build it"), "{message}");
    }
}
