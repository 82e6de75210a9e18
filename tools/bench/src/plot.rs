//! The plot of the ratios.

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::RGBColor;

use super::Row;

/// Colours that are readable on white and on black. Text follows the reader's colour scheme; the
/// other colours lie in between.
const STYLE: &str =
    "<style>text{fill:#24292f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>";
const AXIS: RGBColor = RGBColor(128, 128, 128);
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 136, 229),
    RGBColor(230, 126, 34),
    RGBColor(46, 160, 90),
    RGBColor(200, 80, 160),
    RGBColor(150, 110, 220),
    RGBColor(190, 150, 30),
];

/// An SVG with the ratio of each contestant to `reference`, for each type and layout. The shapes
/// are in their given order. `None` if there is no ratio.
pub fn plot(rows: &[Row], reference: &str) -> Result<Option<String>> {
    let shown: Vec<&Row> = rows
        .iter()
        .filter(|row| row.contestant != reference && row.is_right() && row.ratio.is_some())
        .collect();
    let shapes = distinct(shown.iter().map(|row| row.shape()));
    let series =
        distinct(shown.iter().map(|row| format!("{} {} {}", row.label(), row.ty, row.layout)));
    if shown.is_empty() {
        return Ok(None);
    }
    let highest = shown.iter().filter_map(|row| row.ratio).fold(1.0, f64::max);
    // Space for the legend above the data.
    let top = highest * (1.1 + 0.06 * series.len() as f64);
    let last = shapes.len() as i32 - 1;

    let mut svg = String::new();
    let size = (u32::try_from(shapes.len()).unwrap_or(10).clamp(6, 40) * 100 + 120, 460);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .caption(format!("Speed, {reference} = 1"), ("sans-serif", 24))
            .margin(12)
            .x_label_area_size(50)
            .y_label_area_size(50)
            .build_cartesian_2d((0..last).into_segmented(), 0.0..top)?;
        let label = |at: &SegmentValue<i32>| match at {
            SegmentValue::CenterOf(i) => {
                shapes.get(*i as usize).map_or_else(String::new, |shape| short(shape))
            }
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .axis_style(AXIS)
            .bold_line_style(AXIS.mix(0.35))
            .light_line_style(TRANSPARENT)
            .x_labels(shapes.len())
            .x_label_formatter(&label)
            .y_label_formatter(&|ratio| format!("{ratio:.1}"))
            .label_style(("sans-serif", 15))
            .draw()?;
        let ends = [SegmentValue::Exact(0), SegmentValue::Last];
        chart.draw_series(LineSeries::new(ends.map(|at| (at, 1.0)), AXIS.stroke_width(2)))?;
        for (i, name) in series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let of_series =
                |row: &&&Row| format!("{} {} {}", row.label(), row.ty, row.layout) == *name;
            let mut points: Vec<(i32, f64)> = shown
                .iter()
                .filter(of_series)
                .filter_map(|row| {
                    Some((
                        shapes.iter().position(|shape| *shape == row.shape())? as i32,
                        row.ratio?,
                    ))
                })
                .collect();
            points.sort_by_key(|&(at, _)| at);
            let points = points.into_iter().map(|(at, ratio)| (SegmentValue::CenterOf(at), ratio));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(4))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3))
                });
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .border_style(TRANSPARENT)
            .label_font(("sans-serif", 17))
            .draw()?;
        root.present()?;
    }
    // The style goes after the opening tag.
    let open = svg.find("<svg").and_then(|start| Some(start + svg[start..].find('>')? + 1));
    if let Some(open) = open {
        svg.insert_str(open, STYLE);
    }
    Ok(Some(svg))
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

/// The label of a shape; a cube has its size only.
fn short(shape: &str) -> String {
    let mut sides = shape.split('x');
    match (sides.next(), sides.next(), sides.next()) {
        (Some(m), Some(n), Some(k)) if m == n && n == k => m.to_owned(),
        _ => shape.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::example;
    use super::*;

    #[test]
    fn plot_has_every_series_and_shape() {
        let rows: Vec<Row> = [1000, 2000, 4000].into_iter().flat_map(example).collect();
        let svg = plot(&rows, "cublas").unwrap().unwrap();
        for text in
            ["Speed, cublas = 1", "ours bf16 nn", "1000", "2000", "4000", "prefers-color-scheme"]
        {
            assert!(svg.contains(text), "no {text} in {svg}");
        }
        // A contestant that refused has no ratio. The reference is the line at 1.
        assert!(!svg.contains("odd") && !svg.contains("cublas bf16"), "{svg}");
        // Three points of the own contestant.
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
    }

    #[test]
    fn no_plot_without_a_ratio() {
        assert_eq!(plot(&[], "cublas").unwrap(), None);
        let rows: Vec<Row> =
            example(1000).into_iter().filter(|row| row.contestant == "cublas").collect();
        assert_eq!(plot(&rows, "cublas").unwrap(), None);
    }
}
