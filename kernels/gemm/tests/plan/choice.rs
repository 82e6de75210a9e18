//! A choice of a kernel, as text and in files.

use ptx_matrix_gemm::Choice;

#[test]
fn choice_round_trips_as_text() {
    for text in [
        "sm80_bf16_nn_128x256x64",
        "sm80_bf16_nn_64x64x64/4",
        "sm80_bf16_nn_128x256x64+b",
        "sm80_bf16_nn_64x64x64+a+b/4",
    ] {
        assert_eq!(text.parse::<Choice>().unwrap().to_string(), text);
    }
    for wrong in ["", "/2", "k/", "k/0", "k/-1", "k/2/2", "+a", "k+c", "k+b+a"] {
        let message = wrong.parse::<Choice>().unwrap_err().to_string();
        assert!(message.starts_with(&format!("`{wrong}` is no choice")), "{message}");
    }
}

/// Files that were saved before the fields had these names.
#[test]
fn reads_field_names_of_older_files() {
    let old = r#"{ "kernel": "k", "parts": 3, "copied": [true, false] }"#;
    let read: Choice = serde_json::from_str(old).unwrap();
    assert_eq!(read.to_string(), "k+a/3");
}
