//! The measurements as CSV, and as a table for the documentation.

use std::fmt::Write as _;
use std::io::Write;

use super::Timing;

/// Writes a line for each form.
///
/// # Errors
/// The writer's error.
pub fn write_csv(timings: &[Timing], to: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(to);
    timings.iter().try_for_each(|timing| writer.serialize(timing))?;
    Ok(writer.flush()?)
}

/// Two tables in Markdown. The first has the instructions that move matrices, with a column for
/// each number of rows in the same bank. The second has the instructions that multiply.
pub fn markdown(timings: &[Timing]) -> String {
    let mut text = String::new();
    let moves: Vec<&Timing> = timings.iter().filter(|timing| timing.unit == "B/cycle").collect();
    if !moves.is_empty() {
        text += "| instruction | latency, 1 way | 2 | 4 | 8 | interval, 1 way | 2 | 4 | 8 | \
            B/cycle |\n";
        text += "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
        for same in moves.chunk_by(|a, b| a.instruction == b.instruction) {
            let column = |ways: u32, of: fn(&Timing) -> f64| {
                let there = same.iter().find(|timing| timing.ways.unwrap_or(1) == ways);
                there.map_or_else(String::new, |timing| format!("{:.1}", of(timing)))
            };
            let columns =
                |of: fn(&Timing) -> f64| [1, 2, 4, 8].map(|ways| column(ways, of)).join(" | ");
            let (latency, interval) =
                (columns(|timing| timing.latency), columns(|timing| timing.interval));
            let (name, rate) = (same[0].instruction, same[0].rate);
            writeln!(text, "| `{name}` | {latency} | {interval} | {rate:.0} |")
                .expect("a string takes it");
        }
        text.push('\n');
    }
    let mmas: Vec<&Timing> = timings.iter().filter(|timing| timing.unit != "B/cycle").collect();
    if !mmas.is_empty() {
        text += "| instruction | latency | interval | op/cycle |\n| --- | --- | --- | --- |\n";
        for Timing { instruction, latency, interval, rate, .. } in mmas {
            writeln!(text, "| `{instruction}` | {latency:.1} | {interval:.2} | {rate:.0} |")
                .expect("a string takes it");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(
        instruction: &'static str,
        ways: Option<u32>,
        latency: f64,
        unit: &'static str,
    ) -> Timing {
        Timing { instruction, ways, latency, interval: latency / 4.0, rate: 512.0 / latency, unit }
    }

    #[test]
    fn forms_with_conflicts_are_one_row() {
        let timings = [
            timing("ldmatrix.x4", Some(1), 32.0, "B/cycle"),
            timing("ldmatrix.x4", Some(8), 64.0, "B/cycle"),
            timing("movmatrix", None, 16.0, "B/cycle"),
            timing("mma", None, 32.0, "op/cycle"),
        ];
        let expected = "\
| instruction | latency, 1 way | 2 | 4 | 8 | interval, 1 way | 2 | 4 | 8 | B/cycle |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| `ldmatrix.x4` | 32.0 |  |  | 64.0 | 8.0 |  |  | 16.0 | 16 |
| `movmatrix` | 16.0 |  |  |  | 4.0 |  |  |  | 32 |

| instruction | latency | interval | op/cycle |
| --- | --- | --- | --- |
| `mma` | 32.0 | 8.00 | 16 |
";
        assert_eq!(markdown(&timings), expected);
        let mut csv = Vec::new();
        write_csv(&timings[..1], &mut csv).unwrap();
        let expected =
            "instruction,ways,latency,interval,rate,unit\nldmatrix.x4,1,32.0,8.0,16.0,B/cycle\n";
        assert_eq!(String::from_utf8(csv).unwrap(), expected);
    }
}
