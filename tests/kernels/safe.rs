//! The kernels are written in safe Rust, except for those that time or test single instructions of
//! `raw`.

use std::fs;
use std::path::Path;

/// The lines with `unsafe` in the Rust files of a folder, without comments.
fn unsafe_lines(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(unsafe_lines(&path));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code =
            text.lines().enumerate().map(|(line, text)| (line, text.split("//").next().unwrap()));
        let words = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
        };
        found.extend(
            code.filter(|(_, text)| words(text))
                .map(|(line, text)| format!("{}:{}: {text}", path.display(), line + 1)),
        );
    }
    found
}

#[test]
fn only_raw_kernels_are_unsafe() {
    let kernels = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels"));
    let raw = ["async_stores", "barriers", "cluster", "shuffles", "tensor_part"]
        .map(|file| format!("conformance/src/{file}.rs"));
    // The planner of GEMMs runs on the host.
    let host = ["src/plan.rs", "src/slices.rs", "tests/plan/"].map(|file| format!("gemm/{file}"));
    let of_host = |line: &String| host.iter().any(|file| line.contains(file));
    let of_raw = |line: &String| {
        line.contains("timings/src/matrices.rs") || raw.iter().any(|file| line.contains(file))
    };
    let (of_raw, others): (Vec<_>, Vec<_>) =
        unsafe_lines(kernels).into_iter().filter(|line| !of_host(line)).partition(of_raw);
    assert_eq!(others, Vec::<String>::new());
    assert_eq!(of_raw.len(), 19, "{of_raw:#?}");
    // The search works: it finds many such lines in the device crate.
    assert!(unsafe_lines(&kernels.join("../src/raw")).len() > 10);
}
