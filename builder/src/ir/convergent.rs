//! Marking inline asm `convergent`.
//!
//! rustc marks GPU functions so, but not the asm in them; LLVM then takes a warp-wide instruction for something that it
//! may copy into both arms of a lane-dependent branch, or sink into one.

use anyhow::{Context, Result, bail};

use super::scan;

/// Whether the instruction calls inline asm.
pub fn is_asm_call(line: &str) -> Result<bool> {
    // Most lines are decided by this; the scan that knows about strings costs more.
    if !line.contains(" asm ") {
        return Ok(false);
    }
    let Some(asm) = scan::find_word(line, "asm") else { return Ok(false) };
    let instruction = &line[..asm];
    for unwinding in ["invoke", "callbr"] {
        if scan::find_word(instruction, unwinding).is_some() {
            bail!("inline asm in an `{unwinding}`, which GPU code never has: {}", line.trim());
        }
    }
    Ok(scan::find_word(instruction, "call").is_some())
}

/// The same call, `convergent`, and without the number by which rustc would find its source.
pub fn mark(line: &str) -> Result<String> {
    let arguments_end = scan::find_word(line, "asm")
        .and_then(|asm| scan::closing_parenthesis(line, asm))
        .with_context(|| format!("an inline-asm call without arguments: {}", line.trim()))?;
    let (call, attributes) = line.split_at(arguments_end + 1);
    let (attributes, source) = attributes.split_once(", !srcloc !").unwrap_or((attributes, ""));
    let rest = source.trim_start_matches(|c: char| c.is_ascii_digit());
    Ok(format!("{call} convergent{attributes}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(line: &str) -> String {
        assert!(is_asm_call(line).unwrap(), "{line}");
        mark(line).unwrap()
    }

    #[test]
    fn marks_before_attributes_and_metadata() {
        assert_eq!(
            marked(r#"  %0 = call i32 asm "mov.u32 ${0}, %tid.x;", "=&r"() #28, !srcloc !5"#),
            r#"  %0 = call i32 asm "mov.u32 ${0}, %tid.x;", "=&r"() convergent #28"#
        );
        assert_eq!(
            marked(r#"  tail call void asm sideeffect alignstack "bar.sync 0;", "~{memory}"(), !dbg !9, !srcloc !6"#),
            r#"  tail call void asm sideeffect alignstack "bar.sync 0;", "~{memory}"() convergent, !dbg !9"#
        );
        assert_eq!(
            marked(r#"  call void asm sideeffect "// a ) ( asm \22", "r"(i32 ptrtoint (ptr @x to i32))"#),
            r#"  call void asm sideeffect "// a ) ( asm \22", "r"(i32 ptrtoint (ptr @x to i32)) convergent"#
        );
    }

    #[test]
    fn leaves_other_lines_alone() {
        for line in [
            r#"@text = constant [12 x i8] c"x call asm y""#,
            r#"  call void @f(ptr @"an asm name")"#,
            r#"module asm ".shared .b8 x[4]; call asm ""#,
            "  %1 = add i32 %0, 1",
        ] {
            assert!(!is_asm_call(line).unwrap(), "{line}");
        }
    }

    #[test]
    fn unwinding_asm_is_an_error() {
        let line = r#"  invoke void asm sideeffect "bar.sync 0;", ""() to label %a unwind label %b"#;
        assert!(is_asm_call(line).is_err());
    }
}
