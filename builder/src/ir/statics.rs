//! Finds mutable statics. Crates with `#[kernel]`s may not have any: there, only types separate
//! lane-dependent from uniform values. A lane could store its value in a static, and other code
//! could read it as uniform.

use super::scan::find_word;

/// The name of the mutable, non-empty static that the line defines or declares, if any.
pub fn mutable(line: &str) -> Option<&str> {
    let (name, definition) = line.strip_prefix('@')?.split_once(" = ")?;
    let at = find_word(definition, "global")?;
    let of = &definition[at + "global ".len()..];
    let is_empty = ["[0 x ", "<{ [0 x ", "{}", "<{}>"].iter().any(|start| of.starts_with(start));
    // Excluded are LLVM's lists for the linker, and the shared memory that the builder declares by
    // name.
    let is_ours = name.starts_with("llvm.") || name.starts_with("__ptx_matrix_shared_");
    (!is_empty && !is_ours).then(|| name.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_functions_are_not_mutable() {
        assert_eq!(
            mutable("@COUNTER = internal global <{ [4 x i8] }> zeroinitializer, align 4"),
            Some("COUNTER")
        );
        assert_eq!(mutable("@C = local_unnamed_addr global [4 x i8] undef, align 4"), Some("C"));
        assert_eq!(mutable("@TABLE = internal constant [7 x i8] c\" global \", align 1"), None);
        assert_eq!(mutable("define void @f() {"), None);
        assert_eq!(
            mutable("@\"my.counter\" = global i32 0, section \".data\", align 4"),
            Some("my.counter")
        );
        assert_eq!(mutable("@T = internal thread_local global [4 x i8] undef"), Some("T"));
        assert_eq!(mutable("@E = external global [4 x i8]"), Some("E"));
        assert_eq!(mutable("@NOTHING = internal global <{ [0 x i8] }> zeroinitializer"), None);
        assert_eq!(
            mutable("@llvm.used = appending global [1 x ptr] [ptr @C], section \"llvm.metadata\""),
            None
        );
    }
}
