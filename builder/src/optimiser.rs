//! Optimises each module once, for all kernels, targets and builds that share it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};

use crate::flags;
use crate::ir::{Unit, copies, operations, place, portable};
use crate::process;
use crate::refusal::Refusal;
use crate::stamp;
use crate::toolchain::Toolchain;

/// By default LLVM leaves nested loops over accumulators rolled, and the accumulators then stay in
/// local memory. This threshold suffices for the largest tile that fits into registers.
const UNROLL_THRESHOLD: &str = "-unroll-threshold=8000";

/// Without this option, each inlined call leaves metadata about its non-aliasing arguments, and
/// each level of inlining copies it. The metadata costs a third of opt's time. It changes nothing,
/// because the memory that it describes is in registers once all is inlined.
const NO_ALIAS_SCOPES: &str = "-enable-noalias-to-md-conversion=false";

/// The maximum length of the kernel's name within a file name.
const NAME_LENGTH: usize = 120;

/// The file in a target's folder that lists its optimised kernels.
const LIST: &str = "kernels.txt";

/// The content of the file that marks a kernel as checked: the version of each check, also of those
/// in other modules. Change it with the checks.
pub const CHECKED: &str = "copies 2, operations 1, statics 1, registers in flight 1";

/// The passes before and after the numbering of collectives in `check`.
///
/// `sroa` moves the functions' memory to registers before they are inlined many times. No other
/// pass runs before inlining: `simplifycfg` made a kernel slower (docs/lab/fp8.md). Inlining is
/// next, so that LLVM finds the reads of thread indices in the kernels, whose launch bounds limit
/// their values.
const PASSES: [&str; 2] = ["internalize,function(sroa),inline", "default<O3>"];

/// The last pass does nothing. After it, opt prints the module as text, into a file. (llvm-link can
/// make the text too, but its start takes as long as opt for a small kernel. The pass `print` is
/// slow: it writes each word by itself, to the standard error.)
const PRINTED: &str = "no-op-module";

/// A unit's optimised kernels.
pub struct Optimised {
    /// The module, with the unit's placeholders. Units that differ only in what fills these share
    /// it. It is bitcode: text would lose the order of uses, and the code of loops depends on it.
    pub file: PathBuf,
    /// The file of the same module as text.
    text: PathBuf,
    /// The name of the module's files, without an extension.
    pub name: String,
    /// The name of the unit's own files.
    own: String,
}

/// Optimised kernels, in a folder.
pub struct Optimiser<'a> {
    toolchain: &'a Toolchain,
    plain: bool,
    folder: PathBuf,
    /// The kernel crate's folder.
    crate_folder: PathBuf,
    /// A lock for each unit: the first holder makes or checks the file, and the next ones find it.
    locks: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

