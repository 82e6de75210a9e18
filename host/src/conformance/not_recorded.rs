//! The checks of what an H200 has that no GPU has run yet.

/// Their names. Whoever runs them on hardware records what it returned (`--record`), and takes them off this list: `tests/replay.rs` fails
/// where the list and the records differ.
pub const NOT_RECORDED: &[&str] = &[
    "cp.async.bulk.tensor.1d",
    "cp.async.bulk.tensor.2d",
    "cp.async.bulk.tensor.2d, swizzle of 32 bytes",
    "cp.async.bulk.tensor.2d, swizzle of 64 bytes",
    "cp.async.bulk.tensor.2d, swizzle of 128 bytes",
    "cp.async.bulk.tensor.2d, every third line",
    "cp.async.bulk.tensor.3d",
    "cp.async.bulk.tensor.4d",
    "cp.async.bulk.tensor.5d",
    "cp.async.bulk.tensor.5d, with steps",
    "cp.reduce.async.bulk.tensor.1d, add",
    "cp.reduce.async.bulk.tensor.2d, add",
    "cp.reduce.async.bulk.tensor.3d, add",
    "cp.reduce.async.bulk.tensor.4d, add",
    "cp.reduce.async.bulk.tensor.5d, add",
    "cp.reduce.async.bulk.tensor.2d, add f32",
    "cp.reduce.async.bulk.tensor.2d, min",
    "cp.reduce.async.bulk.tensor.2d, max",
    "cp.reduce.async.bulk.tensor.2d, inc",
    "cp.reduce.async.bulk.tensor.2d, dec",
    "cp.reduce.async.bulk.tensor.2d, and",
    "cp.reduce.async.bulk.tensor.2d, or",
    "cp.reduce.async.bulk.tensor.2d, xor",
];
