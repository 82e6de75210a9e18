//! Names of shared memory, for reports: on the device nobody asks for them.

#[cfg(not(target_arch = "nvptx64"))]
pub use crate::engine::{SharedField, SharedName, name_fields};
#[cfg(target_arch = "nvptx64")]
pub use device::*;

#[cfg(target_arch = "nvptx64")]
mod device {
    /// The name of a byte, which nobody asks for.
    #[derive(Debug)]
    pub struct SharedName;

    impl SharedName {
        /// Nothing.
        pub fn part(&mut self, _: usize) {}

        /// Nothing.
        pub fn element(&mut self, _: usize, _: usize, _: usize) {}

        /// Nothing.
        pub fn byte(&mut self, _: usize) {}
    }

    /// A field, which nobody asks for.
    #[derive(Debug)]
    pub struct SharedField;

    impl SharedField {
        pub(crate) fn new(_: usize, _: usize, _: fn(usize, &mut SharedName)) -> Self {
            SharedField
        }
    }

    /// Nothing.
    pub fn name_fields(_: usize, _: &mut SharedName, _: &[SharedField]) {}
}
