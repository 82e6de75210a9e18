//! Merges the traps of a kernel that uses `setmaxnreg` into one.
//!
//! LLVM ends each panic in its own trap. If a kernel has several, ptxas ignores `setmaxnreg` (seen
//! with 13.5). All warps then keep the register count that the block started with, and ptxas spills
//! the rest.

/// The end of a panic, as LLVM writes it below PTX 8.3, and from there on.
const TRAPS: [&str; 2] = ["\ttrap; exit;", "\ttrap;"];

/// The label of a kernel's one trap.
const LABEL: &str = "$L__ptx_matrix_trap";

/// Returns the PTX with one trap in each kernel that uses `setmaxnreg`. All panics of the kernel
/// branch to it.
pub fn merge_traps(ptx: &str) -> String {
    let mut merged = String::with_capacity(ptx.len());
    let mut rest = ptx;
    // A function in LLVM's output ends with a brace at the start of a line.
    while let Some(end) = rest.find("\n}") {
        let (function, behind) = rest.split_at(end);
        let is_trap = |line: &&str| TRAPS.contains(line);
        if function.contains("setmaxnreg") && function.lines().any(|line| is_trap(&line)) {
            let branch = format!("\tbra {LABEL};");
            let lines = function.lines().map(|line| if is_trap(&line) { &branch } else { line });
            merged.push_str(&lines.collect::<Vec<_>>().join("\n"));
            merged.push_str(&format!("\n{LABEL}:\n{}", TRAPS[0]));
        } else {
            merged.push_str(function);
        }
        let (brace, behind) = behind.split_at(2);
        merged.push_str(brace);
        rest = behind;
    }
    merged.push_str(rest);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = ".entry plain()\n{\n\t@%p1 bra $L_1;\n\tret;\n$L_1:\n\ttrap; exit;\n}\n";

    #[test]
    fn panics_of_a_kernel_with_setmaxnreg_share_a_trap() {
        let kernel = |body: &str| {
            format!(".entry k()\n{{\n\tsetmaxnreg.inc.sync.aligned.u32 232;\n{body}\n}}\n")
        };
        let two = kernel("$L_1:\n\ttrap; exit;\n$L_2:\n\ttrap; exit;");
        let one = "$L_1:\n\tbra $L__ptx_matrix_trap;\n$L_2:\n\tbra \
                   $L__ptx_matrix_trap;\n$L__ptx_matrix_trap:\n\ttrap; exit;";
        assert_eq!(
            merge_traps(&format!("{PLAIN}{two}{PLAIN}")),
            format!("{PLAIN}{}{PLAIN}", kernel(one))
        );
    }

    #[test]
    fn traps_of_newer_ptx_are_merged_too() {
        let kernel = ".entry k()\n{\n\tsetmaxnreg.inc.sync.aligned.u32 232;\n\
                      $L_1:\n\ttrap;\n$L_2:\n\ttrap;\n}\n";
        let merged = merge_traps(kernel);
        assert_eq!(merged.matches("\ttrap;").count(), 1, "{merged}");
        assert_eq!(merged.matches("bra $L__ptx_matrix_trap;").count(), 2, "{merged}");
    }

    #[test]
    fn others_stay_as_they_are() {
        let without = ".entry w()\n{\n\tsetmaxnreg.dec.sync.aligned.u32 40;\n\tret;\n}\n";
        for text in ["", PLAIN, without] {
            assert_eq!(merge_traps(text), text);
        }
    }
}
