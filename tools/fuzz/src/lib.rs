//! What judges the simulator: random programs whose misuses are known by construction, and kernels
//! with one misuse each, of which compute-sanitizer has said what it finds on a GPU.

pub mod fuzz;
pub mod gpu;
pub mod misuses;
