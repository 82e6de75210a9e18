//! Finds the values of a function that may differ between the lanes of a warp.
//!
//! The analysis tracks, for each value, the bits that may differ. In `%tid.x` these are the lowest
//! five bits, so the index of a warp differs in none. If nothing is known of a value, all bits may
//! differ. A load from the same address in all lanes gives the same value.

use std::collections::BTreeMap;

use super::call::{self, Callee};
use super::flow::{Flow, Set};
use super::function::{Block, Function, Instruction};

const ALL: u64 = u64::MAX;

/// The bits of `%tid.x`, or `%laneid`, that differ between the lanes of a warp.
const LANE: u64 = 31;

/// Special registers with the same value in all lanes: the prefixes of their names.
const UNIFORM: [&str; 9] = [
    "ctaid.",
    "nctaid.",
    "ntid.",
    "cluster_",
    "clusterid",
    "nclusterid",
    "gridid",
    "warpsize",
    "nsmid",
];

/// The analysis of a function's values.
pub struct Lanes {
    /// The bits of each value in which lanes may differ.
    differing: Vec<u64>,
    /// Whether each value may point to a thread's local memory.
    own: Vec<bool>,
    /// Blocks after which lanes may diverge, each with the blocks up to the reconvergence point.
    parting: BTreeMap<usize, Set>,
}

impl Lanes {
    pub fn of(function: &Function<'_>, flow: &Flow) -> Self {
        let values = function.values.len();
        let mut lanes =
            Self { differing: vec![0; values], own: vec![false; values], parting: BTreeMap::new() };
        if !function.is_kernel {
            lanes.differing[..function.parameters].fill(ALL);
            lanes.own[..function.parameters].fill(true);
        }
        while lanes.pass(function, flow) {}
        lanes
    }

    /// The blocks after which lanes may diverge.
    pub fn part_behind(&self) -> impl Iterator<Item = usize> {
        self.parting.keys().copied()
    }

    /// Goes through the function once. Returns whether it found anything new.
    fn pass(&mut self, function: &Function<'_>, flow: &Flow) -> bool {
        let mut learned = false;
        for (at, block) in function.blocks.iter().enumerate() {
            for instruction in &block.instructions {
                let Some(result) = instruction.result else { continue };
                let (differing, own) = (self.bits(function, instruction), self.is_own(instruction));
                learned |= self.note(result, differing, own);
            }
            let parts = flow.successors[at].len() > 1 && self.condition_differs(block);
            if parts && !self.parting.contains_key(&at) {
                let region = self.note_parting(function, flow, at);
                self.parting.insert(at, region);
                learned = true;
            }
        }
        learned
    }

    fn note(&mut self, value: usize, differing: u64, own: bool) -> bool {
        let before = (self.differing[value], self.own[value]);
        self.differing[value] |= differing;
        self.own[value] |= own;
        before != (self.differing[value], self.own[value])
    }

    fn condition_differs(&self, block: &Block<'_>) -> bool {
        block.instructions.last().is_some_and(|last| self.of_any(&last.operands) != 0)
    }

    /// Lanes that diverge inside a loop may leave it after different numbers of iterations. Values
    /// from the loop then differ after it. Returns the blocks up to the reconvergence point.
    fn note_parting(&mut self, function: &Function<'_>, flow: &Flow, block: usize) -> Set {
        let count = function.blocks.len();
        let mut region = Set::of(count);
        for &successor in &flow.successors[block] {
            region.add(&flow.arm(block, successor));
        }
        if !region.contains(block) {
            return region;
        }
        let mut within = vec![false; function.values.len()];
        for inside in (0..count).filter(|&inside| region.contains(inside)) {
            function.blocks[inside]
                .instructions
                .iter()
                .filter_map(|it| it.result)
                .for_each(|value| within[value] = true);
        }
        for outside in (0..count).filter(|&outside| !region.contains(outside)) {
            for instruction in &function.blocks[outside].instructions {
                for &operand in instruction.operands.iter().filter(|&&operand| within[operand]) {
                    // This is conservative: the value now also counts as differing within the loop.
                    self.differing[operand] = ALL;
                }
            }
        }
        region
    }

