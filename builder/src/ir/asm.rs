//! Puts placeholders in the place of asm.
//!
//! LLVM does not read the text of asm. It counts the instructions, and inserts the operands. So
//! kernels that differ only in their asm, such as `wgmma` of bf16 and of f16, are one text with
//! placeholders, which is compiled once. Then the asm returns: see [`Asm`].

use std::collections::HashMap;
use std::ops::Range;

use anyhow::{Context, Result, ensure};

use super::scan;

/// The version of the placeholders, for stamps. Change it with their form.
pub const PLACEHOLDERS: &str = "placeholders 1";

/// The start of a placeholder, before its number.
const WORD: &str = "ptx_matrix_asm_";

/// The end of the number, and of each operand, in a placeholder. PTX has no such character.
const END: char = '^';

/// The asm of a module, by the numbers of the placeholders.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Asm {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Asm {
    /// Returns the position of the asm in a line of a function, and its placeholder, both with
    /// their quotes. `None` for other lines, and for asm of a form that LLVM might read.
    pub fn placeholder(&mut self, line: &str) -> Option<(Range<usize>, String)> {
        if !line.contains(" asm ") {
            return None;
        }
        let asm = scan::find_word(line, "asm")?;
        let start = asm + line[asm..].find('"')? + 1;
        let end = start + line[start..].find('"')?;
        let text = &line[start..end];
        let operands = operands(text)?;
        let number = self.numbers.get(text).copied().unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.numbers.insert(text.to_owned(), self.texts.len() - 1);
            self.texts.len() - 1
        });
        let mut statements = text.split(';').map(kind);
        let mut placeholder = format!("\"{}{WORD}{number}{END}", statements.next()?);
        placeholder.extend(operands.iter().map(|operand| format!("${{{operand}}}{END}")));
        placeholder.extend(statements.map(|kind| format!(";{kind}")));
        placeholder.push('"');
        Some((start - 1..end + 1, placeholder))
    }

    /// The texts, each once.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Puts the asm back into IR.
    pub fn in_ir(&self, ir: &str) -> String {
        let mut filled = String::with_capacity(2 * ir.len());
        let mut rest = ir;
        while let Some(at) = rest.find(WORD) {
            let start = rest[..at].rfind('"').map_or(0, |quote| quote + 1);
            let end = rest[at..].find('"').map_or(rest.len(), |length| at + length);
            let placeholder = &rest[start..end];
            filled.push_str(&rest[..start]);
            filled.push_str(self.of(placeholder).map_or(placeholder, |(text, _)| text));
            rest = &rest[end..];
        }
        filled + rest
    }

    /// Puts the asm back into PTX, with its operands.
    pub fn in_ptx(&self, ptx: &str) -> Result<String> {
        let mut filled = String::with_capacity(2 * ptx.len());
        for line in ptx.split_inclusive('\n') {
            if !line.contains(WORD) {
                filled.push_str(line);
                continue;
            }
            let (text, operands) =
                self.of(line.trim()).with_context(|| format!("LLVM changed {line}"))?;
            let count = [text.matches('$').count(), operands.matches(END).count()];
            ensure!(count[0] == count[1], "LLVM changed the operands of `{text}`: {line}");
            filled.push('\t');
            let mut parts = text.split('$');
            filled.push_str(parts.next().unwrap_or_default());
            for (part, operand) in parts.zip(operands.split(END)) {
                filled.push_str(operand);
                filled.push_str(part.split_once('}').map_or("", |(_, after)| after));
            }
            filled.push('\n');
        }
        Ok(filled)
    }

    /// The asm of a placeholder, and the operands in the placeholder.
    fn of<'p>(&self, placeholder: &'p str) -> Option<(&str, &'p str)> {
        let (number, rest) =
            placeholder.trim_start_matches(['@', '.', 'a']).strip_prefix(WORD)?.split_once(END)?;
        let operands = rest.split(';').next()?;
        Some((self.texts.get(number.parse::<usize>().ok()?)?, operands))
    }
}

