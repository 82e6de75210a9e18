//! Links and headings of Markdown text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// A link or a picture, `[text](destination)` or `![text](destination)`, as ranges of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub whole: Range<usize>,
    pub text: Range<usize>,
    pub destination: Range<usize>,
    pub is_picture: bool,
}

/// The links in the order of the text. Code has none.
pub fn links(text: &str) -> Vec<Link> {
    let plain = without_spans(&without_blocks(text));
    let middles = plain.match_indices("](").map(|(middle, _)| middle);
    middles
        .filter_map(|middle| {
            let mut depth = 0;
            let open = plain[..middle].rfind(|char| {
                depth += i32::from(char == ']') - i32::from(char == '[');
                depth < 0
            })?;
            let start = middle + "](".len();
            let end = start + plain[start..].find(')')?;
            let is_picture = plain[..open].ends_with('!');
            Some(Link {
                whole: open - usize::from(is_picture)..end + 1,
                text: open + 1..middle,
                destination: start..end,
                is_picture,
            })
        })
        .collect()
}

/// The anchors of the headings, as mdBook and the sites of repositories make them.
pub fn anchors(text: &str) -> HashSet<String> {
    let mut counts = HashMap::new();
    let blocks = without_blocks(text);
    let headings = blocks.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len() && heading.starts_with(' ')).then(|| heading.trim())
    });
    headings
        .map(|heading| {
            let kept = heading.chars().filter_map(|char| match char {
                ' ' => Some('-'),
                '-' | '_' => Some(char),
                _ => char.is_alphanumeric().then_some(char),
            });
            let anchor = kept.collect::<String>().to_lowercase();
            let count = counts.entry(anchor.clone()).or_insert(0);
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// The text with spaces in place of code blocks. Offsets and lines stay.
fn without_blocks(text: &str) -> String {
    let mut fence: Option<usize> = None;
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        let ticks = start.len() - start.trim_start_matches('`').len();
        let closes =
            fence.is_some_and(|opened| ticks >= opened && start[ticks..].trim().is_empty());
        let is_code = fence.is_some() || ticks >= 3;
        if closes {
            fence = None;
        } else if fence.is_none() && ticks >= 3 {
            fence = Some(ticks);
        }
        if is_code { blank(line, &mut plain) } else { plain.push_str(line) }
    }
    plain
}

/// The text with spaces in place of code between backticks. Offsets and lines stay.
fn without_spans(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        // A span ends in its paragraph, at as many backticks.
        let paragraph = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
        let mut end = ticks;
        let closed = loop {
            let Some(next) = paragraph[end..].find('`') else { break None };
            end += next;
            let run = paragraph.len() - end - paragraph[end..].trim_start_matches('`').len();
            end += run;
            if run == ticks {
                break Some(end);
            }
        };
        let end = closed.unwrap_or(ticks);
        blank(&rest[..end], &mut plain);
        rest = &rest[end..];
    }
    plain + rest
}

/// Adds as many spaces as the text has bytes, and its line ends.
fn blank(text: &str, to: &mut String) {
    to.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
}

/// Whether the destination is no file of the repository or the site.
pub fn is_external(destination: &str) -> bool {
    ["https:", "http:", "mailto:", "data:"].iter().any(|scheme| destination.starts_with(scheme))
}

/// The file to which a link of the page leads, and the anchor there. The page's path is relative to
/// the root, and so is the file's. A path that leaves the root keeps its `..`.
pub fn resolve<'a>(page: &Path, destination: &'a str) -> (PathBuf, Option<&'a str>) {
    let (path, anchor) = match destination.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (destination, None),
    };
    if path.is_empty() {
        return (page.to_owned(), anchor);
    }
    let mut file = page.parent().map(Path::to_owned).unwrap_or_default();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if file.file_name().is_some() => _ = file.pop(),
            part => file.push(part),
        }
    }
    (file, anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_outside_of_code() {
        let text = "\
[a](A.md) `[b](B.md)` and
``c ` [d](D.md)`` ![e](e.svg), [`f[0]`
g](F.md#f-g)
```rust
let h = [h](H.md);
```
````md
```
[i](I.md)
```
````
One ` alone.

[j [k]](J.md) `";
        let found = links(text);
        let destinations: Vec<_> =
            found.iter().map(|link| &text[link.destination.clone()]).collect();
        assert_eq!(destinations, ["A.md", "e.svg", "F.md#f-g", "J.md"]);
        let wholes: Vec<_> = found.iter().map(|link| &text[link.whole.clone()]).collect();
        assert_eq!(wholes, ["[a](A.md)", "![e](e.svg)", "[`f[0]`\ng](F.md#f-g)", "[j [k]](J.md)"]);
        assert_eq!(&text[found[2].text.clone()], "`f[0]`\ng");
        let pictures: Vec<_> = found.iter().map(|link| link.is_picture).collect();
        assert_eq!(pictures, [false, true, false, false]);
    }

    #[test]
    fn headings_have_the_anchors_of_mdbook() {
        let text =
            "# `mma.sync`: A x B\n```sh\n# a comment\n```\n## Twice\n#[attribute]\n## Twice\n";
        let expected = ["mmasync-a-x-b", "twice", "twice-1"].map(str::to_owned);
        assert_eq!(anchors(text), HashSet::from(expected));
    }

    #[test]
    fn destinations_are_relative_to_their_page() {
        let of = |page: &str, destination| {
            let (file, anchor) = resolve(Path::new(page), destination);
            (file.display().to_string(), anchor)
        };
        assert_eq!(of("README.md", "docs/A.md"), ("docs/A.md".to_owned(), None));
        assert_eq!(of("docs/lab/a.md", "../A.md#b"), ("docs/A.md".to_owned(), Some("b")));
        assert_eq!(of("docs/A.md", "#b"), ("docs/A.md".to_owned(), Some("b")));
        assert_eq!(of("docs/A.md", "../../b"), ("../b".to_owned(), None));
    }
}
