//! The program `exec`.

use super::FP16;
use ptx_matrix::lane::LANES;
use ptx_matrix_exec::Results;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const GROUP: &str = "wgmma.mma_async.sync.aligned.m64n16k32.s32.u8.s8";

fn exec(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_exec")).args(arguments).output().unwrap()
}

/// Writes an example, executes it, and checks that errors name the file.
#[test]
fn program_executes_its_example_and_names_files_in_errors() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
    fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in.json"), folder.join("out.json"));
    let (input_name, output_name) = (input.to_str().unwrap(), output.to_str().unwrap());
    assert!(exec(&[FP16, "--example", "--out", input_name]).status.success());
    assert!(exec(&[FP16, "--in", input_name, "--out", output_name]).status.success());
    let results: Results = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
    let d = Some(vec![["41800000"; 4].join(" "); LANES]);
    assert_eq!(
        results,
        Results { form: FP16.into(), on: "the simulator, as sm_90".into(), d, image: None }
    );

    assert!(exec(&[GROUP, "--example", "--a-in-registers", "--out", input_name]).status.success());
    assert!(exec(&[GROUP, "--in", input_name, "--out", output_name]).status.success());
    let results: Results = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
    let d = Some(vec![["00000020"; 8].join(" "); 4 * LANES]);
    assert_eq!(
        results,
        Results { form: GROUP.into(), on: "the simulator, as sm_90".into(), d, image: None }
    );
    let wrong = exec(&[FP16, "--example", "--a-in-registers"]);
    assert_eq!(
        String::from_utf8_lossy(&wrong.stderr),
        "error: --a-in-registers: `options`: this form has none\n"
    );

    // Ada has the form and Turing does not. On a real GPU, `--gpu` is an error.
    assert!(exec(&[FP16, "--example", "--out", input_name]).status.success());
    assert!(
        exec(&[FP16, "--in", input_name, "--out", output_name, "--gpu", "sm_89"]).status.success()
    );
    let results: Results = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
    assert_eq!(results.on, "the simulator, as sm_89");
    let error_of = |arguments: &[&str]| {
        let wrong = exec(&[&[FP16, "--in", input_name], arguments].concat());
        assert_eq!(wrong.status.code(), Some(2));
        String::from_utf8(wrong.stderr).unwrap()
    };
    let lacking = error_of(&["--gpu", "sm_75"]);
    let expected = "needs sm_80, and sm_75 is simulated: give --gpu one that has it\n";
    assert_eq!(lacking, format!("error: `{FP16}` {expected}"));
    assert!(error_of(&["--device", "3"]).contains("the simulator has none"));
    assert!(
        error_of(&["--gpu", "sm_60"])
            .contains("the simulator knows no GPU `sm_60`; it knows sm_70, sm_75, sm_80")
    );
    assert!(
        error_of(&["--gpu", "sm_90", "--on", "gpu"])
            .starts_with("error: --gpu names the GPU that the simulator")
    );

    fs::write(&input, "{}").unwrap();
    let wrong = exec(&[FP16, "--in", input_name]);
    assert_eq!(wrong.status.code(), Some(2));
    let expected = format!(
        "error: {input_name}: `a` is missing: this form takes 4 registers of 32 bits in each of 32 \
         lanes\n"
    );
    assert_eq!(String::from_utf8_lossy(&wrong.stderr), expected);
    let unknown = exec(&["mma.sync", "--example"]);
    assert!(
        String::from_utf8_lossy(&unknown.stderr)
            .starts_with("error: there is no form `mma.sync`; the nearest are:\n  ")
    );
    let unknown = exec(&["wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8", "--example"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("m64n240k32.s32.s8.s8\n"));
}
