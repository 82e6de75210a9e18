//! The simulator and the reference compute the results that GPUs returned, as recorded by `cargo
//! xtask conformance --record FILE`.

use ptx_matrix::forms;
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_conformance::Checked;
use ptx_matrix_conformance::record::Recording;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

static RECORDINGS: LazyLock<Vec<(PathBuf, Recording)>> = LazyLock::new(|| {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/recorded");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let recordings = files.map(|file| {
        let text = fs::read_to_string(&file).unwrap();
        let recording = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file, recording)
    });
    recordings.collect()
});

#[test]
fn simulator_equals_the_recorded_hardware() {
    for (file, recording) in &*RECORDINGS {
        let differences = recording.replay(&Simulator::default().strict().allow_boxes_outside());
        assert!(
            differences.is_empty(),
            "{}, of {}:\n{}",
            file.display(),
            recording.device,
            differences.join("\n")
        );
    }
}

#[test]
fn every_check_has_a_hardware_recording() {
    let recorded: HashSet<&str> =
        RECORDINGS.iter().flat_map(|(_, recording)| recording.recorded()).collect();
    let checks =
        Simulator::checks(Arch::SM_90).into_iter().filter(|check| check.needs.are_met_by("sm_90a"));
    let missing: Vec<String> =
        checks.map(|check| check.name).filter(|name| !recorded.contains(name.as_str())).collect();
    let how = "cargo xtask conformance --on gpu --filter PART --record FILE";
    assert!(
        missing.is_empty(),
        "never run on a GPU, and recorded in tests/recorded by `{how}`: {missing:#?}"
    );
}

#[test]
fn every_form_of_wgmma_was_executed_by_its_name() {
    let recorded: HashSet<&str> =
        RECORDINGS.iter().flat_map(|(_, recording)| recording.recorded_by_name()).collect();
    let missing: Vec<&str> =
        forms::all_wgmma().map(|form| form.ptx).filter(|form| !recorded.contains(form)).collect();
    let how = "cargo xtask conformance --on gpu --filter \"by name\" --record \
        tests/recorded/h200-wgmma-names.json";
    assert!(missing.is_empty(), "never executed on a GPU, and recorded by `{how}`: {missing:#?}");
}

#[test]
fn every_form_has_checks_of_its_own() {
    let checks: Vec<String> =
        Simulator::checks(Arch::SM_90).into_iter().map(|check| check.name).collect();
    for form in forms::all() {
        let kinds: Vec<_> = checks
            .iter()
            .filter_map(|name| name.strip_prefix(form.ptx)?.strip_prefix(", "))
            .collect();
        match form.family {
            // Formats of less than a byte have three kinds of data.
            "mma" | "mma.sp" | "mma.sp::ordered_metadata" => {
                let least = if form.ptx.contains(".s32.") { 2 } else { 3 };
                assert!(
                    kinds.len() >= least && kinds.contains(&"small integers"),
                    "{}: {kinds:?}",
                    form.ptx
                );
            }
            _ => assert!(checks.iter().any(|name| name == form.ptx), "{}", form.ptx),
        }
    }
}