/// The numbers of the operands in an asm's text. `None` if the text has another use of `$`, an
/// escape, the end of a placeholder's operand, or `.pragma`, which LLVM's cost model counts.
fn operands(text: &str) -> Option<Vec<&str>> {
    if text.contains(['\\', END]) || text.contains(".pragma") {
        return None;
    }
    let operand = |rest| {
        let (operand, _) = str::strip_prefix(rest, '{')?.split_once('}')?;
        operand.bytes().all(|byte| byte.is_ascii_digit()).then_some(operand)
    };
    text.split('$').skip(1).map(operand).collect()
}

/// The start of a statement. LLVM's cost model counts statements that begin with a letter, or with
/// a predicate.
fn kind(statement: &str) -> &'static str {
    match statement.trim_start_matches([' ', '\t', '{', '}']).bytes().next() {
        Some(b'@') => "@",
        Some(byte) if byte.is_ascii_alphabetic() => "a",
        _ => ".",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of IR with this asm.
    fn line(asm: &str) -> String {
        format!("  %3 = call i32 asm sideeffect \"{asm}\", \"=r,r,r\"(i32 %1, i32 %2) #4\n")
    }

    #[test]
    fn asm_of_one_shape_has_one_placeholder() {
        let placeholder = |text: &str| {
            let line = line(text);
            let (range, placeholder) = Asm::default().placeholder(&line)?;
            assert_eq!(line[range], format!("\"{text}\""));
            Some(placeholder)
        };
        let of_bf16 = placeholder("{.reg .pred p; mma.bf16 ${0}, {${1}}, p; @p bar ${2};}");
        assert_eq!(of_bf16.as_deref(), Some("\".ptx_matrix_asm_0^${0}^${1}^${2}^;a;@;.\""));
        assert_eq!(of_bf16, placeholder("{.reg .b16 qq; mma.f16 ${0}, {${1}}, 5; @!q bra ${2};}"));
        for other in [
            "{.reg .pred p; mma.bf16 ${0}, {${1}}, p; bar ${2};}",
            "{.reg .pred p; mma.bf16 ${0}, {${2}}, p; @p bar ${1};}",
            "{.reg .pred p; mma.bf16 ${0}, {${1}}, p; @p bar ${2}; ret;}",
        ] {
            assert_ne!(of_bf16, placeholder(other), "{other}");
        }
        for kept in ["a $$", "a ${0:x}", "a $0", "a\\0Ab", "a ^ b", "{.pragma \\22x\\22;}"] {
            assert_eq!(placeholder(kept), None, "{kept}");
        }
    }

    #[test]
    fn asm_returns_to_ir_and_to_ptx() {
        let mut asm = Asm::default();
        let texts = ["mov.b32 ${0}, ${2};", "{ .reg .b32 t; add ${0}, ${1}, x[${2}]; }", "bar 0;"];
        let lines = texts.map(line);
        let placeholders = [0, 1, 2, 0].map(|at| asm.placeholder(&lines[at]).unwrap());
        assert_eq!(placeholders[0], placeholders[3]);
        let with = lines.iter().zip(&placeholders).map(|(line, (range, placeholder))| {
            format!("{}{placeholder}{}", &line[..range.start], &line[range.end..])
        });
        assert_eq!(asm.in_ir(&with.collect::<String>()), lines.concat());
        let ptx = "\t// begin inline asm\n\t.ptx_matrix_asm_1^%r1^-5^%rd2^;a;.\n\t// end inline \
                   asm\n\taptx_matrix_asm_0^%r7^%r1^;.\n\taptx_matrix_asm_2^;.\n\tret;\n";
        assert_eq!(
            asm.in_ptx(ptx).unwrap(),
            "\t// begin inline asm\n\t{ .reg .b32 t; add %r1, -5, x[%rd2]; }\n\t// end inline \
             asm\n\tmov.b32 %r7, %r1;\n\tbar 0;\n\tret;\n"
        );
        for changed in ["\taptx_matrix_asm_0^%r7^;.\n", "\taptx_matrix_asm_9^;.\n"] {
            assert!(asm.in_ptx(changed).is_err(), "{changed}");
        }
    }
}
