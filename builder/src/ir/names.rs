//! The names of kernels: a crate exports each under the path of its module, and in PTX it is called
//! without.
//!
//! So two kernels of one name, of two modules or of two crates, come as far as here, where both can
//! be told.

use std::borrow::Cow;
use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::attributes;

/// Statics of kernels, whose names begin so.
const STATICS: [&str; 2] = ["__ptx_matrix_kernel_", "__ptx_matrix_signature_"];

/// The module with its kernels, and what is said of them, under the names that PTX has.
pub fn without_paths(ir: &str) -> Result<Cow<'_, str>> {
    let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut text, mut written, mut start) = (String::new(), 0, 0);
    for line in ir.split_inclusive('\n') {
        if let Some(kernel) = attributes::kernel_name(line) {
            let short = last(kernel);
            if let Some(other) = paths.insert(short, kernel) {
                bail!(
                    "two kernels are named `{short}`: `{other}` and `{kernel}`; names go into the PTX as they are, so \
                     rename one of them"
                );
            }
        }
        if let Some((quoted, short)) = shortened(line) {
            text.push_str(&ir[written..start]);
            text.push_str(&line.replacen(quoted, &short, 1));
            written = start + line.len();
        }
        start += line.len();
    }
    if written == 0 {
        return Ok(Cow::Borrowed(ir));
    }
    text.push_str(&ir[written..]);
    Ok(Cow::Owned(text))
}

/// Of a line that defines a kernel or a static of one, the name as it is written, and without the
/// path.
fn shortened(line: &str) -> Option<(&str, String)> {
    let of_kernel = attributes::kernel_name(line).is_some();
    let of_static =
        || STATICS.iter().find(|start| line.strip_prefix("@\"").is_some_and(|rest| rest.starts_with(**start)));
    let start = if of_kernel { "" } else { of_static()? };
    let at = line.find('@')? + 1;
    let quoted = &line[at..];
    let end = quoted.strip_prefix('"')?.find('"')? + 2;
    let quoted = &quoted[..end];
    let path = quoted.trim_matches('"').strip_prefix(start)?;
    path.contains("::").then(|| (quoted, format!("{start}{}", last(path))))
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "@\"__ptx_matrix_kernel_a::one::twin\" = constant [1 x i32] [i32 3]\n\
                       define ptx_kernel void @\"a::one::twin\"(ptr %x) #1 {\n  ret void\n}\n";

    #[test]
    fn paths_are_taken_off() {
        let expected = "@__ptx_matrix_kernel_twin = constant [1 x i32] [i32 3]\n\
                        define ptx_kernel void @twin(ptr %x) #1 {\n  ret void\n}\n";
        assert_eq!(without_paths(ONE).unwrap(), expected);
        assert_eq!(without_paths(expected).unwrap(), expected);
    }

    #[test]
    fn two_kernels_of_one_name_are_told_by_their_paths() {
        for other in ["\"b::twin\"", "twin"] {
            let error = without_paths(&format!("{ONE}define ptx_kernel void @{other}() {{\n}}\n")).unwrap_err();
            let other = other.trim_matches('"');
            let expected = format!("two kernels are named `twin`: `a::one::twin` and `{other}`");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}
