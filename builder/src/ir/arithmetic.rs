//! Replaces arithmetic that LLVM lowers wrongly for GPUs, or not at all, by calls of
//! `compiler_builtins`.
//!
//! LLVM lowers `frem` to a rounded quotient and a multiplication, which differs from Rust's `%`.
//! For `powi`, and for conversions between floats and 128-bit integers, `llc` has neither an
//! instruction nor a library function.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::attributes;
use super::call;
use super::scan;

/// A function: its name, its result and its parameters.
type Function = (&'static str, &'static str, &'static str);

const FMODF: Function = ("fmodf", "float", "float, float");
const FMOD: Function = ("fmod", "double", "double, double");

/// Intrinsics, and the functions with the same parameters that compute them.
const INTRINSICS: [(&str, Function); 2] = [
    ("llvm.powi.f32.i32", ("__powisf2", "float", "float, i32")),
    ("llvm.powi.f64.i32", ("__powidf2", "double", "double, i32")),
];

/// Conversions from 128-bit integers: the instruction, and the functions for `float` and `double`.
const FROM_INTEGERS: [(&str, [Function; 2]); 2] = [
    ("sitofp i128 ", [("__floattisf", "float", "i128"), ("__floattidf", "double", "i128")]),
    ("uitofp i128 ", [("__floatuntisf", "float", "i128"), ("__floatuntidf", "double", "i128")]),
];

/// Conversions to 128-bit integers: the plain and the saturating instruction, and the functions for
/// `float` and `double`. The functions saturate, which is right for both.
const TO_INTEGERS: [(&str, &str, [Function; 2]); 2] = [
    (
        "fptosi ",
        "@llvm.fptosi.sat.i128.",
        [("__fixsfti", "i128", "float"), ("__fixdfti", "i128", "double")],
    ),
    (
        "fptoui ",
        "@llvm.fptoui.sat.i128.",
        [("__fixunssfti", "i128", "float"), ("__fixunsdfti", "i128", "double")],
    ),
];

/// Returns the module with calls and declarations of functions in place of such arithmetic. A
/// module without such arithmetic stays as it is. The functions must still be linked.
pub fn by_functions(ir: &str) -> Cow<'_, str> {
    let mut used = BTreeSet::new();
    let mut text = String::new();
    let mut written = 0;
    let mut start = 0;
    for line in ir.split_inclusive('\n') {
        if let Some(calls) = replaced(line.trim_end_matches('\n'), &mut used) {
            text.push_str(&ir[written..start]);
            text.push_str(&calls);
            written = start + line.len();
        }
        start += line.len();
    }
    if used.is_empty() {
        return Cow::Borrowed(ir);
    }
    text.push_str(&ir[written..]);
    let is_there = |line: &str| line.starts_with("define ") || line.starts_with("declare ");
    let there: BTreeSet<&str> =
        ir.lines().filter(|line| is_there(line)).filter_map(attributes::function_name).collect();
    for (name, result, parameters) in used.iter().filter(|(name, ..)| !there.contains(name)) {
        text.push_str(&format!("declare {result} @{name}({parameters})\n"));
    }
    Cow::Owned(text)
}

/// The replacement of this line. Notes its functions in `used`.
fn replaced(line: &str, used: &mut BTreeSet<Function>) -> Option<String> {
    let words = [" = frem ", "i128", "@llvm.powi."];
    if !line.starts_with(' ') || !words.iter().any(|word| line.contains(word)) {
        return None;
    }
    let (result, instruction) = call::result_and_instruction(line);
    for (intrinsic, function) in INTRINSICS {
        let called = format!("@{intrinsic}(");
        if line.contains(&called) {
            used.insert(function);
            return Some(line.replacen(&called, &format!("@{}(", function.0), 1) + "\n");
        }
    }
    let result = result?;
    if let Some(operands) = instruction.strip_prefix("frem ") {
        return remainder(result, operands, used);
    }
    let (instruction, metadata) = instruction
        .split_once(", !")
        .map_or((instruction, String::new()), |(text, metadata)| (text, format!(", !{metadata}")));
    let lines = from_integer(result, instruction, used)
        .or_else(|| to_integer(result, instruction, used))?;
    Some(lines.iter().map(|line| format!("  {line}{metadata}\n")).collect())
}

/// The name of an intermediate value, derived from the result's. A plain number would have to be in
/// sequence.
fn further(result: &str, what: &str) -> String {
    format!("%\"{} {what}\"", result.trim_matches(['%', '"']))
}

