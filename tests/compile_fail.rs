//! The compiler refuses each program in `compile_fail/`, with the messages in its comments:
//!
//! - `//~^ ERROR text`: the line above has an error whose message contains `text`. Each further `^`
//!   means one line higher.
//! - `//~? ERROR text`: such an error has no line in the program, because the compiler finds it in
//!   generic code.
//! - `//~| text`: the output for the previous error contains `text`.
//! - `//~> text`: the text of the line above continues with a space and `text`.
//!
//! A program must have no other errors. The rest of the output is not compared, because it changes
//! between releases of rustc.

mod compiled;

use compiled::{libraries, root, rustc};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// An expected error, from the comments of a program.
struct Promise {
    line: Option<u64>,
    message: String,
    printed: Vec<String>,
}

/// An error of the compiler.
struct Reported {
    line: Option<u64>,
    message: String,
    printed: String,
}

#[test]
fn every_misuse_is_refused_with_a_readable_message() {
    let programs: BTreeMap<String, PathBuf> = fs::read_dir(root().join("tests/compile_fail"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path))
        .collect();
    let reported = build(&programs);

    let mut complaints = String::new();
    for (name, path) in &programs {
        let promises = promises(&fs::read_to_string(path).unwrap());
        assert!(!promises.is_empty(), "{name}.rs promises no error");
        let reported = reported.get(name).map_or(&[][..], Vec::as_slice);
        for complaint in compare(&promises, reported) {
            writeln!(complaints, "{name}.rs: {complaint}\n").unwrap();
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// The differences between expected and reported errors.
fn compare(promises: &[Promise], reported: &[Reported]) -> Vec<String> {
    let keeps = |reported: &Reported, promise: &Promise| {
        reported.line == promise.line && reported.message.contains(&promise.message)
    };
    let mut complaints = Vec::new();
    for promise in promises {
        // One mistake may cause an error in each function that checks for it. One of these errors
        // has the line of the mistake.
        let kept: Vec<_> = reported.iter().filter(|error| keeps(error, promise)).collect();
        if kept.is_empty() {
            complaints.push(format!("no error {:?} at line {:?}", promise.message, promise.line));
            continue;
        }
        for text in promise
            .printed
            .iter()
            .filter(|text| !kept.iter().any(|error| error.printed.contains(*text)))
        {
            complaints.push(format!(
                "{text:?} is missing in\n{}",
                kept.iter().map(|error| &*error.printed).collect::<String>()
            ));
        }
    }
    for error in
        reported.iter().filter(|error| !promises.iter().any(|promise| keeps(error, promise)))
    {
        complaints.push(format!("an error that is not promised:\n{}", error.printed));
    }
    complaints
}

fn promises(source: &str) -> Vec<Promise> {
    let mut promises: Vec<Promise> = Vec::new();
    for (line, text) in (1..).zip(source.lines()) {
        let Some(promise) = text.trim_start().strip_prefix("//~") else { continue };
        if let Some(more) = promise.strip_prefix("> ") {
            let last = promises.last_mut().expect("`//~>` continues a text");
            let text = last.printed.last_mut().unwrap_or(&mut last.message);
            text.push(' ');
            text.push_str(more);
            continue;
        }
        if let Some(printed) = promise.strip_prefix("| ") {
            promises
                .last_mut()
                .expect("`//~|` is about an error named before")
                .printed
                .push(printed.to_owned());
            continue;
        }
        let (place, message) =
            promise.split_once(" ERROR ").expect("`//~^ ERROR text` or `//~? ERROR text`");
        let line = if place == "?" { None } else { Some(line - place.len() as u64) };
        promises.push(Promise { line, message: message.to_owned(), printed: Vec::new() });
    }
    promises
}

/// Compiles all programs, and returns the errors of each. `cargo check` would not do: `At` is
/// checked when generic code is instantiated.
fn build(programs: &BTreeMap<String, PathBuf>) -> BTreeMap<String, Vec<Reported>> {
    let mut libraries = libraries();
    libraries.retain(|name, _| name == "ptx_matrix");
    let (programs, reported) = (Mutex::new(programs.iter()), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some((name, path)) = programs.lock().unwrap().next() else { break };
                    let errors = errors(&libraries, name, path);
                    reported.lock().unwrap().insert(name.clone(), errors);
                }
            });
        }
    });
    reported.into_inner().unwrap()
}

/// Compiles one program.
fn errors(libraries: &BTreeMap<String, PathBuf>, name: &str, path: &Path) -> Vec<Reported> {
    let output = rustc(libraries)
        .args(["--crate-type=bin", "--emit=obj", "--error-format=json", "--crate-name", name, "-o"])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("o"))
        .arg(path)
        .output()
        .expect("rustc");
    let mut errors: Vec<Reported> = Vec::new();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        let message: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("{name}: {line}"));
        errors.extend(error(&message, path));
        // The place of instantiation is in a separate note after the error.
        if let (Some(last), "note", Some(note)) = (
            errors.last_mut(),
            message["level"].as_str().unwrap_or_default(),
            message["rendered"].as_str(),
        ) {
            last.printed.push_str(note);
        }
    }
    errors
}

/// The error of a message; `None` for warnings and for the summary of the errors before it.
fn error(message: &Value, program: &Path) -> Option<Reported> {
    let text = message["message"].as_str()?;
    if message["level"] != "error" || text.starts_with("aborting due to") {
        return None;
    }
    let line =
        message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true).and_then(
            |span| {
                let mut span = span;
                while !span["expansion"].is_null() {
                    span = &span["expansion"]["span"];
                }
                span["line_start"]
                    .as_u64()
                    .filter(|_| Path::new(span["file_name"].as_str().unwrap()) == program)
            },
        );
    Some(Reported {
        line,
        message: text.to_owned(),
        printed: message["rendered"].as_str()?.to_owned(),
    })
}
