//! Splits Rust source into tokens, without comments and white space.
//!
//! The compiler's own lexer would report unreadable text as errors of the crate, even in files that
//! are not compiled.

/// Returns the tokens of a source as written: words, numbers, literals, and single punctuation
/// marks.
pub fn tokens(source: &str) -> impl Iterator<Item = &str> {
    let mut rest = source;
    std::iter::from_fn(move || {
        rest = skip_blank(rest);
        let (token, after) = rest.split_at(token_len(rest)?);
        rest = after;
        Some(token)
    })
}

fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        text = match text.as_bytes() {
            [b'/', b'/', ..] => &text[text.find('\n').unwrap_or(text.len())..],
            [b'/', b'*', ..] => &text[comment_len(text)..],
            _ => return text,
        }
    }
}

/// The length of a `/* */` comment, which may contain others.
fn comment_len(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(pair) = text.as_bytes().get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn token_len(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first == '"' {
        return Some(quoted_len(text, '"'));
    }
    if first == '\'' {
        return Some(quote_len(text));
    }
    if !is_word(first) {
        return Some(first.len_utf8());
    }
    let word = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (prefix, behind) = text.split_at(word);
    let literal = match prefix {
        "b" if behind.starts_with('\'') => Some(quoted_len(behind, '\'')),
        "b" | "c" if behind.starts_with('"') => Some(quoted_len(behind, '"')),
        "r" | "br" | "cr" => raw_len(behind),
        _ => None,
    };
    Some(word + literal.unwrap_or(0))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of a quoted literal. A backslash escapes the next character.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return at + quote.len_utf8();
        }
    }
    text.len()
}

/// The length of a character, `'a'` or `'\n'`; or of a lifetime's quote alone.
fn quote_len(text: &str) -> usize {
    let mut characters = text.chars().skip(1);
    match (characters.next(), characters.next()) {
        (Some('\\'), _) => quoted_len(text, '\''),
        (Some(character), Some('\'')) => 2 + character.len_utf8(),
        _ => 1,
    }
}

/// The length of `#"text"#` after an `r`. `None` for a name such as `r#loop`.
fn raw_len(text: &str) -> Option<usize> {
    let hashes = text.find(|c| c != '#')?;
    let content = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", &text[..hashes]);
    Some(content.find(&end).map_or(text.len(), |at| hashes + 1 + at + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &str) -> Vec<&str> {
        tokens(source).collect()
    }

    #[test]
    fn comments_and_white_space_make_no_difference() {
        let one = all("fn f() -> u32 { 1 + 2 }");
        let other = all("/// Doc.\r\nfn f( ) /* of /* one */ \" */->\tu32 // {\n{ 1+2 }//");
        assert_eq!(one, other);
        assert_ne!(one, all("fn f() -> u32 { 1 + 3 }"));
    }

    #[test]
    fn comment_markers_in_literals_are_kept() {
        for literal in [
            r#""//""#,
            r#""\"//""#,
            r##"r#"/*"//"#"##,
            "r\"//\"",
            "b\"//\"",
            "br\"\\\"",
            "c\"/*\"",
            "'\"'",
            "b'\"'",
            r"'\''",
            r"'\u{2f}'",
        ] {
            assert_eq!(all(&format!("a({literal}, b) // c")), ["a", "(", literal, ",", "b", ")"]);
        }
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_not_literals() {
        assert_eq!(all("&'a \"x\"'b'"), ["&", "'", "a", "\"x\"", "'b'"]);
        assert_eq!(all("r#loop + r#\"x\"#"), ["r", "#", "loop", "+", "r#\"x\"#"]);
    }

    #[test]
    fn unclosed_token_ends_with_the_text() {
        assert_eq!(all("a /* b /* */ c"), ["a"]);
        assert_eq!(all("a \"b // c"), ["a", "\"b // c"]);
        assert_eq!(all("r#\"b"), ["r#\"b"]);
        assert_eq!(all("'"), ["'"]);
    }
}
