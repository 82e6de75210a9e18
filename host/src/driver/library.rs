//! Opens `libcuda.so.1` and finds functions in it.

use std::error::Error;
use std::ffi::c_void;
use std::sync::OnceLock;

use libloading::Library;

use super::NoDriver;
use super::status;

/// The library's file name in every NVIDIA driver for Linux.
const FILE_NAME: &str = "libcuda.so.1";

/// Checks that there is a driver. The error contains the loader's reason.
pub(crate) fn require() -> Result<(), NoDriver> {
    match library() {
        Ok(_) => Ok(()),
        Err(reason) => Err(NoDriver(reason.clone())),
    }
}

/// Returns the address of a driver function, or the status that a call of it must return.
pub(super) fn find(name: &str) -> Result<*const c_void, u32> {
    let library = library().map_err(|_| status::NO_LIBRARY)?;
    // SAFETY: this code only takes the symbol's address. The caller is responsible for its type.
    let symbol = unsafe { library.get::<*const c_void>(name) };
    symbol.map(|address| *address).map_err(|_| status::NO_SYMBOL)
}

fn library() -> Result<&'static Library, &'static String> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    let opened = LIBRARY.get_or_init(|| {
        // SAFETY: the driver's initialisers may run in any process, at any time.
        unsafe { Library::new(FILE_NAME) }.map_err(|error| loader_reason(&error))
    });
    opened.as_ref()
}

/// The message of the system's loader, which `libloading` wraps in its own.
fn loader_reason(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
