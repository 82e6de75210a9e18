//! The results as rows, for the terminal and as CSV.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use super::{Ceilings, Gemms, Layout, Measured, Outcome, Problem, Type};

/// The result of one contestant for one problem: a line of the CSV.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The element types.
    #[serde(rename = "type")]
    pub ty: Type,
    /// The layouts of A and B.
    pub layout: Layout,
    /// Rows of D.
    pub m: usize,
    /// Columns of D.
    pub n: usize,
    /// The terms of each sum.
    pub k: usize,
    /// The number of GEMMs in the batch.
    pub batches: usize,
    /// The number of groups.
    pub groups: usize,
    /// The name of the contestant.
    pub contestant: String,
    /// The configuration of the contestant.
    pub config: String,
    /// `ok`, or an error.
    pub check: String,
    /// The number of GEMMs in one timing.
    pub launches: usize,
    /// The median time of a GEMM in microseconds.
    pub median_us: Option<f64>,
    /// The time of the shortest round in microseconds.
    pub min_us: Option<f64>,
    /// The time of the longest round in microseconds.
    pub max_us: Option<f64>,
    /// 10^12 operations a second, from the median.
    pub tflops: Option<f64>,
    /// The median time of the reference divided by that of the contestant: above 1 is faster than
    /// the reference.
    pub ratio: Option<f64>,
    /// The median SM clock in MHz.
    pub clock_mhz: Option<f64>,
    /// The median power in watts.
    pub power_w: Option<f64>,
    /// The reasons for a lower clock.
    pub throttle: String,
    /// The fraction of the `mma.sync` ceiling at that clock.
    pub utilisation: Option<f64>,
    /// 10^9 bytes a second; each operand counts once.
    pub gbs: Option<f64>,
    /// The fraction of the throughput of a copy.
    pub copy_fraction: Option<f64>,
}

impl Row {
    /// Whether there is a result, and it is right.
    pub fn is_right(&self) -> bool {
        self.check == "ok"
    }

    /// The name and the configuration.
    pub fn label(&self) -> String {
        if self.config.is_empty() {
            self.contestant.clone()
        } else {
            format!("{} {}", self.contestant, self.config)
        }
    }

    /// The shape as text.
    pub fn shape(&self) -> String {
        let shape = format!("{}x{}x{}", self.m, self.n, self.k);
        match (self.batches, self.groups) {
            (1, 1) => shape,
            (batches, 1) => format!("{batches} of {shape}"),
            (_, groups) => format!("{shape} in {groups}"),
        }
    }
}

/// The measurements of a problem as rows. Ratios are to the contestant named `reference`.
pub fn rows(
    problem: &Problem,
    measured: &[Measured],
    ceilings: &Ceilings,
    reference: &str,
) -> Vec<Row> {
    let median = |measured: &Measured| measured.micros.map(|micros| micros.median);
    let theirs = measured.iter().find(|measured| measured.contestant == reference).and_then(median);
    let bytes: usize = problem.bytes().iter().sum();
    let (batches, groups) = match problem.gemms {
        Gemms::One => (1, 1),
        Gemms::Batch(count) => (count, 1),
        Gemms::Groups(count) => (1, count),
    };
    let row = |measured: &Measured| {
        let median_us = median(measured);
        let tflops = median_us.map(|micros| problem.operations() / micros / 1e6);
        let gbs = median_us.map(|micros| bytes as f64 / micros / 1e3);
        let ceiling = ceilings.of(problem.ty);
        Row {
            ty: problem.ty,
            layout: problem.layout,
            m: problem.shape.m,
            n: problem.shape.n,
            k: problem.shape.k,
            batches,
            groups,
            contestant: measured.contestant.clone(),
            config: measured.config.clone(),
            check: match &measured.outcome {
                Outcome::Right => "ok".to_owned(),
                Outcome::Wrong(line) => format!("wrong: {line}"),
                Outcome::Refused(reason) => format!("does not run: {reason}"),
            },
            launches: measured.launches,
            median_us,
            min_us: measured.micros.map(|micros| micros.min),
            max_us: measured.micros.map(|micros| micros.max),
            tflops,
            ratio: theirs.zip(median_us).map(|(theirs, ours)| theirs / ours),
            clock_mhz: measured.conditions.clock_mhz,
            power_w: measured.conditions.power_w,
            throttle: measured.conditions.throttle.join(" "),
            utilisation: ceiling
                .and_then(|ceiling| ceiling.utilisation(tflops?, &measured.conditions)),
            gbs,
            copy_fraction: gbs.map(|gbs| gbs * 1e9 / ceilings.copy),
        }
    };
    measured.iter().map(row).collect()
}

/// Writes the rows as CSV, after a line with the names of the columns.
pub fn write_csv(rows: &[Row], into: impl Write) -> Result<()> {
    let mut writer = csv::Writer::from_writer(into);
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    Ok(writer.flush()?)
}

