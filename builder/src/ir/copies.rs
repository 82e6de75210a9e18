//! Checks that the optimiser left each collective in one place, as the `convergent` marks require.
//!
//! Copies are legal in general, because loops are unrolled and functions inlined. They are wrong if
//! lanes of one warp reach different copies. Then the copies lie in two arms of a branch whose
//! condition may differ between lanes, with no path from one copy to the other. Copies from
//! successive loop iterations lie on one path. Copies in the arms of a uniform branch are legal,
//! because all lanes take the same arm.

use std::collections::{BTreeMap, HashSet};

use super::call::{self, Callee};
use super::flow::Flow;
use super::function::{self, Function, Instruction};
use super::lanes::Lanes;

/// The kind of metadata that numbers the collectives.
const SITE: &str = "ptx_matrix.site";

/// How two collectives are identified as copies of one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// By their text: two separate collectives of the source may count as copies.
    ByText,
    /// By the number that [`numbered`] gave them.
    ByNumber,
}

/// A collective whose copies may split the lanes of a warp.
#[derive(Debug, PartialEq, Eq)]
pub struct Copied<'a> {
    /// The text of its asm, or the name of the called function.
    pub what: &'a str,
    /// One of the copies.
    pub line: &'a str,
}

/// Returns the module's first collective whose copies may split the lanes of a warp.
pub fn first(module: &str, known: Known) -> Option<Copied<'_>> {
    let functions: Vec<Function<'_>> = function::all(module).collect();
    let collective = with_collectives(&functions);
    functions.iter().find_map(|function| in_function(function, known, &collective))
}

fn in_function<'a>(
    function: &Function<'a>,
    known: Known,
    collective: &HashSet<&str>,
) -> Option<Copied<'a>> {
    let mut places: BTreeMap<&str, Vec<(usize, &Instruction<'a>)>> = BTreeMap::new();
    for (at, block) in function.blocks.iter().enumerate() {
        for instruction in &block.instructions {
            let Some(what) = collective_of(instruction, collective) else { continue };
            let key = match known {
                Known::ByText => what,
                // A pass that makes a call anew may lose the number. Then the text decides.
                Known::ByNumber => instruction.metadata(SITE).unwrap_or(what),
            };
            let of_key = places.entry(key).or_default();
            // Within a block, each copy follows the one before it.
            if of_key.last().is_none_or(|(last, _)| *last != at) {
                of_key.push((at, instruction));
            }
        }
    }
    places.retain(|_, places| places.len() > 1);
    if places.is_empty() {
        return None;
    }
    let flow = Flow::of(function);
    places.retain(|_, places| pairs(places).any(|(one, other)| flow.are_apart(one.0, other.0)));
    if places.is_empty() {
        return None;
    }
    let lanes = Lanes::of(function, &flow);
    let parting: Vec<usize> = lanes.part_behind().collect();
    let line = places.into_values().find_map(|places| {
        let part =
            |one: usize, other: usize| parting.iter().any(|&block| flow.parts(block, one, other));
        let pair = pairs(&places)
            .find(|(one, other)| flow.are_apart(one.0, other.0) && part(one.0, other.0));
        pair.map(|(one, _)| one.1.line)
    })?;
    Some(Copied { what: name_of(line), line })
}

fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)))
}

/// The functions that contain collectives.
fn with_collectives<'a>(functions: &[Function<'a>]) -> HashSet<&'a str> {
    let mut collective = HashSet::new();
    loop {
        let before = collective.len();
        for function in functions {
            let mut instructions = function.blocks.iter().flat_map(|block| &block.instructions);
            if instructions.any(|instruction| collective_of(instruction, &collective).is_some()) {
                collective.insert(function.name);
            }
        }
        if collective.len() == before {
            return collective;
        }
    }
}

/// Returns the text or name of an instruction that may be a collective.
fn collective_of<'a>(instruction: &Instruction<'a>, functions: &HashSet<&str>) -> Option<&'a str> {
    if instruction.opcode != "call" {
        return None;
    }
    let call = call::read(instruction.line).ok()??;
    let what = name_of(instruction.line);
    let is_collective = match call.callee {
        Callee::Asm => is_collective_asm(what),
        Callee::Address => true,
        Callee::Named(name) => functions.contains(name) || is_collective_intrinsic(name),
    };
    is_collective.then_some(what)
}

fn name_of(line: &str) -> &str {
    match call::read(line) {
        Ok(Some(call)) => match call.callee {
            Callee::Asm => line[call.at..].split('"').nth(1).unwrap_or_default(),
            Callee::Address => "a function that is called by its address",
            Callee::Named(name) => name,
        },
        _ => line,
    }
}

