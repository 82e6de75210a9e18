//! Finds operations that LLVM cannot lower for GPUs, or lowers only to an approximation.

use super::call::{self, Callee};
use super::function::{self, Instruction};

/// Intrinsics, by the word after `llvm.`, and their names in words.
const INEXACT: [(&str, &str); 21] = [
    ("sin", "the sine"),
    ("cos", "the cosine"),
    ("tan", "the tangent"),
    ("sincos", "sine and cosine"),
    ("asin", "the arcsine"),
    ("acos", "the arccosine"),
    ("atan", "the arctangent"),
    ("atan2", "the arctangent"),
    ("sinh", "the hyperbolic sine"),
    ("cosh", "the hyperbolic cosine"),
    ("tanh", "the hyperbolic tangent"),
    ("exp", "the exponential"),
    ("exp2", "a power of two"),
    ("exp10", "a power of ten"),
    ("log", "the logarithm"),
    ("log2", "the logarithm"),
    ("log10", "the logarithm"),
    ("pow", "a power"),
    ("powi", "a power of vectors"),
    ("ldexp", "a product with a power of two"),
    ("frexp", "the parts of a float"),
];

/// An operation without an exact PTX instruction.
#[derive(Debug, PartialEq, Eq)]
pub struct Inexact<'a> {
    /// The operation in words.
    pub what: String,
    pub line: &'a str,
}

/// Returns the first such operation in the optimised kernels.
pub fn first_inexact(module: &str) -> Option<Inexact<'_>> {
    // This decides most modules.
    let is_candidate = |line: &str| {
        line.contains("@llvm.")
            || line.contains("i128")
            || line.contains("fp128")
            || line.contains(" frem ")
    };
    if !module.lines().any(|line| line.starts_with(' ') && is_candidate(line)) {
        return None;
    }
    let mut instructions = function::all(module)
        .flat_map(|function| function.blocks)
        .flat_map(|block| block.instructions);
    instructions.find_map(|instruction| {
        let what = inexact(&instruction)?;
        Some(Inexact { what, line: instruction.line })
    })
}

fn inexact(instruction: &Instruction<'_>) -> Option<String> {
    let text = instruction.text();
    let words = || text.split([' ', ',', '(', ')', '<', '>', '[', ']']);
    if words().any(|word| word == "fp128") {
        return Some("arithmetic of f128".into());
    }
    let of_128_bits = words().any(|word| word == "i128");
    match instruction.opcode {
        "frem" => Some(format!("the remainder `{text}`")),
        "sitofp" | "uitofp" | "fptosi" | "fptoui" if of_128_bits => {
            Some(format!("the conversion `{text}`"))
        }
        "atomicrmw" | "cmpxchg" if of_128_bits => Some("an atomic operation of 128 bits".into()),
        "call" => {
            let Callee::Named(name) = call::read(instruction.line).ok()??.callee else {
                return None;
            };
            let mut parts = name.strip_prefix("llvm.")?.split('.');
            let word = parts.next()?;
            if word.starts_with("fpto") && name.contains("i128") {
                return Some(format!("the conversion `{name}`"));
            }
            let (_, what) = INEXACT.iter().find(|(other, _)| *other == word)?;
            Some(format!("{what} of {} (LLVM's `{name}`)", parts.next().unwrap_or("floats")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<String> {
        let module = format!("define ptx_kernel void @k(ptr %a) {{\n  {line}\n  ret void\n}}\n");
        first_inexact(&module).map(|inexact| inexact.what)
    }

    #[test]
    fn says_what_has_no_exact_instruction() {
        for (line, what) in [
            (
                "%1 = tail call float @llvm.exp.f32(float %0), !dbg !3",
                "the exponential of f32 (LLVM's `llvm.exp.f32`)",
            ),
            (
                "%1 = call fast double @llvm.pow.f64(double %0, double %0)",
                "a power of f64 (LLVM's `llvm.pow.f64`)",
            ),
            ("%1 = frem <2 x fp128> %0, %0", "arithmetic of f128"),
            (
                "%1 = sitofp <2 x i128> %0 to <2 x float>",
                "the conversion `sitofp <2 x i128> %0 to <2 x float>`",
            ),
            ("%1 = atomicrmw add ptr %a, i128 1 seq_cst", "an atomic operation of 128 bits"),
        ] {
            assert_eq!(found(line).as_deref(), Some(what), "{line}");
        }
    }

    #[test]
    fn exact_operations_pass() {
        for line in [
            "%1 = call float @llvm.fma.f32(float %0, float %0, float %0)",
            "%1 = call float @llvm.sqrt.f32(float %0)",
            "%1 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "%1 = mul i128 %0, 3",
            "%1 = sitofp i64 %0 to float",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }
}
