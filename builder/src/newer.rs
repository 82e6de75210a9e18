//! Leaves out instructions that only newer targets have, where an older one needs none.
//!
//! `ptx-matrix` marks such an instruction with the first target that has it, as in
//! `griddepcontrol.wait; // ptx-matrix: from sm_90`. So it makes no difference to the IR, and the
//! optimiser runs once for older and newer targets.

use crate::arch::Arch;

/// It stands between an instruction and its first target.
const MARK: &str = " // ptx-matrix: from ";

/// Returns the PTX for a target, without the marks, and without the marked instructions that the
/// target lacks.
pub fn without_newer(ptx: &str, arch: Arch) -> String {
    let mut kept = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let marked = line.split_once(MARK).and_then(|(instruction, first)| {
            Some((instruction, first.trim_end().parse::<Arch>().ok()?))
        });
        match marked {
            None => kept.push_str(line),
            Some((instruction, first)) if arch.up_to().any(|older| older == first) => {
                kept.push_str(instruction);
                kept.push('\n');
            }
            Some(_) => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A marked instruction, and two comments that are no marks.
    const PTX: &str = concat!(
        "\tgriddepcontrol.wait; // ptx-matrix: from sm_90\n",
        "\tnanosleep.u32 8; // from sm_90\n",
        "\tret; // ptx-matrix: from here\n",
    );

    #[test]
    fn a_target_gets_the_instructions_that_it_has() {
        let with = PTX.replace(" // ptx-matrix: from sm_90", "");
        let without = PTX.replace("\tgriddepcontrol.wait; // ptx-matrix: from sm_90\n", "");
        for (arch, expected) in [
            (Arch::SM_75, &without),
            (Arch::SM_89, &without),
            (Arch::SM_90A, &with),
            (Arch::SM_120A, &with),
        ] {
            assert_eq!(without_newer(PTX, arch), *expected, "{arch}");
        }
    }
}
