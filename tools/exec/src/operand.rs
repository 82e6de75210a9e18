//! Operands, as files give them: lines of hex words.

use super::Problem;
use std::fmt;

/// What a line of an operand is, and a word of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// A lane's registers.
    Lane,
    /// The elements of a matrix's row.
    Row,
}

/// What a form takes under a name: so many lines, of so many words each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// The name in the file.
    pub name: &'static str,
    /// What the lines are.
    pub part: Part,
    /// How many there are.
    pub lines: usize,
    /// Words of a line.
    pub words: usize,
    /// Bits of a word.
    pub bits: usize,
    /// How it is given with another option, or nothing.
    pub otherwise: &'static str,
}

/// What it is to be.
impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operand { part, lines, words, bits, otherwise, .. } = self;
        let (line, word) = part.names();
        let (words, bits) = (counted(*words, word), counted(*bits, "bit"));
        write!(f, "this form takes {words} of {bits} in each of {lines} {line}s{otherwise}")
    }
}

impl Part {
    /// A line, and a word.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Part::Lane => ("lane", "register"),
            Part::Row => ("row", "element"),
        }
    }
}

impl Operand {
    /// So many registers of each lane.
    pub(super) fn registers(name: &'static str, lanes: usize, words: usize, bits: usize) -> Self {
        Operand { name, part: Part::Lane, lines: lanes, words, bits, otherwise: "" }
    }

    /// A matrix of so many rows and columns.
    pub(super) fn matrix(name: &'static str, rows: usize, words: usize, bits: usize) -> Self {
        Operand { name, part: Part::Row, lines: rows, words, bits, otherwise: "" }
    }

    /// The words of each line.
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
                |what| Problem::Line { name: self.name, line: format!("{line} {index}"), what };
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

    /// The lines of these words.
    pub(super) fn lines(&self, word: impl Fn(usize, usize) -> u64) -> Vec<String> {
        let line = |line| {
            let words = (0..self.words).map(|index| write_word(word(line, index), self.bits));
            words.collect::<Vec<_>>().join(" ")
        };
        (0..self.lines).map(line).collect()
    }
}

/// So many of something.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A word of so many bits.
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

/// Registers of so many bits, as they lie in memory, as hex words.
pub(super) fn words(bytes: &[u8], bits: usize) -> String {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    bytes.chunks(bits / 8).map(|bytes| write_word(word(bytes), bits)).collect::<Vec<_>>().join(" ")
}
