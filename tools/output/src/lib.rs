//! Standard output and standard error of this project's programs.
//!
//! `println!` panics if its text cannot be written. These macros end the program instead:
//! - quietly with [`CLOSED`], if the reader is gone, as with `| head -1`. With this exit code, a
//!   run that was cut short does not look like one that passed.
//! - with a message and [`FAILED`] for any other reason, such as a full disk.
//!
//! Text for standard error that cannot be written is dropped.
//!
//! Clippy refuses `println!` and `eprintln!` in the packages with programs.

use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::process::exit;

/// The exit code if the reader of standard output is gone: that of a program ended by `SIGPIPE`.
pub const CLOSED: i32 = 128 + 13;
/// The exit code if standard output cannot be written, as for other errors.
pub const FAILED: i32 = 2;

/// Writes a line to standard output.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes text to standard output.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::write(format_args!($($text)*)) };
}

/// Writes a line to standard error.
#[macro_export]
macro_rules! errln {
    ($($text:tt)*) => { $crate::tell(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes text to standard output and flushes it. If that fails, the program ends.
pub fn write(text: Arguments<'_>) {
    let mut to = stdout().lock();
    let written = to.write_fmt(text).and_then(|()| to.flush());
    // Unlocks first: `exit` in another thread must not wait for this lock.
    drop(to);
    written.unwrap_or_else(|error| end(&error));
}

/// Writes text to standard error. Errors are ignored.
pub fn tell(text: Arguments<'_>) {
    _ = stderr().write_fmt(text);
}

/// Ends the program because standard output cannot be written.
pub fn end(error: &Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit(CLOSED);
    }
    errln!("error: cannot write to standard output: {error}");
    exit(FAILED)
}
