//! The lane that holds each element of a form's matrices.

use super::typed;
use crate::element::{Bits32, Element, Width};
use crate::fragment::{Arrangement, FragmentShape, Layout, Role, Selected, SparseWidth};
use crate::isa::Form;
use crate::lane::LANES;
use crate::mma::{ScaledKind, Scales};
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

/// A matrix in registers, as operand or result of an instruction: the lane that holds each element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMatrix {
    /// The name, such as `A` or `metadata`.
    pub name: String,
    /// The type of its elements.
    pub elements: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Number of elements in a register.
    pub per_register: usize,
    /// The holder of each element.
    pub held: Vec<Held>,
}

/// An element of a matrix and its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// The row.
    pub row: usize,
    /// The column.
    pub col: usize,
    /// The lane; for a matrix of a warpgroup, the thread (0 to 127).
    pub lane: usize,
    /// The element's index among those of the lane. Its register is `index / per_register`.
    pub index: usize,
}

impl HeldMatrix {
    pub(super) fn of(name: &str, elements: &str, layout: Layout, per_register: usize) -> Self {
        let held = (0..LANES).flat_map(|lane| {
            (0..layout.elements()).map(move |index| {
                let (row, col) = layout.position(lane, index);
                Held { row, col, lane, index }
            })
        });
        let (rows, cols) = (layout.rows(), layout.cols());
        HeldMatrix {
            name: name.into(),
            elements: elements.into(),
            rows,
            cols,
            per_register,
            held: held.collect(),
        }
    }

    /// `count` copies of this matrix side by side, in consecutive registers.
    pub(super) fn beside(self, count: usize) -> Self {
        let per_lane = self.held.len() / LANES;
        let place = |part, held: &Held| Held {
            col: held.col + part * self.cols,
            index: held.index + part * per_lane,
            ..*held
        };
        let held = (0..count)
            .flat_map(|part| self.held.iter().map(move |held| place(part, held)))
            .collect();
        HeldMatrix { cols: count * self.cols, held, ..self }
    }

    /// The matrix of a warpgroup: one of each of its four warps, stacked along M.
    pub(super) fn of_group(self) -> Self {
        let place = |warp, held: &Held| Held {
            row: held.row + warp * self.rows,
            lane: held.lane + warp * LANES,
            ..*held
        };
        let held =
            (0..4).flat_map(|warp| self.held.iter().map(move |held| place(warp, held))).collect();
        HeldMatrix { rows: 4 * self.rows, held, ..self }
    }

    /// A matrix of `ldmatrix`, `stmatrix` or `movmatrix` with elements of `bytes` bytes.
    fn arranged(name: &str, arrangement: Arrangement, bytes: usize) -> Self {
        let (per_register, cols) = (4 / bytes, 16 / bytes);
        let indices = (0..LANES)
            .flat_map(|lane| (0..arrangement.registers() * per_register).map(move |i| (lane, i)));
        let held = indices.map(|(lane, index)| {
            let (row, byte) =
                arrangement.position(lane, index / per_register, index % per_register * bytes);
            Held { row, col: byte / bytes, lane, index }
        });
        let elements = format!("{} bits", 8 * bytes);
        HeldMatrix {
            name: name.into(),
            elements,
            rows: arrangement.rows(),
            cols,
            per_register,
            held: held.collect(),
        }
    }

    /// The scales of selectors that are zero.
    fn scales(name: &str, scales: ScalesForm) -> Self {
        let ScalesForm { element, count, is_of_rows, position } = scales;
        let bytes = (0..LANES).flat_map(|lane| (0..4).map(move |byte| (lane, byte)));
        let selected = bytes.filter_map(|(lane, index)| {
            let (set, line, block) = position(lane, index);
            let (row, col) = if is_of_rows { (line, block) } else { (block, line) };
            (set == Default::default()).then_some(Held { row, col, lane, index })
        });
        let (rows, cols) = if is_of_rows { (16, count) } else { (count, 8) };
        HeldMatrix {
            name: name.into(),
            elements: element.into(),
            rows,
            cols,
            per_register: 4,
            held: selected.collect(),
        }
    }
}

