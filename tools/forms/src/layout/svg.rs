//! A picture as SVG.

use cargo_ptx::layout::{Picture, indices};
use svg::Document;
use svg::node::element::{Group, Rectangle, Text};

/// The size of a cell in pixels.
const CELL: (usize, usize) = (54, 22);
/// The margin for the row and column numbers, in pixels.
const MARGIN: usize = 26;

/// Draws cells with a lane and its elements. Each group of four lanes has a colour, darkest for its
/// first lane.
pub fn draw(picture: &Picture) -> String {
    let matrix = &picture.matrix;
    let (down, right) = picture.cell();
    let at = |row: usize, col: usize| (MARGIN + col / right * CELL.0, MARGIN + row / down * CELL.1);
    let (width, height) = at(matrix.rows, matrix.cols);
    let mut cells = Group::new().set("stroke", "#fff");
    let mut labels = Group::new();
    let mut numbers = Group::new().set("fill", "#888");
    let label = |text: String, x: usize, y: usize| Text::new(text).set("x", x).set("y", y);
    let middle = |(x, y): (usize, usize)| (x + CELL.0 / 2, y + CELL.1 / 2 + 3);
    for &cell in &picture.cells {
        let (x, y) = at(cell.row, cell.col);
        let fill = format!("hsl({},70%,{}%)", cell.lane / 4 * 45, 70 + cell.lane % 4 * 6);
        let rectangle =
            Rectangle::new().set("x", x).set("y", y).set("width", CELL.0).set("height", CELL.1);
        cells = cells.add(rectangle.set("fill", fill));
        let (x, y) = middle((x, y));
        labels = labels.add(label(format!("T{} {}", cell.lane, indices(cell, picture.run)), x, y));
    }
    for col in (0..matrix.cols).step_by(right) {
        let (x, _) = middle(at(0, col));
        numbers = numbers.add(label(col.to_string(), x, MARGIN - 6));
    }
    for row in (0..matrix.rows).step_by(down) {
        let (_, y) = middle(at(row, 0));
        numbers = numbers.add(label(row.to_string(), MARGIN / 2, y));
    }
    let document = Document::new()
        .set("viewBox", (0, 0, width + 1, height + 1))
        .set("width", width + 1)
        .set("font-family", "sans-serif")
        .set("font-size", 9)
        .set("text-anchor", "middle");
    format!("{}\n", document.add(cells).add(labels).add(numbers))
}
