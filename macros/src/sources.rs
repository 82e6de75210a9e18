//! Hashes a crate's sources. The PTX and the program both contain the hash: of the tokens of the
//! crate's files, independent of features and target.
//!
//! The hash does not depend on the crate's folder or on line endings. Comments, formatting and
//! modules for tests or for the host alone do not count.

use crate::manifest::{library_root, path_dependencies};
use crate::tokens::tokens;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The sources of a crate, or of one of its files with its modules.
#[derive(Debug)]
struct Sources {
    /// Their hash.
    hash: u64,
    /// The files.
    files: BTreeSet<PathBuf>,
}

/// The sources of a kernel.
#[derive(Debug)]
pub struct OfKernel {
    /// The name of the kernel's crate.
    pub crate_name: String,
    /// The hash of the crate's sources, in hexadecimal digits.
    pub hash: String,
    /// The name and hash of each path dependency.
    pub dependencies: Vec<(String, String)>,
    /// The files that no earlier kernel has named. A change in one must recompile the crate.
    pub new_files: Vec<PathBuf>,
}

/// The files read in this run of the compiler, which compiles one crate.
#[derive(Default)]
struct Read {
    /// The packages, by folder.
    packages: BTreeMap<PathBuf, Package>,
    /// The sources, by their root file.
    sources: BTreeMap<PathBuf, Sources>,
    /// The files that no kernel has named yet.
    new_files: Vec<PathBuf>,
}

/// The root file of a library, and those of its path dependencies.
#[derive(Clone)]
struct Package {
    library: PathBuf,
    dependencies: Vec<(String, PathBuf)>,
}

static READ: LazyLock<Mutex<Read>> = LazyLock::new(Mutex::default);

/// Returns the sources of the compiled crate, for a kernel in `file`.
pub fn of_kernel(file: Option<PathBuf>) -> OfKernel {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let crate_name = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "unknown".to_owned());
    READ.lock().unwrap_or_else(PoisonError::into_inner).of_kernel(&folder, crate_name, file)
}

impl Read {
    fn of_kernel(&mut self, folder: &Path, crate_name: String, file: Option<PathBuf>) -> OfKernel {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let package = self.packages.entry(folder.clone()).or_insert_with_key(|folder| Package {
            library: library_root(folder),
            dependencies: path_dependencies(folder)
                .into_iter()
                .map(|(name, of)| (name, library_root(&of)))
                .collect(),
        });
        let Package { library, dependencies } = package.clone();
        let mut hasher = Hasher::default();
        if library.is_file() {
            hasher.add(&self.sources(&library).hash.to_le_bytes());
        }
        // If macros declare modules, the library's own declarations do not lead to the file. A file
        // of another package belongs to a macro that generated this kernel.
        let file = file
            .map(|file| file.canonicalize().unwrap_or(file))
            .filter(|file| file.starts_with(&folder));
        let is_reached = |file: &PathBuf| {
            self.sources.get(&library).is_some_and(|known| known.files.contains(file))
        };
        if let Some(file) = file.filter(|file| !is_reached(file)) {
            hasher.add(&self.sources(&file).hash.to_le_bytes());
        }
        let others = dependencies.into_iter().filter(|(name, _)| *name != crate_name);
        let dependencies =
            others.map(|(name, root)| (name, hexadecimal(self.sources(&root).hash))).collect();
        let new_files = std::mem::take(&mut self.new_files);
        OfKernel { crate_name, hash: hexadecimal(hasher.0), dependencies, new_files }
    }

    fn sources(&mut self, root: &Path) -> &Sources {
        let Read { sources, new_files, .. } = self;
        sources.entry(root.to_owned()).or_insert_with(|| {
            let sources = Sources::of(root);
            new_files.extend(sources.files.iter().filter(|file| file.is_file()).cloned());
            sources
        })
    }
}

fn hexadecimal(hash: u64) -> String {
    format!("{hash:016x}")
}

impl Sources {
    /// Hashes the file `root` and all modules and files that it includes, in the order of their
    /// declarations.
    fn of(root: &Path) -> Self {
        let mut reader = Reader { hasher: Hasher::default(), files: BTreeSet::new() };
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        reader.file(root, &folder);
        Sources { hash: reader.hasher.0, files: reader.files }
    }
}

struct Reader {
    hasher: Hasher,
    files: BTreeSet<PathBuf>,
}

