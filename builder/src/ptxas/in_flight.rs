//! Finds instructions between a `wgmma` and its wait that touch its registers or may panic. ptxas
//! names only the kernel.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt;

/// The maximum number of branches between a check and its trap: LLVM writes one, and the builder
/// adds one to the kernel's single trap.
const MOST_BRANCHES: usize = 3;

/// The maximum count of groups committed after a `wgmma`; a higher count is clamped. No kernel
/// leaves more groups in flight at a wait.
const MOST_GROUPS: usize = 8;

/// An instruction that touches a register of a `wgmma` in flight, on some path through the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    wgmma: Place,
    register: String,
    role: Role,
    /// The register's index within its role.
    index: usize,
    by: Place,
}

/// Branches that may lead to a panic while a `wgmma` is in flight, on some path through the kernel.
/// If lanes may branch differently at one of them, ptxas inserts a wait for the `wgmma` before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    wgmma: Place,
    /// In the order of the PTX; at least one.
    branches: Vec<Place>,
}

/// Branches that a message shows.
const SHOWN_BRANCHES: usize = 4;

/// An instruction, and its location.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// Its line in the PTX, counted from 1.
    line: usize,
    text: String,
    /// File and line of the source, if the PTX has them, and those of the calls it was inlined
    /// into.
    source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Accumulators,
    A,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wgmma, register, role, index, by } = self;
        let role = match role {
            Role::Accumulators => "its accumulators",
            Role::A => "its A",
        };
        writeln!(
            f,
            "  `{}` ({wgmma}) has {register}, register {index} of {role}, in flight",
            wgmma.name()
        )?;
        // A comment is all that `wgmma_registers` leaves in the PTX.
        let is_comment = by.text.starts_with("/*");
        let user = if is_comment {
            "the code that takes the results".into()
        } else {
            format!("`{}`", by.text)
        };
        let remedy = match self.role {
            Role::A => {
                "make all fragments of A before the first `accumulate_registers`, or after the \
                 wait; or, in a loop, do two steps in each iteration, each with its own registers \
                 for A, or end the iteration with a wait for all groups"
            }
            Role::Accumulators => {
                "use the accumulators after the wait; or, in a loop that alternates two of them, \
                 do two steps in each iteration, each with its own, or end the iteration with a \
                 wait for all groups"
            }
        };
        write!(
            f,
            "  when {user} ({by}) accesses it, with no wait for that group in between:\n  {remedy}"
        )
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wgmma, branches } = self;
        writeln!(
            f,
            "  `{}` ({wgmma}) is in flight, with no wait for its group, where the kernel may \
             branch to a panic:",
            wgmma.name()
        )?;
        for by in branches.iter().take(SHOWN_BRANCHES) {
            writeln!(f, "    `{}` ({by})", by.text)?;
        }
        if let more @ 1.. = branches.len().saturating_sub(SHOWN_BRANCHES) {
            writeln!(f, "    and {more} more")?;
        }
        write!(
            f,
            "  if lanes may take a branch differently, as in a bounds check, move it before the \
             `wgmma`, or after the wait; or read by `a.get_or(i, 0)`, or, from a tile, \
             at `row % ROWS`"
        )
    }
}

impl Place {
    /// The name of the `wgmma` in a line that may have several instructions.
    fn name(&self) -> &str {
        self.text
            .split_whitespace()
            .find(|word| word.starts_with("wgmma.mma_async"))
            .unwrap_or("wgmma")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source}, line {} of the PTX", self.line),
            None => {
                write!(
                    f,
                    "line {} of the PTX; a build with `--line-info` names the line of the source",
                    self.line
                )
            }
        }
    }
}

/// Finds the first instruction of each kernel that touches registers in flight.
pub fn first_touches(ptx: &str) -> impl Iterator<Item = (&str, Touch)> {
    kernels(ptx).filter_map(|(name, body)| Some((name, body.first_touch()?)))
}

/// Finds the kernel's first instruction that touches registers in flight.
pub fn first_touch(ptx: &str, kernel: &str) -> Option<Touch> {
    kernels(ptx).find(|(name, _)| *name == kernel)?.1.first_touch()
}

/// Finds the checks of the kernel's first `wgmma` that has some in flight.
pub fn first_checks(ptx: &str, kernel: &str) -> Option<Checks> {
    let (_, body) = kernels(ptx).find(|(name, _)| *name == kernel)?;
    body.multiplications().filter_map(|at| body.checks(at)).min_by_key(|of| of.branches[0].line)
}

