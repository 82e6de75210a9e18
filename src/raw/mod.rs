//! PTX instructions as they are: one `unsafe fn` per form, its body one `asm!`, its name PTX's own.
//!
//! Nothing here is checked, and nothing here needs the rest of the crate. Addresses of shared memory are
//! 32-bit `.shared` addresses, not generic pointers. A caller of a `.sync.aligned` form answers for all 32
//! lanes of the warp executing it together, converged.
//!
//! No form is `pure`: LLVM would be free to move it under a branch. Those that touch no memory are `nomem`.

mod cp_async;
mod cvt;
pub mod index;
mod ldmatrix;
mod memory;
mod mma;
mod movmatrix;
mod stmatrix;
mod sync;

pub use cp_async::*;
pub use cvt::*;
pub use ldmatrix::*;
pub use memory::*;
pub use mma::*;
pub use movmatrix::*;
pub use stmatrix::*;
pub use sync::*;
