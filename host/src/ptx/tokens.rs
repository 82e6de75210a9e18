//! Splits PTX into words and punctuation.

/// Returns the words, quoted strings and punctuation marks of a PTX text, without its comments.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = skip_blank(rest);
        let length = token_length(rest)?;
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let after = if text.starts_with("//") {
            text.split_once('\n')
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/")
        } else {
            return text;
        };
        text = after.map_or("", |(_, after)| after);
    }
}

fn token_length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    Some(match first {
        '"' => text[1..].find('"').map_or(text.len(), |end| end + 2),
        _ if is_word(first) => text.find(|c| !is_word(c)).unwrap_or(text.len()),
        _ => first.len_utf8(),
    })
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '$' | '%')
}

#[cfg(test)]
mod tests {
    use super::tokens;

    fn all(text: &str) -> Vec<&str> {
        tokens(text).collect()
    }

    #[test]
    fn words_and_punctuation() {
        assert_eq!(
            all(".param .b8 a_0[16],%r1"),
            [".param", ".b8", "a_0", "[", "16", "]", ",", "%r1"]
        );
    }

    #[test]
    fn comments_are_skipped_and_strings_are_one_token() {
        assert_eq!(
            all("a // .entry\n/* .target */b .file 1 \"x//y {\" c"),
            ["a", "b", ".file", "1", "\"x//y {\"", "c"]
        );
    }

    #[test]
    fn unclosed_token_ends_with_the_text() {
        assert_eq!(all("a /* b"), ["a"]);
        assert_eq!(all("a // b"), ["a"]);
        assert_eq!(all("\"b"), ["\"b"]);
    }
}
