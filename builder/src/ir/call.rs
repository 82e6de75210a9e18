//! Reads calls in LLVM's text: the callee, and the end of the arguments.

use anyhow::{Context, Result, bail};

use super::scan;

/// The callee of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callee<'a> {
    Asm,
    /// A function by its name, without the `@`.
    Named(&'a str),
    /// An address: from a function pointer, or from the vtable of a `dyn`.
    Address,
}

/// A call within its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    pub callee: Callee<'a>,
    /// The position of the callee.
    pub at: usize,
    /// The position after the parenthesis that closes the arguments.
    pub arguments_end: usize,
}

/// Reads the call in a line of a function's body, if it is one. GPU code does not unwind, so an
/// `invoke` is an error.
pub fn read(line: &str) -> Result<Option<Call<'_>>> {
    // This decides most lines. The scan below costs more.
    if !["call ", "invoke ", "callbr "].iter().any(|word| line.contains(word)) {
        return Ok(None);
    }
    let (_, instruction) = result_and_instruction(line);
    let mut words = instruction.split(' ');
    let word =
        words.find(|word| !["tail", "musttail", "notail"].contains(word)).unwrap_or_default();
    match word {
        "call" => {}
        "invoke" | "callbr" if line.starts_with(' ') => {
            bail!("a call uses `{word}`, which GPU code never has: {}", line.trim())
        }
        _ => return Ok(None),
    }
    let start = line.len() - words.collect::<Vec<_>>().join(" ").len();
    find_callee(line, start)
        .map(Some)
        .with_context(|| format!("cannot parse this call: {}", line.trim()))
}

/// The name of the result, with its `%`, and the instruction after the equals sign.
pub fn result_and_instruction(line: &str) -> (Option<&str>, &str) {
    let trimmed = line.trim_start();
    let end = match trimmed.strip_prefix("%\"") {
        Some(quoted) => quoted.find('"').map(|at| at + 3),
        None if trimmed.starts_with('%') => trimmed.find(' '),
        None => None,
    };
    let named = end.and_then(|end| Some((&trimmed[..end], trimmed[end..].strip_prefix(" = ")?)));
    named.map_or((None, trimmed), |(name, instruction)| (Some(name), instruction))
}

/// Finds the callee: outside all brackets, the first `asm`, or the first `@` or `%` name directly
/// before a parenthesis. In attributes the parenthesis follows a plain word, and in function types
/// a space.
fn find_callee(line: &str, start: usize) -> Option<Call<'_>> {
    let bytes = line.as_bytes();
    let (mut depth, mut at) = (0_usize, start);
    while at < bytes.len() {
        let begins = at == start || bytes[at - 1] == b' ';
        match bytes[at] {
            b'a' if depth == 0 && begins && line[at..].starts_with("asm ") => {
                let arguments_end = scan::closing_parenthesis(line, at)? + 1;
                return Some(Call { callee: Callee::Asm, at, arguments_end });
            }
            sign @ (b'@' | b'%') => {
                let end = name_end(bytes, at + 1);
                if depth == 0 && bytes.get(end) == Some(&b'(') {
                    let callee = if sign == b'@' {
                        Callee::Named(&line[at + 1..end])
                    } else {
                        Callee::Address
                    };
                    return Some(Call {
                        callee,
                        at,
                        arguments_end: scan::closing_parenthesis(line, end)? + 1,
                    });
                }
                at = end;
                continue;
            }
            b'"' => {
                at = name_end(bytes, at);
                continue;
            }
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if depth == 1 && bytes.get(at + 1) == Some(&b'(') => {
                // A constant expression, such as `inttoptr (i64 64 to ptr)(..)`.
                return Some(Call {
                    callee: Callee::Address,
                    at,
                    arguments_end: scan::closing_parenthesis(line, at + 1)? + 1,
                });
            }
            b')' | b']' | b'}' | b'>' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position after the name, quoted or not, that begins at `from`.
pub fn name_end(bytes: &[u8], from: usize) -> usize {
    let behind = |length: Option<usize>| length.map_or(bytes.len(), |length| from + length);
    if bytes.get(from) == Some(&b'"') {
        return behind(bytes[from + 1..].iter().position(|&byte| byte == b'"').map(|at| at + 2));
    }
    behind(
        bytes[from..]
            .iter()
            .position(|byte| !byte.is_ascii_alphanumeric() && !b"-$._".contains(byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn callee(line: &str) -> Callee<'_> {
        let call = read(line).unwrap().unwrap_or_else(|| panic!("no call: {line}"));
        assert!(line[..call.arguments_end].ends_with(')'), "{line}");
        call.callee
    }

    #[test]
    fn tells_known_functions_from_addresses_and_asm() {
        use Callee::{Address, Asm, Named};
        for (line, expected) in [
            ("  call void @f(ptr %x)", Named("f")),
            ("  tail call void @\"a b\"(ptr %x) #1", Named("\"a b\"")),
            (
                "  %3 = call noundef range(i32 0, 2) i32 @_RNv.1(i32 noundef %2) #4, !range !1",
                Named("_RNv.1"),
            ),
            (
                "  %r = call fast float @llvm.fma.f32(float %a, float %b, float %c)",
                Named("llvm.fma.f32"),
            ),
            ("  call void %7(ptr %block) #2", Address),
            ("  %\"x = y\" = notail call fastcc zeroext i1 %\"f g\"(i32 1)", Address),
            ("  %4 = musttail call { i64, ptr } %3(ptr @table, ptr %2)", Address),
            ("  %4 = call void (ptr, ...) %f(ptr %a, i32 1)", Address),
            ("  %4 = call i32 (ptr, ...) @printf(ptr @text)", Named("printf")),
            (
                "  call align 8 dereferenceable(8) ptr addrspace(1) %f(ptr byval([8 x i8]) align \
                 8 %a)",
                Address,
            ),
            ("  call %\"struct.A\" @f(%\"struct.A\" %x)", Named("f")),
            ("  %9 = call <4 x float> %5(<4 x float> %4) [ \"deopt\"(i32 1) ]", Address),
            ("  call void inttoptr (i64 64 to ptr)(i32 1)", Address),
            ("  call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"()", Asm),
            ("  %0 = call { i32, i32 } asm \"// @f(\", \"=r,=r,r\"(i32 %1) #3", Asm),
        ] {
            assert_eq!(callee(line), expected, "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_calls() {
        for line in [
            r#"@text = constant [12 x i8] c"x call asm y""#,
            r#"module asm ".shared .b8 x[4]; call asm ""#,
            "  store ptr @\"call me\", ptr %\"a call b\", align 8",
            "  %1 = add i32 %0, 1",
            "declare void @\"call \"(ptr)",
        ] {
            assert_eq!(read(line).unwrap(), None, "{line}");
        }
    }

    #[test]
    fn calls_that_unwind_are_errors() {
        assert!(
            read(
                "  invoke void asm sideeffect \"bar.sync 0;\", \"\"() to label %a unwind label %b"
            )
            .is_err()
        );
        assert!(read("  %1 = invoke i32 %0() to label %a unwind label %b").is_err());
    }
}
