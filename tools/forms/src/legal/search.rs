//! Finds the legal forms among the candidates, in stages with fewer and fewer questions for ptxas.

use super::grammar::{Candidate, Family, Role, left_out};
use super::instruction::Instruction;
use super::journal::{Journal, hash};
use super::ptxas::{Answer, Ptxas};
use crate::legal_forms::LegalForm;
use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use ptx_matrix_build::Toolchain;
use ptx_matrix_output::errln;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Lines in one call of ptxas.
const LINES: usize = 20_000;
/// Kernels that are compiled together.
const KERNELS: usize = 64;
/// The target whose machine code the list describes.
const DESCRIBED: &str = "sm_90";
/// SASS opcodes that multiply or move matrices.
const MATRIX: [&str; 9] = ["HMMA", "IMMA", "DMMA", "BMMA", "QMMA", "OMMA", "LDSM", "STSM", "MOVM"];

pub struct Search<'a> {
    pub ptxas: &'a Ptxas,
    pub journal: &'a Journal,
    /// For `nvdisasm`.
    pub toolchain: &'a Toolchain,
    pub jobs: usize,
    /// The targets to ask about.
    pub targets: Vec<String>,
}

/// Lines for one call.
struct Batch<'a> {
    target: &'a str,
    version: &'a str,
    first: usize,
    end: usize,
}

/// A form that ptxas accepts.
struct Found {
    instruction: Instruction,
    candidate: Candidate,
    targets: Vec<String>,
}