impl<'a> Optimiser<'a> {
    /// Creates an optimiser with its results in `folder`. With `plain`, rustc has optimised
    /// already.
    pub fn new(
        toolchain: &'a Toolchain,
        plain: bool,
        folder: PathBuf,
        crate_folder: PathBuf,
    ) -> Result<Self> {
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { toolchain, plain, folder, crate_folder, locks: Mutex::default() })
    }

    /// The arguments of opt for every kernel. They do not name the target, because its result would
    /// be the same.
    pub fn arguments(&self) -> [String; 4] {
        let passes = if self.plain { "internalize,globaldce".to_owned() } else { PASSES.join(",") };
        [
            format!("-passes={passes},{PRINTED}"),
            UNROLL_THRESHOLD.into(),
            NO_ALIAS_SCOPES.into(),
            format!("-mtriple={}", flags::TARGET),
        ]
    }

    /// Optimises the unit's kernels, unless that was done before.
    pub fn optimised(&self, unit: &Unit) -> Result<Optimised> {
        let arguments = self.arguments();
        let opt = self.toolchain.opt();
        let version = opt.version().to_string();
        let inputs =
            [&version, &unit.text].into_iter().chain(&arguments).map(|input| input.as_bytes());
        let name = stamp::of(inputs)[..32].to_owned();
        let text = self.folder.join(format!("{name}.opt.ll"));
        let file = self.make(&format!("{name}.bc"), |unfinished| {
            let input = self.folder.join(format!("{name}.ll"));
            std::fs::write(&input, &unit.text)
                .with_context(|| format!("cannot write {}", input.display()))?;
            let mut opt = opt.command();
            opt.args(arguments)
                .arg(format!("-internalize-public-api-list={}", unit.names.join(",")));
            let printed = self.folder.join(format!("{name}.printed"));
            opt.arg(format!("-print-after={PRINTED}"))
                .arg(format!("-ir-dump-directory={}", printed.display()));
            process::stdout(opt.arg(&input).arg("-o").arg(unfinished))?;
            move_only_file(&printed, &text)
                .with_context(|| format!("opt has not printed a module to {}", printed.display()))
        })?;
        // Kernels of the same module differ in their asm, which is checked too.
        let own = stamp::of(unit.replacements().chain([name.as_str()]).map(str::as_bytes));
        let kernel = unit.kernels.first().map_or("", String::as_str);
        let kernel: String = kernel.chars().take(NAME_LENGTH).collect();
        Ok(Optimised { file, text, name, own: format!("{kernel}-{}", &own[..32]) })
    }

    /// Whether LLVM's code for the module is the same for all targets that are alike.
    pub fn is_portable(&self, optimised: &Optimised) -> Result<bool> {
        let answer =
            self.make(&format!("{}.{}", optimised.name, portable::VERSION), |unfinished| {
                let answer = portable::is_portable(&read(&optimised.text)?);
                std::fs::write(unfinished, answer.to_string())
                    .with_context(|| format!("cannot write {}", unfinished.display()))
            })?;
        Ok(read(&answer)? == "true")
    }

    /// Makes a file in the folder, unless it is there. Another target may need the same file at the
    /// same time.
    pub fn make(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let lock = self.lock(name);
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.folder.join(name);
        if !file.is_file() {
            let unfinished = self.folder.join(format!("{name}.part"));
            make(&unfinished)?;
            std::fs::rename(&unfinished, &file)
                .with_context(|| format!("cannot rename {}", unfinished.display()))?;
        }
        Ok(file)
    }

    /// Checks the optimised kernels, unless that was done before. Returns the reason to refuse
    /// them.
    pub fn refusal(&self, unit: &Unit, optimised: &Optimised) -> Result<Option<Refusal>> {
        // Another target may be checking them.
        let lock = self.lock(&optimised.own);
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = self.folder.join(format!("{}.checked", optimised.own));
        if self.plain || std::fs::read_to_string(&mark).is_ok_and(|by| by == CHECKED) {
            return Ok(None);
        }
        let refusal = self.check(unit, optimised)?;
        if refusal.is_none() {
            std::fs::write(&mark, CHECKED)
                .with_context(|| format!("cannot write {}", mark.display()))?;
        }
        Ok(refusal)
    }

    fn lock(&self, name: &str) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.entry(name.to_owned()).or_default().clone()
    }

    /// Looks for code that a GPU would compute differently from the source.
    fn check(&self, unit: &Unit, optimised: &Optimised) -> Result<Option<Refusal>> {
        let text = unit.in_ir(&read(&optimised.text)?);
        let refused = |reason: String, module: &str, line: &str| {
            let place = place::of(module, line, &self.crate_folder);
            Ok(Some(Refusal { kernels: unit.kernels.clone(), reason, place }))
        };
        if let Some(inexact) = operations::first_inexact(&text) {
            let reason = format!(
                "PTX has no exact instruction for {}; call a function in plain Rust, such as one \
                 of the crate `libm`, which returns the same bits on GPUs and in the simulator",
                inexact.what
            );
            return refused(reason, &text, inexact.line);
        }
        if copies::first(&text, copies::Known::ByText).is_none() {
            return Ok(None);
        }
        // Two equal collectives may be separate in the source. So this repeats the passes with a
        // number on each collective. The numbers come after inlining, which may make copies.
        let [first, then] = PASSES;
        let file = self.folder.join(format!("{}.numbered", optimised.own));
        let inlined = self.opt_to_text(first, &unit.in_ir(&unit.text), &file, &unit.kernels)?;
        let numbered = self.opt_to_text(then, &copies::numbered(&inlined), &file, &unit.kernels)?;
        match copies::first(&numbered, copies::Known::ByNumber) {
            None => Ok(None),
            Some(copied) => {
                let reason = format!(
                    "LLVM has copied `{}`, which all lanes of a warp must execute together, into \
                     different arms of a branch that lanes take differently; move a branch on a \
                     lane's value into a lane closure of its own",
                    copied.what
                );
                refused(reason, &numbered, copied.line)
            }
        }
    }

    /// Runs passes on a module's text, which `input` keeps, and returns the result.
    fn opt_to_text(
        &self,
        passes: &str,
        module: &str,
        input: &Path,
        kernels: &[String],
    ) -> Result<String> {
        std::fs::write(input, module)
            .with_context(|| format!("cannot write {}", input.display()))?;
        let mut opt = self.toolchain.opt().command();
        let others =
            self.arguments().into_iter().filter(|argument| !argument.starts_with("-passes="));
        opt.arg(format!("-passes={passes}")).args(others);
        opt.arg(format!("-internalize-public-api-list={}", kernels.join(",")));
        process::stdout(opt.arg("-S").arg(input).args(["-o", "-"]))
    }

    /// Notes in a target's folder the files of its kernels: in each line, the names of a kernel's
    /// own file, and of the files that it shares, without extensions.
    pub fn keep_for(&self, target: &Path, kernels: &[Optimised]) -> Result<()> {
        let list = target.join(LIST);
        let lines = kernels.iter().map(|Optimised { own, name, .. }| format!("{own} {name}\n"));
        std::fs::write(&list, lines.collect::<String>())
            .with_context(|| format!("cannot write {}", list.display()))
    }

    /// Deletes the files that no target in `targets` uses.
    pub fn forget_others(&self, targets: &Path) -> Result<()> {
        let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
            let entries = std::fs::read_dir(folder)
                .with_context(|| format!("cannot read {}", folder.display()))?;
            Ok(entries
                .collect::<std::io::Result<Vec<_>>>()?
                .into_iter()
                .map(|entry| entry.path())
                .collect())
        };
        let lists = entries(targets)?
            .into_iter()
            .filter_map(|target| std::fs::read_to_string(target.join(LIST)).ok());
        let kept: HashSet<String> = lists
            .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        for file in entries(&self.folder)? {
            let name = file.file_name().and_then(|name| name.to_str()?.split('.').next());
            if name.is_some_and(|name| !kept.contains(name)) {
                // An interrupted build leaves a folder.
                let removed = if file.is_dir() {
                    std::fs::remove_dir_all(&file)
                } else {
                    std::fs::remove_file(&file)
                };
                removed.with_context(|| format!("cannot remove {}", file.display()))?;
            }
        }
        Ok(())
    }
}

/// Moves a file out of its folder, and removes the folder.
fn move_only_file(folder: &Path, to: &Path) -> std::io::Result<()> {
    let file = std::fs::read_dir(folder)?.next().ok_or(std::io::ErrorKind::NotFound)??;
    std::fs::rename(file.path(), to)?;
    std::fs::remove_dir_all(folder)
}

/// Reads a text.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
