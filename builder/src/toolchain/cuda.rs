//! NVIDIA's assembler and disassembler.

use std::path::{Path, PathBuf};

use crate::fetch;

use super::MIN_PTXAS;
use super::tool::{Origin, Tool, search_path};

/// ptxas, and nvdisasm where there is one.
#[derive(Debug, Clone)]
pub struct CudaTools {
    pub ptxas: Tool,
    pub nvdisasm: Option<Tool>,
}

/// The first ptxas that is new enough; else why each one is not.
pub fn find(store: &Path) -> Result<CudaTools, Vec<String>> {
    let private = fetch::cuda_binaries(store);
    let mut reasons = Vec::new();
    for (path, origin) in candidates(private.as_deref(), store) {
        match probe(path, origin) {
            Ok(ptxas) if ptxas.version() >= MIN_PTXAS => {
                let nvdisasm = nvdisasm(&ptxas, private.as_deref(), store);
                return Ok(CudaTools { ptxas, nvdisasm });
            }
            Ok(old) => reasons.push(format!("{} is {}", old.path().display(), old.version())),
            Err(reason) => reasons.push(reason),
        }
    }
    if reasons.is_empty() {
        reasons.push("neither $PTXAS nor $CUDA_HOME is set, and no ptxas is on the PATH".to_owned());
    }
    Err(reasons)
}

fn candidates(private: Option<&Path>, store: &Path) -> Vec<(PathBuf, Origin)> {
    // What the user names is tried even if it is not there, so that a wrong name is reported.
    let named = std::env::var_os("PTXAS").map(PathBuf::from);
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let usual =
        search_path().into_iter().chain(toolkits.chain(["/usr/local/cuda".into()]).map(|root| root.join("bin")));
    let usual = usual.map(|folder| folder.join("ptxas")).filter(|path| path.is_file());

    let mut found: Vec<_> = named.into_iter().chain(usual).map(|path| (path, Origin::CudaToolkit)).collect();
    found.extend(private.map(|folder| (folder.join("ptxas"), Origin::Private(store.to_owned()))));
    found
}

fn nvdisasm(ptxas: &Tool, private: Option<&Path>, store: &Path) -> Option<Tool> {
    let beside = (ptxas.path().with_file_name("nvdisasm"), ptxas.origin().clone());
    let fetched = private.map(|folder| (folder.join("nvdisasm"), Origin::Private(store.to_owned())));
    [Some(beside), fetched].into_iter().flatten().find_map(|(path, origin)| probe(path, origin).ok())
}

fn probe(path: PathBuf, origin: Origin) -> Result<Tool, String> {
    Tool::probe(path, origin, "--version", ", V")
}