/// PTX marks collective instructions with `.sync` or `.aligned`, except for its oldest barriers.
fn is_collective_asm(text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || ";{}".contains(c));
    words.any(|word| {
        word.contains(".sync")
            || word.contains(".aligned")
            || ["bar.", "barrier.", "activemask", "vote.", "shfl."]
                .iter()
                .any(|start| word.starts_with(start))
    })
}

fn is_collective_intrinsic(name: &str) -> bool {
    const STARTS: [&str; 14] = [
        "barrier",
        "bar.",
        "shfl",
        "vote",
        "match",
        "redux",
        "activemask",
        "elect",
        "wmma",
        "mma",
        "ldmatrix",
        "stmatrix",
        "wgmma",
        "setmaxnreg",
    ];
    name.strip_prefix("llvm.nvvm.")
        .is_some_and(|name| STARTS.iter().any(|start| name.starts_with(start)))
}

/// Returns the module with a number on each call that may be a collective.
pub fn numbered(module: &str) -> String {
    let number_of = |line: &str| line.strip_prefix('!')?.split_once(" = ")?.0.parse::<usize>().ok();
    let mut next = module.lines().filter_map(number_of).max().map_or(0, |last| last + 1);
    let (mut text, mut nodes) = (String::with_capacity(module.len() * 2), String::new());
    for line in module.lines() {
        text.push_str(line);
        let callee = if line.starts_with(' ') { call::read(line).ok().flatten() } else { None };
        let counts = callee.is_some_and(|call| match call.callee {
            Callee::Asm | Callee::Address => true,
            Callee::Named(name) => !name.starts_with("llvm.") || is_collective_intrinsic(name),
        });
        if counts {
            text.push_str(&format!(", !{SITE} !{next}"));
            nodes.push_str(&format!("!{next} = !{{i64 {next}}}\n"));
            next += 1;
        }
        text.push('\n');
    }
    text + &nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARRIER: &str = "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() #2";

    /// A kernel with a barrier in both arms of a branch on a condition.
    fn both_arms(condition: &str, barrier: &str) -> String {
        format!(
            "define ptx_kernel void @k(ptr %a, i32 %n, i32 %m) {{\n  \
               {condition}\n  \
               br i1 %c, label %then, label %else\n\n\
             then:\n  \
               store i32 1, ptr %a\n  \
               {barrier}\n  \
               br label %end\n\n\
             else:\n  \
               {barrier}\n  \
               br label %end\n\n\
             end:\n  \
               ret void\n}}\n"
        )
    }

    const LANE: &str = "%t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  ";

    #[test]
    fn copies_in_the_arms_of_a_branch_on_the_lane_are_found() {
        for condition in [
            "%c = icmp ult i32 %t, 16",
            "%r = call i32 asm \"mov.u32 $0, %laneid;\", \"=r\"()\n  %c = icmp eq i32 %r, 0",
            "%w = and i32 %t, 31\n  %c = icmp eq i32 %w, 0",
            "%x = zext i32 %t to i64\n  %p = getelementptr i32, ptr %a, i64 %x\n  %v = load i32, \
             ptr %p\n  %c = icmp eq i32 %v, 0",
            "%k = call i64 asm sideeffect \"mov.u64 $0, %clock64;\", \"=l\"()\n  %c = icmp eq i64 \
             %k, 0",
            "%s = alloca i32\n  store i32 %t, ptr %s\n  %v = load i32, ptr %s\n  %c = icmp eq i32 \
             %v, 0",
        ] {
            let module = both_arms(&format!("{LANE}{condition}"), BARRIER);
            let found = first(&module, Known::ByText).unwrap_or_else(|| panic!("{condition}"));
            assert_eq!(found.what, "bar.sync 0;");
        }
    }

    #[test]
    fn those_of_a_uniform_branch_are_not() {
        for condition in [
            "%c = icmp ult i32 %t, 64",
            "%w = lshr i32 %t, 5\n  %c = icmp eq i32 %w, %n",
            "%w = lshr i32 %t, 1\n  %h = and i32 %w, 48\n  %c = icmp eq i32 %h, 16",
            "%v = load i32, ptr %a\n  %c = icmp eq i32 %v, %n",
            "%r = call i32 asm \"mov.u32 $0, %tid.x;\", \"=r\"()\n  %w = lshr i32 %r, 5\n  %c = \
             icmp eq i32 %w, 0",
            "%z = zext i1 1 to i32\n  %v = call i32 asm \"{ .reg .pred p; setp.ne.b32 p, $1, 0; \
             vote.sync.all.pred p, p, 0xffffffff; selp.b32 $0, 1, 0, p; }\", \"=r,r\"(i32 %t)\n  \
             %c = icmp eq i32 %v, 0",
            "%b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n  %c = icmp eq i32 %b, 0",
            "%u = call i32 asm \"shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;\", \"=r,r\"(i32 \
             %t)\n  %c = icmp eq i32 %u, 0",
        ] {
            assert_eq!(
                first(&both_arms(&format!("{LANE}{condition}"), BARRIER), Known::ByText),
                None,
                "{condition}"
            );
        }
    }

    #[test]
    fn unknown_functions_and_those_that_call_them_count() {
        let lane = format!("{LANE}%c = icmp ult i32 %t, 16");
        let call = both_arms(&lane, "call void %f(ptr %a)");
        assert_eq!(
            first(&call, Known::ByText).unwrap().what,
            "a function that is called by its address"
        );
        let helper = |body: &str| {
            format!("define internal void @help(ptr %f) {{\n  {body}\n  ret void\n}}\n")
        };
        let direct = both_arms(&lane, "call void @help(ptr %a)");
        assert_eq!(
            first(&(helper("call void %f()") + &direct), Known::ByText).unwrap().what,
            "help"
        );
        assert_eq!(first(&(helper("store i32 1, ptr %f") + &direct), Known::ByText), None);
        let store =
            both_arms(&lane, "call void asm sideeffect \"st.shared.b32 [$0], 1;\", \"r\"(i32 %n)");
        assert_eq!(first(&store, Known::ByText), None);
    }

    #[test]
    fn phi_of_parted_lanes_differs_though_its_operands_do_not() {
        let condition = "br i1 %l, label %one, label %two\none:\n  br label %join\ntwo:\n  br \
                         label %join\njoin:\n  \
                         %v = phi i32 [ 0, %one ], [ 1, %two ]\n  %c = icmp eq i32 %v, 0";
        let parted = |of: &str| {
            both_arms(&format!("{LANE}%l = icmp ult i32 {of}, 16\n  {condition}"), BARRIER)
        };
        assert!(first(&parted("%t"), Known::ByText).is_some());
        assert_eq!(first(&parted("%n"), Known::ByText), None);
    }

    #[test]
    fn phi_to_which_parted_lanes_bring_same_does_not_differ() {
        let condition = "%u = icmp eq i32 %n, 0\n  %l = icmp ult i32 %t, 16\n  br i1 %u, label \
                         %one, label %two\none:\n  \
                         br i1 %l, label %three, label %join\nthree:\n  br label %join\ntwo:\n  \
                         br label %join\njoin:\n  \
                         %v = phi i32 [ 0, %one ], [ 0, %three ], [ 1, %two ]\n  %c = icmp eq i32 \
                         %v, 0";
        let module = both_arms(&format!("{LANE}{condition}"), BARRIER);
        assert_eq!(first(&module, Known::ByText), None);
        assert!(first(&module.replace("[ 0, %three ]", "[ 2, %three ]"), Known::ByText).is_some());
    }

    #[test]
    fn value_of_loop_that_lanes_leave_apart_differs_behind_it() {
        let condition = "br label %loop\nloop:\n  %i = phi i32 [ 0, %start ], [ %next, %loop ]\n  \
                         %next = add i32 %i, 1\n  \
                         %out = icmp eq i32 %next, LIMIT\n  br i1 %out, label %behind, label \
                         %loop\nbehind:\n  \
                         %c = icmp ult i32 %next, 7";
        let counted =
            |limit| both_arms(&format!("{LANE}{}", condition.replace("LIMIT", limit)), BARRIER);
        assert!(first(&counted("%t"), Known::ByText).is_some());
        assert_eq!(first(&counted("%n"), Known::ByText), None);
    }

    #[test]
    fn rounds_of_an_unrolled_loop_stand_behind_each_other() {
        let module = both_arms(&format!("{LANE}%c = icmp ult i32 %t, 16"), "store i32 2, ptr %a");
        let module = module.replace(
            "end:\n",
            &format!("end:\n  {BARRIER}\n  br label %more\nmore:\n  {BARRIER}\n"),
        );
        assert_eq!(first(&module, Known::ByText), None);
    }

    #[test]
    fn by_number_only_copies_of_one_place_count() {
        let module =
            both_arms(&format!("{LANE}%c = icmp ult i32 %t, 16"), BARRIER) + "!7 = !{i32 1}\n";
        let module = numbered(&module);
        assert!(
            module.contains("() #2, !ptx_matrix.site !8\n") && module.contains("\n!9 = !{i64 9}\n"),
            "{module}"
        );
        assert!(!module.contains("tid.x(), !"), "{module}");
        assert_eq!(first(&module, Known::ByNumber), None);
        assert!(first(&module.replace("site !9", "site !8"), Known::ByNumber).is_some());
    }
}
