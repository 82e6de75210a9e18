//! The files: what an instruction takes, and what it leaves.

use super::Problem;
use ptx_matrix::LANES;
use ptx_matrix::forms::{Form, IMAGE_BYTES, Operand, Selectors};
use serde::{Deserialize, Serialize};

/// Bytes of a line of the image, and of a row.
const LINE: usize = 16;

/// What an instruction takes.
///
/// Registers are lines of hex words, one line a lane, of which each is as many words as the form takes registers of the operand. Shared
/// memory is lines of 16 bytes in hex, from offset 0 on, and a row the offset at which a lane's row starts in it.
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
    /// Where each lane's row starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<u32>>,
    /// Shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Vec<String>>,
    /// A; of `stmatrix` and `movmatrix`, what is stored or moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Vec<String>>,
    /// B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Vec<String>>,
    /// C.
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
        json.end().map_err(|error| Problem::Json { place: "the file".to_owned(), what: error.to_string() })?;
        Ok(state)
    }

    /// The bytes that the form's kernel takes, and the selectors.
    ///
    /// # Errors
    /// What is not as the form takes it, where, and how it should be.
    pub fn encode(&self, form: &Form) -> Result<(Selectors, Vec<u8>), Problem> {
        if let Some(other) = self.form.as_ref().filter(|other| **other != form.ptx && **other != form.name()) {
            return Err(Problem::OtherForm(other.clone()));
        }
        let selectors = self.selectors(form)?;
        let taken = taken(form);
        let (rows, image) = match form.has_image() {
            true => self.image(&taken)?,
            false => (Vec::new(), Vec::new()),
        };
        let image_given = [("rows", self.rows.is_some()), ("image", self.image.is_some())];
        let mut given = image_given.into_iter().chain(self.operands().map(|(name, lines)| (name, lines.is_some())));
        if let Some((name, _)) = given.find(|(name, is_given)| *is_given && !taken.contains(name)) {
            return Err(Problem::Superfluous(name, listed(&taken)));
        }
        let mut of_lanes: Vec<Vec<u8>> = rows.iter().map(|row| row.to_le_bytes().to_vec()).collect();
        of_lanes.resize(LANES, Vec::new());
        for operand in form.operands() {
            let registers = self.registers(form, operand)?;
            of_lanes.iter_mut().zip(registers).for_each(|(bytes, registers)| bytes.extend(registers));
        }
        Ok((selectors, [image, of_lanes.concat()].concat()))
    }

    /// The operands, by their names.
    fn operands(&self) -> [(&'static str, &Option<Vec<String>>); 6] {
        let State { a, b, c, metadata, scales_a, scales_b, .. } = self;
        [("a", a), ("b", b), ("c", c), ("metadata", metadata), ("scales_a", scales_a), ("scales_b", scales_b)]
    }

    /// Each lane's registers of an operand, as bytes.
    fn registers(&self, form: &Form, Operand { name, registers, .. }: Operand) -> Result<Vec<Vec<u8>>, Problem> {
        let bits = form.register_bits;
        let expected = format!("this form takes {registers} of {bits} bits in each of {LANES} lanes");
        let lines = self.operands().into_iter().find(|(of, _)| *of == name).and_then(|(_, lines)| lines.as_ref());
        let lines = lines.ok_or_else(|| Problem::Missing(name, expected.clone()))?;
        if lines.len() != LANES {
            return Err(Problem::Length { name, given: lines.len(), of: "lanes", expected });
        }
        let of_lane = |(lane, line): (usize, &String)| {
            let problem = |what| Problem::Line { name, line: format!("lane {lane}"), what };
            let words = line.split_whitespace().map(|text| word(text, bits)).collect::<Result<Vec<u64>, _>>();
            let words = words.map_err(problem)?;
            if words.len() != registers {
                return Err(problem(format!("{} registers; {expected}", words.len())));
            }
            Ok(words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(bits / 8)).collect())
        };
        lines.iter().enumerate().map(of_lane).collect()
    }

    fn selectors(&self, form: &Form) -> Result<Selectors, Problem> {
        let selected = |of: Option<Selection>| {
            let Selection { byte, thread } = of.unwrap_or_default();
            ptx_matrix::Selected { byte, thread }
        };
        let metadata = self.selector.unwrap_or_default();
        let selectors = Selectors { metadata, scales_a: selected(self.select_a), scales_b: selected(self.select_b) };
        selectors.check(form).map_err(Problem::Selectors)?;
        Ok(selectors)
    }

    /// The rows, and the image, filled up with zeros.
    fn image(&self, taken: &[&str]) -> Result<(Vec<u32>, Vec<u8>), Problem> {
        let missing = |name| move || Problem::Missing(name, format!("this form takes {}", listed(taken)));
        let rows = self.rows.as_ref().ok_or_else(missing("rows"))?;
        let lines = self.image.as_ref().ok_or_else(missing("image"))?;
        if lines.is_empty() || lines.len() > IMAGE_BYTES / LINE {
            let expected = format!("there are from 1 to {}, of {LINE} bytes each", IMAGE_BYTES / LINE);
            return Err(Problem::Length { name: "image", given: lines.len(), of: "lines", expected });
        }
        let mut image = Vec::with_capacity(IMAGE_BYTES);
        for (index, line) in lines.iter().enumerate() {
            let digits: String = line.split_whitespace().collect();
            let bytes = hex::decode(&digits).ok().filter(|bytes| bytes.len() == LINE);
            let expected =
                || format!("`{line}` is not {LINE} bytes in hex, two digits each, the one at the lowest address first");
            let problem = |what| Problem::Line { name: "image", line: format!("line {index}"), what };
            image.extend(bytes.ok_or_else(|| problem(expected()))?);
        }
        if rows.len() != LANES {
            let expected = format!("there is one for each of {LANES} lanes, also for those whose row is not used");
            return Err(Problem::Length { name: "rows", given: rows.len(), of: "lanes", expected });
        }
        for (lane, &row) in rows.iter().enumerate() {
            let problem = |what| Problem::Line { name: "rows", line: format!("lane {lane}"), what };
            if !(row as usize).is_multiple_of(LINE) {
                return Err(problem(format!("{row} is not a multiple of {LINE}: a row starts at such an offset")));
            }
            if row as usize >= image.len() {
                return Err(problem(format!("{row} is not in the image, of {} bytes", image.len())));
            }
        }
        image.resize(IMAGE_BYTES, 0);
        Ok((rows.clone(), image))
    }

    /// Bytes of the image that the file gives.
    fn image_bytes(&self) -> usize {
        self.image.as_ref().map_or(0, |lines| lines.len() * LINE)
    }

    /// What an instruction left, that this was the input of.
    pub fn results(&self, form: &Form, on: &str, output: &[u8]) -> Results {
        let of_lane = form.d * form.register_bits / 8;
        let (d, image) = output.split_at(LANES * of_lane);
        let lines = |bytes: &[u8]| bytes.chunks(LINE).map(line).collect();
        Results {
            form: form.ptx.to_owned(),
            on: on.to_owned(),
            d: (form.d > 0).then(|| d.chunks(of_lane).map(|lane| words(lane, form.register_bits)).collect()),
            image: (form.family == "stmatrix").then(|| lines(&image[..self.image_bytes()])),
        }
    }
}

/// What a form takes.
fn taken(form: &Form) -> Vec<&'static str> {
    let image = if form.has_image() { vec!["rows", "image"] } else { Vec::new() };
    image.into_iter().chain(form.operands().into_iter().map(|operand| operand.name)).collect()
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A word of so many bits.
fn word(text: &str, bits: usize) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let word = (!digits.starts_with('+')).then(|| u64::from_str_radix(digits, 16).ok()).flatten();
    word.filter(|word| bits == 64 || word >> bits == 0).ok_or_else(|| {
        format!(
            "`{text}` is not a word of {bits} bits in hex, such as `{}`",
            words(&0x3c00_u64.to_le_bytes()[..bits / 8], bits)
        )
    })
}

/// Registers of so many bits as hex words.
pub(super) fn words(bytes: &[u8], bits: usize) -> String {
    let word = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.chunks(bits / 8).map(word).collect::<Vec<_>>().join(" ")
}

/// A line of the image.
pub(super) fn line(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
