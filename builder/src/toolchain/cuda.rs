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
    /// The reasons why earlier candidates were rejected.
    pub passed_over: Vec<String>,
}

/// Why no ptxas is available.
#[derive(Debug)]
pub enum Missing {
    /// The ptxas that `$PTXAS` names is unusable, for this reason. No other takes its place.
    Named(String),
    /// Every candidate is unusable, for these reasons.
    All(Vec<String>),
}

/// Finds the ptxas that `$PTXAS` names, or else the first that is new enough.
pub fn find(store: &Path) -> Result<CudaTools, Missing> {
    let private = fetch::cuda_binaries(store);
    let found = |ptxas: Tool, passed_over| {
        let nvdisasm = nvdisasm(&ptxas, private.as_deref(), store);
        CudaTools { ptxas, nvdisasm, passed_over }
    };
    if let Some(named) = std::env::var_os("PTXAS").filter(|named| !named.is_empty()) {
        let path = named_program(Path::new(&named));
        let usable = probe(path, Origin::CudaToolkit).and_then(new_enough);
        let refused = |reason| {
            Missing::Named(format!(
                "$PTXAS is `{}`, which cannot be used: {reason}",
                named.display()
            ))
        };
        return usable.map(|ptxas| found(ptxas, Vec::new())).map_err(refused);
    }
    let mut reasons = Vec::new();
    for (path, origin) in candidates(private.as_deref(), store) {
        match probe(path, origin).and_then(new_enough) {
            Ok(ptxas) => return Ok(found(ptxas, reasons)),
            Err(reason) => reasons.push(reason),
        }
    }
    if reasons.is_empty() {
        reasons
            .push("neither $PTXAS nor $CUDA_HOME is set, and no ptxas is on the PATH".to_owned());
    }
    Err(Missing::All(reasons))
}

/// Resolves a program as a shell does: by its name on the `PATH`, or by its path.
fn named_program(named: &Path) -> PathBuf {
    let is_name = named.components().count() == 1 && !named.is_file();
    let on_path = is_name.then(|| {
        search_path().into_iter().map(|folder| folder.join(named)).find(|path| path.is_file())
    });
    on_path
        .flatten()
        .unwrap_or_else(|| std::path::absolute(named).unwrap_or_else(|_| named.to_owned()))
}

fn new_enough(ptxas: Tool) -> Result<Tool, String> {
    if ptxas.version() >= MIN_PTXAS {
        return Ok(ptxas);
    }
    Err(format!("{} is {}, older than {MIN_PTXAS}", ptxas.path().display(), ptxas.version()))
}

fn candidates(private: Option<&Path>, store: &Path) -> Vec<(PathBuf, Origin)> {
    let ptxas = |folder: PathBuf| folder.join("ptxas");
    let on_path = search_path().into_iter().map(ptxas).filter(|path| path.is_file());
    // A path from the user is tried even if it does not exist, so that the error names it.
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os)
        .filter(|root| !root.is_empty());
    let named = toolkits
        .map(|root| ptxas(std::path::absolute(&root).unwrap_or_else(|_| root.into()).join("bin")));
    let usual = [ptxas("/usr/local/cuda/bin".into())].into_iter().filter(|path| path.is_file());

    let mut found: Vec<_> =
        named.chain(on_path).chain(usual).map(|path| (path, Origin::CudaToolkit)).collect();
    found.extend(private.map(|folder| (folder.join("ptxas"), Origin::Private(store.to_owned()))));
    found
}

fn nvdisasm(ptxas: &Tool, private: Option<&Path>, store: &Path) -> Option<Tool> {
    let beside = (ptxas.path().with_file_name("nvdisasm"), ptxas.origin().clone());
    let fetched =
        private.map(|folder| (folder.join("nvdisasm"), Origin::Private(store.to_owned())));
    [Some(beside), fetched]
        .into_iter()
        .flatten()
        .find_map(|(path, origin)| probe(path, origin).ok())
}

fn probe(path: PathBuf, origin: Origin) -> Result<Tool, String> {
    Tool::probe(path, origin, "--version", ", V")
}