/// The attributes of the next item.
#[derive(Default)]
struct Attributes {
    /// The files named by `path = ".."`.
    paths: Vec<String>,
    is_left_out: bool,
}

impl Reader {
    /// Adds a file with its modules in `folder`.
    fn file(&mut self, path: &Path, folder: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.files.insert(path.clone()) {
            return;
        }
        let Ok(bytes) = fs::read(&path) else {
            // The file may belong to another target only.
            return self.hasher.add(b"no such file");
        };
        match String::from_utf8(bytes) {
            Ok(text) if path.extension().is_some_and(|extension| extension == "rs") => {
                self.source(&text.replace("\r\n", "\n"), &path, folder);
            }
            Ok(text) => self.hasher.add(text.as_bytes()),
            Err(error) => self.hasher.add(error.as_bytes()),
        }
    }

    fn source(&mut self, text: &str, path: &Path, folder: &Path) {
        let beside = path.parent().unwrap_or(Path::new(""));
        let tokens: Vec<&str> = tokens(text).collect();
        // The open modules, each with its brace depth: `mod a { mod b { .. } }`.
        let (mut modules, mut depth): (Vec<(&str, usize)>, usize) = (Vec::new(), 0);
        let (mut attributes, mut at) = (Attributes::default(), 0);
        while at < tokens.len() {
            let rest = &tokens[at..];
            let (name, behind) = match rest {
                ["mod", "r", "#", name, behind, ..] => (*name, Some((*behind, 5))),
                ["mod", name, behind, ..] => (*name, Some((*behind, 3))),
                _ => ("", None),
            };
            let len = match (rest, behind) {
                (["#", "[", ..] | ["#", "!", "[", ..], _) => {
                    let len = group_len(rest);
                    if attributes.add(&rest[..len]) {
                        at += len;
                        continue;
                    }
                    len
                }
                (_, Some((";", len))) => {
                    if attributes.is_left_out {
                        at += len;
                        attributes = Attributes::default();
                        continue;
                    }
                    self.tokens(&rest[..len]);
                    let inline: PathBuf = modules.iter().map(|(name, _)| name).collect();
                    self.module(
                        name,
                        &attributes,
                        &folder.join(&inline),
                        &if modules.is_empty() { beside.to_owned() } else { folder.join(&inline) },
                    );
                    attributes = Attributes::default();
                    at += len;
                    continue;
                }
                (_, Some(("{", len))) => {
                    if attributes.is_left_out {
                        at += len - 1 + group_len(&rest[len - 1..]);
                        attributes = Attributes::default();
                        continue;
                    }
                    depth += 1;
                    modules.push((name, depth));
                    attributes = Attributes::default();
                    len
                }
                (["include" | "include_str" | "include_bytes", "!", "(" | "[", literal, ..], _) => {
                    if let Some(file) = unquoted(literal) {
                        self.file(&beside.join(file), beside);
                    }
                    4
                }
                ([token @ ("{" | "}" | ";" | ","), ..], _) => {
                    if *token == "{" {
                        depth += 1;
                    } else if *token == "}" {
                        modules.pop_if(|(_, opened)| *opened == depth);
                        depth = depth.saturating_sub(1);
                    }
                    // The attribute was on an item that is not a module, so it counts.
                    if std::mem::take(&mut attributes).is_left_out {
                        self.hasher.add(b"#[cfg(test)]");
                    }
                    1
                }
                _ => 1,
            };
            self.tokens(&rest[..len.min(rest.len())]);
            at += len;
        }
    }

    /// Adds the file of `mod name;` from `folder`. A `path` attribute names a file relative to
    /// `beside` instead.
    fn module(&mut self, name: &str, attributes: &Attributes, folder: &Path, beside: &Path) {
        for path in &attributes.paths {
            let file = beside.join(path);
            let modules = file.parent().map(Path::to_owned).unwrap_or_default();
            self.file(&file, &modules);
        }
        let (file, modules) = (folder.join(format!("{name}.rs")), folder.join(name));
        let in_folder = modules.join("mod.rs");
        match (file.is_file(), in_folder.is_file(), attributes.paths.is_empty()) {
            (true, ..) => self.file(&file, &modules),
            (_, true, _) => self.file(&in_folder, &modules),
            (.., true) => self.hasher.add(b"no such file"),
            _ => {}
        }
    }

