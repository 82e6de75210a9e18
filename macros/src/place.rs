//! Detects kernels inside an `impl` or a `trait`, where the macro cannot add items.
//!
//! A macro does not see its surroundings, so this reads the source up to the kernel.

use crate::tokens::tokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The cached result for each line. A macro may create many kernels from one line.
type Known = BTreeMap<(PathBuf, usize), Option<&'static str>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Returns the kind of `impl` or `trait` around the line of a file, if there is one.
pub fn block_around(file: &Path, line: usize) -> Option<&'static str> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry((file.to_owned(), line)).or_insert_with(|| {
        let source = fs::read_to_string(file).ok()?;
        around_line(&source, line)
    })
}

/// The kind of item around a line of a source.
fn around_line(source: &str, line: usize) -> Option<&'static str> {
    let before = source.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let (before, rest) = source.split_at(before);
    // An example in a doc comment is a program of its own.
    if rest.trim_start().starts_with("//") { None } else { innermost(before) }
}

/// The kind of item around the end of a source.
fn innermost(source: &str) -> Option<&'static str> {
    let (mut open, mut head) = (Vec::new(), Vec::new());
    // Inside brackets and parentheses, `;` and `{` begin no item.
    let mut depth = 0_usize;
    for token in tokens(source) {
        match token {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            "{" => {
                open.push(kind(&head));
                head.clear();
            }
            "}" => {
                open.pop();
                head.clear();
            }
            ";" => head.clear(),
            _ => head.push(token),
        }
    }
    open.pop().flatten()
}

/// The kind of an item that begins with these tokens. They exclude the contents of parentheses and
/// brackets.
fn kind(head: &[&str]) -> Option<&'static str> {
    let words = head
        .iter()
        .filter(|token| !matches!(**token, "#" | "!" | "pub" | "unsafe" | "const" | "auto"));
    match words.copied().next() {
        Some("impl") => Some("impl"),
        Some("trait") => Some("trait"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_open_impl_or_trait() {
        assert_eq!(
            innermost("struct A;\n#[doc = \"{\"]\nunsafe impl<T: B> A<T> {\n fn f() { g(|| {}) }"),
            Some("impl")
        );
        assert_eq!(innermost("pub(crate) unsafe trait T { const N: [u8; 2];"), Some("trait"));
    }

    #[test]
    fn example_in_doc_comment_is_in_no_impl() {
        let source = "impl A {\n    /// #[kernel]\n    #[kernel]\n}\n";
        assert_eq!([2, 3].map(|line| around_line(source, line)), [None, Some("impl")]);
    }

    #[test]
    fn other_open_items_are_no_impl_or_trait() {
        for source in [
            "",
            "mod m { impl A {} trait B {}",
            "impl A { fn f() -> impl B {",
            "fn f() where [u8; { 1 }]: impl_trait {",
            "macro_rules! m { () => {",
            "// impl A {\nfn f() {",
        ] {
            assert_eq!(innermost(source), None, "{source}");
        }
    }
}
