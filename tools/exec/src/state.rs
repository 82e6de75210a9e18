//! The input and output files.

use super::operand::words;
use super::{About, GroupOptions, Instruction, Operand, Problem, image};
use serde::{Deserialize, Serialize};

/// The input of an instruction.
///
/// Registers are lines of hex words, one line for each lane. A line has a word for each register of
/// the operand. Shared memory is lines of 16 bytes in hex, from offset 0 on. `rows` has the offset
/// of each lane's row.
///
/// A matrix in shared memory, of `wgmma`, is also lines of hex words: a line for each row, a word
/// for each element. The file does not give the addresses. The kernel makes the descriptors, and
/// the result depends on the elements alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The form, if the file is for one form only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// The sparsity selector: the lanes whose metadata counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<u32>,
    /// The scales of A to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_a: Option<Selection>,
    /// The scales of B to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_b: Option<Selection>,
    /// The options of `wgmma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<GroupOptions>,
    /// The offset of each lane's row in the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<u32>>,
    /// The image of shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Vec<String>>,
    /// A. For `stmatrix` and `movmatrix`, the source registers. For a sparse A, its kept elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Vec<String>>,
    /// B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Vec<String>>,
    /// C. For `wgmma`, D before the instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub c: Option<Vec<String>>,
    /// The metadata of a sparse A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Vec<String>>,
    /// The scales of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scales_a: Option<Vec<String>>,
    /// The scales of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scales_b: Option<Vec<String>>,
}

/// Selects scales within the registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The first byte of the register.
    pub byte: usize,
    /// The lanes of each group of four.
    pub thread: usize,
}

/// The output of an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The form.
    pub form: String,
    /// The device that executed it.
    pub on: String,
    /// D, for instructions that return registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<Vec<String>>,
    /// Shared memory, for instructions that store to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Vec<String>>,
}

impl State {
    /// Parses a file.
    ///
    /// # Errors
    /// The text is not such a file. The error has the place and the expected text.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut json = serde_json::Deserializer::from_str(text);
        let state = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let place = match error.path().to_string() {
                // At the end of a broken text, the place is unknown.
                path if path == "." || path == "?" => "the file".to_owned(),
                path => format!("`{path}`"),
            };
            Problem::Json { place, reason: error.into_inner().to_string() }
        })?;
        json.end().map_err(|error| Problem::Json {
            place: "the file".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(state)
    }

    /// The options of the file, and the input bytes of the form's kernel.
    ///
    /// # Errors
    /// A field does not fit the form. The error has the field, and the expected value.
    pub fn encode<I: Instruction>(&self, form: &I) -> Result<(I::Options, Vec<u8>), Problem> {
        let about = form.about();
        if let Some(other) =
            self.form.as_ref().filter(|other| **other != about.ptx && **other != about.name)
        {
            return Err(Problem::OtherForm(other.clone()));
        }
        let options = self.options(form)?;
        let operands = form.takes(&options);
        let accepted = accepted(&about, &operands);
        let image_given = image::NAMES.into_iter().zip([self.rows.is_some(), self.image.is_some()]);
        let mut given =
            image_given.chain(self.operands().map(|(name, lines)| (name, lines.is_some())));
        if let Some((name, _)) =
            given.find(|(name, is_given)| *is_given && !accepted.contains(name))
        {
            return Err(Problem::Superfluous(name, listed(&accepted)));
        }
        let lines = |name| {
            self.operands()
                .into_iter()
                .find(|(of, _)| *of == name)
                .and_then(|(_, lines)| lines.as_deref())
        };
        let words = operands
            .iter()
            .map(|operand| operand.parse(lines(operand.name)))
            .collect::<Result<Vec<_>, _>>()?;
        let input = form.input(self, &options, &words)?;
        Ok((options, input))
    }

    /// The options of the file.
    pub(super) fn options<I: Instruction>(&self, form: &I) -> Result<I::Options, Problem> {
        let State { selector, select_a, select_b, options, .. } = self;
        let given = [
            ("selector", selector.is_some()),
            ("select_a", select_a.is_some()),
            ("select_b", select_b.is_some()),
            ("options", options.is_some()),
        ];
        match given.into_iter().find(|(name, is_given)| *is_given && !I::OPTIONS.contains(name)) {
            Some((name, _)) => Err(Problem::NoOption(name)),
            None => form.options(self),
        }
    }

    /// The operands with their names.
    fn operands(&self) -> [(&'static str, &Option<Vec<String>>); 6] {
        let State { a, b, c, metadata, scales_a, scales_b, .. } = self;
        [
            ("a", a),
            ("b", b),
            ("c", c),
            ("metadata", metadata),
            ("scales_a", scales_a),
            ("scales_b", scales_b),
        ]
    }

    /// The operand of a name.
    pub(super) fn operand(&mut self, name: &str) -> &mut Option<Vec<String>> {
        match name {
            "a" => &mut self.a,
            "b" => &mut self.b,
            "c" => &mut self.c,
            "metadata" => &mut self.metadata,
            "scales_a" => &mut self.scales_a,
            _ => &mut self.scales_b,
        }
    }

    /// The output file, for the output bytes of the instruction with this input.
    pub fn results<I: Instruction>(&self, form: &I, on: &str, output: &[u8]) -> Results {
        let About { ptx, register_bits, d, stores, .. } = form.about();
        let of_lane = d * register_bits / 8;
        let (registers, image) = output.split_at(I::LANES * of_lane);
        Results {
            form: ptx.to_owned(),
            on: on.to_owned(),
            d: (d > 0).then(|| {
                registers.chunks(of_lane).map(|lane| words(lane, register_bits)).collect()
            }),
            image: stores.then(|| image::lines(self, image)),
        }
    }
}

/// The names of the fields that a form takes.
fn accepted(about: &About, operands: &[Operand]) -> Vec<&'static str> {
    let image: &[_] = if about.has_image { &image::NAMES } else { &[] };
    image.iter().copied().chain(operands.iter().map(|operand| operand.name)).collect()
}

pub(super) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
