//! Runs compute-sanitizer, and finds the messages for each kernel in its output.

use super::cases::{CASES, Case};
use super::recording::Said;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The tools of compute-sanitizer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    Memcheck,
    Racecheck,
    Initcheck,
    Synccheck,
}

impl Tool {
    pub const ALL: [Tool; 4] = [Tool::Memcheck, Tool::Racecheck, Tool::Initcheck, Tool::Synccheck];

    pub fn name(self) -> &'static str {
        match self {
            Tool::Memcheck => "memcheck",
            Tool::Racecheck => "racecheck",
            Tool::Initcheck => "initcheck",
            Tool::Synccheck => "synccheck",
        }
    }
}

/// The way to run compute-sanitizer.
#[derive(Debug)]
pub struct Sanitizer {
    /// The path or the name of `compute-sanitizer`.
    pub program: PathBuf,
    /// The command that runs cases: a program with arguments. `--mended` and the names of cases
    /// are appended.
    pub runs: Vec<String>,
    /// The folder for its output.
    pub logs: PathBuf,
}

/// The time limit of a run, for each of its cases. A barrier that a warp does not reach may hang.
const LIMIT: Duration = Duration::from_secs(15);

impl Sanitizer {
    /// The version, as it prints it.
    pub fn version(&self) -> Result<String> {
        let said = Command::new(&self.program).arg("--version").output();
        let said = said.with_context(|| format!("cannot run {}", self.program.display()))?;
        let text = String::from_utf8_lossy(&said.stdout);
        Ok(text
            .lines()
            .rfind(|line| line.contains("ersion"))
            .unwrap_or_default()
            .trim()
            .to_string())
    }

    /// Runs the cases under a tool. Cases that may stop the GPU run alone, the others together.
    pub fn run(&self, tool: Tool, mended: bool) -> Result<Vec<Said>> {
        let (alone, together): (Vec<&Case>, Vec<&Case>) =
            CASES.iter().partition(|case| case.alone && !mended);
        let mut said = self.run_together(tool, mended, &together)?;
        for case in alone {
            said.extend(self.run_together(tool, mended, &[case])?);
        }
        Ok(said)
    }

    fn run_together(&self, tool: Tool, mended: bool, cases: &[&Case]) -> Result<Vec<Said>> {
        let variant = if mended { "mended" } else { "wrong" };
        let of = if let [case] = cases { case.name } else { "all" };
        let log = self.logs.join(format!("{}-{variant}-{of}.txt", tool.name()));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(&self.program);
        command.args(["--tool", tool.name(), "--print-limit", "1000"]);
        if tool == Tool::Memcheck {
            // Without a gap between buffers, an access beyond one buffer would be in the next.
            command.args(["--padding", "4096"]);
        }
        command.args(&self.runs).args(cases.iter().map(|case| case.name));
        if mended {
            command.arg("--mended");
        }
        let mut running = command.stdout(file.try_clone()?).stderr(file).spawn()?;
        let limit = LIMIT * cases.len() as u32;
        let start = Instant::now();
        let hangs = loop {
            if running.try_wait()?.is_some() {
                break false;
            }
            if start.elapsed() > limit {
                running.kill()?;
                running.wait()?;
                break true;
            }
            sleep(Duration::from_millis(50));
        };
        let text = fs::read_to_string(&log)?;
        // Each tool ends with a summary. Without one, no messages do not mean that there are none.
        ensure!(
            !hangs || cases.len() == 1 && !mended,
            "{} has not finished after {} s: see {}",
            self.program.display(),
            limit.as_secs(),
            log.display()
        );
        ensure!(
            hangs || text.contains(" SUMMARY: "),
            "{} did not check the kernels: see {}",
            self.program.display(),
            log.display()
        );
        let said = cases.iter().map(|case| {
            let mut messages = messages(&text, case.name);
            if hangs {
                messages.insert("does not end".into());
            }
            Said { case: case.name.into(), mended, tool, messages }
        });
        Ok(said.collect())
    }
}

/// The messages about a kernel: the subject of each report that names it, without addresses.
fn messages(output: &str, kernel: &str) -> BTreeSet<String> {
    let lines: Vec<&str> =
        output.lines().filter_map(|line| line.strip_prefix("=========")).map(str::trim).collect();
    let reports = lines.split(|line| line.is_empty() || *line == "COMPUTE-SANITIZER");
    let names = |line: &&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == kernel)
    };
    let about = |report: &[&str]| {
        // A report of a race has a line for each of the two accesses.
        let lines = report.iter().enumerate().filter(|(number, line)| {
            let second_access = line.starts_with("and ") && line.contains(" access at ");
            *number == 0 || second_access
        });
        let lines: BTreeSet<(usize, String)> =
            lines.map(|(number, line)| (number.min(1), without_numbers(line))).collect();
        lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>().join(" ")
    };
    reports.filter(|report| report.iter().any(names)).map(about).collect()
}

/// The words of a line before its first address. Addresses differ from build to build.
fn without_numbers(line: &str) -> String {
    let words =
        line.split_whitespace().take_while(|word| !word.starts_with("0x") && !word.contains("+0x"));
    words.collect::<Vec<_>>().join(" ").trim_end_matches(" at").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_belongs_to_named_kernel() {
        let output = "========= COMPUTE-SANITIZER\n\
            ========= Error: Race reported between Write access at first+0x350\n\
            =========     and Read access at first+0x410 [124 hazards]\n\
            =========\n\
            ========= Uninitialized __global__ memory read of size 4 bytes\n\
            =========     at second_one+0x90\n\
            =========\n\
            ========= Invalid __global__ read of size 4 bytes\n\
            =========     at third+0x90\n\
            =========     and is 97 bytes after the nearest allocation at 0x302000000 of size 4096 \
            bytes\n\
            ========= \n\
            ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n\
            second_one is run\n";
        assert_eq!(
            messages(output, "first"),
            ["Error: Race reported between Write access and Read access".into()].into()
        );
        assert_eq!(messages(output, "second_one").len(), 1);
        assert_eq!(
            messages(output, "third"),
            ["Invalid __global__ read of size 4 bytes".into()].into()
        );
        assert!(messages(output, "second").is_empty());
    }
}
