//! Programs with a reader that stops early, or with an output that cannot be written.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

const FORM: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

/// `forms` with these arguments.
fn forms(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forms"));
    command.args(arguments);
    command
}

/// The exit code and standard error.
fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The pipe has no reader from the start.
#[test]
fn closed_pipe_ends_program_quietly() {
    for _ in 0..20 {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            forms(&["layout", FORM]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(ended(&output), (Some(141), String::new()));
    }
}

/// As with `| head -1`: the first line is there, and the rest may or may not have been written.
#[test]
fn reader_may_stop_after_line() {
    for _ in 0..20 {
        let mut child =
            forms(&["layout", FORM]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), FORM);
        let (code, errors) = ended(&child.wait_with_output().unwrap());
        assert!(matches!(code, Some(0 | 141)), "{code:?}");
        assert_eq!(errors, "");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_error() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let output = forms(&["layout", FORM]).stdout(full()).stderr(Stdio::piped()).output().unwrap();
    let message = "error: cannot write to standard output: No space left on device (os error 28)\n";
    assert_eq!(ended(&output), (Some(2), message.to_owned()));
    // If standard error cannot be written either, the program does not panic.
    let output = forms(&["layout", FORM]).stdout(full()).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = forms(&["layout", "no.such.form"]).stdout(full()).stderr(full()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
