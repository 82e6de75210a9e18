//! A short run of `cargo xtask fuzz`.

use ptx_matrix_fuzz::fuzz::{Tally, pipeline, try_seed};

#[test]
fn verdict_on_random_programs_is_right() {
    let mut tally = Tally::default();
    for seed in 0..25 {
        if let Err(failure) = try_seed(seed, &mut tally) {
            panic!("{failure}");
        }
    }
    assert!(tally.right > 25 && tally.wrong > 25, "{tally:?}");
}

#[test]
fn random_pipelines_run_clean_and_planted_mistakes_are_found() {
    let mut tally = pipeline::Tally::default();
    for seed in 0..12 {
        if let Err(failure) = pipeline::try_seed(seed, &mut tally) {
            panic!("seed {seed}: {failure}");
        }
    }
    assert_eq!(tally.right, 12);
    assert!(tally.wrong() > 40, "{tally}");
}