    /// A `phi` differs if its values do, or if diverged lanes supply different values.
    fn of_phi(&self, function: &Function<'_>, phi: &Instruction<'_>) -> u64 {
        let incoming: Vec<(&str, usize)> = function.incoming(phi).collect();
        let parted = || {
            self.parting.iter().any(|(&parting, region)| {
                differ(
                    incoming.iter().filter(|(_, from)| *from == parting || region.contains(*from)),
                )
            })
        };
        if differ(incoming.iter()) && parted() { ALL } else { self.of_any(&phi.operands) }
    }

    fn of_any(&self, operands: &[usize]) -> u64 {
        operands.iter().fold(0, |bits, &operand| bits | self.differing[operand])
    }

    fn is_own(&self, instruction: &Instruction<'_>) -> bool {
        let of_operands = || instruction.operands.iter().any(|&operand| self.own[operand]);
        match instruction.opcode {
            "alloca" => true,
            "call" => match call::read(instruction.line) {
                Ok(Some(call)) => match call.callee {
                    Callee::Asm => of_operands(),
                    Callee::Named(name) if name.starts_with("llvm.") => of_operands(),
                    Callee::Named(_) | Callee::Address => true,
                },
                _ => true,
            },
            _ => of_operands(),
        }
    }

    /// The bits of an instruction's result that may differ between lanes.
    fn bits(&self, function: &Function<'_>, instruction: &Instruction<'_>) -> u64 {
        let bits = self.of_any(&instruction.operands);
        let all_if_any = if bits == 0 { 0 } else { ALL };
        let text = instruction.text();
        match instruction.opcode {
            "phi" => self.of_phi(function, instruction),
            "select"
                if instruction
                    .operands
                    .first()
                    .is_some_and(|_| self.of_any(&condition(instruction)) != 0) =>
            {
                ALL
            }
            "select" => bits,
            "load" => {
                let plain = !text.starts_with("load atomic") && !text.starts_with("load volatile");
                let own = instruction.operands.iter().any(|&operand| self.own[operand]);
                if plain && !own && bits == 0 { 0 } else { ALL }
            }
            "atomicrmw" | "cmpxchg" | "va_arg" => ALL,
            "call" => of_call(instruction.line, bits),
            _ if bits == 0 => 0,
            "zext" | "freeze" => bits,
            "trunc" => trunc(text, bits),
            "icmp" => compare(text, bits),
            "and" | "or" | "xor" | "add" | "sub" | "mul" | "shl" | "lshr" | "udiv" | "urem" => {
                arithmetic(instruction.opcode, text, bits).unwrap_or(all_if_any)
            }
            _ => all_if_any,
        }
    }
}

/// The condition of a `select`, its first operand, if it is a value.
fn condition(instruction: &Instruction<'_>) -> Vec<usize> {
    let is_value = instruction.text().strip_prefix("select ").is_some_and(|rest| {
        rest.split(',').next().is_some_and(|condition| condition.contains('%'))
    });
    instruction.operands.iter().copied().take(usize::from(is_value)).collect()
}

/// The bits of a call's result that may differ.
fn of_call(line: &str, of_arguments: u64) -> u64 {
    let all_if_any = if of_arguments == 0 { 0 } else { ALL };
    let Ok(Some(call)) = call::read(line) else { return ALL };
    match call.callee {
        Callee::Asm => of_asm(&line[call.at..], !line[..call.at].contains('{'), all_if_any),
        Callee::Address => ALL,
        Callee::Named(name) => match name.strip_prefix("llvm.nvvm.read.ptx.sreg.") {
            Some(register) => of_register(register),
            None if name.starts_with("llvm.nvvm.") => ALL,
            None if name.starts_with("llvm.") => all_if_any,
            None => ALL,
        },
    }
}

fn of_register(name: &str) -> u64 {
    match name {
        "tid.x" | "laneid" => LANE,
        _ if UNIFORM.iter().any(|uniform| name.starts_with(uniform)) => 0,
        _ => ALL,
    }
}