/// A matrix of a form, as a constant: types become values, so that no code is compiled for each
/// form.
#[derive(Clone, Copy)]
pub(crate) struct MatrixForm {
    name: &'static str,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    Fragment {
        element: &'static str,
        layout: Layout,
        per_register: usize,
    },
    /// Codes of chunks of so many columns.
    Metadata {
        chunk: usize,
        layout: Layout,
    },
    Scales(ScalesForm),
}

#[derive(Clone, Copy)]
struct ScalesForm {
    element: &'static str,
    /// Scales of a row of A or a column of B.
    count: usize,
    is_of_rows: bool,
    /// The set of selectors, the row or column, and its scale, of a lane's byte.
    position: fn(usize, usize) -> (Selected, usize, usize),
}

impl MatrixForm {
    pub(super) const fn fragment<S: FragmentShape<R, T::Width>, R: Role, T: Element>(
        name: &'static str,
    ) -> Self {
        let (element, layout, per_register) = (T::NAME, S::LAYOUT, T::Width::PER_REGISTER);
        MatrixForm { name, content: Content::Fragment { element, layout, per_register } }
    }

    pub(super) const fn metadata<W: SparseWidth>() -> Self {
        let content = Content::Metadata { chunk: W::CHUNK, layout: W::METADATA };
        MatrixForm { name: "metadata", content }
    }

    pub(super) const fn scales<R: Role, K: ScaledKind>(name: &'static str) -> Self {
        let content = Content::Scales(ScalesForm {
            element: K::Scale::NAME,
            count: K::SCALES,
            is_of_rows: R::RUNS_DOWN,
            position: Scales::<R, K>::position,
        });
        MatrixForm { name, content }
    }

    /// The holder of each element.
    pub(super) fn held(self) -> HeldMatrix {
        let name = self.name;
        match self.content {
            Content::Fragment { element, layout, per_register } => {
                HeldMatrix::of(name, element, layout, per_register)
            }
            Content::Metadata { chunk, layout } => {
                let elements = format!("codes of {chunk} columns");
                HeldMatrix::of(name, &elements, layout, Bits32::BITS / 4)
            }
            Content::Scales(scales) => HeldMatrix::scales(name, scales),
        }
    }
}

impl Form {
    /// The matrices in registers: its operands and its result.
    ///
    /// `ldmatrix` and `stmatrix` move several matrices with one layout: this is the first.
    ///
    /// ```
    /// use ptx_matrix::forms;
    /// let form = forms::find("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16").unwrap();
    /// let [matrix] = &form.matrices()[..] else { panic!() };
    /// let held = matrix.held.iter().find(|held| (held.row, held.col) == (2, 5)).unwrap();
    /// // A column in memory becomes a row of lanes.
    /// assert_eq!((held.lane, held.index), (5 * 4 + 1, 0));
    /// ```
    pub fn matrices(&self) -> Vec<HeldMatrix> {
        if let Some(typed) = typed::find(self.ptx) {
            return typed.matrices.iter().map(|matrix| matrix.held()).collect();
        }
        let arrangement = self.arrangement.expect("what is not `mma` moves matrices");
        let bytes = if self.ptx.ends_with(".b16") { 2 } else { 1 };
        if self.family == "movmatrix" {
            let of = |name, arrangement| HeldMatrix::arranged(name, arrangement, bytes);
            return vec![of("source", Arrangement::Rows), of("result", arrangement)];
        }
        let registers = arrangement.registers();
        let name = match self.a.max(self.d) / registers {
            1 => String::from("the matrix"),
            count if registers == 1 => format!("matrix 0 of {count} (matrix i is in register i)"),
            count => {
                format!("matrix 0 of {count} (matrix i is in the registers from {registers} i on)")
            }
        };
        vec![HeldMatrix::arranged(&name, arrangement, bytes)]
    }
}
