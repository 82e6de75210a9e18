//! Which registers of a `wgmma` are touched before its wait: what ptxas says only of the kernel.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// Groups that are told apart, of those committed behind a `wgmma`: no kernel waits for all but more.
const MOST_GROUPS: usize = 8;

/// An instruction that comes, on some way through the kernel, to a register of a `wgmma` that has not been waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    wgmma: Place,
    register: String,
    role: Role,
    /// Which of the role's registers it is.
    index: usize,
    by: Place,
}

/// An instruction, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// Its line in the PTX, from 1 on.
    line: usize,
    text: String,
    /// File and line of the source, if the PTX says.
    source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Sums,
    A,
}

impl fmt::Display for Touch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wgmma, register, role, index, by } = self;
        let role = match role {
            Role::Sums => "its sums",
            Role::A => "its A",
        };
        let name = wgmma.text.split_whitespace().find(|word| word.starts_with("wgmma.mma_async")).unwrap_or("wgmma");
        writeln!(f, "  `{name}` ({wgmma}) has {register}, register {index} of {role}, in flight")?;
        write!(f, "  when `{}` ({by}) comes to it, with no wait for that group between", by.text)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source}, line {} of the PTX", self.line),
            None => write!(f, "line {} of the PTX; `--line-info` says where in the source", self.line),
        }
    }
}

/// The first such instruction of a kernel, if this finds one.
pub fn first_touch(ptx: &str, kernel: &str) -> Option<Touch> {
    let body = Body::of(ptx, kernel)?;
    let multiplications = (0..body.lines.len()).filter(|&at| body.lines[at].contains("wgmma.mma_async"));
    multiplications.filter_map(|at| body.touch(at)).min_by_key(|touch| touch.by.line)
}

/// Where in a kernel a line of the PTX is, from 1 on: with that of the source, if the PTX says.
pub fn place(ptx: &str, kernel: &str, line: usize) -> Option<impl fmt::Display> {
    let body = Body::of(ptx, kernel)?;
    let at = line.checked_sub(body.first + 1).filter(|at| *at < body.lines.len())?;
    Some(body.place(at))
}

/// The lines of a kernel, of which each has one instruction, or a few that were written together.
struct Body<'p> {
    ptx: &'p str,
    /// The line of the PTX, from 0 on, that the first is.
    first: usize,
    lines: Vec<&'p str>,
    labels: HashMap<&'p str, usize>,
}

impl<'p> Body<'p> {
    fn of(ptx: &'p str, kernel: &str) -> Option<Self> {
        let entry = format!(".entry {kernel}(");
        let first = ptx.lines().position(|line| line.contains(&entry))?;
        let lines: Vec<&str> = ptx.lines().skip(first).take_while(|line| *line != "}").map(str::trim).collect();
        let label = |(at, line): (usize, &&'p str)| Some((line.strip_suffix(':')?, at));
        let labels = lines.iter().enumerate().filter_map(label).collect();
        Some(Self { ptx, first, lines, labels })
    }

    /// What first touches registers of the `wgmma` in this line, on the shortest way from it.
    fn touch(&self, wgmma: usize) -> Option<Touch> {
        let (sums, a) = registers_of(self.lines[wgmma]);
        let mut seen = HashSet::new();
        let mut next: VecDeque<(usize, usize)> = self.behind(wgmma).map(|at| (at, 0)).collect();
        while let Some((at, groups)) = next.pop_front() {
            if at >= self.lines.len() || !seen.insert((at, groups)) {
                continue;
            }
            let line = self.lines[at];
            let mut groups = groups;
            if line.contains("wgmma.commit_group") {
                groups = (groups + 1).min(MOST_GROUPS);
            } else if let Some(newest) = newest_of_wait(line) {
                if groups > newest {
                    continue;
                }
            } else if let Some((register, role, index)) = touched(line, &sums, &a) {
                let [wgmma, by] = [wgmma, at].map(|at| self.place(at));
                return Some(Touch { wgmma, register: register.to_owned(), role, index, by });
            }
            next.extend(self.behind(at).map(|at| (at, groups)));
        }
        None
    }

    /// The lines that may come behind this one.
    fn behind(&self, at: usize) -> impl Iterator<Item = usize> {
        let words = || self.lines[at].split(|c: char| c.is_whitespace() || ",;".contains(c));
        let is_conditional = self.lines[at].starts_with('@');
        let is_branch = words().any(|word| word == "bra" || word.starts_with("bra."));
        let ends = is_branch || words().any(|word| ["ret", "exit", "trap"].contains(&word));
        let goes_on = is_conditional || !ends;
        let targets = words().filter(|_| is_branch).filter_map(|name| self.labels.get(name).copied());
        goes_on.then_some(at + 1).into_iter().chain(targets.collect::<Vec<_>>())
    }

    fn place(&self, at: usize) -> Place {
        let source = self.lines[..at].iter().rev().find_map(|line| line.strip_prefix(".loc")).and_then(|place| {
            let mut numbers = place.split_whitespace();
            let (file, line) = (numbers.next()?, numbers.next()?);
            let is_it = |of: &&str| of.split_whitespace().nth(1) == Some(file);
            let named = self.ptx.lines().filter(|line| line.trim_start().starts_with(".file")).find(is_it)?;
            Some(format!("{}:{line}", named.split('"').nth(1)?))
        });
        Place { line: self.first + at + 1, text: self.lines[at].trim_end_matches(';').to_owned(), source }
    }
}

/// The registers of a `wgmma`'s sums, and of A, if it is in registers.
fn registers_of(line: &str) -> (Vec<&str>, Vec<&str>) {
    let operands = line.split_once("wgmma.mma_async").map_or("", |(_, rest)| rest);
    let Some((sums, rest)) = operands.split_once('{').and_then(|(_, rest)| rest.split_once('}')) else {
        return (Vec::new(), Vec::new());
    };
    let a = rest.trim_start_matches([',', ' ']).strip_prefix('{').and_then(|rest| rest.split_once('}'));
    (names(sums).collect(), a.map_or(Vec::new(), |(a, _)| names(a).collect()))
}

/// The registers that a text names, from left to right.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '%' || c == '_')).filter(|name| name.starts_with('%'))
}

