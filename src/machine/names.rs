//! Names of shared memory, for reports. On the device they are empty.

#[cfg(not(target_arch = "nvptx64"))]
pub use crate::engine::{SharedField, SharedName, name_fields};
#[cfg(target_arch = "nvptx64")]
pub use device::*;

#[cfg(target_arch = "nvptx64")]
mod device {
    /// The name of a byte; unused on the device.
    #[derive(Debug)]
    pub struct SharedName;

    impl SharedName {
        /// Does nothing.
        pub fn part(&mut self, _: usize) {}

        /// Does nothing.
        pub fn element(&mut self, _: usize, _: usize, _: usize) {}

        /// Does nothing.
        pub fn byte(&mut self, _: usize) {}
    }

    /// A field; unused on the device.
    #[derive(Debug)]
    pub struct SharedField;

    impl SharedField {
        pub(crate) fn new(_: usize, _: usize, _: fn(usize, &mut SharedName)) -> Self {
            SharedField
        }
    }

    /// Does nothing.
    pub fn name_fields(_: usize, _: &mut SharedName, _: &[SharedField]) {}
}
