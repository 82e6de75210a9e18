//! The programs that a build runs, and how to find or fetch them.

mod cuda;
mod llvm;
mod rust;
mod tool;

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};
use object::{Object, ObjectSymbol, SymbolKind};

use crate::cache;
use crate::fetch;
use crate::lock::FolderLock;
use crate::process;
use crate::version::Version;

use cuda::Missing;
pub use tool::{Origin, Tool};
pub(crate) use tool::{joined, library_folders};

/// The oldest rustc whose GPU functions are `convergent`.
pub const MIN_RUSTC: Version = Version::new(1, 96, 0);

/// The oldest ptxas that knows every supported target.
pub const MIN_PTXAS: Version = Version::new(12, 9, 0);

/// The programs and sources that turn a kernel crate into PTX and cubin.
#[derive(Debug, Clone)]
pub struct Toolchain {
    rust: rust::RustTools,
    llvm: llvm::LlvmTools,
    cuda: cuda::CudaTools,
}

/// Error: the toolchain is not complete on this machine. The message says for each missing part
/// where the search looked and how to get it.
#[derive(Debug, thiserror::Error)]
pub struct Incomplete {
    /// The reasons why each Rust and LLVM is unusable; empty if they were found.
    pub rust: Vec<String>,
    /// The reasons why each ptxas is unusable; empty if it was found.
    pub ptxas: Vec<String>,
    /// The reason why the ptxas that `$PTXAS` names is unusable. No other takes its place.
    pub named: Option<String>,
}

impl Toolchain {
    /// Returns the folder in which builds keep their downloads, which all projects share:
    /// `toolchain` in the folder that `$PTX_MATRIX_CACHE` names, or in the user's cache folder.
    ///
    /// # Errors
    /// Neither this variable nor `$HOME` is set.
    pub fn store() -> Result<PathBuf> {
        Ok(cache::folder()?.join("toolchain"))
    }

    /// Finds a complete toolchain without fetching anything.
    ///
    /// The search order for Rust:
    ///
    /// 1. rustup's toolchain for `project`, if it has `rust-src` and `llvm-tools`;
    /// 2. the system's packages;
    /// 3. earlier downloads in `store`.
    ///
    /// If `$PTXAS` is set, ptxas comes from there alone. Otherwise the search order is the toolkit
    /// that `$CUDA_HOME` or `$CUDA_PATH` names, the `PATH`, the usual place of a toolkit, `store`.
    ///
    /// A search runs a dozen programs to learn their versions. The process keeps what it has found.
    pub fn find(project: &Path, store: &Path) -> Result<Self, Incomplete> {
        static FOUND: LazyLock<Mutex<HashMap<[PathBuf; 2], Toolchain>>> =
            LazyLock::new(Mutex::default);
        // The found programs run in other folders, so their paths must be absolute.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let folders = [project, store].map(absolute);
        let mut all = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.get(&folders) {
            return Ok(found.clone());
        }
        let [project, store] = &folders;
        let found = Self::search(project, store)?;
        all.insert(folders, found.clone());
        Ok(found)
    }

    /// Searches the machine, as [`Toolchain::find`] says.
    fn search(project: &Path, store: &Path) -> Result<Self, Incomplete> {
        let rust = rust::find(project, store);
        let cuda = cuda::find(store);
        match (rust, cuda) {
            (Ok((rust, llvm)), Ok(cuda)) => Ok(Self { rust, llvm, cuda }),
            (rust, cuda) => {
                let (ptxas, named) = match cuda.err() {
                    Some(Missing::Named(reason)) => (Vec::new(), Some(reason)),
                    Some(Missing::All(reasons)) => (reasons, None),
                    None => (Vec::new(), None),
                };
                Err(Incomplete { rust: rust.err().unwrap_or_default(), ptxas, named })
            }
        }
    }

    /// Finds a toolchain as [`Toolchain::find`] does, and fetches missing parts into `store`. This
    /// needs no root, and does not touch the system. `progress` receives each step that takes time.
    pub fn find_or_fetch(project: &Path, store: &Path, progress: &dyn Fn(&str)) -> Result<Self> {
        match Self::find(project, store) {
            Ok(found) => {
                found.passed_over().for_each(|reason| progress(&format!("not used: {reason}")));
                return Ok(found);
            }
            Err(wrong) if wrong.named.is_some() => return Err(wrong.into()),
            Err(_) => {}
        }
        let _lock = FolderLock::acquire(store, "lock", progress)
            .with_context(|| cache::unwritable(store))?;
        // Another process may have fetched it while this one waited for the lock.
        let missing = match Self::find(project, store) {
            Ok(found) => return Ok(found),
            Err(missing) => missing,
        };
        let parts =
            fetch::Parts { rust: !missing.rust.is_empty(), ptxas: !missing.ptxas.is_empty() };
        fetch::fetch(store, parts, progress).map_err(|error| {
            anyhow!("cannot fetch tools into {}: {error:#}\n{missing}", store.display())
        })?;
        Self::find(project, store).context("the fetched toolchain is incomplete")
    }

    /// The reasons why earlier candidates were rejected.
    fn passed_over(&self) -> impl Iterator<Item = &String> {
        self.rust.passed_over.iter().chain(&self.cuda.passed_over)
    }

    /// Returns rustc.
    #[must_use]
    pub fn rustc(&self) -> &Tool {
        &self.rust.rustc
    }

    /// Returns the cargo that goes with [`Toolchain::rustc`].
    #[must_use]
    pub fn cargo(&self) -> &Tool {
        &self.rust.cargo
    }

    /// Returns the sources of Rust's standard library: the folder that contains `core`.
    #[must_use]
    pub fn library_source(&self) -> &Path {
        &self.rust.library
    }