/// A register of these that an instruction names: but for a `wgmma` that adds to the same sums, or also multiplies that A.
fn touched<'l>(line: &'l str, sums: &[&str], a: &[&str]) -> Option<(&'l str, Role, usize)> {
    if line.starts_with("//") || line.starts_with('.') {
        return None;
    }
    let is_wgmma = line.contains("wgmma.mma_async");
    let (own_sums, own_a) = if is_wgmma { registers_of(line) } else { (Vec::new(), Vec::new()) };
    let find = |role, of: &[&str], fits: &dyn Fn(&str) -> bool| {
        names(line)
            .filter(|name| !fits(name))
            .find_map(|name| Some((name, role, of.iter().position(|of| *of == name)?)))
    };
    find(Role::Sums, sums, &|name| own_sums == sums && own_sums.contains(&name))
        .or_else(|| find(Role::A, a, &|name| own_a.contains(&name)).filter(|(name, ..)| is_written(line, name)))
}

/// Whether an instruction writes a register: its first operand is what it makes.
fn is_written(line: &str, register: &str) -> bool {
    let rest = line.split_once(char::is_whitespace).map_or("", |(_, operands)| operands.trim_start());
    let made = match rest.strip_prefix('{') {
        Some(rest) => rest.split('}').next(),
        None => rest.split(',').next(),
    };
    made.is_some_and(|made| names(made).any(|name| name == register))
}

/// How many groups a wait leaves in flight.
fn newest_of_wait(line: &str) -> Option<usize> {
    let (_, rest) = line.split_once("wgmma.wait_group.sync.aligned")?;
    rest.trim().split(';').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with a loop, as the compiler writes it, and what is between a multiplication and its wait.
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
$L__BB0_1:
	wgmma.fence.sync.aligned;
	.loc\t1 40 9
	{{.reg .pred p; setp.ne.b32 p, %r9, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {{%r1, %r2, %r3, %r4}}, {{%r5, %r6, %r7, %r8}}, %rd3, p, 1, 1, 0;}}
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
        for between in ["mov.b32 \t%r10, %r9;", "// %r2", "st.global.b32 \t[%rd1], %r11;", "mov.b32 \t%r10, %r5;"] {
            for newest in [0, 1] {
                assert_eq!(first_touch(&kernel(between, newest), "product"), None, "{between}");
            }
        }
        assert_eq!(first_touch(&kernel("mov.b32 %r10, %r2;", 0), "other"), None);
    }

    #[test]
    fn sums_are_not_read_or_written_in_flight() {
        for between in ["add.f32 \t%r10, %r3, %r9;", "mov.b32 \t%r3, 0;"] {
            let touch = first_touch(&kernel(between, 0), "product").unwrap();
            assert_eq!((touch.role, touch.index, touch.by.line), (Role::Sums, 2, 22), "{touch}");
            let said = touch.to_string();
            assert!(
                said.contains("m64n8k16.f32.bf16.bf16` (kernels/src/product.rs:40, line 19 of the PTX) has %r3"),
                "{said}"
            );
            assert!(said.contains("kernels/src/product.rs:42, line 22 of the PTX) comes to it"), "{said}");
        }
    }

    #[test]
    fn registers_of_a_are_not_written_in_flight() {
        let touch = first_touch(&kernel("ld.global.v2.b32 \t{%r8, %r12}, [%rd2];", 0), "product").unwrap();
        assert_eq!((touch.role, touch.index), (Role::A, 3), "{touch}");
    }

    #[test]
    fn a_wait_for_fewer_leaves_the_last_in_flight() {
        let text = kernel("mov.b32 \t%r10, %r9;", 1).replace("wgmma.wait_group.sync.aligned 0;\n", "");
        let touch = first_touch(&text, "product").unwrap();
        assert_eq!((touch.index, &*touch.by.text), (0, "st.global.b32 \t[%rd1], %r1"), "{touch}");
    }
}
