//! Counts calls.

#![no_std]

use core::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

#[no_mangle]
pub static mut PLAIN_COUNT: u32 = 0;

/// The number of calls before this one.
pub fn count() -> u32 {
    COUNT.fetch_add(1, Ordering::Relaxed)
}
