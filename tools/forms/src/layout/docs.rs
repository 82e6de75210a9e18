//! The pictures of all forms, and the page with them.

use super::svg;
use anyhow::{Context, Result};
use cargo_ptx::layout::Picture;
use ptx_matrix::forms::{self, Form, Held, HeldMatrix, WgmmaForm};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A layout: which lane holds which element. Matrices with the same layout share a picture.
type Layout = (usize, usize, usize, Vec<Held>);

/// Matrices with the same layout.
struct Alike {
    file: String,
    picture: Picture,
    /// The element types of each matrix, by the matrix's name and shape.
    of: BTreeMap<String, BTreeSet<String>>,
}

const PAGE: &str = "docs/LAYOUTS.md";
const FOLDER: &str = "docs/layouts";

const HEAD: &str = "# Which lane holds which element

One picture for each fragment layout, and the operands that have it.

- `T5 4-7` is elements 4 to 7 of lane 5, counted from the lowest bits of its first register. The \
numbers beside a cell
  are the row and the column of its first element.
- A name such as `16x8-by-2a` is rows x columns, elements in a register, and a letter.
- For `wgmma`, `T5` is thread 5 of the warpgroup's 128. D is drawn with 8 columns. Further columns \
lie in further
  registers of the same threads.
- For scales, the pictures are for selectors of zero.
- `ldmatrix` and `stmatrix` are drawn with their rows in shared memory, `movmatrix` with the rows \
of the source. One
  matrix is drawn where the instruction moves several.

In code: `LAYOUT`, `position` and `owner` of a `Fragment`, `Metadata` and `Scales`; `position` and \
`owner` of a
`GroupAccumulator`; `Arrangement`. `cargo xtask layout FORM` draws the layouts of one form in the \
terminal.
`cargo xtask layout --docs` makes this page from the crate's own tables.
";

/// Writes the page and the pictures. Returns the number of pictures, and of removed old files.
pub fn write() -> Result<(usize, usize)> {
    let root = crate::root();
    let files = files();
    fs::create_dir_all(root.join(FOLDER))?;
    let mut removed = 0;
    for file in committed(root)? {
        if !files.contains_key(&file) {
            fs::remove_file(root.join(&file))?;
            removed += 1;
        }
    }
    for (file, text) in &files {
        fs::write(root.join(file), text).with_context(|| format!("cannot write {file}"))?;
    }
    Ok((files.len() - 1, removed))
}

/// The pictures in the repository.
fn committed(root: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(root.join(FOLDER))?;
    entries.map(|entry| Ok(format!("{FOLDER}/{}", entry?.file_name().display()))).collect()
}

/// The contents of all files, by name.
fn files() -> BTreeMap<String, String> {
    let all = distinct();
    let mut page = HEAD.to_owned();
    let mut files = BTreeMap::new();
    for Alike { file, picture, of } in &all {
        let matrices = of.iter().map(|(matrix, elements)| {
            format!(
                "- {matrix} ({})",
                elements.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            )
        });
        let text = matrices.collect::<Vec<_>>().join("\n");
        writeln!(page, "\n## {file}\n\n{text}\n\n![{file}](layouts/{file}.svg)")
            .expect("a string can be written to");
        files.insert(format!("{FOLDER}/{file}.svg"), svg::draw(picture));
    }
    files.insert(PAGE.to_owned(), page);
    files
}

/// All matrices with their names, in the order of the forms.
fn matrices() -> impl Iterator<Item = (String, HeldMatrix)> {
    let of_warps = forms::all().flat_map(|form| {
        form.matrices().into_iter().map(move |matrix| (called(form, &matrix), matrix))
    });
    // More columns only add registers, so the least N stands for all.
    let least = forms::all_wgmma().filter(|form| form.n == 8);
    let of_groups = least.flat_map(|form| {
        form.matrices().into_iter().map(move |matrix| (called_of_group(&form, &matrix), matrix))
    });
    of_warps.chain(of_groups)
}

