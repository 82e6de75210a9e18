//! The instructions of the forms' kernels, without the rest of the kernels.

/// Number of instructions in one kernel. ptxas takes longer for more and for fewer.
const IN_ONE_KERNEL: usize = 16;

/// Makes kernels of 128 threads that execute the instructions of these kernels, and nothing else.
/// ptxas takes a fraction of the time for them.
///
/// Each instruction is in a scope with its registers, which have no values. A result is stored, so
/// that ptxas keeps the instruction.
pub fn only_instructions(kernels: &[String]) -> String {
    let is_needed = |statement: &&str| {
        const STARTS: [&str; 6] =
            [".reg", "wgmma.", "mma.", "ldmatrix.", "stmatrix.", "movmatrix."];
        STARTS.iter().any(|start| statement.starts_with(start)) || statement.ends_with("], %d0")
    };
    let mut text = String::new();
    for (group, kernels) in kernels.chunks(IN_ONE_KERNEL).enumerate() {
        text += &format!(".visible .entry kernel_{group}() .reqntid 128 {{\n");
        for (index, kernel) in kernels.iter().enumerate() {
            let (_, body) = kernel.split_once("{\n").expect("the kernel's body");
            let needed: Vec<&str> = body.split(';').map(str::trim).filter(is_needed).collect();
            // Different places, so that no store replaces another one.
            let scope = needed.join(";\n").replace("[%to+0]", &format!("[%to+{}]", 8 * index));
            text += &format!("{{\n{scope};\n}}\n");
        }
        text += "ret;\n}\n";
    }
    text
}