impl Search<'_> {
    /// The rows of a family. Each form of `known` is asked about for every target, even if the
    /// first stage refuses it.
    pub fn family(&self, name: &'static str, known: &[LegalForm]) -> Result<Vec<LegalForm>> {
        let mut family = Family::named(name).context("the list of families has no such family")?;
        self.keep_known_words(&mut family)?;
        let candidates = self.candidates(&family, known)?;
        let mut found = self.on_targets(&family, candidates)?;
        found.retain(|form| left_out(&form.instruction.form).is_none());
        let versions = self.least_versions(&found)?;
        let selectors = self.selectors(&found)?;
        self.compile(&mut found)?;
        let code = self.machine_code(&found)?;
        let mut rows = Vec::new();
        for (number, form) in found.iter().enumerate().filter(|(_, form)| !form.targets.is_empty())
        {
            let opcodes = &code[&number];
            if !does_something(opcodes) {
                errln!("left out, as ptxas makes no code of it: {}", form.instruction.form);
                continue;
            }
            rows.push(row(&family, form, versions[number].clone(), &selectors[number], opcodes));
        }
        Ok(rows)
    }

    /// Drops the qualifiers that ptxas rejects by name for every shape and every A.
    fn keep_known_words(&self, family: &mut Family) -> Result<()> {
        let words: BTreeSet<String> = family
            .slots
            .iter()
            .flat_map(|slot| slot.words.iter().flat_map(|word| word.split(['.', '|'])))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        let mut unknown = BTreeSet::new();
        let (target, version) = (self.screen(), self.ptxas.newest());
        for word in words {
            let contexts = contexts(family, &word);
            let lines: Vec<String> = contexts
                .iter()
                .map(|candidate| Instruction::new(family, candidate).line())
                .collect();
            let messages = self.ptxas.messages(&lines, target, version)?;
            let quoted = format!("'.{word}'");
            let refuses = |message: &String| {
                message.contains(&quoted)
                    && ["Unknown", "Illegal"].iter().any(|start| message.starts_with(start))
            };
            if messages.iter().all(|messages| messages.iter().any(refuses)) {
                unknown.insert(word);
            }
        }
        family.retain(|word| !unknown.contains(word));
        let lost = family.slots.iter().find(|slot| slot.words.is_empty());
        ensure!(
            lost.is_none(),
            "ptxas knows no {:?} of {}",
            lost.map(|slot| slot.role),
            family.name
        );
        Ok(())
    }

    /// Candidates that some target may accept: first each shape with all elements and at most one
    /// option, then those with one option more.
    ///
    /// One target is enough in this stage. Errors about types, shapes and options do not depend on
    /// the target, and ptxas reports all errors of a line.
    fn candidates(
        &self,
        family: &Family,
        known: &[LegalForm],
    ) -> Result<BTreeMap<Candidate, Instruction>> {
        let mut found = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let mut next = family.simple();
        for options in 1.. {
            if next.is_empty() {
                break;
            }
            let stage =
                format!("{}, {options} option{}", family.name, if options == 1 { "" } else { "s" });
            let line = |number: usize| Instruction::new(family, &next[number]).line();
            let batches = self.batches(next.len());
            let answers = self.ask(&stage, &batches, &line)?;
            let mut fresh: Vec<(Candidate, Instruction)> = Vec::new();
            let mut others: Vec<(Candidate, Instruction)> = Vec::new();
            for (number, answer) in answers.into_iter().flatten() {
                let candidate = next[number].clone();
                let instruction = Instruction::new(family, &candidate);
                if answer == Answer::Registers {
                    let alternatives = instruction.alternatives().into_iter();
                    others.extend(alternatives.map(|instruction| (candidate.clone(), instruction)));
                } else {
                    fresh.push((candidate, instruction));
                }
            }
            let line = |number: usize| others[number].1.line();
            let answers = self.ask("  with other registers", &self.batches(others.len()), &line)?;
            let takes = |&(_, answer): &(usize, Answer)| answer < Answer::Registers;
            fresh.extend(
                answers
                    .into_iter()
                    .flatten()
                    .filter(takes)
                    .map(|(number, _)| others[number].clone()),
            );
            next.clear();
            for (candidate, instruction) in fresh {
                next.extend(
                    family
                        .with_one_more_option(&candidate)
                        .into_iter()
                        .filter(|more| seen.insert(more.clone())),
                );
                found.entry(candidate).or_insert(instruction);
            }
            // Candidates with one option were all asked about before.
            if options == 1 {
                let many = |candidate: &Candidate| family.options(candidate) > 1;
                next.retain(many);
            }
        }
        for row in known {
            let candidate = family.candidate(&row.form);
            let Some(candidate) = candidate else {
                errln!("{} has a qualifier that ptxas does not know", row.form);
                continue;
            };
            let mut instruction = Instruction::new(family, &candidate);
            instruction.registers =
                [row.a_regs, row.b_regs, row.c_regs, row.d_regs].map(Option::unwrap_or_default);
            found.entry(candidate).or_insert(instruction);
        }
        Ok(found)
    }

    /// The targets that accept each candidate.
    fn on_targets(
        &self,
        family: &Family,
        candidates: BTreeMap<Candidate, Instruction>,
    ) -> Result<Vec<Found>> {
        let mut found: Vec<Found> = candidates
            .into_iter()
            .map(|(candidate, instruction)| Found { instruction, candidate, targets: Vec::new() })
            .collect();
        let lines: Vec<String> = found.iter().map(|form| form.instruction.line()).collect();
        let version = self.ptxas.newest();
        let batches: Vec<Batch<'_>> = self
            .targets
            .iter()
            .map(|target| Batch { target, version, first: 0, end: lines.len() })
            .collect();
        let stage = format!("{}, on each target", family.name);
        let answers = self.ask(&stage, &batches, &|number| lines[number].clone())?;
        for (batch, answers) in batches.iter().zip(answers) {
            for (number, _) in answers.into_iter().filter(|&(_, answer)| answer == Answer::Accepted)
            {
                found[number].targets.push(batch.target.to_owned());
            }
        }
        found.retain(|form| !form.targets.is_empty());
        Ok(found)
    }

    /// The first PTX version with which some target accepts each form.
    fn least_versions(&self, found: &[Found]) -> Result<Vec<String>> {
        let lines: Vec<String> = found.iter().map(|form| form.instruction.line()).collect();
        let pairs = self
            .ptxas
            .versions
            .iter()
            .flat_map(|version| self.targets.iter().map(move |target| (version, target)));
        let batches: Vec<Batch<'_>> = pairs
            .map(|(version, target)| Batch { target, version, first: 0, end: lines.len() })
            .collect();
        let answers =
            self.ask("  with each PTX version", &batches, &|number| lines[number].clone())?;
        let mut least = vec![String::new(); found.len()];
        for (batch, answers) in batches.iter().zip(answers) {
            for (number, _) in answers.into_iter().filter(|&(_, answer)| answer == Answer::Accepted)
            {
                if least[number].is_empty() {
                    least[number] = batch.version.to_owned();
                }
            }
        }
        Ok(least)
    }

    /// The sparsity selectors of each form, on the first of its targets.
    fn selectors(&self, found: &[Found]) -> Result<Vec<Vec<usize>>> {
        let mut all = vec![Vec::new(); found.len()];
        for (form, selectors) in
            found.iter().zip(&mut all).filter(|(form, _)| form.instruction.is_sparse())
        {
            let with = |selector| Instruction { selector, ..form.instruction.clone() };
            let lines: Vec<String> = (0..8).map(|selector| with(selector).line()).collect();
            let answers = self.ptxas.ask(&lines, &form.targets[0], self.ptxas.newest())?;
            let takes = |&(_, answer): &(usize, &Answer)| *answer == Answer::Accepted;
            *selectors =
                answers.iter().enumerate().filter(takes).map(|(selector, _)| selector).collect();
            selectors.retain(|&selector| selector <= last_selector(&form.instruction.form));
        }
        Ok(all)
    }

    /// Compiles each form for each of its targets, and removes the targets for which it fails.
    fn compile(&self, found: &mut [Found]) -> Result<()> {
        let mut jobs: Vec<(String, Vec<usize>)> = Vec::new();
        for target in &self.targets {
            let has = |&number: &usize| found[number].targets.contains(target);
            let forms: Vec<usize> = (0..found.len()).filter(has).collect();
            jobs.extend(forms.chunks(KERNELS).map(|forms| (target.clone(), forms.to_vec())));
        }
        let forms: &[Found] = found;
        let failures =
            self.parallel("  compiled", jobs.iter().map(|(_, forms)| forms.len()), |job| {
                let (target, numbers) = &jobs[job];
                self.failures(forms, numbers, target)
            })?;
        for ((target, _), failed) in jobs.iter().zip(failures) {
            for number in failed {
                errln!(
                    "left out, as ptxas does not compile it for {target}: {}",
                    found[number].instruction.form
                );
                found[number].targets.retain(|other| other != target);
            }
        }
        Ok(())
    }

    /// The forms that ptxas does not compile for a target.
    fn failures(&self, found: &[Found], numbers: &[usize], target: &str) -> Result<Vec<usize>> {
        let text = kernels(found, numbers);
        let question = hash(["compile", target, &text]);
        if let Some(known) = self.journal.get(question) {
            return Ok(known
                .split_whitespace()
                .filter_map(|at| numbers.get(at.parse::<usize>().ok()?).copied())
                .collect());
        }
        let failed = match self.ptxas.compile(&text, target, self.ptxas.newest())? {
            Ok(cubin) => {
                let _ = std::fs::remove_file(cubin);
                Vec::new()
            }
            Err(_) if numbers.len() == 1 => numbers.to_vec(),
            Err(_) => {
                let (left, right) = numbers.split_at(numbers.len() / 2);
                [self.failures(found, left, target)?, self.failures(found, right, target)?].concat()
            }
        };
        let places = numbers.iter().enumerate().filter(|(_, number)| failed.contains(number));
        self.journal
            .put(question, &places.map(|(at, _)| at.to_string()).collect::<Vec<_>>().join(" "))?;
        Ok(failed)
    }

    /// The SASS opcodes of each form, on [`DESCRIBED`] or else on the form's last target.
    fn machine_code(&self, found: &[Found]) -> Result<BTreeMap<usize, Vec<String>>> {
        let mut by_target: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, form) in found.iter().enumerate() {
            let described = form.targets.iter().find(|target| *target == DESCRIBED);
            if let Some(target) = described.or(form.targets.last()) {
                by_target.entry(target).or_default().push(number);
            }
        }
        let jobs: Vec<(&str, Vec<usize>)> = by_target
            .iter()
            .flat_map(|(&target, numbers)| {
                numbers.chunks(KERNELS).map(move |numbers| (target, numbers.to_vec()))
            })
            .collect();
        let code =
            self.parallel("  disassembled", jobs.iter().map(|(_, forms)| forms.len()), |job| {
                let (target, numbers) = &jobs[job];
                self.opcodes(found, numbers, target)
            })?;
        Ok(code.into_iter().flatten().collect())
    }

    fn opcodes(
        &self,
        found: &[Found],
        numbers: &[usize],
        target: &str,
    ) -> Result<Vec<(usize, Vec<String>)>> {
        let text = kernels(found, numbers);
        let question = hash(["disassemble", target, &text]);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        if let Some(known) = self.journal.get(question) {
            return Ok(numbers.iter().copied().zip(known.split(';').map(words)).collect());
        }
        let cubin = self.ptxas.compile(&text, target, self.ptxas.newest())?;
        let cubin =
            cubin.map_err(|said| anyhow::anyhow!("ptxas compiles this only once:\n{said}"))?;
        let code =
            self.toolchain.disassemble(&cubin)?.context("there is no `nvdisasm` beside ptxas")?;
        let _ = std::fs::remove_file(cubin);
        let of = |&number: &usize| -> Result<(usize, Vec<String>)> {
            let name = kernel_name(number);
            let code =
                code.get(&name).with_context(|| format!("nvdisasm shows no kernel `{name}`"))?;
            Ok((number, opcodes(code).map(str::to_owned).collect()))
        };
        let all = numbers.iter().map(of).collect::<Result<Vec<_>>>()?;
        let lines: Vec<String> = all.iter().map(|(_, opcodes)| opcodes.join(" ")).collect();
        self.journal.put(question, &lines.join(";"))?;
        Ok(all)
    }

    /// The target that the first stage asks about.
    fn screen(&self) -> &str {
        self.targets.last().map_or("", String::as_str)
    }

    fn batches(&self, count: usize) -> Vec<Batch<'_>> {
        let (target, version) = (self.screen(), self.ptxas.newest());
        let starts = (0..count).step_by(LINES);
        starts
            .map(|first| Batch { target, version, first, end: count.min(first + LINES) })
            .collect()
    }

    /// The lines of each batch that ptxas does not refuse.
    fn ask(
        &self,
        stage: &str,
        batches: &[Batch<'_>],
        line: &(dyn Fn(usize) -> String + Sync),
    ) -> Result<Vec<Vec<(usize, Answer)>>> {
        self.parallel(stage, batches.iter().map(|batch| batch.end - batch.first), |number| {
            let Batch { target, version, first, end } = batches[number];
            let lines: Vec<String> = (first..end).map(line).collect();
            let question =
                hash(["ask", target, version].into_iter().chain(lines.iter().map(String::as_str)));
            if let Some(known) = self.journal.get(question) {
                return Ok(decode(known, first));
            }
            let answers = self.ptxas.ask(&lines, target, version)?;
            let taken: Vec<(usize, Answer)> =
                (first..).zip(answers).filter(|&(_, answer)| answer != Answer::Refused).collect();
            self.journal.put(question, &encode(&taken, first))?;
            Ok(taken)
        })
    }

    /// Runs jobs of the given sizes in parallel, with a progress bar.
    fn parallel<T: Send>(
        &self,
        stage: &str,
        sizes: impl Iterator<Item = usize>,
        work: impl Fn(usize) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let sizes: Vec<usize> = sizes.collect();
        let total: usize = sizes.iter().sum();
        if total == 0 {
            return (0..sizes.len()).map(work).collect();
        }
        let bar = bar(stage, total);
        let (next, results) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let worker = || -> Result<()> {
            loop {
                let job = next.fetch_add(1, Ordering::Relaxed);
                let Some(&size) = sizes.get(job) else { return Ok(()) };
                let result =
                    work(job).inspect_err(|_| next.store(sizes.len(), Ordering::Relaxed))?;
                results.lock().unwrap_or_else(PoisonError::into_inner).insert(job, result);
                bar.inc(size as u64);
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.jobs.clamp(1, sizes.len())).map(|_| scope.spawn(worker)).collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().expect("a worker does not panic"))
        })?;
        bar.finish_and_clear();
        if !std::io::stderr().is_terminal() {
            errln!("{stage}: {total}");
        }
        Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect())
    }
}