/// Converts an integer to a float; to `half` through `float`. An integer that `float` cannot hold
/// exactly is infinite in `half`, so nothing is rounded twice.
fn from_integer(
    result: &str,
    instruction: &str,
    used: &mut BTreeSet<Function>,
) -> Option<Vec<String>> {
    // `nneg` marks a conversion whose operand is not negative.
    let instruction = instruction.replacen("uitofp nneg ", "uitofp ", 1);
    FROM_INTEGERS.iter().find_map(|(from, functions)| {
        let (operand, to) = instruction.strip_prefix(from)?.split_once(" to ")?;
        let (function, short) = of_type(to, functions)?;
        used.insert(function);
        let (name, float, _) = function;
        if !short {
            return Some(vec![format!("{result} = call {float} @{name}(i128 {operand})")]);
        }
        let wide = further(result, "wide");
        Some(vec![
            format!("{wide} = call {float} @{name}(i128 {operand})"),
            format!("{result} = fptrunc {float} {wide} to {to}"),
        ])
    })
}

fn to_integer(
    result: &str,
    instruction: &str,
    used: &mut BTreeSet<Function>,
) -> Option<Vec<String>> {
    TO_INTEGERS.iter().find_map(|(plain, saturating, functions)| {
        let typed = match instruction.strip_prefix(plain) {
            Some(rest) => rest.strip_suffix(" to i128")?,
            None => {
                let (_, call) = instruction.split_once(saturating)?;
                let (arguments, _) = call.split_once('(')?.1.rsplit_once(')')?;
                arguments
            }
        };
        let (from, operand) = (typed.split(' ').next()?, typed.rsplit(' ').next()?);
        let (function, short) = of_type(from, functions)?;
        used.insert(function);
        let (name, _, float) = function;
        if !short {
            return Some(vec![format!("{result} = call i128 @{name}({float} {operand})")]);
        }
        let wide = further(result, "wide");
        Some(vec![
            format!("{wide} = fpext {from} {operand} to {float}"),
            format!("{result} = call i128 @{name}({float} {wide})"),
        ])
    })
}

/// The function for a float's type, and whether the type has 16 bits.
fn of_type(float: &str, [single, double]: &[Function; 2]) -> Option<(Function, bool)> {
    match float {
        "half" | "bfloat" => Some((*single, true)),
        "float" => Some((*single, false)),
        "double" => Some((*double, false)),
        _ => None,
    }
}

