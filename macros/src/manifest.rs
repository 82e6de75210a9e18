//! Reads the entries of a `Cargo.toml` that lead to sources: the library's path, and the path
//! dependencies.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The dependency table that GPU builds leave out.
const HOST_ALONE: &str = "cfg(not(target_arch = \"nvptx64\"))";

/// A manifest's entries: the keys that lead to each, and its unparsed value.
struct Manifest {
    folder: PathBuf,
    entries: Vec<(Vec<String>, String)>,
}

impl Manifest {
    fn read(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let (mut table, mut entries) = (Vec::new(), Vec::new());
        for line in text.lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[') {
                table = names(
                    name.trim_start_matches('[').rsplit_once(']').map_or(name, |(name, _)| name),
                );
                entries.push((table.clone(), String::new()));
            } else if let Some(at) = unquoted_position(line, '=') {
                let (key, value) = (&line[..at], line[at + 1..].trim());
                entries.push((table.iter().cloned().chain(names(key)).collect(), value.to_owned()));
            }
        }
        Manifest { folder: folder.to_owned(), entries }
    }

    /// The value of `path.name`. If `path` is a table in braces, the value of `name` in it.
    fn value(&self, path: &[&str], name: &str) -> Option<&str> {
        self.entries.iter().find_map(|(entry, value)| {
            let (last, before) = entry.split_last()?;
            if last == name && before == path {
                return Some(value.as_str());
            }
            (entry == path).then(|| in_braces(value, name)).flatten()
        })
    }

    fn text(&self, path: &[&str], name: &str) -> Option<&str> {
        string(self.value(path, name)?)
    }

    fn has(&self, table: &str) -> bool {
        self.entries.iter().any(|(entry, _)| entry.first().is_some_and(|first| first == table))
    }

    /// The library's dependencies (table and name), except those for the host alone.
    fn dependencies(&self) -> impl Iterator<Item = (Vec<&str>, &str)> {
        self.all_dependencies().filter(|(table, _)| !table.contains(&"dev-dependencies"))
    }

    /// The dependencies of the library, tests and examples, except the library's for the host
    /// alone.
    fn all_dependencies(&self) -> impl Iterator<Item = (Vec<&str>, &str)> {
        self.entries.iter().filter_map(|(entry, _)| {
            let names: Vec<&str> = entry.iter().map(String::as_str).collect();
            let table = match names[..] {
                ["dependencies" | "dev-dependencies", _, ..] => 1,
                ["target", HOST_ALONE, "dependencies", ..] => return None,
                ["target", _, "dependencies" | "dev-dependencies", _, ..] => 3,
                _ => return None,
            };
            Some((names[..=table].to_vec(), names[table]))
        })
    }
}

/// Returns the root file of the library of the package in `folder`.
pub fn library_root(folder: &Path) -> PathBuf {
    let root = folder.join(Manifest::read(folder).text(&["lib"], "path").unwrap_or("src/lib.rs"));
    root.canonicalize().unwrap_or(root)
}

/// Returns the folders of all direct and indirect path dependencies of the package in `folder`.
/// ptx-matrix is not among them: its version is compared.
pub fn path_dependencies(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    add_dependencies(folder, &mut found);
    found
}

fn add_dependencies(folder: &Path, found: &mut BTreeMap<String, PathBuf>) {
    let manifest = Manifest::read(folder);
    for (table, name) in manifest.dependencies() {
        let folder = match manifest.text(&table, "path") {
            Some(path) => Some(manifest.folder.join(path)),
            None => manifest.value(&table, "workspace").and_then(|_| in_workspace(folder, name)),
        };
        let Some(folder) = folder.and_then(|folder| folder.canonicalize().ok()) else { continue };
        let package = Manifest::read(&folder).text(&["package"], "name").unwrap_or(name).to_owned();
        if package != "ptx-matrix" && !found.contains_key(&package) {
            found.insert(package, folder.clone());
            add_dependencies(&folder, found);
        }
    }
}

/// Returns the name in Rust code under which the package in `folder` depends on the package
/// `wanted`, if it does. Dev-dependencies count too.
pub fn name_of_dependency(folder: &Path, wanted: &str) -> Option<String> {
    let manifest = Manifest::read(folder);
    let names: Vec<(Vec<&str>, &str)> = manifest.all_dependencies().collect();
    let found = names.into_iter().find(|(table, name)| {
        let renamed = manifest.text(table, "package");
        let of_workspace =
            || manifest.value(table, "workspace").and_then(|_| package_of_workspace(folder, name));
        renamed.map(str::to_owned).or_else(of_workspace).unwrap_or_else(|| (*name).to_owned())
            == wanted
    });
    found.map(|(_, name)| name.replace('-', "_"))
}

/// The package behind a name in the workspace of the package in `folder`, if the workspace defines
/// it.
fn package_of_workspace(folder: &Path, name: &str) -> Option<String> {
    let workspace = workspace(folder)?;
    workspace.text(&["workspace", "dependencies", name], "package").map(str::to_owned)
}

/// The manifest of the workspace of the package in `folder`.
fn workspace(folder: &Path) -> Option<Manifest> {
    folder.ancestors().map(Manifest::read).find(|manifest| manifest.has("workspace"))
}

/// The folder of a dependency that the workspace of the package in `folder` defines by path.
fn in_workspace(folder: &Path, name: &str) -> Option<PathBuf> {
    let workspace = workspace(folder)?;
    let path = workspace.text(&["workspace", "dependencies", name], "path")?;
    Some(workspace.folder.join(path))
}