/// The names and the lines of the kernels.
fn kernels(ptx: &str) -> impl Iterator<Item = (&str, Body<'_>)> {
    let mut lines = ptx.lines().enumerate();
    std::iter::from_fn(move || {
        let (first, name) = lines.find_map(|(at, line)| {
            let (_, rest) = line.split_once(".entry ")?;
            Some((at, rest.split_once('(')?.0))
        })?;
        let body = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "}");
        Some((name, Body::new(ptx, first + 1, body.map(str::trim).collect())))
    })
}

/// The lines of a kernel. Each has one instruction, or a few from one asm statement.
struct Body<'p> {
    ptx: &'p str,
    /// The index in the PTX of the first line, counted from 0.
    first: usize,
    lines: Vec<&'p str>,
    labels: HashMap<&'p str, usize>,
}

impl<'p> Body<'p> {
    fn new(ptx: &'p str, first: usize, lines: Vec<&'p str>) -> Self {
        let label =
            |(at, line): (usize, &&'p str)| Some((without_comment(line).strip_suffix(':')?, at));
        let labels = lines.iter().enumerate().filter_map(label).collect();
        Self { ptx, first, lines, labels }
    }

    fn first_touch(&self) -> Option<Touch> {
        self.multiplications().filter_map(|at| self.touch(at)).min_by_key(|touch| touch.by.line)
    }

    /// The indices of the lines with a `wgmma`.
    fn multiplications(&self) -> impl Iterator<Item = usize> {
        (0..self.lines.len()).filter(|&at| self.lines[at].contains("wgmma.mma_async"))
    }

    /// Finds the nearest instruction after the `wgmma` in this line that touches its registers in
    /// flight.
    fn touch(&self, wgmma: usize) -> Option<Touch> {
        let (accumulators, a) = registers_of(self.lines[wgmma]);
        self.in_flight(wgmma).into_iter().find_map(|at| {
            let (register, role, index) = touched(self.lines[at], &accumulators, &a)?;
            let [wgmma, by] = [wgmma, at].map(|at| self.place(at));
            Some(Touch { wgmma, register: register.to_owned(), role, index, by })
        })
    }

    /// Finds the branches after the `wgmma` that may lead to a panic with it in flight.
    fn checks(&self, wgmma: usize) -> Option<Checks> {
        let is_check = |at: &usize| {
            self.lines[*at].starts_with('@')
                && self.behind(*at).any(|at| self.is_panic(at, MOST_BRANCHES))
        };
        let lines: BTreeSet<usize> = self.in_flight(wgmma).into_iter().filter(is_check).collect();
        let branches: Vec<Place> = lines.into_iter().map(|at| self.place(at)).collect();
        (!branches.is_empty()).then(|| Checks { wgmma: self.place(wgmma), branches })
    }

    /// The lines on the paths from a `wgmma`, breadth first, as long as it is in flight.
    fn in_flight(&self, wgmma: usize) -> Vec<usize> {
        let mut lines = Vec::new();
        let mut seen = HashSet::new();
        let mut next: VecDeque<(usize, usize)> = self.behind(wgmma).map(|at| (at, 0)).collect();
        while let Some((at, mut groups)) = next.pop_front() {
            if at >= self.lines.len() || !seen.insert((at, groups)) {
                continue;
            }
            let line = self.lines[at];
            if line.contains("wgmma.commit_group") {
                groups = (groups + 1).min(MOST_GROUPS);
            } else if let Some(newest) = newest_of_wait(line) {
                if groups > newest {
                    continue;
                }
            } else {
                lines.push(at);
            }
            next.extend(self.behind(at).map(|at| (at, groups)));
        }
        lines
    }

    /// Whether this line leads to nothing but a trap, within this number of branches.
    fn is_panic(&self, at: usize, branches: usize) -> bool {
        let is_instruction = |line: &str| {
            let line = without_comment(line);
            !(line.is_empty() || line.ends_with(':') || line.starts_with('.'))
        };
        let Some(at) = (at..self.lines.len()).find(|&at| is_instruction(self.lines[at])) else {
            return false;
        };
        let line = self.lines[at];
        line.starts_with("trap")
            || branches > 0
                && line.starts_with("bra")
                && self.behind(at).all(|at| self.is_panic(at, branches - 1))
    }

    /// The lines that may execute next after this one.
    fn behind(&self, at: usize) -> impl Iterator<Item = usize> {
        let words = || self.lines[at].split(|c: char| c.is_whitespace() || ",;".contains(c));
        let is_conditional = self.lines[at].starts_with('@');
        let is_branch = words().any(|word| word == "bra" || word.starts_with("bra."));
        let ends = is_branch || words().any(|word| ["ret", "exit", "trap"].contains(&word));
        let goes_on = is_conditional || !ends;
        let targets =
            words().filter(|_| is_branch).filter_map(|name| self.labels.get(name).copied());
        goes_on.then_some(at + 1).into_iter().chain(targets.collect::<Vec<_>>())
    }

    fn place(&self, at: usize) -> Place {
        let source =
            self.lines[..at].iter().rev().find_map(|line| line.strip_prefix(".loc")).and_then(
                |place| {
                    let mut numbers = place.split_whitespace();
                    let (file, line) = (numbers.next()?, numbers.next()?);
                    let is_it = |of: &&str| of.split_whitespace().nth(1) == Some(file);
                    let named = self
                        .ptx
                        .lines()
                        .filter(|line| line.trim_start().starts_with(".file"))
                        .find(is_it)?;
                    // A comment follows with the places it was inlined into: `// file:line:column
                    // @[ file:line:column @[ .. ] ]`.
                    let inlined = place
                        .split("@[")
                        .skip(1)
                        .filter_map(|at| Some(at.trim_matches([' ', ']']).rsplit_once(':')?.0));
                    let inlined = inlined.filter(|at| !at.contains("/rustlib/src/"));
                    let inlined: String = inlined.map(|at| format!(", inlined at {at}")).collect();
                    Some(format!("{}:{line}{inlined}", named.split('"').nth(1)?))
                },
            );
        Place {
            line: self.first + at + 1,
            text: self.lines[at].trim_end_matches(';').to_owned(),
            source,
        }
    }
}

/// Cuts the comment that LLVM writes after a label, such as `//   in Loop: Header=..`.
fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(line, _)| line.trim_end())
}

