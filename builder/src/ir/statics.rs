//! Statics that the program can change. In them a lane could leave a value that another reads as if it were uniform, so
//! crates with `#[kernel]`s, where only types keep the two apart, may not have any.

use super::scan::find_word;

/// The name of the mutable static that the line defines, if it does.
pub fn mutable(line: &str) -> Option<&str> {
    let (name, definition) = line.strip_prefix('@')?.split_once(" = ")?;
    find_word(definition, "global").map(|_| name.trim_matches('"'))
}

/// Whether the PTX has a variable of this name: what no kernel uses is not in it.
pub fn is_in_ptx(ptx: &str, name: &str) -> bool {
    ptx.lines().any(|line| {
        let variable = line.strip_prefix(".visible ").unwrap_or(line).strip_prefix(".global ");
        variable.is_some_and(|rest| {
            let declared = rest.split([' ', '[', ';', '=']).filter(|word| !word.is_empty());
            declared.into_iter().any(|word| word == name)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_functions_are_not_mutable() {
        assert_eq!(mutable("@COUNTER = internal global <{ [4 x i8] }> zeroinitializer, align 4"), Some("COUNTER"));
        assert_eq!(mutable("@C = local_unnamed_addr global [4 x i8] undef, align 4"), Some("C"));
        assert_eq!(mutable("@TABLE = internal constant [7 x i8] c\" global \", align 1"), None);
        assert_eq!(mutable("define void @f() {"), None);
    }

    #[test]
    fn a_static_in_ptx_is_found_by_its_whole_name() {
        let ptx = ".visible .entry k(\n.global .align 4 .u32 COUNTER;\n.global .align 1 .b8 TEXT[3] = {1, 2, 3};\n";
        assert!(is_in_ptx(ptx, "COUNTER") && is_in_ptx(ptx, "TEXT"));
        assert!(!is_in_ptx(ptx, "COUNT") && !is_in_ptx(ptx, "k"));
    }
}
