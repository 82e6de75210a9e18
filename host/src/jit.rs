//! Passes code to the driver, and reads the output of its compiler.

use std::ffi::{c_uint, c_void};
use std::ptr;

use cust::sys::{CUjit_option, CUmodule, cuModuleLoadDataEx};

use crate::driver::{DriverError, During};

/// The size of the compiler's two buffers, for remarks and errors. The compiler cuts off longer
/// text.
const LOG_BYTES: usize = 16 * 1024;

/// Loads code for the current context's device. The code is a cubin, or PTX with a nul at its end,
/// which the driver compiles. The text is the compiler's output.
pub(crate) fn load(code: &[u8]) -> (Result<CUmodule, DriverError>, String) {
    let mut errors = vec![0_u8; LOG_BYTES];
    let mut remarks = vec![0_u8; LOG_BYTES];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
    ];
    // The driver takes this number itself in place of a pointer.
    let size = ptr::without_provenance_mut::<c_void>(LOG_BYTES);
    let mut values = [errors.as_mut_ptr().cast(), size, remarks.as_mut_ptr().cast(), size];
    let mut module: CUmodule = ptr::null_mut();
    // SAFETY: a cubin is whole (`BuiltCode`), and PTX ends with a nul. There are as many values as
    // options, and each buffer has the size in the option after it.
    let status = unsafe {
        cuModuleLoadDataEx(
            &raw mut module,
            code.as_ptr().cast(),
            options.len() as c_uint,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let loaded = status.during("loading the kernels").map(|()| module);
    (loaded, joined(&[text(&errors), text(&remarks)]))
}

fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

fn joined(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ends_at_nul() {
        assert_eq!(text(b"ptxas fatal\n\0left over"), "ptxas fatal");
        assert_eq!(text(b"cut o"), "cut o");
        assert_eq!(text(&[0; 4]), "");
    }

    #[test]
    fn empty_logs_are_left_out() {
        assert_eq!(joined(&["a".to_owned(), String::new()]), "a");
        assert_eq!(joined(&[String::new(), String::new()]), "");
    }
}