/// The registers of a `wgmma`'s accumulators, and of A if it is in registers.
fn registers_of(line: &str) -> (Vec<&str>, Vec<&str>) {
    let operands = line.split_once("wgmma.mma_async").map_or("", |(_, rest)| rest);
    let Some((accumulators, rest)) =
        operands.split_once('{').and_then(|(_, rest)| rest.split_once('}'))
    else {
        return (Vec::new(), Vec::new());
    };
    let a =
        rest.trim_start_matches([',', ' ']).strip_prefix('{').and_then(|rest| rest.split_once('}'));
    (names(accumulators).collect(), a.map_or(Vec::new(), |(a, _)| names(a).collect()))
}

/// The registers in a text, from left to right.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '%' || c == '_'))
        .filter(|name| name.starts_with('%'))
}

/// Returns the first of these registers that an instruction touches. A `wgmma` may add to the same
/// accumulators, or also read the same A.
fn touched<'l>(line: &'l str, accumulators: &[&str], a: &[&str]) -> Option<(&'l str, Role, usize)> {
    if line.starts_with("//") || line.starts_with('.') {
        return None;
    }
    let is_wgmma = line.contains("wgmma.mma_async");
    let (own_accumulators, own_a) =
        if is_wgmma { registers_of(line) } else { (Vec::new(), Vec::new()) };
    let find = |role, of: &[&str], fits: &dyn Fn(&str) -> bool| {
        names(line)
            .filter(|name| !fits(name))
            .find_map(|name| Some((name, role, of.iter().position(|of| *of == name)?)))
    };
    find(Role::Accumulators, accumulators, &|name| {
        own_accumulators == accumulators && own_accumulators.contains(&name)
    })
    .or_else(|| {
        find(Role::A, a, &|name| own_a.contains(&name)).filter(|(name, ..)| is_written(line, name))
    })
}

/// Whether an instruction writes a register: its first operand is its destination.
fn is_written(line: &str, register: &str) -> bool {
    let rest =
        line.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim_start());
    let made = match rest.strip_prefix('{') {
        Some(rest) => rest.split('}').next(),
        None => rest.split(',').next(),
    };
    made.is_some_and(|made| names(made).any(|name| name == register))
}

