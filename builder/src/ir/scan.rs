//! Scans a line of LLVM IR outside its string literals.

/// The byte offsets of `line` outside string literals. LLVM writes a quote within a string as
/// `\22`.
pub fn outside_strings(line: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut inside = false;
    line.bytes().enumerate().filter(move |&(_, byte)| {
        let quote = byte == b'"';
        if quote {
            inside = !inside;
        }
        !inside && !quote
    })
}

/// The position of the word `word`, followed by a space, outside string literals.
pub fn find_word(line: &str, word: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    outside_strings(line).map(|(at, _)| at).find(|&at| {
        let before = at == 0 || bytes[at - 1] == b' ';
        before && line[at..].strip_prefix(word).is_some_and(|rest| rest.starts_with(' '))
    })
}

/// The position that closes the first parenthesis at or after `from`.
pub fn closing_parenthesis(line: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in outside_strings(line).filter(|&(at, _)| at >= from) {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at),
            b')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Splits at the commas outside parentheses, brackets and braces.
pub fn split(parameters: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut first) = (Vec::new(), 0, 0);
    for (at, character) in parameters.char_indices() {
        match character {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&parameters[first..at]);
                first = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&parameters[first..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hide_words_and_parentheses() {
        let line = r#"call void asm "asm ( )", "r"(i32 ptrtoint (ptr @x to i32)) #1"#;
        assert_eq!(find_word(line, "asm"), Some(10));
        let close = closing_parenthesis(line, 10).unwrap();
        assert_eq!(&line[close..], ") #1");
    }

    #[test]
    fn word_is_whole_word() {
        assert_eq!(find_word("call void @asm_helper (i32 1)", "asm"), None);
        assert_eq!(find_word(r#"store ptr " asm ", ptr %x"#, "asm"), None);
    }
}
