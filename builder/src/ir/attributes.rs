//! Edits function attributes: sets launch bounds on kernels, removes the target, and asks for
//! inlining.

use anyhow::{Context, Result};

use super::KernelMetadata;
use super::scan;

/// The name of the kernel whose definition begins in this line.
pub fn kernel_name(line: &str) -> Option<&str> {
    let signature = line.strip_prefix("define ")?;
    let (linkage, rest) = signature.split_once("ptx_kernel ")?;
    if linkage.contains('@') {
        return None;
    }
    let (_, name) = rest.split_once('@')?;
    Some(name.split_once('(')?.0.trim_matches('"'))
}

/// The name, with its quotes, of the function that the line declares or begins to define.
pub fn function_name(line: &str) -> Option<&str> {
    let (_, name) = line.split_once('@')?;
    let end = match name.strip_prefix('"') {
        Some(quoted) => quoted.find('"')? + 2,
        None => name.find('(')?,
    };
    Some(&name[..end])
}

/// The `define` line of a kernel, with the launch bounds from its metadata.
pub fn with_launch_bounds(line: &str, metadata: Option<&KernelMetadata>) -> Result<String> {
    let Some(metadata) = metadata else { return Ok(line.to_owned()) };
    let bounds = [
        ("nvvm.maxntid", metadata.threads.map(|threads| format!("{threads},1,1"))),
        ("nvvm.minctasm", metadata.min_blocks.map(|blocks| blocks.to_string())),
        ("nvvm.maxnreg", metadata.max_registers.map(|registers| registers.to_string())),
        ("nvvm.cluster_dim", metadata.cluster.map(|[x, y, z]| format!("{x},{y},{z}"))),
    ];
    let attributes: String = bounds
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!(" \"{name}\"=\"{value}\"")))
        .collect();
    let at = attributes_end(line).with_context(|| {
        format!("cannot find the parameters of a kernel in its definition: {line}")
    })?;
    Ok(format!("{}{attributes}{}", &line[..at], &line[at..]))
}

/// The position for further function attributes: after the reference to an attribute group, or in
/// its place.
pub fn attributes_end(line: &str) -> Option<usize> {
    let mut end = scan::closing_parenthesis(line, line.find('@')?)? + 1;
    for word in ["local_unnamed_addr", "unnamed_addr"] {
        if let Some(rest) = line[end..].strip_prefix(' ').and_then(|rest| rest.strip_prefix(word)) {
            end = line.len() - rest.len();
        }
    }
    if let Some(group) = line[end..].strip_prefix(" #") {
        end = line.len() - group.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    }
    Some(end)
}

/// An attribute group without the target of its functions' compilation.
///
/// `core` is compiled once for all targets. With its own target, LLVM would not inline it into a
/// kernel.
pub fn without_target(group: &str) -> String {
    let mut kept = group.to_owned();
    for name in ["\"target-cpu\"=\"", "\"target-features\"=\"", "\"tune-cpu\"=\""] {
        if let Some(start) = kept.find(name)
            && let Some(length) = kept[start + name.len()..].find('"')
        {
            let mut end = start + name.len() + length + 1;
            if kept[end..].starts_with(' ') {
                end += 1;
            }
            kept.replace_range(start..end, "");
        }
    }
    kept
}

/// An attribute group whose functions are inlined into every caller, except for
/// `#[inline(never)]`.
///
/// A call on a GPU passes values through local memory, and a value behind a reference stays there.
/// So kernel sources need no `#[inline(always)]`. LLVM does not inline recursive calls.
pub fn inlined(group: &str) -> String {
    let decided = ["noinline", "alwaysinline", "optnone"].iter().any(|word| group.contains(word));
    if decided { group.to_owned() } else { group.replacen("{ ", "{ alwaysinline ", 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: KernelMetadata = KernelMetadata {
        threads: Some(384),
        min_blocks: None,
        max_registers: Some(168),
        shared_bytes: 0,
        shared_align: 0,
        grid_constants: Vec::new(),
        cluster: Some([2, 1, 1]),
    };

    #[test]
    fn knows_a_kernel_by_its_calling_convention() {
        assert_eq!(kernel_name("define ptx_kernel void @gemm(ptr noundef %a) #0 {"), Some("gemm"));
        assert_eq!(kernel_name("define protected ptx_kernel void @gemm() {"), Some("gemm"));
        assert_eq!(kernel_name("define void @\"ptx_kernel helper\"() {"), None);
        assert_eq!(kernel_name("declare ptx_kernel void @gemm()"), None);
    }

    #[test]
    fn bounds_go_behind_the_attribute_group() {
        let bounds = r#" "nvvm.maxntid"="384,1,1" "nvvm.maxnreg"="168" "nvvm.cluster_dim"="2,1,1""#;
        for (before, after) in [
            ("define ptx_kernel void @k(ptr %a) unnamed_addr #12", " {"),
            ("define ptx_kernel void @k(ptr dereferenceable(8) %a) #3", " !dbg !4 {"),
            ("define ptx_kernel void @k()", " section \"x\" {"),
            ("define ptx_kernel void @k() local_unnamed_addr", " {"),
        ] {
            let changed = with_launch_bounds(&format!("{before}{after}"), Some(&METADATA)).unwrap();
            assert_eq!(changed, format!("{before}{bounds}{after}"));
        }
    }

    #[test]
    fn kernel_that_says_nothing_is_left_alone() {
        let line = "define ptx_kernel void @raw() #0 {";
        assert_eq!(with_launch_bounds(line, None).unwrap(), line);
    }

    #[test]
    fn drops_only_the_target() {
        assert_eq!(
            without_target(
                "attributes #1 = { convergent \"target-cpu\"=\"sm_30\" \
                 \"target-features\"=\"+ptx78\" \"no-builtins\" }"
            ),
            r#"attributes #1 = { convergent "no-builtins" }"#
        );
        assert_eq!(without_target("attributes #2 = { nounwind }"), "attributes #2 = { nounwind }");
    }

    #[test]
    fn inlines_all_but_what_the_source_forbids() {
        let group = |words: &str| format!("attributes #3 = {{ {words} }}");
        assert_eq!(
            inlined(&group("convergent nounwind")),
            group("alwaysinline convergent nounwind")
        );
        for decided in ["cold noinline nounwind", "alwaysinline nounwind"] {
            assert_eq!(inlined(&group(decided)), group(decided));
        }
    }
}
