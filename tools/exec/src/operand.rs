//! Operands in a file: lines of hex words.

use super::Problem;
use std::fmt;

/// The meaning of a line of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The registers of a lane.
    Lane,
    /// The elements of a row of a matrix.
    Row,
}

/// An operand of a form: its name, and the size of its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// The name in the file.
    pub name: &'static str,
    /// The meaning of a line.
    pub part: Part,
    /// The number of lines.
    pub lines: usize,
    /// Words of a line.
    pub words: usize,
    /// Bits of a word.
    pub bits: usize,
    /// How to give the operand with another option; may be empty.
    pub otherwise: &'static str,
}

/// The expected size, for error messages.
impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operand { part, lines, words, bits, otherwise, .. } = self;
        let (line, word) = part.names();
        let (words, bits) = (counted(*words, word), counted(*bits, "bit"));
        write!(f, "this form takes {words} of {bits} in each of {lines} {line}s{otherwise}")
    }
}

impl Part {
    /// The words for a line and for a word of it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Part::Lane => ("lane", "register"),
            Part::Row => ("row", "element"),
        }
    }
}

impl Operand {
    /// Registers of each lane.
    pub(super) fn registers(name: &'static str, lanes: usize, words: usize, bits: usize) -> Self {
        Operand { name, part: Part::Lane, lines: lanes, words, bits, otherwise: "" }
    }

    /// A matrix with `rows` rows of `words` elements.
    pub(super) fn matrix(name: &'static str, rows: usize, words: usize, bits: usize) -> Self {
        Operand { name, part: Part::Row, lines: rows, words, bits, otherwise: "" }
    }

    /// Parses the lines into words.
    pub(super) fn parse(&self, lines: Option<&[String]>) -> Result<Vec<Vec<u64>>, Problem> {
        let (line, word) = self.part.names();
        let lines = lines.ok_or_else(|| Problem::Missing(self.name, self.to_string()))?;
        if lines.len() != self.lines {
            let (given, expected) = (lines.len(), self.to_string());
            return Err(Problem::Length {
                name: self.name,
                given,
                of: format!("{line}s"),
                expected,
            });
        }
        let parsed = |(index, text): (usize, &String)| {
            let problem =
                |reason| Problem::Line { name: self.name, line: format!("{line} {index}"), reason };
            let words = text
                .split_whitespace()
                .map(|text| parse_word(text, self.bits))
                .collect::<Result<Vec<u64>, _>>();
            let words = words.map_err(problem)?;
            if words.len() != self.words {
                return Err(problem(format!("{}; {self}", counted(words.len(), word))));
            }
            Ok(words)
        };
        lines.iter().enumerate().map(parsed).collect()
    }

    /// Formats words as lines.
    pub(super) fn lines(&self, word: impl Fn(usize, usize) -> u64) -> Vec<String> {
        let line = |line| {
            let words = (0..self.words).map(|index| write_word(word(line, index), self.bits));
            words.collect::<Vec<_>>().join(" ")
        };
        (0..self.lines).map(line).collect()
    }
}

/// A count with its noun.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Parses a word of `bits` bits.
fn parse_word(text: &str, bits: usize) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let word = (!digits.starts_with('+')).then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    word.filter(|word| bits == 64 || word >> bits == 0).ok_or_else(|| {
        let such = match bits {
            1 => 1,
            8 => 0x3c,
            _ => 0x3c00,
        };
        format!(
            "`{text}` is not a word of {} in hex, such as `{}`",
            counted(bits, "bit"),
            write_word(such, bits)
        )
    })
}

fn write_word(word: u64, bits: usize) -> String {
    format!("{word:0digits$x}", digits = bits.div_ceil(4))
}

/// Formats registers of `bits` bits, in memory order, as hex words.
pub(super) fn words(bytes: &[u8], bits: usize) -> String {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(bits / 8).map(|bytes| write_word(word(bytes), bits)).collect::<Vec<_>>().join(" ")
}
