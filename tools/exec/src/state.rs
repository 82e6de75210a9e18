//! The files: what an instruction takes, and what it leaves.

use super::operand::words;
use super::{About, GroupOptions, Instruction, Operand, Problem, image};
use serde::{Deserialize, Serialize};

/// What an instruction takes.
///
/// Registers are lines of hex words, one line a lane, of which each is as many words as the form
/// takes registers of the operand. Shared memory is lines of 16 bytes in hex, from offset 0 on, and
/// a row the offset at which a lane's row starts in it.
///
/// Of `wgmma`, matrices in shared memory are lines of hex words, too, one line a row, of which each
/// word is an element. Where these lie there is not for the file to say: the instruction's
/// descriptors are its kernel's, and what it computes depends on the elements alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The form, if the file is for one only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// Of which of the matrices in a register the metadata is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<u32>,
    /// Which scales of A.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_a: Option<Selection>,
    /// Which scales of B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_b: Option<Selection>,
    /// What else there is to choose of `wgmma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<GroupOptions>,
    /// Where each lane's row starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<u32>>,
    /// Shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Vec<String>>,
    /// A; of `stmatrix` and `movmatrix`, what is stored or moved; of a sparse A, what is kept of
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Vec<String>>,
    /// B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Vec<String>>,
    /// C; of `wgmma`, D as it was.
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

/// Which scales of the registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// From this byte on.
    pub byte: usize,
    /// Of these lanes of each four.
    pub thread: usize,
}

/// What an instruction leaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// The form.
    pub form: String,
    /// What executed it.
    pub on: String,
    /// D, of instructions that leave registers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d: Option<Vec<String>>,
    /// Shared memory, of those that store there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Vec<String>>,
}

impl State {
    /// Reads a file's text.
    ///
    /// # Errors
    /// Where it is not such a file, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut json = serde_json::Deserializer::from_str(text);
        let state = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let place = match error.path().to_string() {
                path if path == "." => "the file".to_owned(),
                path => format!("`{path}`"),
            };
            Problem::Json { place, what: error.into_inner().to_string() }
        })?;
        json.end().map_err(|error| Problem::Json {
            place: "the file".to_owned(),
            what: error.to_string(),
        })?;
        Ok(state)
    }

    /// What the file chooses, and the bytes that the form's kernel takes.
    ///
    /// # Errors
    /// What is not as the form takes it, where, and how it should be.
    pub fn encode<I: Instruction>(&self, form: &I) -> Result<(I::Options, Vec<u8>), Problem> {
        let about = form.about();
        if let Some(other) =
            self.form.as_ref().filter(|other| **other != about.ptx && **other != about.name)
        {
            return Err(Problem::OtherForm(other.clone()));
        }
        let options = self.options(form)?;
        let operands = form.takes(&options);
        let taken = taken(&about, &operands);
        let image_given = image::NAMES.into_iter().zip([self.rows.is_some(), self.image.is_some()]);
        let mut given =
            image_given.chain(self.operands().map(|(name, lines)| (name, lines.is_some())));
        if let Some((name, _)) = given.find(|(name, is_given)| *is_given && !taken.contains(name)) {
            return Err(Problem::Superfluous(name, listed(&taken)));
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

    /// What the file chooses.
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

    /// The operands, by their names.
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

    /// An operand, by its name.
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

    /// What an instruction left, that this was the input of.
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

/// What a form takes.
fn taken(about: &About, operands: &[Operand]) -> Vec<&'static str> {
    let image: &[_] = if about.has_image { &image::NAMES } else { &[] };
    image.iter().copied().chain(operands.iter().map(|operand| operand.name)).collect()
}

pub(super) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
