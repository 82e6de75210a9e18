//! The tests that `docs/SOUNDNESS.md` names for its promises exist.

use std::fs;
use std::path::Path;

#[test]
fn every_promise_names_existing_tests() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let page = fs::read_to_string(root.join("docs/SOUNDNESS.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---"))
        .map(|line| line.trim_matches('|').split(" | ").collect())
        .filter(|cells: &Vec<&str>| !cells[0].contains("promise"))
        .collect();
    assert!(rows.len() > 30, "{} promises", rows.len());
    for row in rows {
        let [promise, _, tests] = row[..] else { panic!("not three columns: {row:?}") };
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{promise}: no test is named");
        for test in named {
            let (file, function) = test.split_once("::").unwrap_or((test, ""));
            let text = fs::read_to_string(root.join(file))
                .unwrap_or_else(|error| panic!("{promise}: {file}: {error}"));
            let is_there = function.is_empty() || text.contains(&format!("fn {function}("));
            assert!(is_there, "{promise}: {file} has no test `{function}`");
        }
    }
}
