//! Measuring GEMMs: kernels of this project and cuBLAS, in one process, on one stream, in turn.
//!
//! What takes part is a [`Contestant`]; [`own`](own()) lists this project's, [`Cublas`] is the
//! other side. [`Bench::measure`] checks that all of them compute the same, times them round by
//! round, and notes the clock that each ran at.

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
pub use problem::{
    Element, Layout, ParseShapeError, Problem, Products, Shape, Type, default_shapes,
};
pub use report::{Row, rows, table, write_csv};
pub use statistics::Summary;
