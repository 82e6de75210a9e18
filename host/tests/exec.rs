//! `cargo xtask exec`: every form on the simulator, its kernel for GPUs by ptxas, and what wrong files are told.

#![cfg(feature = "exec")]

use ptx_matrix::forms::{self, Form, Selectors, find};
use ptx_matrix::sim::Simulator;
use ptx_matrix::{LANES, Selected};
use ptx_matrix_build::Toolchain;
use ptx_matrix_host::exec::{Results, State, example, kernel};
use ptx_matrix_host::{Capability, Ptx};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

/// What a form leaves of a state, on the simulator.
fn execute(form: &Form, state: &State) -> Results {
    let (selectors, input) = state.encode(form).unwrap();
    let execution = Simulator::default().execute(form, &selectors, &input).unwrap();
    assert!(execution.found.is_none(), "{}: {}", form.ptx, execution.found.unwrap());
    state.results(form, "the simulator", &execution.output)
}

/// The last selectors that a form has.
fn last_selectors(form: &Form) -> Selectors {
    let thread = |last| if form.scales > 0 { last } else { 0 };
    let byte = [0, 3, 2, 0, 0][form.scales];
    Selectors {
        metadata: form.selectors.max(1) as u32 - 1,
        scales_a: Selected { byte, thread: thread(1) },
        scales_b: Selected { byte, thread: thread(3) },
    }
}

/// An element of D as text, from how it is written in its type.
fn number(word: u64, elements: &str) -> f64 {
    match elements {
        "f16" => match word {
            0x4400 => 4.0,
            0x4800 => 8.0,
            0x4c00 => 16.0,
            0x5000 => 32.0,
            other => panic!("{other:#x}"),
        },
        "f32" => f64::from(f32::from_bits(word as u32)),
        "f64" => f64::from_bits(word),
        "s32" => f64::from(word as u32 as i32),
        other => panic!("{other}"),
    }
}

/// A and B of ones, and C of zeros: each element of D is as many as there are products.
#[test]
fn every_form_multiplies_its_example() {
    for form in forms::all().filter(|form| form.arrangement.is_none()) {
        let matrices = form.matrices();
        let of = |name: &str| matrices.iter().find(|matrix| matrix.name == name).unwrap();
        let (a, d) = (of("A"), of("D"));
        // Of a sparse A, the fragment is what is kept; and one xor one is nothing.
        let expected = if form.ptx.ends_with(".xor.popc") { 0 } else { a.cols };
        let Results { d: Some(lines), image: None, .. } = execute(form, &example(form)) else { panic!("{}", form.ptx) };
        assert_eq!(lines.len(), LANES);
        for word in lines.iter().flat_map(|line| line.split(' ')) {
            let word = u64::from_str_radix(word, 16).unwrap();
            let width = form.register_bits / d.per_register;
            for index in 0..d.per_register {
                let element = word >> (index * width) & (u64::MAX >> (64 - width));
                assert_eq!(number(element, &d.elements), expected as f64, "{}", form.ptx);
            }
        }
    }
}

/// The formulas of the PTX ISA, for one matrix of 16-bit elements.
#[test]
fn matrices_are_moved_as_the_manual_says() {
    let run = |name| execute(find(name).unwrap(), &example(find(name).unwrap()));
    let bytes = |line: &str| -> Vec<u8> { line.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect() };

    // The image has at each offset that offset, modulo 256.
    let loaded = run("ldmatrix.sync.aligned.m8n8.x1.shared.b16").d.unwrap();
    let transposed = run("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16").d.unwrap();
    for lane in 0..LANES {
        let first = 16 * (lane / 4) + 4 * (lane % 4);
        assert_eq!(loaded[lane], format!("{:02x}{:02x}{:02x}{first:02x}", first + 3, first + 2, first + 1));
        let (upper, lower) = (32 * (lane % 4) + 16 + lane / 4 * 2, 32 * (lane % 4) + lane / 4 * 2);
        assert_eq!(transposed[lane], format!("{:02x}{upper:02x}{:02x}{lower:02x}", upper + 1, lower + 1));
    }
    // Lane l stores bytes 4 l to 4 l + 3.
    let stored = run("stmatrix.sync.aligned.m8n8.x1.shared.b16");
    assert!(stored.d.is_none());
    let image = stored.image.unwrap();
    assert_eq!(image.len(), 32);
    for (row, line) in image.iter().enumerate() {
        assert_eq!(bytes(line), (0..16).map(|col| (16 * row + col) as u8).collect::<Vec<_>>(), "row {row}");
    }
    let moved = run("movmatrix.sync.aligned.m8n8.trans.b16").d.unwrap();
    assert_eq!(moved, transposed);
}

