//! Assembles PTX, and reads ptxas's output.

mod in_flight;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::arch::{Arch, PtxVersion};
use crate::process;
use crate::stamp;
use crate::toolchain::Tool;

pub use report::{Report, Usage};

/// PTX in its assembled version.
pub struct Assembled {
    pub version: PtxVersion,
    pub report: Report,
}

/// One run of ptxas: its input and its outputs.
pub struct Job<'a> {
    pub ptxas: &'a Tool,
    pub arch: Arch,
    pub ptx: PathBuf,
    pub cubin: PathBuf,
    pub line_info: bool,
}

impl Job<'_> {
    /// Writes the PTX and its cubin.
    ///
    /// If the instructions need a higher PTX version, this raises it. So each kernel crate gets the
    /// lowest possible version, which the oldest drivers can load.
    pub fn assemble(&self, mut text: String) -> Result<Assembled> {
        let mut version = self.arch.ptx_version();
        // A cubin of other PTX must not stay beside this PTX if ptxas refuses it.
        stamp::remove(&self.cubin)?;
        loop {
            std::fs::write(&self.ptx, &text)
                .with_context(|| format!("cannot write {}", self.ptx.display()))?;
            let said = match self.run()? {
                Ok(said) => {
                    let report = report::read(&said, &text)
                        .with_context(|| format!("ptxas for {}", self.arch))?;
                    return Ok(Assembled { version, report });
                }
                Err(said) => said,
            };
            match report::needed_version(&said) {
                Some(needed) if needed > version => {
                    text = with_version(&text, needed);
                    version = needed;
                }
                _ => bail!(
                    "ptxas refuses the PTX for {}:\n{}",
                    self.arch,
                    report::errors(&said, &text)
                ),
            }
        }
    }

    fn run(&self) -> Result<Result<String, String>> {
        let mut ptxas = self.ptxas.command();
        // `0` runs a thread for each core. For this project's library, one, two and seven threads
        // give the same register allocation and equally few spills.
        ptxas.arg(format!("-arch={}", self.arch)).args(["-v", "--split-compile", "0"]);
        if self.line_info {
            ptxas.arg("-lineinfo");
        }
        let output = process::output(ptxas.arg(&self.ptx).arg("-o").arg(&self.cubin))?;
        // A failed ptxas has a code, and says why.
        if output.status.code().is_none() {
            let (arch, ptx, status) = (self.arch, self.ptx.display(), output.status);
            bail!(
                "ptxas crashed for {arch} ({status}), which is its own fault; the PTX is {ptx}. If \
                 a loop leaves a `wgmma` in flight from one iteration to the next, end the \
                 iteration with a wait for all groups. Else leave out kernels until it passes"
            );
        }
        let said = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat();
        Ok(if output.status.success() { Ok(said) } else { Err(said) })
    }
}

fn with_version(ptx: &str, version: PtxVersion) -> String {
    let replace = |line: &str| {
        let directive = line.starts_with(".version ");
        if directive { format!(".version {version}\n") } else { format!("{line}\n") }
    };
    ptx.lines().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raises_the_version_and_nothing_else() {
        let ptx = "//\n\n.version 7.8\n.target sm_89\n// .version 7.8\n";
        let raised = with_version(ptx, "8.4".parse().unwrap());
        assert_eq!(raised, "//\n\n.version 8.4\n.target sm_89\n// .version 7.8\n");
    }

    #[cfg(unix)]
    #[test]
    fn crash_is_told_from_a_refusal() {
        use crate::toolchain::Origin;
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("ptxas");
        let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo V13.0.0 || kill -SEGV $$\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ptxas = Tool::probe(program, Origin::System, "--version", "V").unwrap();
        let [ptx, cubin] = ["a.ptx", "a.cubin"].map(|name| folder.path().join(name));
        let arch: Arch = "sm_90a".parse().unwrap();
        let job = Job { ptxas: &ptxas, arch, ptx: ptx.clone(), cubin, line_info: false };
        let error = job.assemble(".version 8.0\n".into()).err().unwrap().to_string();
        assert!(error.starts_with("ptxas crashed for sm_90a (signal: 11"), "{error}");
        assert!(error.contains(ptx.to_str().unwrap()) && ptx.is_file(), "{error}");
    }
}
