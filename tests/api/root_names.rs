//! The public names at the crate's root are few: modules, the macros of kernels, and nothing by
//! accident.

use super::layers::{code, files, paths};
use std::collections::BTreeSet;
use std::path::Path;

/// The largest number of public names in the documentation of the crate's root.
const LIMIT: usize = 40;

/// An item of a file: its text after the attributes, and whether the documentation lists it.
struct Item<'a> {
    is_hidden: bool,
    text: &'a str,
}

/// The items of a file with blanked comments and strings.
fn items(mut code: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    loop {
        let mut is_hidden = false;
        code = code.trim_start();
        while code.starts_with('#') {
            let (attribute, rest) = code.split_once(']').expect("the end of an attribute");
            is_hidden |= attribute.contains("doc(hidden)");
            code = rest.trim_start();
        }
        if code.is_empty() {
            return items;
        }
        let is_use = code.starts_with("pub use ") || code.starts_with("use ");
        let mut depth = 0;
        let end = code.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth == 0 && (*c == ';' || *c == '}' && !is_use)
        });
        let end = end.expect("the end of an item").0 + 1;
        items.push(Item { is_hidden, text: &code[..end] });
        code = &code[end..];
    }
}

/// The names that a public item adds to its module. A glob adds `*`, because its names are unknown.
fn declared(item: &str) -> Vec<String> {
    let Some(item) = item.strip_prefix("pub ") else { return Vec::new() };
    match item.strip_prefix("use ") {
        Some(tree) if tree.contains('*') => vec!["*".to_owned()],
        Some(tree) => paths(tree).into_iter().map(|path| path.last().unwrap().clone()).collect(),
        None => {
            let mut words = item
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty());
            let name = words.find(|word| {
                !["mod", "fn", "struct", "enum", "trait", "type", "const", "static", "unsafe"]
                    .contains(word)
            });
            name.map(str::to_owned).into_iter().collect()
        }
    }
}

/// The names in the documentation of the root: public items of `lib`, and macros that `files`
/// export.
fn root_names<'a>(lib: &str, files: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
    let lib = code(lib);
    let listed = items(&lib).into_iter().filter(|item| !item.is_hidden);
    let mut names: BTreeSet<String> = listed.flat_map(|item| declared(item.text)).collect();
    for file in files.into_iter().filter(|file| file.contains("#[macro_export]")) {
        for (at, _) in file.match_indices("#[macro_export]") {
            let mut attributes =
                file[..at].lines().rev().take_while(|line| line.starts_with(['#', '/']));
            let (_, name) = file[at..].split_once("macro_rules! ").expect("an exported macro");
            if !attributes.any(|line| line.contains("doc(hidden)")) {
                names.insert(name.split([' ', '{']).next().unwrap().to_owned());
            }
        }
    }
    names
}

#[test]
fn root_has_few_names() {
    let files = files();
    let names = root_names(&files[Path::new("lib.rs")], files.values());
    assert!(
        ["kernel", "prelude", "mma", "sim"].iter().all(|name| names.contains(*name)),
        "{names:?}"
    );
    assert!(
        names.len() <= LIMIT,
        "{} names at the root, of at most {LIMIT}: {names:?}",
        names.len()
    );
}

#[test]
fn prelude_has_no_globs() {
    let files = files();
    let names = root_names(&files[Path::new("prelude.rs")], []);
    assert!(names.contains("Block") && names.contains("kernel"), "{names:?}");
    assert!(!names.contains("*"), "a glob in the prelude: {names:?}");
}

#[test]
fn each_public_item_is_counted_and_no_other() {
    let lib = "#![no_std]\npub mod a;\nmod b;\n#[doc(hidden)]\npub mod c { pub use x::y; }\n\
        pub use a::{D,\n    E};\n/// pub mod f;\n#[cfg(x)]\npub use { a::G, b::H };\n\
        pub mod i { pub mod j {} }\npub fn k() {}\n";
    let shown = "/// A.\n#[macro_export]\nmacro_rules! l { () => {} }\n".to_owned();
    let hidden =
        "/// A.\n#[doc(hidden)]\n#[macro_export]\nmacro_rules! m { () => {} }\n".to_owned();
    let names = root_names(lib, [&shown, &hidden]);
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["D", "E", "G", "H", "a", "i", "k", "l"]);
    assert_eq!(root_names("pub use a::*;", []).into_iter().collect::<Vec<_>>(), ["*"]);
}
