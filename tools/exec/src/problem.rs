use thiserror::Error;

/// An input file does not fit the form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// It is not valid JSON of this format.
    #[error("{place}: {reason}")]
    Json {
        /// The place in the file.
        place: String,
        /// The message of serde.
        reason: String,
    },
    /// The file is for another form.
    #[error("`form`: the file is for `{0}`")]
    OtherForm(String),
    /// A field is missing.
    #[error("`{0}` is missing: {1}")]
    Missing(&'static str, String),
    /// The form does not take a field.
    #[error("`{0}`: this form takes none; it takes {1}")]
    Superfluous(&'static str, String),
    /// A field has the wrong length.
    #[error("`{name}` has {given} {of}; {expected}")]
    Length {
        /// The field.
        name: &'static str,
        /// The given length.
        given: usize,
        /// The unit of both lengths.
        of: String,
        /// The expected length.
        expected: String,
    },
    /// A line has a wrong value.
    #[error("`{name}`, {line}: {reason}")]
    Line {
        /// The field.
        name: &'static str,
        /// The line.
        line: String,
        /// The reason.
        reason: String,
    },
    /// The form has no such option.
    #[error("`{0}`: this form has none")]
    NoOption(&'static str),
    /// Selectors or options do not fit the form.
    #[error("{0}")]
    Options(String),
}
