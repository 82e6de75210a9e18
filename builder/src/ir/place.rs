//! Finds an instruction's place in the source, if the crate was compiled with line information.

use std::collections::HashMap;
use std::path::Path;

/// The file and line of an instruction. Among the functions inlined into each other, this is the
/// innermost one in the given crate folder, else the innermost one outside `core`.
pub fn of(module: &str, line: &str, crate_folder: &Path) -> Option<String> {
    let nodes: HashMap<&str, &str> = module
        .lines()
        .filter(|line| line.starts_with('!'))
        .filter_map(|line| line.split_once(" = "))
        .collect();
    let (_, behind) = line.rsplit_once(", !dbg ")?;
    let mut location = Some(behind.split([',', ' ']).next()?);
    let mut first = None;
    while let Some(node) = location.and_then(|node| nodes.get(node)) {
        let frame =
            field(node, "scope").and_then(|scope| file(&nodes, scope)).zip(field(node, "line"));
        if let Some((path, line)) = frame {
            if let Ok(within) = Path::new(&path).strip_prefix(crate_folder) {
                return Some(format!("{}:{line}", within.display()));
            }
            if !path.contains("/library/core/") && first.is_none() {
                first = Some(format!("{path}:{line}"));
            }
        }
        location = field(node, "inlinedAt");
    }
    first
}

/// The path of a scope's file.
fn file(nodes: &HashMap<&str, &str>, scope: &str) -> Option<String> {
    let file = nodes.get(field(nodes.get(scope)?, "file")?)?;
    let text = |name: &str| field(file, name).map(|text| text.trim_matches('"'));
    let (name, folder) = (text("filename")?, text("directory").unwrap_or_default());
    Some(Path::new(folder).join(name).to_string_lossy().into_owned())
}

fn field<'a>(node: &'a str, name: &str) -> Option<&'a str> {
    let start = [format!("({name}: "), format!(", {name}: ")];
    let (_, value) = start.iter().find_map(|start| node.split_once(start.as_str()))?;
    let end = match value.strip_prefix('"') {
        Some(text) => text.find('"')? + 2,
        None => value.find([',', ')'])?,
    };
    Some(&value[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = r#"
!1 = !DIFile(filename: "src/lib.rs", directory: "/home/me/kernels", checksumkind: CSK_MD5)
!2 = !DIFile(filename: "/rust/library/core/src/num/f32.rs", directory: "")
!3 = distinct !DISubprogram(name: "k", scope: !9, file: !1, line: 3)
!4 = distinct !DISubprogram(name: "math", scope: !9, file: !2, line: 7)
!5 = !DILexicalBlock(scope: !3, file: !1, line: 11, column: 4)
!6 = !DILocation(line: 12, column: 5, scope: !5)
!7 = !DILocation(line: 2020, column: 1, scope: !4, inlinedAt: !6)
"#;

    #[test]
    fn is_that_of_the_crate_and_not_of_what_it_calls() {
        let line = "  %1 = frem float %0, %0, !dbg !7";
        assert_eq!(
            of(NODES, line, Path::new("/home/me/kernels")).as_deref(),
            Some("src/lib.rs:12")
        );
        assert_eq!(
            of(NODES, line, Path::new("/home/you")).as_deref(),
            Some("/home/me/kernels/src/lib.rs:12")
        );
        assert_eq!(of(NODES, "  %1 = frem float %0, %0", Path::new("/")), None);
    }
}
