//! The folders of `src/`: imports run in one direction, and few lines outside the seam depend on
//! the compilation target.
//!
//! The test reads paths, in `use` items and inline. It does not see a call of a method that a
//! higher folder adds to a type of a lower folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders, lowest first. A folder imports from earlier folders.
const FOLDERS: [&str; 16] = [
    "lane", "target", "element", "fragment", "isa", "engine", "raw", "machine", "math", "scope",
    "memory", "sync", "copy", "mma", "launch", "sim",
];

/// The folders that select between the GPU's and the CPU's version of an instruction, and the
/// simulator.
const SEAM: [&str; 4] = ["machine", "raw", "engine", "sim"];

/// The number of lines outside the seam that may name the device's target.
const LIMIT: usize = 60;

/// The origin of a name at the crate's root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Folder(usize),
    /// Another crate.
    Elsewhere,
}

/// An import from another folder.
#[derive(Debug, PartialEq, Eq)]
struct Import {
    line: usize,
    folder: usize,
}

fn folder(name: &str) -> Option<usize> {
    FOLDERS.iter().position(|folder| *folder == name)
}

/// The text with comments, strings and `#[cfg(test)]` modules blanked, line by line.
pub fn code(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    let blank = |code: &mut String, skipped: &str| {
        code.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
    };
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if next == '"' {
            let escaped =
                |at: &usize| rest[..*at].bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1;
            let end = rest[1..].match_indices('"').map(|(at, _)| at + 1).find(|at| !escaped(at));
            end.map_or(rest.len(), |at| at + 1)
        } else if let Some(quoted) =
            ["'\"'", "'\\\"'", "'{'", "'}'"].iter().find(|c| rest.starts_with(**c))
        {
            quoted.len()
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        };
        blank(&mut code, &rest[..skipped]);
        rest = &rest[skipped..];
    }
    while let Some(start) = code.find("#[cfg(test)]\nmod ") {
        let end = start + block_end(&code[start..]);
        let mut without = code[..start].to_owned();
        blank(&mut without, &code[start..end]);
        code = without + &code[end..];
    }
    code
}

/// The end of the first `{ .. }`.
fn block_end(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The paths of a use tree that starts at `text`.
pub fn paths(text: &str) -> Vec<Vec<String>> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        let mut depth = 0;
        let mut start = 0;
        let mut found = Vec::new();
        for (at, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    if !group[start..at].trim().is_empty() {
                        found.extend(paths(&group[start..at]));
                    }
                    start = at + 1;
                    if c == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
        return found;
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let name = text[..end].to_owned();
    match text[end..].strip_prefix("::") {
        Some(rest) if !rest.starts_with('<') => {
            let further = paths(rest).into_iter();
            further.map(|path| [vec![name.clone()], path].concat()).collect()
        }
        _ => vec![vec![name]],
    }
}

/// The names at the crate's root: its `pub use` items and exported macros.
fn root_names(lib: &str, files: &BTreeMap<PathBuf, String>) -> BTreeMap<String, From> {
    let mut names = BTreeMap::new();
    for item in code(lib).split(';') {
        let Some((_, tree)) = item.rsplit_once("pub use ") else { continue };
        for path in paths(tree) {
            let from = folder(&path[0]).map_or(From::Elsewhere, From::Folder);
            names.insert(path.last().unwrap().clone(), from);
        }
    }
    for (path, text) in files {
        for (at, _) in text.match_indices("#[macro_export]") {
            let (_, name) = text[at..].split_once("macro_rules! ").unwrap();
            let name = name.split([' ', '{']).next().unwrap().to_owned();
            names.insert(name, From::Folder(folder_of(path).unwrap()));
        }
    }
    names
}

fn folder_of(path: &Path) -> Option<usize> {
    folder(path.iter().next()?.to_str()?)
}

/// The number of `super`s from a file to the crate's root.
fn depth(path: &Path) -> usize {
    path.iter().count() - usize::from(path.ends_with("mod.rs"))
}

/// The imports of a file's code, with their lines.
fn imports(path: &Path, code: &str, names: &BTreeMap<String, From>) -> Vec<Import> {
    let mut modules: Vec<(usize, usize)> = Vec::new();
    for (at, _) in code.match_indices("mod ") {
        let header = code[at..].split(['{', ';']).next().unwrap().len();
        if code[at + header..].starts_with('{') {
            modules.push((at, at + block_end(&code[at..])));
        }
    }
    let mut found = Vec::new();
    for start in ["crate::", "super::", "ptx_matrix::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let mut rest = &code[at..];
            if start == "super::" {
                let mut ups = 0;
                while let Some(further) = rest.strip_prefix("super::") {
                    (ups, rest) = (ups + 1, further);
                }
                let inline = modules.iter().filter(|(from, to)| (from..to).contains(&&at)).count();
                if ups < depth(path) + inline {
                    continue;
                }
            } else {
                rest = &rest[start.len()..];
            }
            // A macro that gets the name of another macro, as in the tables of `isa`.
            if rest.starts_with('$')
                && rest[1..]
                    .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                    .starts_with('!')
            {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            for of in paths(rest) {
                let from = folder(&of[0]).map(From::Folder).or(names.get(&of[0]).copied());
                match from {
                    Some(From::Folder(folder)) => found.push(Import { line, folder }),
                    Some(From::Elsewhere) => {}
                    // What exported macros name.
                    None if of[0] == "__private" => {}
                    None => {
                        panic!("{}:{line}: the crate's root has no `{}`", path.display(), of[0])
                    }
                }
            }
        }
    }
    found.sort_by_key(|import| import.line);
    found
}

fn source() -> PathBuf {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file!());
    let file = if file.exists() { file } else { file!().into() };
    file.ancestors().nth(3).unwrap().join("src")
}

