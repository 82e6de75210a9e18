//! Invalid input files.

use ptx_matrix_exec::State;

/// The error of an invalid file has the place.
#[test]
fn error_of_an_invalid_file_names_the_place() {
    let says = |text: &str, expected: &str| {
        let error = State::parse(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    says("", "the file: EOF while parsing");
    says("[]", "the file: invalid");
    says("{} {}", "the file: trailing characters at line 1 column 4");
    says(
        r#"{"a": ["0", 1]}"#,
        "`a[1]`: invalid type: integer `1`, expected a string at line 1 column 13",
    );
    says(r#"{"rows": [-16]}"#, "`rows[0]`: invalid value: integer `-16`, expected u32");
    says(r#"{"d": []}"#, "`d`: unknown field `d`, expected one of `form`, `selector`,");
    says(r#"{"select_a": {"byte": 0}}"#, "`select_a`: missing field `thread`");
    says(
        r#"{"options": {"scale_a": -1}}"#,
        "`options.scale_a`: unknown field `scale_a`, expected one of `a_in_registers`, `scale_d`,",
    );
}
