//! A short run of what `cargo xtask fuzz` does for as long as asked.

use ptx_matrix_judge::fuzz::{Tally, try_seed};

#[test]
fn random_programs_are_reported_as_what_they_are() {
    let mut tally = Tally::default();
    for seed in 0..25 {
        if let Err(failure) = try_seed(seed, &mut tally) {
            panic!("{failure}");
        }
    }
    assert!(tally.right > 25 && tally.wrong > 25, "{tally:?}");
}