/// A selector takes the metadata from elsewhere: with it, the kept halves of the other lanes' codes count.
#[test]
fn selectors_select() {
    let form = find("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32").unwrap();
    let mut state = example(form);
    // Ones in the first half of each chunk of B's rows alone, so that it counts which half is kept.
    state.b = Some(
        (0..LANES).map(|lane| if lane % 2 == 0 { "3c003c00 ".repeat(4) } else { "00000000 ".repeat(4) }).collect(),
    );
    // Selector 0 means lanes 0 and 1 of each four, and 1 the others.
    state.metadata =
        Some((0..LANES).map(|lane| if lane % 4 < 2 { "44444444".into() } else { "eeeeeeee".into() }).collect());
    let first = execute(form, &state).d.unwrap();
    assert!(first.iter().all(|line| *line == ["41800000"; 4].join(" ")), "{first:?}");
    state.selector = Some(1);
    let second = execute(form, &state).d.unwrap();
    assert!(second.iter().all(|line| *line == ["00000000"; 4].join(" ")), "{second:?}");
}

/// Codes that PTX does not define do something all the same, and it is said.
#[test]
fn what_ptx_does_not_define_has_results_and_is_said() {
    let form = find("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
    let state = State { metadata: Some(vec!["0x55555555".to_owned(); LANES]), ..example(form) };
    let (selectors, input) = state.encode(form).unwrap();
    let execution = Simulator::default().execute(form, &selectors, &input).unwrap();
    let d = state.results(form, "", &execution.output).d.unwrap();
    assert_eq!(d[7], ["41000000"; 4].join(" "));
    assert!(execution.found.unwrap().to_string().contains("it names one part twice"));
}

/// ptxas takes the kernel of each form for the least GPU that has it, and the loader finds it in it.
#[test]
fn ptxas_assembles_the_kernel_of_every_form() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("kernels");
    let toolchain = Toolchain::find_or_fetch(&project, &Toolchain::store(&project).unwrap(), &|_| {}).unwrap();
    let jobs = Mutex::new(forms::all());
    let assemble = |form: &Form| {
        let least = Capability { major: form.needs.sm / 10, minor: form.needs.sm % 10 };
        let text = kernel(form, &last_selectors(form), least).unwrap();
        let ptx: Ptx = text.parse().unwrap();
        assert_eq!(
            ptx.entries.iter().map(|entry| (&*entry.name, &*entry.params)).collect::<Vec<_>>(),
            [("exec", &[8, 8][..])]
        );
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exec-{}.ptx", form.name()));
        fs::write(&file, text).unwrap();
        let assembled = toolchain.assemble(&ptx.target.to_string(), &file, &file.with_extension("cubin"));
        assembled.unwrap_or_else(|error| panic!("{}: {error}", form.ptx));
        fs::remove_file(file.with_extension("cubin")).unwrap();
        fs::remove_file(file).unwrap();
    };
    thread::scope(|scope| {
        let work = || {
            while let Some(form) = { jobs.lock().unwrap().next() } {
                assemble(form)
            }
        };
        (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
    });
}

#[test]
fn a_gpu_that_has_not_got_the_form_is_told_what_has() {
    let of = |name: &str, major, minor| kernel(find(name).unwrap(), &Selectors::default(), Capability { major, minor });
    let stmatrix = "stmatrix.sync.aligned.m8n8.x4.shared.b16";
    assert_eq!(of(stmatrix, 8, 9).unwrap_err().to_string(), format!("`{stmatrix}` needs sm_90, and this GPU is sm_89"));
    assert!(of(stmatrix, 12, 0).unwrap().contains(".version 7.8\n.target sm_90\n"));
    let bytes = "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8";
    assert_eq!(
        of(bytes, 9, 0).unwrap_err().to_string(),
        format!("`{bytes}` needs sm_100a or sm_100f, and this GPU is sm_90")
    );
    assert!(of(bytes, 12, 1).unwrap().contains(".version 8.8\n.target sm_121a\n"));
}

const FP16: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

/// What the file of an example is told, with something changed.
fn told(name: &str, change: impl FnOnce(&mut State)) -> String {
    let form = find(name).unwrap();
    let mut state = example(form);
    change(&mut state);
    state.encode(form).unwrap_err().to_string()
}

#[test]
fn wrong_operands() {
    let lines = |of: &mut Option<Vec<String>>| of.take().unwrap();
    let says = |change: &dyn Fn(&mut State), expected: &str| assert_eq!(told(FP16, change), expected);
    says(&|state| state.b = None, "`b` is missing: this form takes 2 of 32 bits in each of 32 lanes");
    says(&|state| state.metadata = state.a.clone(), "`metadata`: this form takes none; it takes `a`, `b`, `c`");
    says(&|state| state.image = Some(vec![]), "`image`: this form takes none; it takes `a`, `b`, `c`");
    says(
        &|state| state.a = Some(lines(&mut state.a)[1..].to_vec()),
        "`a` has 31 lanes; this form takes 4 of 32 bits in each of 32 lanes",
    );
    says(
        &|state| state.c.as_mut().unwrap()[5] = "0 0 0".into(),
        "`c`, lane 5: 3 registers; this form takes 4 of 32 bits in each of 32 lanes",
    );
    for (word, line) in [("1ffffffff", 0), ("+1", 3), ("one", 31), ("0x", 1), ("-1", 2)] {
        says(
            &|state| state.a.as_mut().unwrap()[line] = format!("0 {word} 0 0"),
            &format!("`a`, lane {line}: `{word}` is not a word of 32 bits in hex, such as `00003c00`"),
        );
    }
    says(&|state| state.form = Some("movmatrix".into()), "`form`: the file is for `movmatrix`");
    says(&|state| state.selector = Some(1), "the selector of the metadata is 1; this form takes 0 only");
    let f64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
    assert_eq!(
        told(f64, |state| state.a.as_mut().unwrap()[0] = "10000000000000000".into()),
        "`a`, lane 0: `10000000000000000` is not a word of 64 bits in hex, such as `0000000000003c00`"
    );
}

#[test]
fn wrong_images() {
    let says = |change: &dyn Fn(&mut State), expected: &str| {
        assert_eq!(told("ldmatrix.sync.aligned.m8n8.x4.shared.b16", change), expected);
    };
    let row = |at: u32| move |state: &mut State| state.rows.as_mut().unwrap()[9] = at;
    says(&row(24), "`rows`, lane 9: 24 is not a multiple of 16: a row starts at such an offset");
    says(&row(512), "`rows`, lane 9: 512 is not in the image, of 512 bytes");
    says(&|state| state.rows = None, "`rows` is missing: this form takes `rows`, `image`");
    says(
        &|state| _ = state.rows.as_mut().unwrap().pop(),
        "`rows` has 31 lanes; there is one for each of 32 lanes, also for those whose row is not used",
    );
    says(
        &|state| state.image.as_mut().unwrap()[2] = "00 01".into(),
        "`image`, line 2: `00 01` is not 16 bytes in hex, two digits each, the one at the lowest address first",
    );
    says(&|state| state.image = Some(Vec::new()), "`image` has 0 lines; there are from 1 to 256, of 16 bytes each");
}

#[test]
fn wrong_selectors() {
    let sparse = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    assert_eq!(
        told(sparse, |state| state.selector = Some(4)),
        "the selector of the metadata is 4; this form takes one from 0 to 3"
    );
    let scaled = forms::all().find(|form| form.scales == 2 && form.selectors == 0).unwrap().ptx;
    let select = |byte, thread| serde_json::from_value(serde_json::json!({"byte": byte, "thread": thread})).unwrap();
    assert_eq!(
        told(scaled, |state| state.select_a = select(1, 0)),
        "the scales of A are selected from byte 1 on; this form takes [0, 2]"
    );
    assert_eq!(
        told(scaled, |state| state.select_b = select(2, 4)),
        "the scales of B are selected from thread 4; this form takes 0 to 3"
    );
}

/// What is no such file says where.
#[test]
fn files_that_are_not_understood() {
    let says = |text: &str, expected: &str| {
        let error = State::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    says("", "the file: EOF while parsing");
    says("[]", "the file: invalid");
    says("{} {}", "the file: trailing characters at line 1 column 4");
    says(r#"{"a": ["0", 1]}"#, "`a[1]`: invalid type: integer `1`, expected a string at line 1 column 13");
    says(r#"{"rows": [-16]}"#, "`rows[0]`: invalid value: integer `-16`, expected u32");
    says(r#"{"d": []}"#, "`d`: unknown field `d`, expected one of `form`, `selector`,");
    says(r#"{"select_a": {"byte": 0}}"#, "`select_a`: missing field `thread`");
}

fn exec(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_exec")).args(arguments).output().unwrap()
}

/// The program: an example, executed, and errors that name the file.
#[test]
fn the_program() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exec");
    fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in.json"), folder.join("out.json"));
    let (input_name, output_name) = (input.to_str().unwrap(), output.to_str().unwrap());
    assert!(exec(&[FP16, "--example", "--out", input_name]).status.success());
    assert!(exec(&[FP16, "--in", input_name, "--out", output_name]).status.success());
    let results: Results = serde_json::from_str(&fs::read_to_string(&output).unwrap()).unwrap();
    let d = Some(vec![["41800000"; 4].join(" "); LANES]);
    assert_eq!(results, Results { form: FP16.into(), on: "the simulator".into(), d, image: None });

    fs::write(&input, "{}").unwrap();
    let wrong = exec(&[FP16, "--in", input_name]);
    assert_eq!(wrong.status.code(), Some(2));
    let expected = format!("error: {input_name}: `a` is missing: this form takes 4 of 32 bits in each of 32 lanes\n");
    assert_eq!(String::from_utf8_lossy(&wrong.stderr), expected);
    let unknown = exec(&["mma.sync", "--example"]);
    assert!(
        String::from_utf8_lossy(&unknown.stderr)
            .starts_with("error: there is no form `mma.sync`; the nearest are:\n  ")
    );
}
