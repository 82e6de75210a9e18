//! Optimises each kernel once, for all targets and builds that share it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use rayon::prelude::*;

use crate::flags;
use crate::ir::{Unit, copies, operations, place};
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

/// The content of the file that marks a kernel as checked: the version of each check. Change it
/// with the checks.
pub const CHECKED: &str = "copies 1, operations 1, statics 1";

/// The number of units whose checks read one text, from one process.
const CHECKED_TOGETHER: usize = 64;

/// The passes before and after the numbering of collectives in `refusal`.
///
/// `sroa` moves the functions' memory to registers before they are inlined many times. No other
/// pass runs before inlining: `simplifycfg` made a kernel slower (docs/lab/fp8.md). Inlining is
/// next, so that LLVM finds the reads of thread indices in the kernels, whose launch bounds limit
/// their values.
const PASSES: [&str; 2] = ["internalize,function(sroa),inline", "default<O3>"];

/// The optimised kernels of a unit.
pub struct Optimised {
    kernels: Vec<String>,
    /// The name of its files, without an extension.
    name: String,
    /// The module.
    pub file: PathBuf,
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
            format!("-passes={passes}"),
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
        let inputs = [version.as_str(), unit.text.as_str()]
            .into_iter()
            .chain(arguments.iter().map(String::as_str));
        let fingerprint = stamp::of(inputs.map(str::as_bytes));
        let kernel: String = unit
            .kernels
            .first()
            .into_iter()
            .flat_map(|name| name.chars())
            .take(NAME_LENGTH)
            .collect();
        let name = format!("{kernel}-{}", &fingerprint[..32]);
        let [file, input, unfinished] =
            ["bc", "ll", "part"].map(|extension| self.folder.join(format!("{name}.{extension}")));
        let lock = self.lock(&name);
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !file.is_file() {
            std::fs::write(&input, &unit.text)
                .with_context(|| format!("cannot write {}", input.display()))?;
            let mut opt = opt.command();
            opt.args(arguments)
                .arg(format!("-internalize-public-api-list={}", unit.kernels.join(",")));
            process::stdout(opt.arg(&input).arg("-o").arg(&unfinished))?;
            std::fs::rename(&unfinished, &file)
                .with_context(|| format!("cannot rename {}", unfinished.display()))?;
        }
        Ok(Optimised { kernels: unit.kernels.clone(), name, file })
    }

    /// Checks optimised kernels, and returns those that are refused. `unit` returns the unit of the
    /// kernels with this index, before the optimisation.
    pub fn refusals(
        &self,
        all: &[Optimised],
        unit: impl Fn(usize) -> Unit + Sync,
    ) -> Result<Vec<Refusal>> {
        if self.plain {
            return Ok(Vec::new());
        }
        all.par_chunks(CHECKED_TOGETHER).try_for_each(|some| self.check_together(some))?;
        let refusals = all.par_iter().enumerate().map(|(at, one)| {
            // Another target may be checking it.
            let lock = self.lock(&one.name);
            let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
            if self.is_checked(one) {
                return Ok(None);
            }
            let refusal = self.refusal(&unit(at), &one.file)?;
            if refusal.is_none() {
                self.mark_checked(one)?;
            }
            Ok(refusal)
        });
        Ok(refusals.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Marks the kernels in which the checks find nothing. The others need a closer look, at each
    /// unit alone. Leaves out units that another target is checking.
    fn check_together(&self, all: &[Optimised]) -> Result<()> {
        let locks: Vec<_> = all.iter().map(|one| (one, self.lock(&one.name))).collect();
        let held: Vec<_> = locks
            .iter()
            .filter_map(|(one, lock)| Some((*one, lock.try_lock().ok()?)))
            .filter(|(one, _)| !self.is_checked(one))
            .collect();
        if held.is_empty() {
            return Ok(());
        }
        let text = self.text(held.iter().map(|(one, _)| one.file.as_path()))?;
        let suspects: HashSet<&str> = operations::with_inexact(&text)
            .chain(copies::with_any(&text, copies::Known::ByText))
            .collect();
        let kernels: HashSet<&str> =
            held.iter().flat_map(|(one, _)| &one.kernels).map(String::as_str).collect();
        // The kernels that call another function are not known.
        if !suspects.is_subset(&kernels) {
            return Ok(());
        }
        let is_suspect =
            |one: &Optimised| one.kernels.iter().any(|name| suspects.contains(name.as_str()));
        held.iter()
            .filter(|(one, _)| !is_suspect(one))
            .try_for_each(|(one, _)| self.mark_checked(one))
    }

    /// The text of the modules in these files.
    fn text<'f>(&self, files: impl Iterator<Item = &'f Path>) -> Result<String> {
        process::stdout(self.toolchain.llvm_link().command().args(["-S", "-o", "-"]).args(files))
    }

    fn mark(&self, one: &Optimised) -> PathBuf {
        self.folder.join(format!("{}.checked", one.name))
    }

    fn is_checked(&self, one: &Optimised) -> bool {
        std::fs::read_to_string(self.mark(one)).is_ok_and(|by| by == CHECKED)
    }

    fn mark_checked(&self, one: &Optimised) -> Result<()> {
        let mark = self.mark(one);
        std::fs::write(&mark, CHECKED).with_context(|| format!("cannot write {}", mark.display()))
    }

    fn lock(&self, name: &str) -> Arc<Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        locks.entry(name.to_owned()).or_default().clone()
    }

    /// Checks for code that a GPU would compute differently from the source. Returns the reason to
    /// refuse it.
    fn refusal(&self, unit: &Unit, optimised: &Path) -> Result<Option<Refusal>> {
        let text = self.text([optimised].into_iter())?;
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
        let file = optimised.with_extension("numbered");
        let inlined = self.opt_to_text(first, &unit.text, &file, &unit.kernels)?;
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

    /// Runs passes on a module's text, and returns the result. `file` keeps it.
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

    /// Notes in a target's folder the files of its kernels.
    pub fn keep_for(&self, target: &Path, files: &[PathBuf]) -> Result<()> {
        let names = files.iter().filter_map(|file| file.file_stem()?.to_str());
        let list = target.join(LIST);
        std::fs::write(&list, names.collect::<Vec<_>>().join("\n"))
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
        let kept: HashSet<String> =
            lists.flat_map(|list| list.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
        for file in entries(&self.folder)? {
            if file
                .file_stem()
                .and_then(|name| name.to_str())
                .is_some_and(|name| !kept.contains(name))
            {
                std::fs::remove_file(&file)
                    .with_context(|| format!("cannot remove {}", file.display()))?;
            }
        }
        Ok(())
    }
}
