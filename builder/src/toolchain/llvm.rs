//! LLVM's command-line tools, in the version that rustc uses.

use std::path::{Path, PathBuf};

use crate::fetch;

use super::tool::{Origin, Tool, search_path};

/// The LLVM tools that a build runs.
#[derive(Debug, Clone)]
pub struct LlvmTools {
    pub link: Tool,
    pub opt: Tool,
    pub llc: Tool,
}

/// Finds the tools of LLVM `major`. Another major version fails to read rustc's IR, or misreads it.
pub fn find(
    major: u32,
    sysroot: &Path,
    host: &str,
    rust: &Origin,
    store: &Path,
) -> Result<LlvmTools, String> {
    let root = fetch::system_root(store);
    let private = root.join(format!("usr/lib/llvm-{major}/bin"));
    let mut folders = vec![
        (sysroot.join("lib/rustlib").join(host).join("bin"), rust.clone()),
        (PathBuf::from(format!("/usr/lib/llvm-{major}/bin")), Origin::System),
    ];
    folders.extend(search_path().into_iter().map(|folder| (folder, Origin::System)));
    folders.push((private, Origin::Private(root)));

    folders
        .into_iter()
        .find_map(|(folder, origin)| in_folder(&folder, &origin, major))
        .ok_or_else(|| format!("there is no opt, llc and llvm-link of LLVM {major}"))
}

fn in_folder(folder: &Path, origin: &Origin, major: u32) -> Option<LlvmTools> {
    let tool = |name: &str| {
        let found = Tool::probe(folder.join(name), origin.clone(), "--version", "LLVM version ");
        found.ok().filter(|tool| tool.version().major() == major)
    };
    Some(LlvmTools { link: tool("llvm-link")?, opt: tool("opt")?, llc: tool("llc")? })
}
