//! A small sample of the trials that `cargo xtask trials` runs on a GPU.

use ptx_matrix::sim::Simulator;

#[test]
fn random_gemms_are_right() {
    for (seeds, longest) in [(0..20, 60), (20..22, 160), (22..60, 40)] {
        for seed in seeds {
            ptx_matrix_trials::run(&Simulator::new(seed).strict(), seed, longest).unwrap();
        }
    }
}
