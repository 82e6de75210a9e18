//! Report text about sparse matrices.

/// The sparsity rule for a chunk of this many columns.
pub(crate) fn allowed(chunk: usize) -> &'static str {
    match chunk {
        2 => "of these 2 elements at most 1 may be other than zero",
        4 => "of these 4 elements at most 2 may be other than zero",
        _ => "of these 4 pairs of elements at most 2 may be other than zero",
    }
}