/// The parts of a dotted key, without quotes.
fn names(key: &str) -> Vec<String> {
    let mut rest = key;
    let mut names = Vec::new();
    loop {
        let end = unquoted_position(rest, '.').unwrap_or(rest.len());
        names.push(rest[..end].trim().trim_matches(['"', '\'']).to_owned());
        match rest.get(end + 1..) {
            Some(behind) => rest = behind,
            None => return names,
        }
    }
}

/// The position of a character outside quotes and before any comment.
fn unquoted_position(text: &str, wanted: char) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if character == wanted => return Some(at),
            None if character == '#' => return None,
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => {}
        }
    }
    None
}

/// The value of `name` in `{ a = 1, name = "value" }`.
fn in_braces<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = table.strip_prefix('{')?;
    loop {
        let at = unquoted_position(rest, '=')?;
        let key = rest[..at].rsplit(['{', ',']).next().unwrap_or_default().trim();
        rest = rest[at + 1..].trim_start();
        if key == name {
            return Some(rest);
        }
    }
}

/// The text of the string at the start of a value.
fn string(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;

    #[test]
    fn library_path_follows_the_manifest() {
        for (manifest, expected) in [
            (
                "[package]\nname = \"k\"\n[lib]\ntest = false\npath = \"kernels.rs\" # here\n\
                 [features]\npath = []\n",
                "kernels.rs",
            ),
            ("lib.path = 'a/b.rs'\n[package]\nname = \"k\"", "a/b.rs"),
            ("lib = { test = false, path = \"a=b.rs\" }", "a=b.rs"),
            ("[[bin]]\npath = \"main.rs\"\n[package.metadata]\nlib = 1", "src/lib.rs"),
            ("[lib]\n# path = \"no.rs\"\nname = \"path\"", "src/lib.rs"),
        ] {
            let files = Files::new("library", &[("Cargo.toml", manifest)]);
            assert_eq!(library_root(files.folder()), files.folder().join(expected), "{manifest}");
        }
    }

    const WORKSPACE: &str = r#"
[workspace]
members = ["k"]
[workspace.dependencies]
shared = { path = "shared" }
half = "2"
[workspace.dependencies.long]
path = "long"
"#;

    const PACKAGE: &str = r#"
[package]
name = "k"
[dependencies]
one = { version = "1", path = "../one", features = ["a"] }
two.path = '../two'
shared.workspace = true
long = { workspace = true }
half.workspace = true
serde = { version = "1" }
ptx-matrix = { path = "../ptx" }
[dependencies.three] # here
path = "../three"
[target.'cfg(target_arch = "nvptx64")'.dependencies]
four = { path = "../four" }
[target.'cfg(not(target_arch = "nvptx64"))'.dependencies]
host = { path = "../host" }
[target.'cfg(not(target_arch = "nvptx64"))'.dependencies.host-too]
path = "../host-too"
[dev-dependencies]
five = { path = "../five" }
[build-dependencies.six]
path = "../six"
"#;

    #[test]
    fn path_dependencies_are_found_in_each_notation() {
        let one = "[package]\nname = \"one\"\n[dependencies]\nk = { path = \"../k\" }\n\
            seven.path = \"seven\"";
        let named = [
            ("Cargo.toml", WORKSPACE),
            ("k/Cargo.toml", PACKAGE),
            ("one/Cargo.toml", one),
            ("four/Cargo.toml", "package.name = \"vier\""),
            ("ptx/Cargo.toml", "[package]\nname = \"ptx-matrix\""),
        ];
        let files = Files::new("dependencies", &named);
        for name in
            ["one/seven", "two", "three", "five", "six", "shared", "long", "host", "host-too"]
        {
            files.put(&format!("{name}/Cargo.toml"), "");
        }
        let found: Vec<String> = path_dependencies(&files.folder().join("k")).into_keys().collect();
        assert_eq!(found, ["k", "long", "one", "seven", "shared", "three", "two", "vier"]);
    }
    #[test]
    fn dependency_has_the_name_in_the_manifest() {
        const SHARED: &str =
            "[workspace.dependencies]\npx-w = { package = \"ptx-matrix\", path = \"ptx\" }";
        for (dependencies, expected) in [
            ("[dependencies]\nptx-matrix = { path = \"..\" }", Some("ptx_matrix")),
            (
                "[dependencies]\nother = \"1\"\npx = { path = \"..\", package = \"ptx-matrix\" }",
                Some("px"),
            ),
            ("[dependencies.px]\npath = \"..\"\npackage = \"ptx-matrix\"", Some("px")),
            ("[dev-dependencies]\npx-d.package = 'ptx-matrix'", Some("px_d")),
            ("[target.'cfg(unix)'.dependencies]\npx = { package = \"ptx-matrix\" }", Some("px")),
            ("[dependencies]\npx-w.workspace = true", Some("px_w")),
            ("[dependencies]\nptx-matrix = { package = \"other\" }", None),
            ("[build-dependencies]\nptx-matrix = \"1\"", None),
        ] {
            let files =
                Files::new("names", &[("Cargo.toml", SHARED), ("k/Cargo.toml", dependencies)]);
            let name = name_of_dependency(&files.folder().join("k"), "ptx-matrix");
            assert_eq!(name.as_deref(), expected, "{dependencies}");
        }
    }
}
