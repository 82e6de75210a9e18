//! The instructions of a warp.

use super::{FP16, error_of, execute, number, plain_example};
use ptx_matrix::forms::{self, find};
use ptx_matrix::lane::LANES;
use ptx_matrix::sim::Simulator;
use ptx_matrix_exec::{Instruction, Results, State};

/// A and B are ones and C is zero, so each element of D is the number of products.
#[test]
fn every_form_multiplies_its_example() {
    for form in forms::all().filter(|form| form.arrangement.is_none()) {
        let matrices = form.matrices();
        let of = |name: &str| matrices.iter().find(|matrix| matrix.name == name).unwrap();
        let (a, d) = (of("A"), of("D"));
        // The fragment of a sparse A holds its kept elements. One xor one is zero.
        let expected = if form.ptx.ends_with(".xor.popc") { 0 } else { a.cols };
        let Results { d: Some(lines), image: None, .. } = execute(form, &plain_example(form))
        else {
            panic!("{}", form.ptx)
        };
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
fn ldmatrix_and_stmatrix_follow_the_ptx_isa() {
    let run = |name| execute(find(name).unwrap(), &plain_example(find(name).unwrap()));
    let bytes = |line: &str| -> Vec<u8> {
        line.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    };

    // The byte at each offset of the image is that offset, modulo 256.
    let loaded = run("ldmatrix.sync.aligned.m8n8.x1.shared.b16").d.unwrap();
    let transposed = run("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16").d.unwrap();
    for lane in 0..LANES {
        let first = 16 * (lane / 4) + 4 * (lane % 4);
        assert_eq!(
            loaded[lane],
            format!("{:02x}{:02x}{:02x}{first:02x}", first + 3, first + 2, first + 1)
        );
        let (upper, lower) = (32 * (lane % 4) + 16 + lane / 4 * 2, 32 * (lane % 4) + lane / 4 * 2);
        assert_eq!(
            transposed[lane],
            format!("{:02x}{upper:02x}{:02x}{lower:02x}", upper + 1, lower + 1)
        );
    }
    // Lane l stores bytes 4 l to 4 l + 3.
    let stored = run("stmatrix.sync.aligned.m8n8.x1.shared.b16");
    assert!(stored.d.is_none());
    let image = stored.image.unwrap();
    assert_eq!(image.len(), 32);
    for (row, line) in image.iter().enumerate() {
        assert_eq!(
            bytes(line),
            (0..16).map(|col| (16 * row + col) as u8).collect::<Vec<_>>(),
            "row {row}"
        );
    }
    let moved = run("movmatrix.sync.aligned.m8n8.trans.b16").d.unwrap();
    assert_eq!(moved, transposed);
}

/// A selector takes the metadata from other lanes: with it, their codes decide which half is kept.
#[test]
fn selector_chooses_the_lanes_of_the_metadata() {
    let form =
        find("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32").unwrap();
    let mut state = plain_example(form);
    // Only the first half of each chunk of B's rows has ones, so the result shows which half is
    // kept.
    state.b = Some(
        (0..LANES)
            .map(|lane| if lane % 2 == 0 { "3c003c00 ".repeat(4) } else { "00000000 ".repeat(4) })
            .collect(),
    );
    // Selector 0 takes lanes 0 and 1 of each four, selector 1 the other two.
    state.metadata = Some(
        (0..LANES)
            .map(|lane| if lane % 4 < 2 { "44444444".into() } else { "eeeeeeee".into() })
            .collect(),
    );
    let first = execute(form, &state).d.unwrap();
    assert!(first.iter().all(|line| *line == ["41800000"; 4].join(" ")), "{first:?}");
    state.selector = Some(1);
    let second = execute(form, &state).d.unwrap();
    assert!(second.iter().all(|line| *line == ["00000000"; 4].join(" ")), "{second:?}");
}

/// Metadata codes that PTX does not define have a result, and a finding says so.
#[test]
fn undefined_metadata_has_a_result_and_a_finding() {
    let form = find("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
    let state =
        State { metadata: Some(vec!["0x55555555".to_owned(); LANES]), ..plain_example(form) };
    let (selectors, input) = state.encode(form).unwrap();
    let execution = form.on_simulator(&Simulator::default(), &selectors, &input).unwrap();
    let d = state.results(form, "", &execution.output).d.unwrap();
    assert_eq!(d[7], ["41000000"; 4].join(" "));
    assert!(execution.found.unwrap().to_string().contains("it names one part twice"));
}

/// The error for an example with a change.
fn error_of_changed(name: &str, change: impl FnOnce(&mut State)) -> String {
    let form = find(name).unwrap();
    let mut state = plain_example(form);
    change(&mut state);
    error_of(form, &state)
}

#[test]
fn wrong_operands() {
    let lines = |of: &mut Option<Vec<String>>| of.take().unwrap();
    let assert_error = |change: &dyn Fn(&mut State), expected: &str| {
        assert_eq!(error_of_changed(FP16, change), expected)
    };
    assert_error(
        &|state| state.b = None,
        "`b` is missing: this form takes 2 registers of 32 bits in each of 32 lanes",
    );
    assert_error(
        &|state| state.metadata = state.a.clone(),
        "`metadata`: this form takes none; it takes `a`, `b`, `c`",
    );
    assert_error(
        &|state| state.image = Some(vec![]),
        "`image`: this form takes none; it takes `a`, `b`, `c`",
    );
    assert_error(
        &|state| state.a = Some(lines(&mut state.a)[1..].to_vec()),
        "`a` has 31 lanes; this form takes 4 registers of 32 bits in each of 32 lanes",
    );
    assert_error(
        &|state| state.c.as_mut().unwrap()[5] = "0 0 0".into(),
        "`c`, lane 5: 3 registers; this form takes 4 registers of 32 bits in each of 32 lanes",
    );
    for (word, line) in [("1ffffffff", 0), ("+1", 3), ("one", 31), ("0x", 1), ("-1", 2)] {
        assert_error(
            &|state| state.a.as_mut().unwrap()[line] = format!("0 {word} 0 0"),
            &format!(
                "`a`, lane {line}: `{word}` is not a word of 32 bits in hex, such as `00003c00`"
            ),
        );
    }
    assert_error(
        &|state| state.form = Some("movmatrix".into()),
        "`form`: the file is for `movmatrix`",
    );
    assert_error(
        &|state| state.selector = Some(1),
        "the selector of the metadata is 1; this form takes 0 only",
    );
    let f64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
    assert_eq!(
        error_of_changed(f64, |state| state.a.as_mut().unwrap()[0] = "10000000000000000".into()),
        "`a`, lane 0: `10000000000000000` is not a word of 64 bits in hex, such as \
         `0000000000003c00`"
    );
}

#[test]
fn wrong_images() {
    let assert_error = |change: &dyn Fn(&mut State), expected: &str| {
        assert_eq!(error_of_changed("ldmatrix.sync.aligned.m8n8.x4.shared.b16", change), expected);
    };
    let row = |at: u32| move |state: &mut State| state.rows.as_mut().unwrap()[9] = at;
    assert_error(
        &row(24),
        "`rows`, lane 9: 24 is not a multiple of 16: a row starts at such an offset",
    );
    assert_error(&row(512), "`rows`, lane 9: 512 is not in the image, of 512 bytes");
    assert_error(&|state| state.rows = None, "`rows` is missing: this form takes `rows`, `image`");
    assert_error(
        &|state| _ = state.rows.as_mut().unwrap().pop(),
        "`rows` has 31 lanes; there is one for each of 32 lanes, also for those whose row is not \
         used",
    );
    assert_error(
        &|state| state.image.as_mut().unwrap()[2] = "00 01".into(),
        "`image`, line 2: `00 01` is not 16 bytes in hex, two digits each, the one at the lowest \
         address first",
    );
    assert_error(
        &|state| state.image = Some(Vec::new()),
        "`image` has 0 lines; there are from 1 to 256, of 16 bytes each",
    );
}

#[test]
fn wrong_selectors() {
    let sparse = "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
    assert_eq!(
        error_of_changed(sparse, |state| state.selector = Some(4)),
        "the selector of the metadata is 4; this form takes one from 0 to 3"
    );
    let scaled = forms::all().find(|form| form.scales == 2 && form.selectors == 0).unwrap().ptx;
    let select = |byte, thread| {
        serde_json::from_value(serde_json::json!({"byte": byte, "thread": thread})).unwrap()
    };
    assert_eq!(
        error_of_changed(scaled, |state| state.select_a = select(1, 0)),
        "the scales of A are selected from byte 1 on; this form takes [0, 2]"
    );
    assert_eq!(
        error_of_changed(scaled, |state| state.select_b = select(2, 4)),
        "the scales of B are selected from thread 4; this form takes 0 to 3"
    );
}