fn bar(stage: &str, total: usize) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{msg:34} {bar:30} {human_pos}/{human_len}, {eta} left");
    let bar = ProgressBar::new(total as u64).with_message(stage.to_owned());
    bar.set_style(style.expect("the template is right"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Candidates with a word, for each shape and each A; the other slots have their defaults.
fn contexts(family: &Family, word: &str) -> Vec<Candidate> {
    let has = |text: &String| text.split(['.', '|']).any(|part| part == word);
    let place = family
        .slots
        .iter()
        .enumerate()
        .find_map(|(slot, of)| Some((slot, of.words.iter().position(has)?)));
    let Some((place, number)) = place else { return Vec::new() };
    let mut all = vec![family.defaults().with(place, number as u8)];
    for (slot, of) in family.slots.iter().enumerate() {
        if slot != place && matches!(of.role, Role::Shape | Role::A | Role::Element) {
            let each = |candidate: Candidate| {
                (0..of.words.len()).map(move |word| candidate.with(slot, word as u8))
            };
            all = all.into_iter().flat_map(each).collect();
        }
    }
    all
}

fn encode(taken: &[(usize, Answer)], first: usize) -> String {
    taken.iter().fold(String::new(), |mut text, &(number, answer)| {
        let letter = match answer {
            Answer::Accepted => 'a',
            Answer::OtherTarget => 't',
            Answer::Registers => 'r',
            Answer::Refused => 'x',
        };
        let _ = write!(text, "{}{letter} ", number - first);
        text
    })
}

fn decode(text: &str, first: usize) -> Vec<(usize, Answer)> {
    let entry = |word: &str| {
        let (number, letter) = word.split_at_checked(word.len() - 1)?;
        let answer = match letter {
            "a" => Answer::Accepted,
            "t" => Answer::OtherTarget,
            "r" => Answer::Registers,
            _ => return None,
        };
        Some((first + number.parse::<usize>().ok()?, answer))
    };
    text.split_whitespace().filter_map(entry).collect()
}

fn kernel_name(number: usize) -> String {
    format!("form_{number}")
}

fn kernels(found: &[Found], numbers: &[usize]) -> String {
    numbers.iter().map(|&number| found[number].instruction.kernel(&kernel_name(number))).collect()
}

/// The opcodes of a disassembly, with their suffixes.
fn opcodes(code: &str) -> impl Iterator<Item = &str> {
    let is_opcode = |word: &&str| {
        let name = word.trim_end_matches(';').split('.').next().unwrap_or_default();
        name.len() > 1
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
            && !is_register(name)
    };
    code.lines().filter_map(move |line| {
        line.split_whitespace().map(|word| word.trim_end_matches(';')).find(|word| is_opcode(word))
    })
}

fn is_register(name: &str) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = &name[..name.len() - digits.len()];
    matches!(letters, "R" | "UR" | "P" | "UP" | "B" | "SB" | "UB") && (!digits.is_empty())
        || matches!(name, "RZ" | "URZ" | "PT" | "UPT")
}

fn is_matrix(opcode: &str) -> bool {
    MATRIX.contains(&opcode.split('.').next().unwrap_or_default())
}

/// Whether code has a matrix opcode, or emulates one with values from other lanes.
fn does_something(opcodes: &[String]) -> bool {
    opcodes.iter().any(|opcode| is_matrix(opcode) || opcode.starts_with("SHFL"))
}

/// The last selector that hardware executes. ptxas accepts others, for which an H200 reports an
/// illegal-instruction fault.
fn last_selector(form: &str) -> usize {
    if form.ends_with(".m16n8k32.row.col.f32.f16.f16.f32") { 1 } else { usize::MAX }
}

fn row(
    family: &Family,
    form: &Found,
    min_ptx: String,
    selectors: &[usize],
    opcodes: &[String],
) -> LegalForm {
    let Found { instruction, candidate, targets } = form;
    let word = |role| family.word(candidate, role).unwrap_or_default().to_owned();
    let element = |role, operand: usize| match family.name {
        "ldmatrix" | "stmatrix" | "movmatrix" if instruction.registers[operand] > 0 => {
            word(Role::Element)
        }
        _ => word(role),
    };
    let registers = |operand: usize| {
        (instruction.registers[operand] > 0).then_some(instruction.registers[operand])
    };
    let matrix: Vec<&String> = opcodes.iter().filter(|opcode| is_matrix(opcode)).collect();
    let (on_sm_90, sass) =
        match (targets.iter().any(|target| target == DESCRIBED), matrix.as_slice()) {
            (false, _) => ("absent", String::new()),
            (true, [one]) => ("native", (*one).clone()),
            (true, _) => ("emulated", summary(opcodes)),
        };
    LegalForm {
        family: family.name.to_owned(),
        form: instruction.form.clone(),
        shape: word(Role::Shape),
        a: element(Role::A, 0),
        b: word(Role::B),
        c: word(Role::C),
        d: element(Role::D, 3),
        a_regs: registers(0),
        b_regs: registers(1),
        c_regs: registers(2),
        d_regs: registers(3),
        targets: targets.join(" "),
        min_ptx,
        on_sm_90: on_sm_90.to_owned(),
        sass_sm_90: sass,
        sparse_selectors: selectors.iter().map(usize::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// Opcodes that every kernel has.
const ORDINARY: [&str; 16] = [
    "MOV", "LDC", "LDG", "STG", "IMAD", "S2R", "S2UR", "ULDC", "EXIT", "BRA", "NOP", "WARPSYNC",
    "LDCU", "IADD3", "CS2R", "UMOV",
];

/// The matrix opcodes of emulating code, and the four most frequent other opcodes.
fn summary(opcodes: &[String]) -> String {
    let counted = |takes: &dyn Fn(&str) -> bool| {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for opcode in opcodes.iter().map(String::as_str).filter(|opcode| takes(opcode)) {
            match counts.iter_mut().find(|(other, _)| *other == opcode) {
                Some((_, count)) => *count += 1,
                None => counts.push((opcode, 1)),
            }
        }
        counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        counts
    };
    let list = |counts: &[(&str, usize)]| {
        counts
            .iter()
            .map(|(opcode, count)| format!("{opcode} x{count}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let ordinary = |opcode: &str| ORDINARY.contains(&opcode.split('.').next().unwrap_or_default());
    let others = counted(&|opcode| !is_matrix(opcode) && !ordinary(opcode));
    let others = list(&others[..others.len().min(4)]);
    match counted(&is_matrix).as_slice() {
        [] => format!("none: {others}"),
        matrix => format!("{} | {others}", list(matrix)),
    }
}
