//! The built site.

use super::links::{is_external, resolve};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The links of the book's pages that lead nowhere. Those of the crates' documentation are
/// rustdoc's.
pub fn dead_links(site: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read(site, Path::new(""), &mut pages)?;
    Ok(dead(&pages, |file| site.join(file).exists()))
}

fn dead(pages: &BTreeMap<PathBuf, String>, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut dead = BTreeSet::new();
    for (page, text) in pages {
        for destination in destinations(text).filter(|destination| !is_external(destination)) {
            let (file, anchor) = resolve(page, destination);
            let is_there = match (pages.get(&file), anchor) {
                (Some(target), Some(anchor)) => target.contains(&format!("id=\"{anchor}\"")),
                _ => exists(&file),
            };
            if !is_there {
                dead.insert(format!("{}: `{destination}` leads nowhere", page.display()));
            }
        }
    }
    dead.into_iter().collect()
}

/// The values of `href` and `src` of all tags. In text, quotation marks are escaped.
fn destinations(html: &str) -> impl Iterator<Item = &str> {
    [" href=\"", " src=\""]
        .into_iter()
        .flat_map(move |attribute| html.split(attribute).skip(1))
        .filter_map(|rest| rest.split('"').next())
}

fn read(site: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(site.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if path != Path::new("api") {
                read(site, &path, pages)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.insert(path, fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_of_the_site_are_found() {
        let a =
            r##"<h1 id="a">A</h1> <a href="#a"> <a href="#b"> <a class="c" href="d/D.html#d">"##;
        let d = r#"<h1 id="d">D</h1> <img src="../e.svg"> <a href="../A.html#d"> <a href="x:y">
            <a href="https://x.org/#y"> <a href="../api/index.html">"#;
        let pages = [("A.html", a), ("d/D.html", d)];
        let pages = pages.map(|(page, text)| (PathBuf::from(page), text.to_owned())).into();
        let files = ["A.html", "d/D.html", "e.svg"];
        assert_eq!(
            dead(&pages, |file| files.iter().any(|there| file == Path::new(there))),
            [
                "A.html: `#b` leads nowhere",
                "d/D.html: `../A.html#d` leads nowhere",
                "d/D.html: `../api/index.html` leads nowhere",
                "d/D.html: `x:y` leads nowhere",
            ]
        );
    }
}
