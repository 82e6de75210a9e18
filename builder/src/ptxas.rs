//! Assembling PTX, and reading what ptxas says about it.

mod in_flight;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::arch::{Arch, PtxVersion};
use crate::process;
use crate::stamp;
use crate::toolchain::Tool;

pub use report::{Report, Usage};

/// PTX as it was assembled.
pub struct Assembled {
    pub version: PtxVersion,
    pub report: Report,
}

/// What to assemble, and where to.
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
    /// The PTX's version is raised to what its instructions need, if need be: so each kernel crate
    /// gets the least, and the oldest drivers that can load it will.
    pub fn assemble(&self, mut text: String) -> Result<Assembled> {
        let mut version = self.arch.ptx_version();
        // That of another PTX is not to stay beside this one, should ptxas refuse it.
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
                    report::with_source(&said, &text)
                ),
            }
        }
    }

    fn run(&self) -> Result<Result<String, String>> {
        let mut ptxas = self.ptxas.command();
        // A thread for each core. Of this project's library, one, two and seven allot the same
        // registers, and spill as little.
        ptxas.arg(format!("-arch={}", self.arch)).args(["-v", "--split-compile", "0"]);
        if self.line_info {
            ptxas.arg("-lineinfo");
        }
        let output = process::output(ptxas.arg(&self.ptx).arg("-o").arg(&self.cubin))?;
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
}
