//! Marks grid constants: parameters passed by value that the kernel reads through a pointer
//! (`__grid_constant__` in CUDA C++).
//!
//! rustc cannot express them: in its IR, the kernel takes a pointer. With `byval`, this becomes the
//! address of the parameter's own memory. Instructions can use it without a copy. Tensor maps and
//! structs are passed this way.

use anyhow::{Context, Result, ensure};

use super::KernelMetadata;
use super::metadata::GridConstant;
use super::scan;

/// The `define` line of a kernel, with the grid constants from its metadata.
pub fn with_grid_constants(line: &str, metadata: Option<&KernelMetadata>) -> Result<String> {
    let constants = metadata.map_or(&[][..], |metadata| &metadata.grid_constants);
    if constants.iter().all(Option::is_none) {
        return Ok(line.to_owned());
    }
    let start = line.find('(').with_context(|| {
        format!("cannot find the parameters of a kernel in its definition: {line}")
    })?;
    let end = scan::closing_parenthesis(line, start)
        .context("the parameters in a kernel's definition have no closing parenthesis")?;
    let mut parameters: Vec<String> =
        scan::split(&line[start + 1..end]).into_iter().map(str::to_owned).collect();
    for (index, constant) in constants.iter().enumerate() {
        let Some(constant) = constant else { continue };
        let parameter = parameters
            .get_mut(index)
            .with_context(|| format!("a kernel's definition has no parameter {index}: {line}"))?;
        let at =
            parameter.trim_start().strip_prefix("ptr").map(|rest| parameter.len() - rest.len());
        let at =
            at.with_context(|| format!("parameter {index} of a kernel is not a pointer: {line}"))?;
        ensure!(
            !parameter.contains("byval"),
            "parameter {index} of a kernel is already passed by value: {line}"
        );
        let (before, behind) = parameter.split_at(at);
        *parameter = format!("{before}{}{}", attributes(*constant), without_align(behind));
    }
    Ok(format!("{}{}{}", &line[..=start], parameters.join(","), &line[end..]))
}

fn attributes(GridConstant { bytes, align }: GridConstant) -> String {
    format!(r#" byval([{bytes} x i8]) align {align} "nvvm.grid_constant""#)
}

/// The attributes of a reference, without the alignment that rustc wrote: it is not the
/// parameter's.
fn without_align(attributes: &str) -> String {
    let mut kept = String::new();
    let mut words = attributes.split_inclusive(' ').peekable();
    while let Some(word) = words.next() {
        let is_number = |word: &&str| word.trim_end_matches([' ', ',']).parse::<u32>().is_ok();
        if word == "align " && words.next_if(is_number).is_some() {
            continue;
        }
        kept.push_str(word);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: GridConstant = GridConstant { bytes: 128, align: 64 };

    fn metadata(grid_constants: &[Option<GridConstant>]) -> KernelMetadata {
        KernelMetadata {
            threads: None,
            min_blocks: None,
            max_registers: None,
            shared_bytes: 0,
            shared_align: 0,
            grid_constants: grid_constants.to_vec(),
            cluster: None,
        }
    }

    #[test]
    fn marks_the_parameters_that_the_metadata_names() {
        let line = "define ptx_kernel void @k(ptr noundef dereferenceable(8) %0, i64 %1, [2 x \
                    i64] %2, ptr noundef %3) #0 {";
        assert_eq!(with_grid_constants(line, Some(&metadata(&[None; 4]))).unwrap(), line);
        assert_eq!(with_grid_constants(line, None).unwrap(), line);
        let map = attributes(MAP);
        assert_eq!(map, r#" byval([128 x i8]) align 64 "nvvm.grid_constant""#);
        let expected = line.replace("ptr noundef %3", &format!("ptr{map} noundef %3"));
        assert_eq!(
            with_grid_constants(line, Some(&metadata(&[None, None, None, Some(MAP)]))).unwrap(),
            expected
        );
        let expected = expected.replace("ptr noundef deref", &format!("ptr{map} noundef deref"));
        assert_eq!(
            with_grid_constants(line, Some(&metadata(&[Some(MAP), None, None, Some(MAP)])))
                .unwrap(),
            expected
        );
    }

    #[test]
    fn struct_has_alignment_that_its_metadata_says() {
        let line = "define ptx_kernel void @k(ptr noalias noundef readonly align 8 \
                    captures(address) dereferenceable(48) %0) {";
        let constant = GridConstant { bytes: 48, align: 16 };
        let expected = "@k(ptr byval([48 x i8]) align 16 \"nvvm.grid_constant\" noalias noundef \
                        readonly captures(address) dereferenceable(48) %0) {";
        let made = with_grid_constants(line, Some(&metadata(&[Some(constant)]))).unwrap();
        assert_eq!(made, format!("define ptx_kernel void {expected}"));
    }

    #[test]
    fn what_is_no_pointer_is_an_error() {
        let line = "define ptx_kernel void @k(ptr %0, i64 %1) #0 {";
        assert!(with_grid_constants(line, Some(&metadata(&[None, Some(MAP)]))).is_err());
        assert!(with_grid_constants(line, Some(&metadata(&[None, None, Some(MAP)]))).is_err());
    }
}
