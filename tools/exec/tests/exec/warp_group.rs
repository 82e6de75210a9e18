//! The instruction of a warpgroup: `wgmma`.

use super::{error_of, execute, group_form, number, plain_example};
use ptx_matrix::forms::{self, WgmmaForm};
use ptx_matrix::lane::LANES;
use ptx_matrix::sim::Simulator;
use ptx_matrix_exec::{GroupOptions, Instruction, State, example};

const BF16: &str = "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16";
const S8: &str = "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8";
const SPARSE: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16";

/// An example, with A in registers or in shared memory.
fn example_of(form: &WgmmaForm, a_in_registers: bool) -> State {
    let options = GroupOptions { a_in_registers: Some(a_in_registers), ..GroupOptions::default() };
    example(form, &State { options: Some(options), ..State::default() }).unwrap()
}

/// The same state with other options.
fn with(state: &State, change: impl FnOnce(&mut GroupOptions)) -> State {
    let mut state = state.clone();
    change(state.options.as_mut().unwrap());
    state
}

/// The expected value of D's elements, for states in which all are equal.
fn element(form: &WgmmaForm, state: &State) -> f64 {
    let lines = execute(form, state).d.unwrap();
    assert_eq!(lines.len(), 4 * LANES);
    assert!(lines.iter().all(|line| line.split(' ').count() == form.d), "{}", form.ptx);
    let first = lines[0].split(' ').next().unwrap();
    assert!(
        lines.iter().all(|line| line.split(' ').all(|word| word == first)),
        "{}: {lines:?}",
        form.ptx
    );
    let word = u64::from_str_radix(first, 16).unwrap();
    match form.elements[0] {
        "f16" => {
            assert_eq!(word >> 16, word & 0xffff, "{}", form.ptx);
            number(word & 0xffff, "f16")
        }
        elements => number(word, elements),
    }
}

/// A and B are ones and D is zero, so each element of D is the number of products. Covers a few N
/// of each combination of elements, and all N of one combination.
#[test]
fn forms_multiply_their_examples() {
    let is_of_all = |form: &WgmmaForm| form.family == group_form(BF16).family;
    for form in forms::all_wgmma().filter(|form| matches!(form.n, 8 | 48) || is_of_all(form)) {
        for a_in_registers in [false, true] {
            assert_eq!(
                element(&form, &example_of(&form, a_in_registers)),
                form.kept() as f64,
                "{}",
                form.ptx
            );
        }
    }
}

