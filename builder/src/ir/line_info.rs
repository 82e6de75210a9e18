//! Keeps source lines in PTX without debug code.

/// Makes LLVM emit only line directives for a compile unit.
///
/// rustc's minimum is line tables. With these, LLVM declares the whole PTX to be debug code, and
/// ptxas optimises it less.
pub fn directives_only(line: &str) -> Option<String> {
    let unit = line.starts_with('!') && line.contains("!DICompileUnit(");
    unit.then(|| line.replace("emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_only_compile_units() {
        let unit = "!1 = distinct !DICompileUnit(language: DW_LANG_Rust, emissionKind: \
                    LineTablesOnly, nameTableKind: None)";
        let changed = directives_only(unit).unwrap();
        assert!(
            changed.contains("emissionKind: DebugDirectivesOnly, nameTableKind: None"),
            "{changed}"
        );
        assert_eq!(directives_only("!2 = !DIFile(filename: \"a\")"), None);
    }
}
