//! The target of the host: a GPU with every instruction.

use super::{Supports, Target};
use crate::lane::Sealed;

/// The simulated GPU of the host: it has every instruction of every GPU.
#[derive(Debug, Clone, Copy)]
pub struct AnyGpu;

impl Sealed for AnyGpu {}
impl Target for AnyGpu {
    const SM: u32 = u32::MAX;
    const NAME: &'static str = "simulator";
}
impl<R> Supports<R> for AnyGpu {}

/// The GPU of this build.
pub type BuildTarget = AnyGpu;
