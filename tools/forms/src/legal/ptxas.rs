//! Asks ptxas about many instructions in one call.
//!
//! ptxas checks every line, and reports each error with its line's number. A syntax error ends the
//! call early; the lines after it are asked about again. If ptxas crashes, each half of the lines
//! is asked about. The last line is always wrong, so ptxas stops before it generates code.

use super::instruction::DECLARATIONS;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The verdict of ptxas on a line, from the mildest to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Answer {
    Accepted,
    /// Another target accepts it.
    OtherTarget,
    /// It may be legal with another number of registers.
    Registers,
    Refused,
}

/// A ptxas, and a folder for its files.
#[derive(Debug)]
pub struct Ptxas {
    path: PathBuf,
    folder: PathBuf,
    calls: AtomicUsize,
    /// The text of `--version`.
    pub identity: String,
    /// The known targets, in ptxas's order, the oldest generation first.
    pub targets: Vec<String>,
    /// The known PTX versions, the oldest first.
    pub versions: Vec<String>,
}

impl Ptxas {
    /// Asks a ptxas for its targets and versions.
    pub fn new(path: &Path, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let said = |argument: &str| -> Result<String> {
            let output = Command::new(path).arg(argument).output();
            let output = output.with_context(|| format!("cannot run {}", path.display()))?;
            ensure!(output.status.success(), "{} {argument} fails", path.display());
            Ok(text(&output))
        };
        let identity = said("--version")?;
        let targets = targets(&said("--help")?);
        ensure!(!targets.is_empty(), "the help of {} lists no targets", path.display());
        let mut ptxas = Self {
            path: path.to_owned(),
            folder: folder.to_owned(),
            calls: AtomicUsize::new(0),
            identity,
            targets,
            versions: Vec::new(),
        };
        ptxas.versions = ptxas.known_versions()?;
        Ok(ptxas)
    }

    /// Its release, such as `13.5.37`.
    pub fn release(&self) -> &str {
        let version = self.identity.split(", V").nth(1).unwrap_or(&self.identity);
        version.split_whitespace().next().unwrap_or("unknown")
    }

    /// The newest PTX version.
    pub fn newest(&self) -> &str {
        self.versions.last().map_or("", String::as_str)
    }

    fn known_versions(&self) -> Result<Vec<String>> {
        let newest = self.call(&[], self.targets[0].as_str(), "99.0")?.1;
        let Some((_, rest)) = newest.split_once("current version is '") else {
            bail!("ptxas does not say which PTX version is its newest: {newest}");
        };
        let newest = rest.split('\'').next().unwrap_or_default();
        let last =
            number(newest).with_context(|| format!("ptxas names `{newest}` as a PTX version"))?;
        let mut known = Vec::new();
        for version in (60..=last).map(|number| format!("{}.{}", number / 10, number % 10)) {
            if !self.call(&[], &self.targets[0], &version)?.1.contains("Unsupported .version") {
                known.push(version);
            }
        }
        Ok(known)
    }

    /// The answer for each line.
    pub fn ask(&self, lines: &[String], target: &str, version: &str) -> Result<Vec<Answer>> {
        Ok(self
            .messages(lines, target, version)?
            .iter()
            .map(|messages| classify(messages))
            .collect())
    }

    /// The errors of each line.
    pub fn messages(
        &self,
        lines: &[String],
        target: &str,
        version: &str,
    ) -> Result<Vec<Vec<String>>> {
        let mut all = Vec::with_capacity(lines.len());
        while all.len() < lines.len() {
            let rest = &lines[all.len()..];
            let (first, said) = self.call(rest, target, version)?;
            let Some(read) = read(&said, first, rest.len()) else {
                // A crash at an unknown line.
                if let [_] = rest {
                    all.push(vec![String::from("ptxas crashes")]);
                    continue;
                }
                let (left, right) = rest.split_at(rest.len() / 2);
                all.extend(self.messages(left, target, version)?);
                all.extend(self.messages(right, target, version)?);
                continue;
            };
            if let Some(refusal) = read.of_all {
                all.resize(lines.len(), vec![refusal]);
                break;
            }
            all.extend(read.messages);
        }
        Ok(all)
    }

    /// Runs ptxas. Returns the number of the first line's line in the file, and the output.
    fn call(&self, lines: &[String], target: &str, version: &str) -> Result<(usize, String)> {
        let head = format!(
            ".version {version}\n.target {target}\n.address_size 64\n.visible .entry candidates() \
             {{\n{DECLARATIONS}"
        );
        let first = head.lines().count() + 1;
        let mut ptx = head;
        for line in lines {
            ptx.push_str(line);
            ptx.push('\n');
        }
        ptx.push_str("no_instruction;\nret;\n}\n");
        let (file, cubin) = self.files();
        fs::write(&file, ptx).with_context(|| format!("cannot write {}", file.display()))?;
        let output = self.run(&file, &cubin, target)?;
        let _ = fs::remove_file(&file);
        Ok((first, text(&output)))
    }

    /// Compiles a text; the error is ptxas's message.
    pub fn compile(
        &self,
        kernels: &str,
        target: &str,
        version: &str,
    ) -> Result<Result<PathBuf, String>> {
        let (file, cubin) = self.files();
        fs::write(
            &file,
            format!(".version {version}\n.target {target}\n.address_size 64\n{kernels}"),
        )
        .with_context(|| format!("cannot write {}", file.display()))?;
        let output = self.run(&file, &cubin, target)?;
        let _ = fs::remove_file(&file);
        Ok(if output.status.success() { Ok(cubin) } else { Err(text(&output)) })
    }

