//! Parameters that a kernel takes by value, and has a pointer to: what CUDA C++ calls `__grid_constant__`.
//!
//! rustc cannot say so. In its IR the kernel takes a pointer; made `byval`, it is that of the parameter's own memory, which an instruction can
//! be given without a copy.

use anyhow::{Context, Result, ensure};

use super::KernelMetadata;
use super::scan;

/// Of a tensor map, which is all that is handed over so.
const ATTRIBUTES: &str = r#" byval([128 x i8]) align 64 "nvvm.grid_constant""#;

/// The `define` line of a kernel whose parameters are grid constants where its metadata says so.
pub fn with_grid_constants(line: &str, metadata: Option<&KernelMetadata>) -> Result<String> {
    let constants = metadata.map_or(0, |metadata| metadata.grid_constants);
    if constants == 0 {
        return Ok(line.to_owned());
    }
    let start = line.find('(').with_context(|| format!("a kernel's definition without parameters: {line}"))?;
    let end = scan::closing_parenthesis(line, start).context("a kernel's parameters do not end")?;
    let mut parameters: Vec<String> = scan::split(&line[start + 1..end]).into_iter().map(str::to_owned).collect();
    let marked = |index: &usize| constants >> index & 1 == 1;
    for index in (0..64).filter(marked) {
        let parameter = parameters.get_mut(index).with_context(|| format!("there is no parameter {index}: {line}"))?;
        let at = parameter.trim_start().strip_prefix("ptr").map(|rest| parameter.len() - rest.len());
        let at = at.with_context(|| format!("parameter {index} is no pointer: {line}"))?;
        ensure!(!parameter.contains("byval"), "parameter {index} is by value already: {line}");
        parameter.insert_str(at, ATTRIBUTES);
    }
    Ok(format!("{}{}{}", &line[..=start], parameters.join(","), &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(grid_constants: u64) -> KernelMetadata {
        KernelMetadata {
            threads: None,
            min_blocks: None,
            max_registers: None,
            shared_bytes: 0,
            shared_align: 0,
            grid_constants,
            cluster: None,
        }
    }

    #[test]
    fn marks_the_parameters_that_the_metadata_names() {
        let line =
            "define ptx_kernel void @k(ptr noundef dereferenceable(8) %0, i64 %1, [2 x i64] %2, ptr noundef %3) #0 {";
        assert_eq!(with_grid_constants(line, Some(&metadata(0))).unwrap(), line);
        assert_eq!(with_grid_constants(line, None).unwrap(), line);
        let expected = line.replace("ptr noundef %3", &format!("ptr{ATTRIBUTES} noundef %3"));
        assert_eq!(with_grid_constants(line, Some(&metadata(0b1000))).unwrap(), expected);
        let expected = expected.replace("ptr noundef deref", &format!("ptr{ATTRIBUTES} noundef deref"));
        assert_eq!(with_grid_constants(line, Some(&metadata(0b1001))).unwrap(), expected);
    }

    #[test]
    fn what_is_no_pointer_is_an_error() {
        let line = "define ptx_kernel void @k(ptr %0, i64 %1) #0 {";
        assert!(with_grid_constants(line, Some(&metadata(0b10))).is_err());
        assert!(with_grid_constants(line, Some(&metadata(0b100))).is_err());
    }
}
