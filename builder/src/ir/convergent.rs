//! Marks calls `convergent` that LLVM must not copy into both arms of a lane-dependent branch, or
//! sink into one.
//!
//! rustc marks GPU functions, but not the asm in them, nor calls of unknown functions: through a
//! function pointer or a `dyn`. LLVM removes `convergent` from functions that contain nothing
//! convergent, and from calls of them. So it suffices to mark asm and unknown calls: their callers
//! follow.

use std::collections::HashSet;

use anyhow::Result;

use super::attributes;
use super::call::{self, Callee};

/// The functions that a module defines. LLVM finds out by itself whether they are convergent.
pub struct Marker<'a> {
    defined: HashSet<&'a str>,
}

impl<'a> Marker<'a> {
    pub fn of(ir: &'a str) -> Self {
        let definitions = ir.lines().filter(|line| line.starts_with("define "));
        Self { defined: definitions.filter_map(attributes::function_name).collect() }
    }

    /// The marked line, if it calls or declares an unknown function.
    pub fn marked(&self, line: &str) -> Result<Option<String>> {
        if line.starts_with("declare ") {
            let foreign = attributes::function_name(line).is_some_and(|name| self.is_foreign(name));
            let end = attributes::attributes_end(line).filter(|_| foreign);
            return Ok(end.map(|end| format!("{} convergent{}", &line[..end], &line[end..])));
        }
        let Some(call) = call::read(line)? else { return Ok(None) };
        let is_unknown = match call.callee {
            Callee::Asm | Callee::Address => true,
            Callee::Named(name) => self.is_foreign(name),
        };
        let (call, attributes) = line.split_at(call.arguments_end);
        // The number after `!srcloc` has a meaning for rustc only.
        let (attributes, source) = attributes.split_once(", !srcloc !").unwrap_or((attributes, ""));
        let rest = source.trim_start_matches(|c: char| c.is_ascii_digit());
        Ok(is_unknown.then(|| format!("{call} convergent{attributes}{rest}")))
    }

    /// Whether the function belongs to another module. LLVM knows which of its own intrinsics are
    /// convergent.
    fn is_foreign(&self, name: &str) -> bool {
        !name.starts_with("llvm.") && !self.defined.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> Option<String> {
        Marker::of("define internal void @known(ptr %x) #1 {\n}\n").marked(line).unwrap()
    }

    #[test]
    fn marks_before_attributes_and_metadata() {
        for (line, expected) in [
            (
                r#"  %0 = call i32 asm "mov.u32 ${0}, %tid.x;", "=&r"() #28, !srcloc !5"#,
                r#"  %0 = call i32 asm "mov.u32 ${0}, %tid.x;", "=&r"() convergent #28"#,
            ),
            (
                "  tail call void asm sideeffect alignstack \"bar.sync 0;\", \"~{memory}\"(), \
                 !dbg !9, !srcloc !6",
                "  tail call void asm sideeffect alignstack \"bar.sync 0;\", \"~{memory}\"() \
                 convergent, !dbg !9",
            ),
            (
                "  call void asm sideeffect \"// a ) ( asm \\22\", \
                 \"r\"(i32 ptrtoint (ptr @x to i32))",
                "  call void asm sideeffect \"// a ) ( asm \\22\", \
                 \"r\"(i32 ptrtoint (ptr @x to i32)) convergent",
            ),
            ("  call void %7(ptr %block) #2", "  call void %7(ptr %block) convergent #2"),
            (
                "  %1 = tail call i32 (ptr, ...) @printf(ptr @t) #3, !dbg !1",
                "  %1 = tail call i32 (ptr, ...) @printf(ptr @t) convergent #3, !dbg !1",
            ),
            (
                "declare i32 @printf(ptr, ...) unnamed_addr #2",
                "declare i32 @printf(ptr, ...) unnamed_addr #2 convergent",
            ),
        ] {
            assert_eq!(marked(line).as_deref(), Some(expected));
        }
    }

    #[test]
    fn leaves_what_llvm_knows_alone() {
        for line in [
            "  call void @known(ptr %x) #2",
            "  %1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2",
            r#"  call void @known(ptr @"an asm name")"#,
            "  %1 = add i32 %0, 1",
        ] {
            assert_eq!(marked(line), None, "{line}");
        }
    }
}