    fn tokens(&mut self, tokens: &[&str]) {
        tokens.iter().for_each(|token| self.hasher.add(token.as_bytes()));
    }
}

impl Attributes {
    /// Adds an attribute. Returns whether it excludes its item from GPU builds: `#[cfg(test)]` and
    /// `#[cfg(not(target_arch = "nvptx64"))]` do.
    fn add(&mut self, tokens: &[&str]) -> bool {
        let paths = tokens.windows(3).filter(|window| window[..2] == ["path", "="]);
        self.paths.extend(paths.filter_map(|window| unquoted(window[2]).map(str::to_owned)));
        let [start @ .., ")", "]"] = tokens else { return false };
        let is_test = start == ["#", "[", "cfg", "(", "test"];
        let is_of_host =
            start == ["#", "[", "cfg", "(", "not", "(", "target_arch", "=", "\"nvptx64\"", ")"];
        self.is_left_out |= is_test || is_of_host;
        is_test || is_of_host
    }
}

/// The number of tokens up to the bracket that closes the first one.
fn group_len(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The text of a string literal without escapes.
fn unquoted(literal: &str) -> Option<&str> {
    let raw = literal.strip_prefix('r').map(|rest| rest.trim_matches('#'));
    let text = raw.unwrap_or(literal).strip_prefix('"')?.strip_suffix('"')?;
    (raw.is_some() || !text.contains('\\')).then_some(text)
}

/// An FNV-1a hash. It need not resist attacks, because nobody gains from a collision.
struct Hasher(u64);

impl Default for Hasher {
    fn default() -> Self {
        Hasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher {
    /// Adds a piece. The hash depends on where it ends.
    fn add(&mut self, piece: &[u8]) {
        for &byte in (piece.len() as u64).to_le_bytes().iter().chain(piece) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;

    impl Files {
        fn read(&self) -> Sources {
            Sources::of(&library_root(self.folder()))
        }

        /// Whether a change of a file changes the hash.
        fn counts(&self, path: &str, text: &str) -> bool {
            let (before, old) = (self.read().hash, fs::read(self.folder().join(path)));
            self.put(path, text);
            let counts = self.read().hash != before;
            match old {
                Ok(old) => fs::write(self.folder().join(path), old).unwrap(),
                Err(_) => fs::remove_file(self.folder().join(path)).unwrap(),
            }
            assert_eq!(self.read().hash, before);
            counts
        }
    }

    const ROOT: &str = r#"
pub mod a;
#[cfg(target_arch = "nvptx64")] mod gpu;
#[path = "other/place.rs"] mod moved;
mod inline { mod deep; }
#[cfg(test)] mod tests;
#[cfg(not(target_arch = "nvptx64"))] mod host;
mod r#loop;
const T: &[u8] = include_bytes!("../table.bin");
fn f() -> u32 { 1 }
#[cfg(test)] mod inner { fn t() { assert!(true) } }
fn g() {}
#[cfg(test)] fn h() {}
"#;

    const CRATE: [(&str, &str); 12] = [
        ("src/lib.rs", ROOT),
        ("src/a/mod.rs", "mod b;"),
        ("src/a/b.rs", "fn b() {}"),
        ("src/gpu.rs", "fn gpu() {}"),
        ("src/other/place.rs", "mod near;"),
        ("src/other/near.rs", "fn near() {}"),
        ("src/inline/deep.rs", "fn deep() {}"),
        ("src/loop.rs", "fn l() {}"),
        ("src/tests.rs", "fn t() {}"),
        ("src/host.rs", "fn launch() {}"),
        ("src/unused.rs", "fn unused() {}"),
        ("table.bin", "1 2 3"),
    ];

    #[test]
    fn hash_covers_exactly_the_crates_files() {
        let files = Files::new("every", &CRATE);
        for path in
            ["a/b.rs", "gpu.rs", "other/place.rs", "other/near.rs", "inline/deep.rs", "loop.rs"]
        {
            assert!(files.counts(&format!("src/{path}"), "fn changed() {}"), "{path}");
        }
        assert!(files.counts("table.bin", "1 2 4"));
        for path in ["src/tests.rs", "src/host.rs", "src/unused.rs", "src/bin/tool.rs", "README.md"]
        {
            assert!(!files.counts(path, "fn changed() {}"), "{path}");
        }
        assert_eq!(
            files.read().files.len(),
            CRATE.len() - 3,
            "each is watched: {:?}",
            files.read().files
        );
    }

    #[test]
    fn hash_ignores_formatting() {
        let files = Files::new("code", &CRATE);
        let changed = |from: &str, to: &str| {
            assert!(ROOT.contains(from));
            ROOT.replace(from, to)
        };
        let counts = |from, to| files.counts("src/lib.rs", &changed(from, to));
        assert!(
            counts("u32 { 1 }", "u32 { 2 }")
                && counts("fn g() {}", "")
                && counts("\"nvptx64\"", "\"x86_64\"")
        );
        assert!(counts("#[cfg(test)] fn h", "fn h"), "it is in the build for a GPU now");
        assert!(!counts("\n", "\r\n// a comment\r\n") && !counts("{ 1 }", "{\n    /* one */ 1\n}"));
        assert!(!counts("assert!(true)", "{ assert!(1 + 1 == 2) }"));
        assert!(
            !counts("#[cfg(test)] mod inner { fn t() { assert!(true) } }", ""),
            "tests are no part of it"
        );
        assert!(!counts("#[cfg(test)] mod tests;", ""));
    }

    #[test]
    fn hash_does_not_depend_on_the_folder() {
        let (here, there) = (Files::new("here", &CRATE), Files::new("there", &CRATE));
        assert_eq!(here.read().hash, there.read().hash);
        fs::rename(there.folder().join("src/a/mod.rs"), there.folder().join("src/a.rs")).unwrap();
        assert_eq!(here.read().hash, there.read().hash, "`a/mod.rs` and `a.rs` are one module");
    }

    #[test]
    fn files_that_include_each_other_are_read_once() {
        let files = Files::new(
            "cycle",
            &[
                ("src/lib.rs", "include!(\"a.rs\"); mod missing;"),
                ("src/a.rs", "include!(\"lib.rs\");"),
            ],
        );
        assert_eq!(files.read().files.len(), 2);
    }

    #[test]
    fn sources_include_path_dependencies() {
        let files = Files::new("kernel", &CRATE);
        files.put(
            "Cargo.toml",
            "[package]\nname = \"k\"\n[dependencies]\nhelper = { path = \"helper\" }\n",
        );
        files.put("helper/Cargo.toml", "[package]\nname = \"helper\"\n");
        files.put("helper/src/lib.rs", "fn h() {}");
        let of = |read: &mut Read, file: &str| {
            read.of_kernel(files.folder(), "k".into(), Some(files.folder().join(file)))
        };
        let mut read = Read::default();
        let first = of(&mut read, "src/a/b.rs");
        assert_eq!(first.dependencies[0].0, "helper");
        assert_eq!(
            first.new_files.len(),
            CRATE.len() - 3 + 1,
            "each is watched once: {:?}",
            first.new_files
        );
        let second = of(&mut read, "src/lib.rs");
        assert_eq!((&second.hash, second.new_files.len()), (&first.hash, 0));
        let unreached = of(&mut read, "src/unused.rs");
        assert!(unreached.hash != first.hash && unreached.new_files.len() == 1);
        let elsewhere = read.of_kernel(files.folder(), "k".into(), Some("/of/a/macro.rs".into()));
        assert_eq!(elsewhere.hash, first.hash);

        files.put("helper/src/lib.rs", "fn h() { h() }");
        let other = of(&mut Read::default(), "src/lib.rs");
        assert!(other.hash == first.hash && other.dependencies != first.dependencies);
    }

    #[test]
    fn tests_in_braces_end_where_their_braces_do() {
        let of = |text: &str| Files::new("braces", &[("src/lib.rs", text)]).read().hash;
        let with =
            of("fn a() {}\n#[cfg(test)]\nmod tests { fn t() { let _ = '}'; \"}\"; } }\nfn b() {}");
        assert_eq!(with, of("fn a() {}\n#[cfg(test)]\nmod tests { }\nfn b() {}"));
        assert_ne!(with, of("fn a() {}\n#[cfg(test)]\nmod tests { }\nfn c() {}"));
        // Only `test` by itself excludes the module from every GPU build.
        assert_ne!(
            of("#[cfg(not(test))] mod x { fn a() {} }"),
            of("#[cfg(not(test))] mod x { fn b() {} }")
        );
    }
}
