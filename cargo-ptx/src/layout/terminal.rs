//! A picture as text.

use super::indices;
use super::picture::Picture;
use comfy_table::{CellAlignment, Table, presets};

/// Draws a table of cells such as `T5 a0-1`: elements 0 and 1 of lane 5. The head has each cell's
/// first column, the side its first row.
pub fn draw(picture: &Picture) -> String {
    let matrix = &picture.matrix;
    let (down, right) = picture.cell();
    let plural = |count: usize, of: &str| {
        if count == 1 { format!("1 {of}") } else { format!("{count} {of}s") }
    };
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let corner = if picture.run == 1 { String::new() } else { format!("{down}x{right}") };
    table.set_header(
        std::iter::once(corner).chain((0..matrix.cols).step_by(right).map(|col| col.to_string())),
    );
    for line in picture.cells.chunk_by(|one, next| one.row == next.row) {
        let cells = line.iter().map(|&cell| {
            format!("T{} {}{}", cell.lane, picture.letter(), indices(cell, picture.run))
        });
        table.add_row(std::iter::once(line[0].row.to_string()).chain(cells));
    }
    table.column_mut(0).expect("the rows' numbers").set_cell_alignment(CellAlignment::Right);
    let (registers, elements) =
        (plural(picture.registers(), "register"), plural(matrix.per_register, "element"));
    let head = format!("{}: {} x {}, {}", matrix.name, matrix.rows, matrix.cols, matrix.elements);
    format!("{head}; {registers} a lane, {elements} to a register\n{table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;

    #[test]
    fn draws_int8_operand_a() {
        let form = forms::all()
            .find(|form| form.ptx == "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
            .unwrap();
        let text = draw(&Picture::of(&form.matrices()[0]));
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            text.lines().next().unwrap(),
            "A: 8 x 16, s8; 1 register a lane, 4 elements to a register"
        );
        assert_eq!(lines[1], ["1x4", "0", "4", "8", "12"]);
        assert_eq!(lines[2], ["0", "T0", "a0-3", "T1", "a0-3", "T2", "a0-3", "T3", "a0-3"]);
        assert_eq!(lines[9][..3], ["7", "T28", "a0-3"]);
        assert_eq!(lines.len(), 10);
    }
}
