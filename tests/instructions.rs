//! The instructions of the forms' kernels, without the rest of the kernels.

/// Makes kernels of 128 threads that execute the instructions of these kernels, each given with the
/// instruction's name. ptxas takes a part of the time for them. Each has `in_one_kernel`
/// instructions.
///
/// Each instruction is in a scope with its registers, which have no values. Its first results are
/// stored, because ptxas removes instructions without a use.
pub fn only_instructions(kernels: &[(&str, String)], in_one_kernel: usize) -> String {
    const STARTS: [&str; 6] = [".reg", "wgmma.", "mma.", "ldmatrix.", "stmatrix.", "movmatrix."];
    let is_needed = |statement: &&str| {
        STARTS.iter().any(|start| statement.starts_with(start))
            || statement.starts_with("st.global.") && statement.contains("%d0")
    };
    let mut text = String::new();
    for (group, kernels) in kernels.chunks(in_one_kernel).enumerate() {
        text += &format!(".visible .entry kernel_{group}() .reqntid 128 {{\n");
        for (index, (ptx, kernel)) in kernels.iter().enumerate() {
            let (_, body) = kernel.split_once("{\n").expect("the kernel's body");
            let needed: Vec<&str> = body.split(';').map(str::trim).filter(is_needed).collect();
            // Different places, so that no store replaces another one.
            let place = format!("[%to+{}]", 16 * index);
            let scope = needed.join(";\n").replace("[%to+0]", &place);
            assert!(scope.contains(&format!("\n{ptx} ")), "{ptx} is not in its scope:\n{scope}");
            assert!(ptx.starts_with("stmatrix") || scope.contains(&place), "{ptx}:\n{scope}");
            text += &format!("{{\n{scope};\n}}\n");
        }
        text += "ret;\n}\n";
    }
    text
}
