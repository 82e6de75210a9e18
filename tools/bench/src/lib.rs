//! Benchmarks GEMM kernels of this project against cuBLAS, alternating in one process and on one
//! stream.
//!
//! The participants are [`Contestant`]s. [`own`](own()) lists those of this project, and [`Cublas`]
//! is the reference. A call of [`Bench::measure`] checks that all results are the same. Then it
//! times the contestants round by round, and records the clock of each.

mod ceiling;
mod compare;
mod conditions;
mod contestant;
mod cublas;
mod data;
mod measure;
mod own;
mod plot;
mod problem;
mod report;
mod statistics;

pub use ceiling::{Ceiling, Ceilings};
pub use conditions::{Conditions, Monitor};
pub use contestant::{Contestant, Operands};
pub use cublas::{Cublas, NoCublas};
pub use measure::{Bench, Measured, Outcome};
pub use own::{fastest, own};
pub use plot::plot;
pub use problem::{Element, Gemms, Layout, ParseShapeError, Problem, Shape, Type, default_shapes};
pub use report::{Row, rows, table, write_csv};
pub use statistics::Summary;
