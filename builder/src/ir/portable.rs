//! Finds modules for which LLVM generates the same PTX for many targets.

use super::call::{self, Callee};
use super::function::{self, Instruction};

/// The version of the rule, for stamps and file names. Change it with the rule.
pub const VERSION: &str = "portable-1";

/// Intrinsics with the same PTX for all these targets: the starts of their names.
const INTRINSICS: [&str; 31] = [
    "llvm.abs.",
    "llvm.assume",
    "llvm.bitreverse.",
    "llvm.bswap.",
    "llvm.ctlz.",
    "llvm.ctpop.",
    "llvm.cttz.",
    "llvm.fabs.f",
    "llvm.fma.f",
    "llvm.fshl.",
    "llvm.fshr.",
    "llvm.lifetime.",
    "llvm.nvvm.read.ptx.sreg.ctaid.",
    "llvm.nvvm.read.ptx.sreg.laneid",
    "llvm.nvvm.read.ptx.sreg.nctaid.",
    "llvm.nvvm.read.ptx.sreg.ntid.",
    "llvm.nvvm.read.ptx.sreg.tid.",
    "llvm.nvvm.read.ptx.sreg.warpsize",
    "llvm.sadd.",
    "llvm.scmp.",
    "llvm.smax.",
    "llvm.smin.",
    "llvm.smul.",
    "llvm.ssub.",
    "llvm.trap",
    "llvm.uadd.",
    "llvm.ucmp.",
    "llvm.umax.",
    "llvm.umin.",
    "llvm.umul.",
    "llvm.usub.",
];

/// Whether LLVM's code for an optimised module is the same for all targets that are
/// [alike](crate::arch::Arch::oldest_alike). Asm does not matter, because it is not LLVM's.
///
/// Newer targets have more instructions for small floats, vectors and atomics, and more attributes
/// of kernels. Unknown intrinsics and attributes count as not portable.
pub fn is_portable(module: &str) -> bool {
    let mut attributes = module.lines().filter(|line| !line.starts_with(' '));
    let has_portable_attributes = attributes.all(|line| {
        line.match_indices("\"nvvm.").all(|(at, _)| {
            ["maxntid\"", "minctasm\"", "maxnreg\"", "grid_constant\""]
                .iter()
                .any(|name| line[at + "\"nvvm.".len()..].starts_with(name))
        })
    });
    has_portable_attributes
        && function::all(module)
            .flat_map(|function| function.blocks)
            .flat_map(|block| block.instructions)
            .all(|instruction| is_portable_instruction(&instruction))
}

fn is_portable_instruction(instruction: &Instruction<'_>) -> bool {
    let callee = match instruction.opcode {
        "atomicrmw" | "cmpxchg" | "fence" => return false,
        "call" => match call::read(instruction.line) {
            Ok(Some(call)) => Some(call.callee),
            _ => return false,
        },
        _ => None,
    };
    let is_known = |name: &str| {
        !name.starts_with("llvm.") || INTRINSICS.iter().any(|start| name.starts_with(start))
    };
    match callee {
        Some(Callee::Asm) => return true,
        Some(Callee::Named(name)) if !is_known(name) => return false,
        _ => {}
    }
    let mut words =
        instruction.text().split(|c: char| !(c.is_ascii_alphanumeric() || "%@._<".contains(c)));
    words.all(|word| {
        let is_vector = word.starts_with('<') && word.len() > 1;
        !is_vector && !["half", "bfloat", "fp128", "i128", "atomic", "volatile"].contains(&word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel with this line.
    fn with(line: &str) -> String {
        format!(
            "define ptx_kernel void @k(ptr %a) #0 {{\n  {line}\n  ret void\n}}\n\
             attributes #0 = {{ nounwind \"nvvm.maxntid\"=\"32,1,1\" }}\n"
        )
    }

    #[test]
    fn integers_wide_floats_and_asm_are_portable() {
        for line in [
            "%b = load <{ ptr, [2 x i8] }>, ptr %a, align 8",
            "%b = fmul float %x, %y, !half !3",
            "%b = call i32 @llvm.umax.i32(i32 %x, i32 7)",
            "%b = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "%b = call <2 x half> asm \"add.rn.f16x2 $0, $1, $1;\", \"=r,r\"(<2 x half> %x)",
            "call void @other(ptr %a)",
            "%b = getelementptr inbounds %half, ptr %a, i64 3",
        ] {
            assert!(is_portable(&with(line)), "{line}");
        }
    }

    #[test]
    fn what_newer_targets_do_otherwise_is_not() {
        for line in [
            "%b = fadd half %x, %y",
            "%b = load bfloat, ptr %a, align 2",
            "%b = load [4 x half], ptr %a, align 2",
            "%b = fadd <2 x float> %x, %y",
            "%b = mul i128 %x, %y",
            "%b = atomicrmw add ptr %a, i32 1 monotonic",
            "%b = load atomic i32, ptr %a acquire, align 4",
            "fence seq_cst",
            "%b = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()",
            "%b = call float @llvm.minimum.f32(float %x, float %y)",
            "%b = call float @llvm.fma.v2f32(<2 x float> %x, <2 x float> %y, <2 x float> %z)",
            "call void @other(half %x)",
        ] {
            assert!(!is_portable(&with(line)), "{line}");
        }
        let clusters = with("").replace("maxntid", "cluster_dim");
        assert!(!is_portable(&clusters), "{clusters}");
    }
}