/// The number of groups that a wait leaves in flight.
fn newest_of_wait(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once("wgmma.wait_group.sync.aligned")?;
    rest.trim().split(';').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with a loop, in the compiler's form. `between` stands between a `wgmma` and its
    /// wait.
    fn kernel(between: &str, newest: u32) -> String {
        format!(
            ".version 8.0
.file\t1 \"kernels/src/product.rs\"
.visible .entry other(
)
{{
	add.s32 \t%r1, %r2, 1;
	ret;
}}
.visible .entry product(
	.param .u64 d
)
{{
	.reg .b32 \t%r<20>;
	.loc\t1 31 5
	mov.b32 \t%r1, 0;
$L__BB0_1:                              // =>This Inner Loop Header: Depth=1
	wgmma.fence.sync.aligned;
	.loc\t1 40 9
	{{.reg .pred p; setp.ne.b32 p, %r9, 0; \
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r1, %r2, %r3, %r4}}, \
{{%r5, %r6, %r7, %r8}}, %rd3, p, 1, 1, 0;}}
	wgmma.commit_group.sync.aligned;
	.loc\t1 42 9
	{between}
	wgmma.wait_group.sync.aligned {newest};
	setp.lt.u32 \t%p1, %r9, 7;
	@%p1 bra \t$L__BB0_1;
	wgmma.wait_group.sync.aligned 0;
	st.global.b32 \t[%rd1], %r1;
	ret;
}}
"
        )
    }

    #[test]
    fn what_is_waited_for_is_not_touched() {
        for between in [
            "mov.b32 \t%r10, %r9;",
            "// %r2",
            "st.global.b32 \t[%rd1], %r11;",
            "mov.b32 \t%r10, %r5;",
        ] {
            for newest in [0, 1] {
                assert_eq!(first_touch(&kernel(between, newest), "product"), None, "{between}");
            }
        }
        assert_eq!(first_touch(&kernel("mov.b32 %r10, %r2;", 0), "other"), None);
    }

    #[test]
    fn accumulators_are_not_read_or_written_in_flight() {
        for between in ["add.f32 \t%r10, %r3, %r9;", "mov.b32 \t%r3, 0;"] {
            let touch = first_touch(&kernel(between, 0), "product").unwrap();
            assert_eq!(
                (touch.role, touch.index, touch.by.line),
                (Role::Accumulators, 2, 22),
                "{touch}"
            );
            let said = touch.to_string();
            assert!(
                said.contains(
                    "m64n8k16.f32.bf16.bf16` (kernels/src/product.rs:40, line 19 of the \
                               PTX) has %r3"
                ),
                "{said}"
            );
            assert!(
                said.contains("kernels/src/product.rs:42, line 22 of the PTX) accesses it"),
                "{said}"
            );
        }
    }

    #[test]
    fn registers_of_a_are_not_written_in_flight() {
        let touch =
            first_touch(&kernel("ld.global.v2.b32 \t{%r8, %r12}, [%rd2];", 0), "product").unwrap();
        assert_eq!((touch.role, touch.index), (Role::A, 3), "{touch}");
    }

    #[test]
    fn what_may_panic_is_not_checked_in_flight() {
        let panics = "$L__BB0_8:\n\t.loc\t1 50 1\n\tbra \t$L__trap;\n$L__trap:\n\ttrap; exit;\n}";
        let with = |between: &str, end: &str| {
            kernel(between, 0).replace("ret;\n}", &format!("ret;\n{end}"))
        };
        let at = ".loc\t1 43 7 // kernels/src/product.rs:43:7 @[ src/lib.rs:9:1 @[ src/lib.rs:7:5 \
                  ] ]\n\t";
        for check in ["@%p2 bra \t$L__BB0_8;", "@%p2 bra \t$L__BB0_1;\n\tbra.uni \t$L__BB0_8;"] {
            let check = first_checks(&with(&format!("{at}{check}"), panics), "product")
                .unwrap()
                .to_string();
            let place = "product.rs:43, inlined at src/lib.rs:9, inlined at src/lib.rs:7, line 28 \
                         of the PTX)\n";
            assert!(check.contains(place), "{check}");
        }
        assert_eq!(
            first_checks(
                &with("@%p2 bra \t$L__BB0_8;", &panics.replace("trap; exit", "ret")),
                "product"
            ),
            None
        );
        assert_eq!(
            first_checks(&with("mov.b32 \t%r10, %r9;", panics), "product"),
            None,
            "nothing is checked"
        );
        let behind = with("mov.b32 \t%r10, %r9;", panics)
            .replace("st.global", "@%p2 bra \t$L__BB0_8;\n\tst.global");
        assert_eq!(first_checks(&behind, "product"), None, "it is checked behind the wait");
    }

    #[test]
    fn wait_for_fewer_leaves_last_in_flight() {
        let text =
            kernel("mov.b32 \t%r10, %r9;", 1).replace("wgmma.wait_group.sync.aligned 0;\n", "");
        let touch = first_touch(&text, "product").unwrap();
        assert_eq!((touch.index, &*touch.by.text), (0, "st.global.b32 \t[%rd1], %r1"), "{touch}");
    }
}
