//! The checks of what an H200 has that no GPU has run yet.

/// Their names. Whoever runs them on hardware records what it returned (`--record`), and takes them off this list: `tests/replay.rs` fails
/// where the list and the records differ.
pub const NOT_RECORDED: &[&str] =
    &["cp.async.bulk, to shared memory and from it", "cp.async.bulk, numbers through stages"];
