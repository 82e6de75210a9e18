//! Summary statistics of measurements.

/// The median and the extremes of some measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The median; for an even number of values, the mean of the middle two.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
}

impl Summary {
    /// The summary of some values; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Summary { median, min, max })
    }
}

/// The median of some values; `None` if there are none.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Summary::of(values).map(|summary| summary.median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_does_not_depend_on_the_order() {
        assert_eq!(Summary::of([9.0, 1.0, 2.0]), Some(Summary { median: 2.0, min: 1.0, max: 9.0 }));
        assert_eq!(
            Summary::of([4.0, 1.0, 2.0, 100.0]),
            Some(Summary { median: 3.0, min: 1.0, max: 100.0 })
        );
        assert_eq!(median([5.0]), Some(5.0));
        assert_eq!(Summary::of([]), None);
    }
}
