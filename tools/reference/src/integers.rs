//! Products of integer matrices.

/// The rows of A x B (m x n), from the rows of A and the columns of B, of `k` elements each.
pub fn integer_product(
    (m, n, k): (usize, usize, usize),
    a_rows: &[i8],
    b_columns: &[i8],
) -> Vec<i32> {
    assert_eq!((a_rows.len(), b_columns.len()), (m * k, n * k));
    assert!(k <= 1 << 16, "sums of more need not fit");
    let dot = |row: &[i8], column: &[i8]| {
        row.iter().zip(column).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
    };
    let element = |i: usize| dot(&a_rows[i / n * k..][..k], &b_columns[i % n * k..][..k]);
    (0..m * n).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_dot_products() {
        // A has the rows (1, 2, 3) and (-4, 0, 6), B the columns (1, -1, 2), (5, 0, 0), (0, 7, 0)
        // and (-128, -128, -128).
        let (a, b) = ([1, 2, 3, -4, 0, 6], [1, -1, 2, 5, 0, 0, 0, 7, 0, -128, -128, -128]);
        assert_eq!(integer_product((2, 4, 3), &a, &b), [5, 5, 14, -768, 8, -20, 0, -256]);
    }

    #[test]
    fn largest_dot_product_fits() {
        let most = vec![-128; 1 << 16];
        assert_eq!(integer_product((1, 1, most.len()), &most, &most), [1 << 30]);
    }

    #[test]
    fn empty_dot_product_is_zero() {
        assert_eq!(integer_product((1, 2, 0), &[], &[]), [0, 0]);
    }
}
