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
