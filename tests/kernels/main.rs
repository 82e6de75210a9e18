//! The project's kernels on the simulator.

mod attention;
mod ceiling;
mod gemm;
mod ladder;
mod ladder_steps;
mod safe;
mod timings;