/// The bits of an asm's result that may differ. The analysis knows asm that only moves values,
/// symbols or special registers, and asm that gives all lanes one value. For other asm, all bits
/// may differ.
fn of_asm(asm: &str, has_one_result: bool, of_arguments: u64) -> u64 {
    let Some(text) = asm.split('"').nth(1) else { return ALL };
    let gives_all = |start: &str| {
        let end =
            text.split_once(start).map(|(_, rest)| rest.split(';').next().unwrap_or_default());
        end.is_some_and(|end| {
            end.ends_with("0xffffffff")
                && (start != SHUFFLE || end.ends_with(", 0, 31, 0xffffffff"))
        })
    };
    let reads_registers = text.contains('%');
    if has_one_result
        && !reads_registers
        && [SHUFFLE, "vote.sync.", "redux.sync."].into_iter().any(gives_all)
    {
        return 0;
    }
    let moved = |statement: &str| {
        let mut words = statement.trim().split([' ', ',', '\t']).filter(|word| !word.is_empty());
        let bits = |word: &str| word.strip_prefix('%').map_or(0, of_register);
        words.next()?.starts_with("mov.").then(|| words.fold(0, |all, word| all | bits(word)))
    };
    let mut statements = text.trim_end_matches(';').split(';');
    statements.try_fold(of_arguments, |all, statement| Some(all | moved(statement)?)).unwrap_or(ALL)
}

/// A shuffle. It broadcasts lane 0's value if its other operands are `0, 31`.
const SHUFFLE: &str = "shfl.sync.idx.b32 ";

/// The second operand, if it is a constant.
fn constant(text: &str) -> Option<u64> {
    let (_, operand) = text.rsplit_once(", ")?;
    operand.parse::<i64>().map(i64::cast_unsigned).ok()
}

/// The width of the first type in the text, if it is an integer of at most 64 bits.
fn width(text: &str) -> Option<u32> {
    let word = text.split(' ').find_map(|word| word.strip_prefix('i')?.parse::<u32>().ok())?;
    (word <= 64).then_some(word)
}

fn trunc(text: &str, bits: u64) -> u64 {
    let to = text.rsplit_once(" to ").and_then(|(_, to)| width(to));
    to.filter(|&to| to < 64).map_or(bits, |to| bits & ((1 << to) - 1))
}

/// The result bits of a comparison that may differ. A comparison with a constant is uniform if the
/// differing bits lie below all bits of the constant that decide it.
fn compare(text: &str, bits: u64) -> u64 {
    let Some((constant, _)) = constant(text).zip(width(text)) else { return ALL };
    let below = u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0);
    let has = |word: &str| text.split(' ').any(|other| other == word);
    let up = ["ult", "uge", "slt", "sge"].iter().any(|word| has(word));
    let down = ["ugt", "ule", "sgt", "sle"].iter().any(|word| has(word));
    let same = below != ALL && (up && constant & below == 0 || down && constant & below == below);
    if same { 0 } else { ALL }
}

/// The result bits that may differ, for two operands that differ in `bits`. `None` if nothing is
/// known.
fn arithmetic(opcode: &str, text: &str, bits: u64) -> Option<u64> {
    width(text)?;
    let constant = constant(text);
    let power = constant.filter(|constant| constant.is_power_of_two()).map(u64::trailing_zeros);
    match (opcode, constant) {
        ("and", Some(constant)) => Some(bits & constant),
        ("and" | "or" | "xor", _) => Some(bits),
        ("lshr", Some(by)) => Some(bits.checked_shr(u32::try_from(by).ok()?).unwrap_or(0)),
        ("udiv", Some(_)) => Some(bits >> power?),
        ("urem", Some(by)) => power.map(|_| bits & (by - 1)),
        ("shl", Some(by)) => Some(bits.checked_shl(u32::try_from(by).ok()?).unwrap_or(0)),
        ("mul", Some(_)) if power.is_some() => Some(bits << power?),
        // No carry occurs if the constant has zeros up to the highest differing bit.
        ("add", Some(constant)) => {
            let below = u64::MAX.checked_shr(bits.leading_zeros()).unwrap_or(0);
            Some(if constant & below == 0 { bits } else { ALL << bits.trailing_zeros() })
        }
        ("add" | "sub" | "mul", _) => Some(ALL << bits.trailing_zeros()),
        _ => None,
    }
}

/// Whether a `phi` takes more than one value from these blocks.
fn differ<'i>(mut incoming: impl Iterator<Item = &'i (&'i str, usize)>) -> bool {
    let first = incoming.next();
    first.is_some_and(|(first, _)| incoming.any(|(value, _)| value != first))
}