    fn run(&self, file: &Path, cubin: &Path, target: &str) -> Result<Output> {
        let mut command = Command::new(&self.path);
        command.arg("-arch").arg(target).arg(file).arg("-o").arg(cubin);
        command.output().with_context(|| format!("cannot run {}", self.path.display()))
    }

    fn files(&self) -> (PathBuf, PathBuf) {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        (self.folder.join(format!("{name}.ptx")), self.folder.join(format!("{name}.cubin")))
    }
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

/// A PTX version as a number: 85 for `8.5`.
pub fn number(version: &str) -> Option<u32> {
    let (major, minor) = version.split_once('.')?;
    Some(major.parse::<u32>().ok()? * 10 + minor.parse::<u32>().ok()?)
}

/// The targets in the help text, by generation.
fn targets(help: &str) -> Vec<String> {
    let names = help.split('\'').filter(|word| {
        word.starts_with("sm_") && word[3..].starts_with(|c: char| c.is_ascii_digit())
    });
    let mut targets: Vec<String> = names.map(str::to_owned).collect();
    let key = |target: &String| {
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        (digits.parse::<u32>().unwrap_or(0), target.clone())
    };
    targets.sort_by_key(key);
    targets.dedup();
    targets
}

/// The messages for the lines up to a syntax error, or a message that refuses all lines.
struct Read {
    messages: Vec<Vec<String>>,
    of_all: Option<String>,
}

/// Parses the output for `count` lines; `None` if ptxas did not reach the end.
fn read(said: &str, first: usize, count: usize) -> Option<Read> {
    if !said.contains("aborted due to errors") {
        return None;
    }
    let mut by_line: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut end = count;
    for line in said.lines() {
        let Some((line, severity, message)) = message(line) else { continue };
        if line < first {
            return Some(Read { messages: Vec::new(), of_all: Some(message.to_owned()) });
        }
        let line = line - first;
        if severity == "fatal" && line < count {
            end = end.min(line + 1);
        }
        by_line.entry(line).or_default().push(message.to_owned());
    }
    let messages = (0..end).map(|line| by_line.remove(&line).unwrap_or_default()).collect();
    Some(Read { messages, of_all: None })
}

/// Line, severity and text of an error.
fn message(line: &str) -> Option<(usize, &str, &str)> {
    let (_, rest) = line.split_once(", line ")?;
    let (number, rest) = rest.split_once(';')?;
    let (severity, text) = rest.split_once(':')?;
    let severity = severity.trim();
    matches!(severity, "error" | "fatal").then_some((number.parse().ok()?, severity, text.trim()))
}

/// The verdict from the errors of a line: the worst one.
fn classify(messages: &[String]) -> Answer {
    let one = |message: &String| {
        if message.contains(".target") {
            Answer::OtherTarget
        } else if message.contains("vector size") {
            Answer::Registers
        } else {
            Answer::Refused
        }
    };
    messages.iter().map(one).max().unwrap_or(Answer::Accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
ptxas a.ptx, line 6; info    : Advisory: Modifier '.sp::ordered_metadata' should be used\n\
ptxas a.ptx, line 7; error   : Feature 'mma' requires .target sm_80 or higher\n\
ptxas a.ptx, line 8; error   : Argument vector size mismatch for instruction 'mma'\n\
ptxas a.ptx, line 8; error   : Feature 'mma' requires .target sm_80 or higher\n\
ptxas a.ptx, line 9; error   : Argument vector size mismatch for instruction 'mma'\n\
ptxas a.ptx, line 9; error   : Unexpected instruction types specified for 'mma'\n\
ptxas a.ptx, line 10; fatal   : Parsing error near ';': syntax error\n\
ptxas fatal   : Ptx assembly aborted due to errors\n";

    #[test]
    fn worst_error_of_line_decides_and_syntax_error_ends_answers() {
        let read = read(SAID, 6, 20).unwrap();
        let answers: Vec<Answer> =
            read.messages.iter().map(|messages| classify(messages)).collect();
        let expected = [
            Answer::Accepted,
            Answer::OtherTarget,
            Answer::Registers,
            Answer::Refused,
            Answer::Refused,
        ];
        assert_eq!(answers, expected);
    }

    #[test]
    fn error_before_first_line_refuses_all_and_unfinished_output_says_nothing() {
        let said = "ptxas a.ptx, line 2; error   : PTX .version 7.8 does not support .target \
                    sm_120a\n\
                    ptxas fatal   : Ptx assembly aborted due to errors\n";
        assert!(read(said, 6, 3).unwrap().of_all.is_some());
        assert!(read("ptxas a.ptx, line 7; error : x\n", 6, 3).is_none());
    }

    #[test]
    fn targets_are_those_of_the_help() {
        let help = "Allowed values: 'compute_75','lto_90','sm_120a','sm_75',\n 'sm_90a','sm_90'. \
                    Default value: 'sm_75'.";
        assert_eq!(targets(help), ["sm_75", "sm_90", "sm_90a", "sm_120a"]);
    }
}