/// Formats the rows as a table. The error of a contestant is on the line below its row.
pub fn table(rows: &[Row]) -> String {
    const HEAD: [&str; 13] = [
        "type",
        "layout",
        "shape",
        "who",
        "us",
        "min",
        "max",
        "TFLOP/s",
        "ratio",
        "MHz",
        "W",
        "util",
        "GB/s (copy)",
    ];
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
    };
    let cells = |row: &Row| {
        let copied = row.copy_fraction.map_or_else(String::new, |part| format!(" ({part:.2})"));
        [
            row.ty.to_string(),
            row.layout.to_string(),
            row.shape(),
            row.label(),
            number(row.median_us, 1),
            number(row.min_us, 1),
            number(row.max_us, 1),
            number(row.tflops, 1),
            number(row.ratio, 3),
            number(row.clock_mhz, 0),
            number(row.power_w, 0),
            number(row.utilisation, 3),
            number(row.gbs, 0) + &copied,
        ]
    };
    let lines: Vec<[String; 13]> =
        std::iter::once(HEAD.map(str::to_owned)).chain(rows.iter().map(cells)).collect();
    let widths: [usize; 13] =
        std::array::from_fn(|i| lines.iter().map(|line| line[i].len()).max().unwrap_or(0));
    let mut table = String::new();
    for (i, line) in lines.iter().enumerate() {
        let padded = line.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            // Text is left-aligned, numbers are right-aligned.
            if column < 4 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        table += padded.collect::<Vec<_>>().join("  ").trim_end();
        table.push('\n');
        if let Some(row) = i.checked_sub(1).map(|i| &rows[i]).filter(|row| !row.is_right()) {
            table += &format!("  ^ {}\n", row.check);
        }
    }
    table
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{Ceiling, Conditions, Shape, Summary};
    use super::*;

    fn measured(contestant: &str, median: Option<f64>) -> Measured {
        Measured {
            contestant: contestant.to_owned(),
            config: String::new(),
            outcome: if median.is_some() {
                Outcome::Right
            } else {
                Outcome::Refused("too \"odd\"".to_owned())
            },
            micros: median.map(|median| Summary { median, min: median - 1.0, max: median + 1.0 }),
            launches: 3,
            conditions: Conditions {
                clock_mhz: Some(1000.0),
                power_w: Some(650.0),
                throttle: vec!["A".into(), "B".into()],
            },
        }
    }

    /// A GPU with 1000 TFLOP/s at 2000 MHz and a copy of 4 TB/s. cuBLAS takes 100 us, `ours` takes
    /// 125 us, and `odd` refuses.
    pub(in super::super) fn example(side: usize) -> Vec<Row> {
        let conditions = Conditions { clock_mhz: Some(2000.0), ..Conditions::default() };
        let ceiling = Ceiling { tflops: 1000.0, conditions };
        let [f16, bf16, tf32, s8] = [(); 4].map(|()| ceiling.clone());
        let ceilings = Ceilings { f16, bf16, tf32, s8, copy: 4e12 };
        let problem = Problem {
            ty: Type::Bf16,
            layout: Layout::Nn,
            shape: Shape::cube(side),
            gemms: Gemms::One,
        };
        let all =
            [measured("cublas", Some(100.0)), measured("ours", Some(125.0)), measured("odd", None)];
        rows(&problem, &all, &ceilings, "cublas")
    }

    #[test]
    fn row_derives_its_metrics_from_the_time() {
        let rows = example(1000);
        let ours = &rows[1];
        assert_eq!((rows[0].ratio, ours.ratio, rows[2].ratio), (Some(1.0), Some(0.8), None));
        assert_eq!(ours.tflops, Some(16.0));
        assert_eq!(ours.utilisation, Some(0.032));
        assert_eq!((ours.gbs, ours.copy_fraction), (Some(48.0), Some(0.012)));
        assert!(ours.is_right() && !rows[2].is_right());
    }

    #[test]
    fn csv_has_a_line_per_row_and_quotes_fields() {
        let mut text = Vec::new();
        write_csv(&example(1000), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(
            lines[0].starts_with(
                "type,layout,m,n,k,batches,groups,contestant,config,check,launches,median_us,"
            ),
            "{text}"
        );
        assert_eq!(
            lines[2],
            "bf16,nn,1000,1000,1000,1,1,ours,,ok,3,125.0,124.0,126.0,16.0,0.8,1000.0,650.0,A \
             B,0.032,48.0,0.012"
        );
        assert!(lines[3].contains(r#""does not run: too ""odd""""#), "{text}");
    }

    #[test]
    fn table_is_aligned_and_names_wrong_results() {
        let table = table(&example(1000));
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 5, "{table}");
        assert_eq!(
            lines[0].find("ratio").unwrap() + 5,
            lines[2].find("0.800").unwrap() + 5,
            "{table}"
        );
        assert_eq!(lines[4], "  ^ does not run: too \"odd\"", "{table}");
    }
}
