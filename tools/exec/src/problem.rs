use thiserror::Error;

/// A file is not what the form takes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// It is not such a file.
    #[error("{place}: {what}")]
    Json {
        /// Where in the file.
        place: String,
        /// What serde says.
        what: String,
    },
    /// It is for another form.
    #[error("`form`: the file is for `{0}`")]
    OtherForm(String),
    /// Something is not there.
    #[error("`{0}` is missing: {1}")]
    Missing(&'static str, String),
    /// Something is there that the form has not got.
    #[error("`{0}`: this form takes none; it takes {1}")]
    Superfluous(&'static str, String),
    /// Something has not its length.
    #[error("`{name}` has {given} {of}; {expected}")]
    Length {
        /// What.
        name: &'static str,
        /// How many there are.
        given: usize,
        /// Of what.
        of: String,
        /// How many there should be.
        expected: String,
    },
    /// Something in a line is not what it should be.
    #[error("`{name}`, {line}: {what}")]
    Line {
        /// Where.
        name: &'static str,
        /// Which line.
        line: String,
        /// What is wrong with it.
        what: String,
    },
    /// There is no such thing to choose.
    #[error("`{0}`: this form has none")]
    NoOption(&'static str),
    /// The selectors, or options, are not the form's.
    #[error("{0}")]
    Options(String),
}