/// Replaces `frem` of scalars or vectors. 16-bit operands are computed in 32 bits: their exact
/// remainder fits into 16 bits.
fn remainder(result: &str, operands: &str, used: &mut BTreeSet<Function>) -> Option<String> {
    const FLAGS: [&str; 8] =
        ["fast ", "nnan ", "ninf ", "nsz ", "arcp ", "contract ", "afn ", "reassoc "];
    let mut operands = operands;
    while let Some(rest) = FLAGS.iter().find_map(|flag| operands.strip_prefix(flag)) {
        operands = rest;
    }
    let parts = scan::split(operands);
    let (typed, [second, metadata @ ..]) = parts.split_first()? else { return None };
    let metadata: String = metadata.iter().map(|part| format!(",{part}")).collect();
    let type_end = if typed.starts_with('<') { typed.find('>')? + 1 } else { typed.find(' ')? };
    let (whole, first) = (&typed[..type_end], typed[type_end..].trim());
    let second = second.trim();
    let vector = whole.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')?.split_once(" x "));
    let (count, element) =
        vector.map_or((None, whole), |(count, element)| (count.parse::<usize>().ok(), element));
    let function = match element {
        "double" => FMOD,
        "float" | "half" | "bfloat" => FMODF,
        _ => return None,
    };
    used.insert(function);
    let (name, wide, _) = function;

    let own = |what: String| further(result, &what);
    let of_numbers = |to: &str, a: &str, b: &str, at: &str| {
        if element == wide {
            return vec![format!("{to} = call {wide} @{name}({wide} {a}, {wide} {b})")];
        }
        let [wide_a, wide_b, wide_to] = ["a", "b", "wide"].map(|what| own(format!("{what}{at}")));
        vec![
            format!("{wide_a} = fpext {element} {a} to {wide}"),
            format!("{wide_b} = fpext {element} {b} to {wide}"),
            format!("{wide_to} = call {wide} @{name}({wide} {wide_a}, {wide} {wide_b})"),
            format!("{to} = fptrunc {wide} {wide_to} to {element}"),
        ]
    };
    let mut lines = Vec::new();
    match count {
        None => lines = of_numbers(result, first, second, ""),
        Some(count) => {
            let mut vector = "poison".to_owned();
            for at in 0..count {
                let [x, y, r] = ["x", "y", "r"].map(|what| own(format!("{what}{at}")));
                let next = if at + 1 == count { result.to_owned() } else { own(format!("v{at}")) };
                lines.push(format!("{x} = extractelement {whole} {first}, i64 {at}"));
                lines.push(format!("{y} = extractelement {whole} {second}, i64 {at}"));
                lines.extend(of_numbers(&r, &x, &y, &at.to_string()));
                lines.push(format!(
                    "{next} = insertelement {whole} {vector}, {element} {r}, i64 {at}"
                ));
                vector = next;
            }
        }
    }
    Some(lines.iter().map(|line| format!("  {line}{metadata}\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(ir: &str) -> Vec<String> {
        by_functions(ir).lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn each_operation_is_a_call() {
        for (line, expected) in [
            ("%3 = frem float %1, %2", "%3 = call float @fmodf(float %1, float %2)"),
            (
                "%3 = frem reassoc nsz double %1, 1.0, !dbg !7",
                "%3 = call double @fmod(double %1, double 1.0), !dbg !7",
            ),
            (
                "%p = tail call noundef float @llvm.powi.f32.i32(float %x, i32 %n) #4",
                "%p = tail call noundef float @__powisf2(float %x, i32 %n) #4",
            ),
            (
                "%i = call i128 @llvm.fptoui.sat.i128.f64(double %x)",
                "%i = call i128 @__fixunsdfti(double %x)",
            ),
            ("%f = sitofp i128 %i to float", "%f = call float @__floattisf(i128 %i)"),
            (
                "%f = uitofp nneg i128 %i to double, !dbg !1",
                "%f = call double @__floatuntidf(i128 %i), !dbg !1",
            ),
            ("%i = fptosi double %f to i128", "%i = call i128 @__fixdfti(double %f)"),
            (
                "%i = tail call noundef i128 @llvm.fptosi.sat.i128.f32(float noundef %x) #3, !dbg \
                 !9",
                "%i = call i128 @__fixsfti(float %x), !dbg !9",
            ),
        ] {
            let found = lines(&format!("  {line}\n"));
            assert_eq!(found[0], expected);
            let name = expected.split_once('@').unwrap().1.split_once('(').unwrap().0;
            assert!(
                found[1].starts_with("declare ") && found[1].contains(&format!("@{name}(")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn short_floats_and_vectors_are_taken_apart() {
        assert_eq!(
            lines("  %r = frem half %a, %b\n"),
            [
                "%\"r a\" = fpext half %a to float",
                "%\"r b\" = fpext half %b to float",
                "%\"r wide\" = call float @fmodf(float %\"r a\", float %\"r b\")",
                "%r = fptrunc float %\"r wide\" to half",
                "declare float @fmodf(float, float)",
            ]
        );
        assert_eq!(
            lines("  %9 = uitofp i128 %8 to half\n")[..2],
            [
                "%\"9 wide\" = call float @__floatuntisf(i128 %8)",
                "%9 = fptrunc float %\"9 wide\" to half"
            ]
        );
        assert_eq!(
            lines("  %9 = call i128 @llvm.fptosi.sat.i128.f16(half %8)\n")[..2],
            [
                "%\"9 wide\" = fpext half %8 to float",
                "%9 = call i128 @__fixsfti(float %\"9 wide\")"
            ]
        );
        let of_vectors = lines("  %9 = frem <2 x double> %8, <double 1.0, double 2.0>\n");
        assert_eq!(of_vectors.iter().filter(|line| line.contains("call double @fmod(")).count(), 2);
        assert_eq!(
            of_vectors[7],
            "%9 = insertelement <2 x double> %\"9 v0\", double %\"9 r1\", i64 1"
        );
    }

    #[test]
    fn function_that_is_there_is_not_declared_again() {
        let ir = "define float @fmodf(float %0, float %1) {\n  %3 = frem float %0, %1\n}\n";
        assert_eq!(lines(ir).len(), 3);
    }

    #[test]
    fn other_modules_stay_as_they_are() {
        let ir = "declare float @llvm.powi.f32.i32(float, i32)\n  %1 = sitofp i64 %0 to float\n  \
                  %2 = add i128 %x, 1\n";
        assert!(matches!(by_functions(ir), Cow::Borrowed(_)));
    }
}
