//! Shared memory for `ldmatrix` and `stmatrix` in a file: an image, and where each lane's row
//! starts in it.

use super::{Problem, State};
use ptx_matrix::forms::IMAGE_BYTES;
use ptx_matrix::lane::LANES;

/// Bytes of a line of the image, and of a row.
const LINE: usize = 16;

/// The fields of a file that describe the image.
pub(super) const NAMES: [&str; 2] = ["rows", "image"];

/// The row offsets and the image of a file. The image is filled up with zeros.
pub(super) fn parse(state: &State) -> Result<(Vec<u32>, Vec<u8>), Problem> {
    let missing = |name| {
        move || Problem::Missing(name, format!("this form takes {}", super::state::listed(&NAMES)))
    };
    let rows = state.rows.as_ref().ok_or_else(missing("rows"))?;
    let lines = state.image.as_ref().ok_or_else(missing("image"))?;
    if lines.is_empty() || lines.len() > IMAGE_BYTES / LINE {
        let expected = format!("there are from 1 to {}, of {LINE} bytes each", IMAGE_BYTES / LINE);
        return Err(Problem::Length {
            name: "image",
            given: lines.len(),
            of: "lines".into(),
            expected,
        });
    }
    let mut image = Vec::with_capacity(IMAGE_BYTES);
    for (index, line) in lines.iter().enumerate() {
        let digits: String = line.split_whitespace().collect();
        let bytes = hex::decode(&digits).ok().filter(|bytes| bytes.len() == LINE);
        let expected = || {
            format!(
                "`{line}` is not {LINE} bytes in hex, two digits each, the one at the lowest \
                 address first"
            )
        };
        let problem =
            |reason| Problem::Line { name: "image", line: format!("line {index}"), reason };
        image.extend(bytes.ok_or_else(|| problem(expected()))?);
    }
    if rows.len() != LANES {
        let expected =
            format!("there is one for each of {LANES} lanes, also for those whose row is not used");
        return Err(Problem::Length {
            name: "rows",
            given: rows.len(),
            of: "lanes".into(),
            expected,
        });
    }
    for (lane, &row) in rows.iter().enumerate() {
        let problem = |reason| Problem::Line { name: "rows", line: format!("lane {lane}"), reason };
        if !(row as usize).is_multiple_of(LINE) {
            return Err(problem(format!(
                "{row} is not a multiple of {LINE}: a row starts at such an offset"
            )));
        }
        if row as usize >= image.len() {
            return Err(problem(format!("{row} is not in the image, of {} bytes", image.len())));
        }
    }
    image.resize(IMAGE_BYTES, 0);
    Ok((rows.clone(), image))
}

/// The lines of an image, as many as the input file has.
pub(super) fn lines(state: &State, image: &[u8]) -> Vec<String> {
    let given = state.image.as_ref().map_or(0, Vec::len);
    image.chunks(LINE).take(given).map(line).collect()
}

fn line(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// An image whose bytes all differ, with a row for each lane.
pub(super) fn example() -> (Vec<u32>, Vec<String>) {
    let image: Vec<u8> = (0..LANES * LINE).map(|at| at as u8).collect();
    (
        (0..LANES as u32).map(|lane| lane * LINE as u32).collect(),
        image.chunks(LINE).map(line).collect(),
    )
}