    /// Returns llvm-link, LLVM's linker of IR modules.
    #[must_use]
    pub fn llvm_link(&self) -> &Tool {
        &self.llvm.link
    }

    /// Returns opt, LLVM's optimiser, in rustc's LLVM version.
    #[must_use]
    pub fn opt(&self) -> &Tool {
        &self.llvm.opt
    }

    /// Returns llc, LLVM's code generator, in rustc's LLVM version.
    #[must_use]
    pub fn llc(&self) -> &Tool {
        &self.llvm.llc
    }

    /// Returns ptxas, NVIDIA's assembler.
    #[must_use]
    pub fn ptxas(&self) -> &Tool {
        &self.cuda.ptxas
    }

    /// Assembles a file with ptxas for a target, such as `sm_110f`. The target need not be one that
    /// the builder supports. The error is ptxas's output.
    pub fn assemble(&self, target: &str, ptx: &Path, cubin: &Path) -> Result<(), String> {
        let output =
            self.ptxas().command().args(["-arch", target, "-o"]).args([cubin, ptx]).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Returns the machine code of each kernel of a cubin, as text, or `None` without
    /// [`nvdisasm`](Toolchain::nvdisasm).
    pub fn disassemble(&self, cubin: &Path) -> Result<Option<HashMap<String, String>>> {
        self.nvdisasm().map(|nvdisasm| disassemble(nvdisasm, &[], cubin)).transpose()
    }

    /// Does the same for the kernels whose names are selected. The time grows with their code.
    pub fn disassemble_some(
        &self,
        cubin: &Path,
        selects: impl Fn(&str) -> bool,
    ) -> Result<Option<HashMap<String, String>>> {
        let Some(nvdisasm) = self.nvdisasm() else { return Ok(None) };
        let bytes = fs::read(cubin).with_context(|| cubin.display().to_string())?;
        // A cubin is an ELF file, and nvdisasm selects functions by their index in its symbol
        // table.
        let elf = object::File::parse(&*bytes).with_context(|| cubin.display().to_string())?;
        let functions = elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
        let selected = functions.filter(|function| function.name().is_ok_and(&selects));
        let indices: Vec<String> =
            selected.map(|function| function.index().0.to_string()).collect();
        // For an empty list, nvdisasm would disassemble all functions.
        if indices.is_empty() {
            return Ok(Some(HashMap::new()));
        }
        disassemble(nvdisasm, &["-fun", &indices.join(",")], cubin).map(Some)
    }

    /// Returns nvdisasm, NVIDIA's disassembler. No build needs it.
    #[must_use]
    pub fn nvdisasm(&self) -> Option<&Tool> {
        self.cuda.nvdisasm.as_ref()
    }

    /// Describes the toolchain, one line for each tool: its version, its path and its origin.
    #[must_use]
    pub fn describe(&self) -> String {
        self.to_string()
    }
}

fn disassemble(nvdisasm: &Tool, options: &[&str], cubin: &Path) -> Result<HashMap<String, String>> {
    let text = process::stdout(nvdisasm.command().arg("-c").args(options).arg(cubin))?;
    let sections = text.split("\n.text.").skip(1).filter_map(|section| section.split_once(":\n"));
    let code: HashMap<_, _> =
        sections.map(|(name, code)| (name.to_owned(), code.to_owned())).collect();
    let shown = nvdisasm.path().display();
    ensure!(!code.is_empty(), "{shown} shows no function of {}", cubin.display());
    Ok(code)
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let required = [
            ("rustc", self.rustc()),
            ("cargo", self.cargo()),
            ("opt", self.opt()),
            ("llc", self.llc()),
            ("llvm-link", self.llvm_link()),
            ("ptxas", self.ptxas()),
        ];
        let tools = required.into_iter().chain(self.nvdisasm().map(|tool| ("nvdisasm", tool)));
        for (name, tool) in tools {
            writeln!(
                f,
                "{name:<10} {:<9} {} ({})",
                tool.version().to_string(),
                tool.path().display(),
                tool.origin()
            )?;
        }
        for reason in self.passed_over() {
            writeln!(f, "not used: {reason}")?;
        }
        write!(
            f,
            "{:<10} {:<9} {}",
            "rust-src",
            self.rustc().version().to_string(),
            self.library_source().display()
        )
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = String::new();
        if !self.rust.is_empty() {
            writeln!(message, "no Rust toolchain that compiles for NVIDIA GPUs:")?;
            for reason in &self.rust {
                writeln!(message, "  - {reason}")?;
            }
            writeln!(
                message,
                "  To get one: rustup update stable; rustup component add rust-src llvm-tools"
            )?;
            writeln!(
                message,
                "  or, on Debian: apt-get install rustc-web rust-web-src cargo-web llvm-22"
            )?;
        }
        if let Some(reason) = &self.named {
            writeln!(message, "{reason}")?;
            writeln!(
                message,
                "  Set $PTXAS to a ptxas {MIN_PTXAS} or newer; or unset it, and the builder looks \
                 for one"
            )?;
        }
        if !self.ptxas.is_empty() {
            writeln!(message, "no ptxas {MIN_PTXAS} or newer:")?;
            for reason in &self.ptxas {
                writeln!(message, "  - {reason}")?;
            }
            writeln!(
                message,
                "  To get one: install a CUDA toolkit, or set $PTXAS to a ptxas, or run"
            )?;
            let packages = fetch::CUDA_PACKAGES.map(|package| format!("'{package}'"));
            writeln!(
                message,
                "  pip install --no-deps {}; $PTXAS is then the `ptxas` below nvidia/ there",
                packages.join(" ")
            )?;
        }
        f.write_str(message.trim_end())
    }
}