/// An example has all options of its form, and each option does what it says.
#[test]
fn options_are_those_of_the_instruction() {
    let form = group_form(BF16);
    let mut state = plain_example(&form);
    state.c = Some(vec!["3f800000 ".repeat(form.d); 4 * LANES]);
    let of = |change: fn(&mut GroupOptions)| element(&form, &with(&state, change));
    assert_eq!(of(|_| ()), 17.0);
    assert_eq!(of(|options| options.scale_d = Some(false)), 16.0);
    assert_eq!(of(|options| options.negates_a = Some(true)), -15.0);
    assert_eq!(
        of(|options| (options.negates_a, options.negates_b) = (Some(true), Some(true))),
        17.0
    );
    let example = |form: &WgmmaForm, a_in_registers| {
        serde_json::to_value(example_of(form, a_in_registers)).unwrap()
    };
    let names = |state: serde_json::Value| {
        state["options"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        names(example(&form, false)),
        "a_in_registers negates_a negates_b scale_d transposes_a transposes_b"
    );
    assert_eq!(
        names(example(&form, true)),
        "a_in_registers negates_a negates_b scale_d transposes_b"
    );
    assert_eq!(names(example(&group_form(S8), true)), "a_in_registers scale_d");
}

/// The lane and the register of element (row, col) of D, in 32 bits, by the formulas of the PTX
/// ISA.
fn place(row: usize, col: usize) -> (usize, usize) {
    (row / 16 * LANES + row % 8 * 4 + col % 8 / 2, col / 8 * 4 + row % 16 / 8 * 2 + col % 2)
}

/// A line of a matrix in shared memory is a row. Registers have the layout of the PTX ISA.
#[test]
fn matrices_have_the_layout_of_the_ptx_isa() {
    let form = group_form(S8);
    // Only column 9 of A is nonzero, with the row's number; row 9 of B has the column's number. D
    // starts with a different value in each place.
    let only = |k: usize, number: usize| if k == 9 { format!("{number:02x}") } else { "00".into() };
    let row = |words: Vec<String>| words.join(" ");
    let mut state = plain_example(&form);
    state.a = Some((0..64).map(|line| row((0..32).map(|k| only(k, line + 1)).collect())).collect());
    state.b = Some((0..32).map(|k| row((0..24).map(|col| only(k, col + 2)).collect())).collect());
    let mut c = vec![vec![String::new(); form.d]; 4 * LANES];
    for (line, col) in (0..64).flat_map(|line| (0..24).map(move |col| (line, col))) {
        let (lane, register) = place(line, col);
        c[lane][register] = format!("{:x}", 100_000 * (line * 24 + col));
    }
    state.c = Some(c.into_iter().map(row).collect());
    let is_right = |state: &State| {
        let d = execute(&form, state).d.unwrap();
        for (line, col) in (0..64).flat_map(|line| (0..24).map(move |col| (line, col))) {
            let (lane, register) = place(line, col);
            let expected = 100_000 * (line * 24 + col) + (line + 1) * (col + 2);
            assert_eq!(
                d[lane].split(' ').nth(register).unwrap(),
                format!("{expected:08x}"),
                "({line}, {col})"
            );
        }
    };
    is_right(&state);
    // The same A in registers. Column 9 is byte 1 of the third lane of each four, in registers of
    // 16 columns and 8 rows each.
    let a = (0..4 * LANES).map(|lane| {
        let line = lane / LANES * 16 + lane % LANES / 4;
        let word =
            |line: usize| if lane % 4 == 2 { format!("{:x}", (line + 1) << 8) } else { "0".into() };
        row(vec![word(line), word(line + 8), "0".into(), "0".into()])
    });
    state.a = Some(a.collect());
    is_right(&with(&state, |options| options.a_in_registers = Some(true)));
}

/// The result does not depend on the major-ness of the matrices in shared memory.
#[test]
fn transposed_input_does_not_change_the_result() {
    let form = group_form(BF16);
    let mut state = plain_example(&form);
    let number = |at: usize| format!("{:04x}", 0x3f80 + at * 37 % 64);
    let row = |cols: usize| {
        move |row: usize| {
            (0..cols).map(|col| number(row * cols + col)).collect::<Vec<_>>().join(" ")
        }
    };
    state.a = Some((0..64).map(row(16)).collect());
    state.b = Some((0..16).map(row(16)).collect());
    let plain = execute(&form, &state);
    for (a, b) in [(true, false), (false, true), (true, true)] {
        let transposed = with(&state, |options| {
            (options.transposes_a, options.transposes_b) = (Some(a), Some(b))
        });
        assert_eq!(execute(&form, &transposed), plain, "{a}, {b}");
    }
}

/// A selector takes the metadata from other lanes. Codes that PTX does not define have a result,
/// and a finding says so.
#[test]
fn metadata_of_a_sparse_a() {
    let form = group_form(SPARSE);
    let mut state = plain_example(&form);
    // Only the first half of each chunk of B's rows has ones, so the result shows which half is
    // kept.
    let row = |k: usize| if k % 4 < 2 { "3c00 ".repeat(8) } else { "0 ".repeat(8) };
    state.b = Some((0..32).map(row).collect());
    let words = |lane: usize| if lane % 4 < 2 { "44444444" } else { "eeeeeeee" };
    state.metadata = Some((0..4 * LANES).map(|lane| words(lane).into()).collect());
    assert_eq!(element(&form, &state), 16.0);
    state.selector = Some(1);
    assert_eq!(element(&form, &state), 0.0);

    state.metadata = Some(vec!["55555555".into(); 4 * LANES]);
    let (options, input) = state.encode(&form).unwrap();
    let found = form.on_simulator(&Simulator::default(), &options, &input).unwrap().found.unwrap();
    assert!(found.to_string().contains("it names one part twice"), "{found}");
}

#[test]
fn wrong_operands() {
    let form = group_form(BF16);
    let assert_error = |change: &dyn Fn(&mut State), expected: &str| {
        let mut state = plain_example(&form);
        change(&mut state);
        assert_eq!(error_of(&form, &state), expected);
    };
    let a = "this form takes 16 elements of 16 bits in each of 64 rows, or, with `a_in_registers`, \
        registers of 128 lanes";
    let b = "this form takes 16 elements of 16 bits in each of 16 rows";
    let c = "this form takes 8 registers of 32 bits in each of 128 lanes";
    assert_error(&|state| state.a = state.c.clone(), &format!("`a` has 128 rows; {a}"));
    assert_error(&|state| state.b = None, &format!("`b` is missing: {b}"));
    assert_error(
        &|state| state.b.as_mut().unwrap()[3] = "0 1 2".into(),
        &format!("`b`, row 3: 3 elements; {b}"),
    );
    assert_error(
        &|state| state.c.as_mut().unwrap().truncate(32),
        &format!("`c` has 32 lanes; {c}"),
    );
    assert_error(
        &|state| state.c.as_mut().unwrap()[127] = "0".into(),
        &format!("`c`, lane 127: 1 register; {c}"),
    );
    assert_error(
        &|state| state.a.as_mut().unwrap()[63] = "10000".into(),
        "`a`, row 63: `10000` is not a word of 16 bits in hex, such as `3c00`",
    );
    assert_error(
        &|state| state.metadata = state.c.clone(),
        "`metadata`: this form takes none; it takes `a`, `b`, `c`",
    );
    assert_error(
        &|state| state.image = Some(vec![]),
        "`image`: this form takes none; it takes `a`, `b`, `c`",
    );
    assert_error(
        &|state| state.form = Some(SPARSE.into()),
        &format!("`form`: the file is for `{SPARSE}`"),
    );

    let in_registers = State { a: plain_example(&form).a, ..example_of(&form, true) };
    let a = "this form takes 4 registers of 32 bits in each of 128 lanes, or, without \
        `a_in_registers`, elements of 64 rows";
    assert_eq!(error_of(&form, &in_registers), format!("`a` has 64 lanes; {a}"));
    let sparse = group_form(SPARSE);
    assert_eq!(
        error_of(&sparse, &State { metadata: None, ..plain_example(&sparse) }),
        "`metadata` is missing: this form takes 1 register of 32 bits in each of 128 lanes"
    );
    let bits = group_form("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc");
    let mut state = plain_example(&bits);
    state.b.as_mut().unwrap()[200] = "2".into();
    assert_eq!(
        error_of(&bits, &state),
        "`b`, row 200: `2` is not a word of 1 bit in hex, such as `1`"
    );
}

#[test]
fn wrong_options() {
    let assert_error = |name: &str, change: &dyn Fn(&mut State), expected: &str| {
        let form = group_form(name);
        let mut state = plain_example(&form);
        change(&mut state);
        assert_eq!(error_of(&form, &state), expected);
    };
    fn options(state: &mut State) -> &mut GroupOptions {
        state.options.as_mut().unwrap()
    }
    let transposed = "A is transposed; this form takes it with neighbours along K only";
    assert_error(S8, &|state| options(state).transposes_a = Some(true), transposed);
    assert_error(
        S8,
        &|state| options(state).negates_b = Some(true),
        "B is negated; this form takes it as it is only",
    );
    assert_error(
        BF16,
        &|state| {
            (options(state).transposes_a, options(state).a_in_registers) = (Some(true), Some(true))
        },
        "A is transposed, and in registers: only in shared memory it can lie either way",
    );
    assert_error(
        BF16,
        &|state| state.selector = Some(1),
        "the selector of the metadata is 1; this form takes 0 only",
    );
    assert_error(
        SPARSE,
        &|state| state.selector = Some(2),
        "the selector of the metadata is 2; this form takes one from 0 to 1",
    );
    assert_error(
        BF16,
        &|state| state.select_a = Some(Default::default()),
        "`select_a`: this form has none",
    );
}
