//! The pictures of all forms, and the page that shows them.

use super::picture::Picture;
use super::svg;
use anyhow::{Context, Result};
use ptx_matrix::forms::{self, Form, Held, HeldMatrix, WgmmaForm};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Which lane holds which element, whatever they are called: matrices with the same have one
/// picture.
type Layout = (usize, usize, usize, Vec<Held>);

/// Matrices that are held alike: by role, shape and elements.
struct Alike {
    file: String,
    picture: Picture,
    /// The elements of each matrix of each shape.
    of: BTreeMap<String, BTreeSet<String>>,
}

const PAGE: &str = "docs/LAYOUTS.md";
const FOLDER: &str = "docs/layouts";

const HEAD: &str = "# Which lane holds which element

One picture for each way in which the lanes of a warp hold a matrix, and the matrices that they hold so. `T5 4-7` is elements 4 to 7 of lane 5,
counted from the lowest bits of its first register on; the numbers beside it are the row and the column of a cell's first element.
Of `wgmma`, `T5` is thread 5 of the warpgroup's 128, and D is drawn with 8 columns: others lie in further registers of the same threads. Made by
`cargo xtask layout --docs` of what the crate itself computes with; `cargo xtask layout FORM` draws those of one form in the terminal.

In code it is `LAYOUT`, `position` and `owner` of a `Fragment`, `Metadata` and `Scales`, `position` and `owner` of a `GroupAccumulator`, and
`Arrangement`. Of scales, the pictures are for selectors of zero. A matrix of `ldmatrix`, `stmatrix` or `movmatrix` is drawn with its rows as they
lie in shared memory (of `movmatrix`: with the source's), one where the instruction moves several.
";

/// Writes all of it; how many pictures there are, and how many files there were that are no more.
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

/// The pictures that are there.
fn committed(root: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(root.join(FOLDER))?;
    entries.map(|entry| Ok(format!("{FOLDER}/{}", entry?.file_name().display()))).collect()
}

/// The files, by their names, and what is in them.
fn files() -> BTreeMap<String, String> {
    let all = distinct();
    let mut page = HEAD.to_owned();
    let mut files = BTreeMap::new();
    for Alike { file, picture, of } in &all {
        let matrices = of.iter().map(|(matrix, elements)| {
            format!(
                "{matrix} ({})",
                elements.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            )
        });
        let text = matrices.collect::<Vec<_>>().join("; ");
        writeln!(page, "\n{text}:\n\n![{file}](layouts/{file}.svg)")
            .expect("a string can be written to");
        files.insert(format!("{FOLDER}/{file}.svg"), svg::draw(picture));
    }
    files.insert(PAGE.to_owned(), page);
    files
}

/// All matrices, in the order of the forms, and what they are called.
fn matrices() -> impl Iterator<Item = (String, HeldMatrix)> {
    let of_warps = forms::all().flat_map(|form| {
        form.matrices().into_iter().map(move |matrix| (called(form, &matrix), matrix))
    });
    // Those of more columns are no other but for that.
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

/// What one of a `wgmma` is called there.
fn called_of_group(form: &WgmmaForm, matrix: &HeldMatrix) -> String {
    let sparse = if form.selectors > 0 { "sparse " } else { "" };
    match &*matrix.name {
        "D" => "D of `wgmma`".into(),
        "A" => format!("A of {sparse}`wgmma.m64nNk{}`, in registers", form.k),
        name => format!("{name} of {sparse}`wgmma.m64nNk{}`", form.k),
    }
}

/// What a matrix of a form is called on the page: `A of m16n8k16`.
fn called(form: &Form, matrix: &HeldMatrix) -> String {
    let is_shape =
        |part: &&str| part.starts_with('m') && part[1..].starts_with(|c: char| c.is_ascii_digit());
    let shape = form.ptx.split('.').find(is_shape).unwrap_or_default();
    let trans = if form.ptx.contains(".trans") { ".trans" } else { "" };
    let sparse = if form.selectors > 0 { "sparse " } else { "" };
    // Of four matrices at once, A and B lie either way.
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

/// A file's name that there is not yet: the size, and the elements of a register.
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
    fn the_pictures_in_the_docs_are_those_of_the_code() {
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
