//! The project's kernels on the simulator.

#![feature(macro_metavar_expr_concat)]

mod attention;
mod ceiling;
mod gemm;
mod ladder;
mod ladder_steps;
mod safe;
mod timings;
