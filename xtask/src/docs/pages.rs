//! The pages of the repository, and their copies for the book.

use super::links::{anchors, is_external, links, resolve};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The page that the command makes, in the book's folder.
pub const API: &str = "API.md";
/// The pages at the top of the repository.
const TOP: [&str; 3] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];
/// The order of the pages. Its link without a destination is the place of the page [`API`].
const SUMMARY: &str = "docs/SUMMARY.md";

/// The pages. Their paths are relative to the root.
pub struct Pages {
    root: PathBuf,
    texts: BTreeMap<PathBuf, String>,
}

impl Pages {
    /// Reads the pages at the top of the repository and those of `docs/`.
    pub fn read(root: &Path) -> Result<Pages> {
        let mut files: Vec<PathBuf> = TOP.iter().map(PathBuf::from).collect();
        find(root, Path::new("docs"), &mut files)?;
        let read = |file: PathBuf| {
            let text = fs::read_to_string(root.join(&file))
                .with_context(|| format!("cannot read {}", file.display()))?;
            Ok((file, text))
        };
        let texts = files.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Pages { root: root.to_owned(), texts })
    }

    /// The links that lead nowhere, and the pages that are not in the book.
    pub fn problems(&self) -> Result<Vec<String>> {
        let summary = Path::new(SUMMARY);
        let mut missing: BTreeSet<&Path> = self.texts.keys().map(PathBuf::as_path).collect();
        missing.remove(summary);
        let mut problems = Vec::new();
        for (page, text) in &self.texts {
            for link in links(text) {
                let destination = &text[link.destination];
                if is_external(destination) {
                    continue;
                }
                let (file, anchor) = resolve(page, destination);
                if page == summary {
                    missing.remove(file.as_path());
                }
                let problem = match (self.texts.get(&file), anchor) {
                    (Some(text), Some(anchor)) if !anchors(text).contains(anchor) => {
                        format!("{} has no such heading", file.display())
                    }
                    (None, Some(_)) => format!("{} is no page with headings", file.display()),
                    (None, None) if !self.root.join(&file).exists() => {
                        format!("there is no {}", file.display())
                    }
                    _ => continue,
                };
                let line = text[..link.whole.start].matches('\n').count() + 1;
                problems.push(format!("{}:{line}: `{destination}`: {problem}", page.display()));
            }
        }
        problems.extend(missing.iter().map(|page| format!("{SUMMARY} lacks {}", page.display())));
        Ok(problems)
    }

    /// Writes the copies into the folder, with the pictures that they show. Each has the path that
    /// it has in the repository, so links from page to page stay the same.
    pub fn stage(&self, to: &Path) -> Result<()> {
        for (page, text) in &self.texts {
            if page == Path::new(SUMMARY) {
                write(&to.join("SUMMARY.md"), self.summary().as_bytes())?;
                continue;
            }
            write(&to.join(page), self.copy(page).as_bytes())?;
            for link in links(text).into_iter().filter(|link| link.is_picture) {
                let (file, _) = resolve(page, &text[link.destination]);
                write(&to.join(&file), &fs::read(self.root.join(&file))?)?;
            }
        }
        Ok(())
    }

    /// The page, with the text alone of links to files that the book does not have.
    fn copy(&self, page: &Path) -> String {
        let text = &self.texts[page];
        let mut copy = text.clone();
        for link in links(text).into_iter().rev() {
            let destination = &text[link.destination];
            let is_there = is_external(destination)
                || link.is_picture
                || self.texts.contains_key(&resolve(page, destination).0);
            if !is_there {
                copy.replace_range(link.whole, &text[link.text]);
            }
        }
        copy
    }

    /// The summary, with destinations that are relative to the root, and with the page [`API`].
    fn summary(&self) -> String {
        let summary = Path::new(SUMMARY);
        let text = &self.texts[summary];
        let mut copy = text.clone();
        for link in links(text).into_iter().rev() {
            let file = match &text[link.destination.clone()] {
                "" => PathBuf::from(API),
                destination => resolve(summary, destination).0,
            };
            copy.replace_range(link.destination, &file.display().to_string());
        }
        copy
    }
}

/// Adds the pages below the folder.
fn find(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            find(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn write(file: &Path, contents: &[u8]) -> Result<()> {
    let folder = file.parent().expect("a file has a folder");
    fs::create_dir_all(folder)?;
    fs::write(file, contents).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These pages, in a folder that has the files of the repository.
    fn pages(texts: &[(&str, &str)]) -> Pages {
        let owned = |&(page, text): &(&str, &str)| (PathBuf::from(page), text.to_owned());
        Pages { root: crate::root().to_owned(), texts: texts.iter().map(owned).collect() }
    }

    #[test]
    fn every_link_leads_somewhere_and_every_page_is_in_the_book() {
        let pages = Pages::read(crate::root()).unwrap();
        assert!(pages.texts.len() > 20, "{} pages", pages.texts.len());
        let problems = pages.problems().unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn dead_links_and_missing_pages_are_found() {
        let pages = pages(&[
            (SUMMARY, "[A](A.md), [API](), [B](B.md)"),
            ("docs/A.md", "# A\n[a](#a) [b](#b)\n[c](C.md#c) [d](../xtask) [e](../xtask#e)"),
            ("docs/C.md", "[x](https://x.org/#y)"),
        ]);
        assert_eq!(
            pages.problems().unwrap(),
            [
                "docs/A.md:2: `#b`: docs/A.md has no such heading",
                "docs/A.md:3: `C.md#c`: docs/C.md has no such heading",
                "docs/A.md:3: `../xtask#e`: xtask is no page with headings",
                "docs/SUMMARY.md:1: `B.md`: there is no docs/B.md",
                "docs/SUMMARY.md lacks docs/C.md",
            ]
        );
    }

    #[test]
    fn copies_have_no_links_to_files_outside_of_the_book() {
        let pages = pages(&[
            (SUMMARY, "[Start](../README.md)\n- [API]()\n- [A](A.md)"),
            ("README.md", "[`a`](docs/A.md#a), [the `xtask`](xtask), ![c](c.svg), <https://x.org>"),
            ("docs/A.md", "# A"),
        ]);
        assert_eq!(
            pages.copy(Path::new("README.md")),
            "[`a`](docs/A.md#a), the `xtask`, ![c](c.svg), <https://x.org>"
        );
        assert_eq!(pages.summary(), "[Start](README.md)\n- [API](API.md)\n- [A](docs/A.md)");
    }
}
