//! Invalid input files.

use ptx_matrix_exec::State;

/// The error of an invalid file has the place.
#[test]
fn error_of_an_invalid_file_names_the_place() {
    let assert_error = |text: &str, expected: &str| {
        let error = State::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    assert_error("", "the file: EOF while parsing");
    assert_error("[]", "the file: invalid");
    assert_error("{} {}", "the file: trailing characters at line 1 column 4");
    assert_error(
        r#"{"a": ["0", 1]}"#,
        "`a[1]`: invalid type: integer `1`, expected a string at line 1 column 13",
    );
    assert_error(r#"{"rows": [-16]}"#, "`rows[0]`: invalid value: integer `-16`, expected u32");
    assert_error(r#"{"d": []}"#, "`d`: unknown field `d`, expected one of `form`, `selector`,");
    assert_error(r#"{"select_a": {"byte": 0}}"#, "`select_a`: missing field `thread`");
    assert_error(
        r#"{"options": {"scale_a": -1}}"#,
        "`options.scale_a`: unknown field `scale_a`, expected one of `a_in_registers`, `scale_d`,",
    );
}
