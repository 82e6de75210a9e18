//! Compares the simulator's findings with compute-sanitizer's messages on a GPU, which `cargo xtask
//! sanitize --record FILE` has recorded.

use ptx_matrix_fuzz::misuses::{CASES, Found, Recording, on_simulator};

const SCHEDULES: u64 = 20;

fn recording() -> Recording {
    serde_json::from_str(include_str!("recorded/sanitizer-h200.json")).unwrap()
}

#[test]
fn simulator_finds_the_tables_misuse_and_none_in_fixed_cases() {
    for case in CASES {
        assert!(on_simulator(case, false, SCHEDULES).contains(&case.found), "{case:?}");
        assert_eq!(on_simulator(case, true, SCHEDULES), [Found::Nothing], "{case:?}, mended");
    }
}

#[test]
fn sanitizer_agrees_except_for_the_tables_reasons() {
    let recording = recording();
    for case in CASES {
        let said = recording.tools(case.name, false).count() > 0;
        let agrees = said == (case.found != Found::Nothing);
        assert_eq!(
            agrees,
            case.differs.is_none(),
            "{case:?}: {:#?}",
            recording.tools(case.name, false).collect::<Vec<_>>()
        );
        let mended: Vec<_> = recording.tools(case.name, true).collect();
        assert!(mended.is_empty(), "{case:?}: {mended:#?}");
    }
}

#[test]
fn every_case_of_the_recording_is_in_the_table() {
    for said in recording().said {
        assert!(CASES.iter().any(|case| case.name == said.case), "{}", said.case);
    }
}
