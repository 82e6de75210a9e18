//! Standard output and standard error of this project's programs.
//!
//! `println!` panics where its text cannot be written. Here a program ends instead:
//! - quietly, if nobody reads on, as behind `| head -1`. Its exit code is [`CLOSED`], so that a run
//!   that was cut short does not look like one that passed.
//! - with a message and [`FAILED`], if there is another reason, such as a full disk.
//!
//! Text for standard error that cannot be written is dropped: nobody is left to tell.
//!
//! Clippy refuses `println!` and `eprintln!` in the packages that have programs.

use std::fmt::Arguments;
use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::process::exit;

/// The exit code of a program whose output nobody reads on: that of a program which `SIGPIPE` ends.
pub const CLOSED: i32 = 128 + 13;
/// The exit code of a program whose output cannot be written, as after other errors.
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

/// Writes text to standard output at once. If that fails, the program ends.
pub fn write(text: Arguments<'_>) {
    let mut to = stdout().lock();
    let written = to.write_fmt(text).and_then(|()| to.flush());
    // Another thread's `exit` must not wait for it.
    drop(to);
    written.unwrap_or_else(|error| end(&error));
}

/// Writes text to standard error, if that takes it.
pub fn tell(text: Arguments<'_>) {
    _ = stderr().write_fmt(text);
}

/// Ends the program, because standard output cannot be written.
pub fn end(error: &Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        exit(CLOSED);
    }
    errln!("error: cannot write to standard output: {error}");
    exit(FAILED)
}
