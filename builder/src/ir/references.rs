//! Finds the names and numbers that a piece of LLVM IR refers to.

use std::ops::Range;

/// A name or number, without its sigil.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Symbol<'a> {
    /// `@`: a function, constant or variable.
    Value(&'a str),
    /// `#`: a group of function attributes.
    Attributes(&'a str),
    /// `!`: a node of metadata.
    Metadata(&'a str),
}

/// The symbols of a text and their positions, without their sigils.
pub fn of(text: &str) -> impl Iterator<Item = (Range<usize>, Symbol<'_>)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'@' | b'#' | b'!'))?;
            let sign = bytes[at];
            at += 1;
            if sign == b'"' {
                at = string_end(bytes, at);
                continue;
            }
            let start = at;
            at = match sign {
                b'@' if bytes.get(at) == Some(&b'"') => string_end(bytes, at + 1),
                b'@' => run_end(bytes, at, |byte| {
                    byte.is_ascii_alphanumeric() || b"-$._".contains(&byte)
                }),
                _ => run_end(bytes, at, |byte| byte.is_ascii_digit()),
            };
            if at > start {
                let name = &text[start..at];
                let symbol = match sign {
                    b'@' => Symbol::Value(name),
                    b'#' => Symbol::Attributes(name),
                    _ => Symbol::Metadata(name),
                };
                return Some((start..at, symbol));
            }
        }
    })
}

/// The position after the closing quote of the string whose contents start at `from`.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let length = bytes[from..].iter().position(|&byte| byte == b'"');
    length.map_or(bytes.len(), |length| from + length + 1)
}

fn run_end(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let length = bytes[from..].iter().position(|&byte| !belongs(byte));
    length.map_or(bytes.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_words_are_no_references() {
        let line = "  %1 = call i32 asm \"@p mov #1 !2\", \"=r\"(ptr @x.1, ptr @\"y z\") #7, \
                    !range !12, !{!\"!3\"} #dbg_value";
        let symbols: Vec<_> = of(line).map(|(_, symbol)| symbol).collect();
        use Symbol::{Attributes, Metadata, Value};
        assert_eq!(symbols, [Value("x.1"), Value("\"y z\""), Attributes("7"), Metadata("12")]);
        for (range, symbol) in of(line) {
            let (Value(name) | Attributes(name) | Metadata(name)) = symbol;
            assert_eq!(&line[range], name);
        }
    }
}