/// Each layout once.
fn distinct() -> Vec<Alike> {
    let mut all: Vec<Alike> = Vec::new();
    let mut known: BTreeMap<usize, Layout> = BTreeMap::new();
    for (called, matrix) in matrices() {
        let HeldMatrix { rows, cols, per_register, ref held, .. } = matrix;
        let layout = (rows, cols, per_register, held.clone());
        let index =
            known.iter().find(|(_, of)| **of == layout).map_or(all.len(), |(index, _)| *index);
        if index == all.len() {
            known.insert(index, layout);
            let file = file(&matrix, &all);
            all.push(Alike { file, picture: Picture::of(&matrix), of: BTreeMap::new() });
        }
        all[index].of.entry(called).or_default().insert(matrix.elements);
    }
    all
}

/// The name of a matrix of `wgmma` on the page.
fn called_of_group(form: &WgmmaForm, matrix: &HeldMatrix) -> String {
    let sparse = if form.selectors > 0 { "sparse " } else { "" };
    match &*matrix.name {
        "D" => "D of `wgmma`".into(),
        "A" => format!("A of {sparse}`wgmma.m64nNk{}`, in registers", form.k),
        name => format!("{name} of {sparse}`wgmma.m64nNk{}`", form.k),
    }
}

/// The name of a matrix of a warp's form on the page, such as `A of m16n8k16`.
fn called(form: &Form, matrix: &HeldMatrix) -> String {
    let is_shape =
        |part: &&str| part.starts_with('m') && part[1..].starts_with(|c: char| c.is_ascii_digit());
    let shape = form.ptx.split('.').find(is_shape).unwrap_or_default();
    let trans = if form.ptx.contains(".trans") { ".trans" } else { "" };
    let sparse = if form.selectors > 0 { "sparse " } else { "" };
    // `m8n8k4` with f16 multiplies four matrices at once; A and B are row-major or column-major.
    let orders: Vec<&str> =
        form.ptx.split('.').filter(|part| matches!(*part, "row" | "col")).collect();
    let order = |operand: usize| match (shape, &*matrix.elements) {
        ("m8n8k4", "f16") => format!(", `.{}`", orders[operand]),
        _ => String::new(),
    };
    match (form.family, &*matrix.name) {
        ("movmatrix", name) => format!("{name} of `movmatrix.{shape}{trans}`"),
        (family @ ("ldmatrix" | "stmatrix"), _) => format!("`{family}.{shape}{trans}`"),
        (_, "A") => format!("A of {sparse}`{shape}`{}", order(0)),
        (_, "B") => format!("B of {sparse}`{shape}`{}", order(1)),
        (_, "C" | "D") => format!("C, D of {sparse}`{shape}`"),
        (_, name) => format!("{name} of {sparse}`{shape}`"),
    }
}

/// A new file name: the matrix's size, the elements of a register, and a letter.
fn file(matrix: &HeldMatrix, others: &[Alike]) -> String {
    let size = format!("{}x{}-by-{}", matrix.rows, matrix.cols, matrix.per_register);
    let letters = ('a'..='z').map(|letter| format!("{size}{letter}"));
    let mut free = letters.skip_while(|name| others.iter().any(|other| other.file == *name));
    free.next().expect("fewer ways than letters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_in_docs_are_those_of_code() {
        let files = files();
        for (file, text) in &files {
            let is_same =
                fs::read_to_string(crate::root().join(file)).is_ok_and(|there| there == *text);
            assert!(is_same, "{file} is not what the code says: run `cargo xtask layout --docs`");
        }
        for file in committed(crate::root()).unwrap() {
            assert!(
                files.contains_key(&file),
                "{file} is no picture of a form: run `cargo xtask layout --docs`"
            );
        }
    }

    /// Every matrix of every form is on the page.
    #[test]
    fn nothing_is_left_out() {
        let page = &files()[PAGE];
        for (called, matrix) in matrices() {
            assert!(page.contains(&format!("{called} (")), "{called}: {}", matrix.elements);
        }
    }
}