/// The files of `src/`, by their path in it.
pub fn files() -> BTreeMap<PathBuf, String> {
    let source = source();
    let mut files = BTreeMap::new();
    let mut folders = vec![source.clone()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                files.insert(path.strip_prefix(&source).unwrap().to_owned(), text);
            }
        }
    }
    files
}

#[test]
fn every_file_is_in_a_layer() {
    for path in files().keys() {
        let loose = path.iter().count() == 1;
        let is_known = if loose {
            path.ends_with("lib.rs") || path.ends_with("prelude.rs")
        } else {
            folder_of(path).is_some()
        };
        assert!(is_known, "src/{}: not in a folder of `FOLDERS`", path.display());
    }
}

#[test]
fn imports_run_downwards() {
    let files = files();
    let names = root_names(&files[Path::new("lib.rs")], &files);
    let mut upward = Vec::new();
    for (path, text) in &files {
        let Some(own) = folder_of(path) else { continue };
        for Import { line, folder } in imports(path, &code(text), &names) {
            if folder > own {
                let (own, folder) = (FOLDERS[own], FOLDERS[folder]);
                upward.push(format!(
                    "src/{}:{line}: `{own}` imports `{folder}`, which is above it",
                    path.display()
                ));
            }
        }
    }
    assert!(upward.is_empty(), "{} upward imports:\n{}", upward.len(), upward.join("\n"));
}

#[test]
fn few_cfg_device_lines_are_outside_the_seam() {
    let mut lines = Vec::new();
    for (path, text) in files() {
        let is_outside =
            path.iter().next().is_none_or(|folder| SEAM.iter().all(|seam| folder != *seam));
        for (number, line) in text.lines().enumerate().filter(|_| is_outside) {
            if line.contains("target_arch = \"nvptx64\"") {
                lines.push(format!("src/{}:{}", path.display(), number + 1));
            }
        }
    }
    assert!(
        lines.len() <= LIMIT,
        "{} lines, of at most {LIMIT}:\n{}",
        lines.len(),
        lines.join("\n")
    );
}

/// Names at the root, for the planted files below.
fn planted_names() -> BTreeMap<String, From> {
    let lib = "pub use half::f16;\npub use scope::{Block, Warp};\npub use mma::Mma;\n";
    let file = "#[macro_export]\nmacro_rules! rows { () => {} }\n".to_owned();
    root_names(lib, &BTreeMap::from([(PathBuf::from("isa/dense.rs"), file)]))
}

fn planted(path: &str, text: &str) -> Vec<(usize, &'static str)> {
    let imports = imports(Path::new(path), &code(text), &planted_names());
    imports.into_iter().map(|import| (import.line, FOLDERS[import.folder])).collect()
}

#[test]
fn upward_imports_are_found_in_each_notation() {
    assert_eq!(planted("lane/mod.rs", "use crate::scope::Warp;"), [(1, "scope")]);
    assert_eq!(
        planted("lane/mod.rs", "\nuse crate::{f16, Mma, engine::{a, b}};"),
        [(2, "mma"), (2, "engine"), (2, "engine")]
    );
    assert_eq!(
        planted("lane/a.rs", "fn f() {\n    crate::raw::x();\n    crate::Warp::y();\n}"),
        [(2, "raw"), (3, "scope")]
    );
    assert_eq!(planted("lane/a.rs", "crate::rows!(x); $crate::rows! {}"), [(1, "isa"), (1, "isa")]);
    assert_eq!(
        planted("lane/a.rs", "use super::super::copy::x;\nuse super::copy::y;"),
        [(1, "copy")]
    );
    assert_eq!(
        planted("lane/mod.rs", "use super::copy::x;\nmod m {\n    use super::copy::y;\n}"),
        [(1, "copy")]
    );
    assert_eq!(planted("lane/a.rs", "use ptx_matrix::sim::x;"), [(1, "sim")]);
}

#[test]
fn comments_strings_and_tests_are_not_imports() {
    assert_eq!(
        planted(
            "lane/a.rs",
            "// crate::raw::x\n/// [`y`](crate::Warp)\n\"crate::raw \\\" crate::raw\""
        ),
        []
    );
    let tests = "#[cfg(test)]\nmod tests {\n    fn f() { crate::raw::x() }\n}\nuse crate::raw::y;";
    assert_eq!(planted("lane/a.rs", tests), [(5, "raw")]);
}

#[test]
#[should_panic(expected = "the crate's root has no `unknown`")]
fn import_of_an_unknown_root_name_panics() {
    planted("lane/a.rs", "use crate::unknown;");
}
