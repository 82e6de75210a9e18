//! Shortens kernel names: a crate exports each kernel under its module path, and the PTX uses the
//! last part.
//!
//! The path begins with the crate, so that the builder can leave out the kernels of dependencies.
//! Two kernels with one name, from two modules or two crates, become an error here, which names
//! both paths.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::attributes;

/// The prefixes of the statics that describe kernels.
const STATICS: [&str; 2] = ["__ptx_matrix_kernel_", "__ptx_matrix_signature_"];

/// The crates whose kernels are kept, by their names in code. A kernel without a path is kept.
#[derive(Debug, Clone, Default)]
pub struct KeptCrates(pub BTreeSet<String>);

impl KeptCrates {
    fn keep(&self, path: &str) -> bool {
        path.split_once("::").is_none_or(|(name, _)| self.0.contains(name))
    }
}

/// Renames the kernels of the kept crates, and their statics, to the names in PTX. The kernels of
/// other crates become functions without callers.
pub fn without_paths<'ir>(ir: &'ir str, crates: &KeptCrates) -> Result<Cow<'ir, str>> {
    let mut paths: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut text, mut written, mut start) = (String::new(), 0, 0);
    for line in ir.split_inclusive('\n') {
        let kernel = attributes::kernel_name(line);
        if kernel.is_some_and(|kernel| !crates.keep(kernel)) {
            text.push_str(&ir[written..start]);
            text.push_str(&line.replacen("ptx_kernel ", "", 1));
            written = start + line.len();
        } else if let Some(kernel) = kernel {
            let short = last(kernel);
            if let Some(other) = paths.insert(short, kernel) {
                bail!(
                    "two kernels are named `{short}`: `{other}` and `{kernel}`; names go into the \
                     PTX without their modules, so rename one of them"
                );
            }
        }
        if let Some((quoted, short)) = shortened(line, crates) {
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

/// The name as written and the name without its path, for a line that defines a kernel or one of
/// its statics.
fn shortened<'l>(line: &'l str, crates: &KeptCrates) -> Option<(&'l str, String)> {
    let of_kernel = attributes::kernel_name(line).is_some();
    let of_static = || {
        STATICS
            .iter()
            .find(|start| line.strip_prefix("@\"").is_some_and(|rest| rest.starts_with(**start)))
    };
    let start = if of_kernel { "" } else { of_static()? };
    let at = line.find('@')? + 1;
    let quoted = &line[at..];
    let end = quoted.strip_prefix('"')?.find('"')? + 2;
    let quoted = &quoted[..end];
    let path = quoted.trim_matches('"').strip_prefix(start)?;
    (path.contains("::") && crates.keep(path)).then(|| (quoted, format!("{start}{}", last(path))))
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "@\"__ptx_matrix_kernel_a::one::twin\" = constant [1 x i32] [i32 3]\n\
                       define ptx_kernel void @\"a::one::twin\"(ptr %x) #1 {\n  ret void\n}\n";

    fn crates(names: &[&str]) -> KeptCrates {
        KeptCrates(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn kernels_of_other_crates_become_functions() {
        let other = ONE.replace("a::one", "b::two");
        let kept = without_paths(ONE, &crates(&["a"])).unwrap();
        let both = format!("{ONE}{other}");
        let expected = format!("{kept}{}", other.replace("ptx_kernel ", ""));
        assert_eq!(without_paths(&both, &crates(&["a"])).unwrap(), expected);
        assert!(
            without_paths(&both, &crates(&["a", "b"])).is_err(),
            "both are kept, and have one name"
        );
    }

    #[test]
    fn paths_are_taken_off() {
        let expected = "@__ptx_matrix_kernel_twin = constant [1 x i32] [i32 3]\n\
                        define ptx_kernel void @twin(ptr %x) #1 {\n  ret void\n}\n";
        assert_eq!(without_paths(ONE, &crates(&["a"])).unwrap(), expected);
        assert_eq!(without_paths(expected, &crates(&[])).unwrap(), expected);
    }

    #[test]
    fn two_kernels_of_one_name_are_told_by_their_paths() {
        for other in ["\"b::twin\"", "twin"] {
            let error = without_paths(
                &format!("{ONE}define ptx_kernel void @{other}() {{\n}}\n"),
                &crates(&["a", "b"]),
            )
            .unwrap_err();
            let other = other.trim_matches('"');
            let expected = format!("two kernels are named `twin`: `a::one::twin` and `{other}`");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }
}
