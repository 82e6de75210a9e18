//! GEMM problems: types, layouts, shapes.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Serialize, Serializer};
use thiserror::Error;

use ptx_matrix_gemm::Order;

/// An element type in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// Single precision.
    F32,
    /// Single precision; the tensor cores read 10 bits of the fraction.
    Tf32,
    /// Double precision.
    F64,
    /// Signed bytes.
    S8,
    /// Signed 32-bit integers.
    S32,
    /// Eight bits: four of the exponent, three of the fraction.
    E4m3,
    /// Eight bits: five of the exponent, two of the fraction.
    E5m2,
}

impl Element {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Element::S8 | Element::E4m3 | Element::E5m2 => 1,
            Element::F16 | Element::Bf16 => 2,
            Element::F32 | Element::Tf32 | Element::S32 => 4,
            Element::F64 => 8,
        }
    }
}

/// The element types of a GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Type {
    /// A, B and D in bf16.
    Bf16,
    /// A and B in bf16, D in f32.
    Bf16F32,
    /// A, B and D in f16.
    F16,
    /// A and B in f16, D in f32.
    #[value(name = "f16-f32")]
    F16F32,
    /// A, B and D in f32, multiplied as tf32.
    Tf32,
    /// A, B and D in f64.
    F64,
    /// A and B in s8, D in s32.
    S8,
    /// A and B in e4m3, D in bf16.
    E4m3,
    /// A and B in e4m3, D in bf16; fast accumulation: accumulators with 13 bits of fraction.
    E4m3Fast,
    /// A and B in e4m3, D in f16.
    E4m3F16,
    /// A and B in e4m3, D in f32.
    E4m3F32,
    /// A and B in e4m3, D in f32; fast accumulation.
    E4m3F32Fast,
    /// A and B in e5m2, D in bf16.
    E5m2,
    /// A and B in e5m2, D in bf16; fast accumulation: accumulators with 13 bits of fraction.
    E5m2Fast,
    /// A and B in e5m2, D in f16.
    E5m2F16,
    /// A and B in e5m2, D in f32.
    E5m2F32,
    /// A and B in e5m2, D in f32; fast accumulation.
    E5m2F32Fast,
}

impl Type {
    /// The element type of A and B.
    pub fn input(self) -> Element {
        match self {
            Type::Bf16 | Type::Bf16F32 => Element::Bf16,
            Type::F16 | Type::F16F32 => Element::F16,
            Type::Tf32 => Element::Tf32,
            Type::F64 => Element::F64,
            Type::S8 => Element::S8,
            Type::E4m3 | Type::E4m3Fast | Type::E4m3F16 => Element::E4m3,
            Type::E4m3F32 | Type::E4m3F32Fast => Element::E4m3,
            Type::E5m2 | Type::E5m2Fast | Type::E5m2F16 => Element::E5m2,
            Type::E5m2F32 | Type::E5m2F32Fast => Element::E5m2,
        }
    }

    /// Whether the type allows fast accumulation, without promotion to f32.
    pub fn is_fast(self) -> bool {
        matches!(self, Type::E4m3Fast | Type::E5m2Fast | Type::E4m3F32Fast | Type::E5m2F32Fast)
    }

    /// The element type of D.
    pub fn output(self) -> Element {
        match self {
            Type::Bf16 | Type::E4m3 | Type::E4m3Fast | Type::E5m2 | Type::E5m2Fast => Element::Bf16,
            Type::F16 | Type::E4m3F16 | Type::E5m2F16 => Element::F16,
            Type::Bf16F32 | Type::F16F32 | Type::Tf32 => Element::F32,
            Type::E4m3F32 | Type::E4m3F32Fast | Type::E5m2F32 | Type::E5m2F32Fast => Element::F32,
            Type::F64 => Element::F64,
            Type::S8 => Element::S32,
        }
    }
}

/// The layouts of A and B, one letter each: `n` is row-major, `t` column-major. D is row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum)]
pub enum Layout {
    /// A and B row-major.
    Nn,
    /// A row-major, B column-major: both K-major.
    Nt,
    /// A column-major, B row-major: both MN-major.
    Tn,
    /// A and B column-major.
    Tt,
}

impl Layout {
    /// The layout of A.
    pub fn a(self) -> Order {
        if matches!(self, Layout::Nn | Layout::Nt) { Order::RowMajor } else { Order::ColMajor }
    }

    /// The layout of B.
    pub fn b(self) -> Order {
        if matches!(self, Layout::Nn | Layout::Tn) { Order::RowMajor } else { Order::ColMajor }
    }
}

/// Displays a type or a layout by its name as an option.
macro_rules! named {
    ($($named:ident)*) => {$(
        impl fmt::Display for $named {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.to_possible_value().expect("none is hidden").get_name())
            }
        }
        impl Serialize for $named {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}
named!(Type Layout);

/// The shape of a GEMM: D has `m` rows and `n` columns, and each element is a sum of `k` products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of A and D.
    pub m: usize,
    /// Columns of B and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Shape {
    /// A shape with M = N = K.
    pub const fn cube(side: usize) -> Self {
        Shape { m: side, n: side, k: side }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// A text that is not a shape.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a shape: three sides from 1 to 2147483647, such as 4096x14336x4096")]
pub struct ParseShapeError(String);

impl FromStr for Shape {
    type Err = ParseShapeError;

    fn from_str(text: &str) -> Result<Self, ParseShapeError> {
        let sides: Option<Vec<usize>> = text
            .split('x')
            .map(|side| side.parse().ok().filter(|side| (1..=i32::MAX as usize).contains(side)))
            .collect();
        match sides.as_deref() {
            Some(&[m, n, k]) => Ok(Shape { m, n, k }),
            _ => Err(ParseShapeError(text.to_owned())),
        }
    }
}

/// The default shapes: cubes, skinny M with a large B, a short K, a wide N, and odd sizes.
pub fn default_shapes() -> Vec<Shape> {
    let skinny = [1, 4, 16, 64].map(|m| Shape { m, n: 8192, k: 8192 });
    let others = [
        Shape { m: 8192, n: 8192, k: 1024 },
        Shape { m: 4096, n: 14336, k: 4096 },
        Shape { m: 1023, n: 1025, k: 1027 },
        Shape { m: 4095, n: 4097, k: 4099 },
    ];
    let cubes = [1024, 2048, 4096, 8192].map(Shape::cube);
    [&cubes[..], &skinny, &others].concat()
}

/// The number of GEMMs in a problem, each with its own B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gemms {
    /// One.
    One,
    /// A batch of this many GEMMs of the same shape, with contiguous matrices.
    Batch(usize),
    /// A grouped GEMM: the rows of the shape form this many groups of different sizes.
    Groups(usize),
}

impl Gemms {
    /// The number of GEMMs.
    pub fn count(self) -> usize {
        match self {
            Gemms::One => 1,
            Gemms::Batch(count) | Gemms::Groups(count) => count,
        }
    }
}

impl fmt::Display for Gemms {
    /// The suffix after a shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gemms::One => Ok(()),
            Gemms::Batch(count) => write!(f, ", {count} times"),
            Gemms::Groups(count) => write!(f, " in {count} groups"),
        }
    }
}

/// A GEMM D = A x B, a batch, or a grouped GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The element types.
    pub ty: Type,
    /// The layouts of A and B.
    pub layout: Layout,
    /// The shape: that of each GEMM in a batch, or that of all groups together.
    pub shape: Shape,
    /// The number of GEMMs.
    pub gemms: Gemms,
}

impl Problem {
    /// The number of multiplications and additions.
    pub fn operations(&self) -> f64 {
        let Shape { m, n, k } = self.shape;
        2.0 * (m * self.batches()) as f64 * n as f64 * k as f64
    }

    /// The number of GEMMs with this shape.
    fn batches(&self) -> usize {
        if let Gemms::Batch(count) = self.gemms { count } else { 1 }
    }

    /// Rows of A and D, over all GEMMs.
    pub fn rows(&self) -> usize {
        self.shape.m * self.batches()
    }

    /// Elements of A, of B and of D, over all GEMMs.
    pub fn elements(&self) -> [usize; 3] {
        let Shape { n, k, .. } = self.shape;
        [self.rows() * k, k * n * self.gemms.count(), self.rows() * n]
    }

    /// Bytes of A, of B and of D.
    pub fn bytes(&self) -> [usize; 3] {
        let [a, b, d] = self.elements();
        let (input, output) = (self.ty.input().bytes(), self.ty.output().bytes());
        [a * input, b * input, d * output]
    }

    /// The end of each GEMM's rows. Groups differ in size by factors of up to about three.
    pub fn ends(&self) -> Vec<u32> {
        let Gemms::Groups(groups) = self.gemms else {
            return (1..=self.batches()).map(|gemms| (gemms * self.shape.m) as u32).collect();
        };
        let mut random = SmallRng::seed_from_u64(0);
        let weights: Vec<f64> = (0..groups).map(|_| random.random_range(0.5..1.5)).collect();
        let (all, mut sum) = (weights.iter().sum::<f64>(), 0.0);
        let mut end = |weight| {
            sum += weight;
            (self.shape.m as f64 * sum / all).round() as u32
        };
        weights.iter().map(|&weight| end(weight)).collect()
    }

    /// The index of the first element of a row of A. Rows count over all GEMMs.
    pub fn row_of_a(&self, row: usize) -> usize {
        let Shape { m, k, .. } = self.shape;
        row / m * m * k + row % m * self.a_strides().0
    }

    /// The strides from row to row and from column to column of A, in elements.
    pub fn a_strides(&self) -> (usize, usize) {
        self.layout.a().strides(self.shape.m, self.shape.k)
    }

    /// The strides from row to row and from column to column of B, in elements.
    pub fn b_strides(&self) -> (usize, usize) {
        self.layout.b().strides(self.shape.k, self.shape.n)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}{}", self.ty, self.layout, self.shape, self.gemms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_parses_and_prints() {
        let shape = Shape { m: 4096, n: 14336, k: 1 };
        assert_eq!("4096x14336x1".parse(), Ok(shape));
        assert_eq!(shape.to_string(), "4096x14336x1");
        for wrong in ["", "4096", "1x2", "1x2x3x4", "0x1x1", "1x-1x1", "1x 2x3", "1x1x2147483648"] {
            let message = wrong.parse::<Shape>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("`{wrong}` is not a shape")), "{message}");
        }
    }

    #[test]
    fn layout_is_two_letters_for_a_and_b() {
        let letter = |order| if order == Order::RowMajor { 'n' } else { 't' };
        for layout in Layout::value_variants() {
            assert_eq!(
                layout.to_string(),
                [letter(layout.a()), letter(layout.b())].iter().collect::<String>()
            );
        }
    }

    #[test]
    fn work_and_bytes_are_counted() {
        let shape = Shape { m: 3, n: 5, k: 7 };
        let problem = Problem { ty: Type::S8, layout: Layout::Tn, shape, gemms: Gemms::One };
        assert_eq!(problem.operations(), 210.0);
        assert_eq!(problem.bytes(), [21, 35, 60]);
        assert_eq!((problem.a_strides(), problem.b_strides()), ((1, 3), (5, 1)));
        assert_eq!(problem.to_string(), "s8 tn 3x5x7");
        let in_groups =
            Problem { gemms: Gemms::Groups(4), shape: Shape { m: 1000, ..shape }, ..problem };
        assert_eq!(in_groups.bytes(), [7000, 140, 20000]);
        let ends = in_groups.ends();
        assert!(ends.len() == 4 && ends.is_sorted() && ends[0] > 0 && ends[3] == 1000, "{ends:?}");
        assert_eq!(in_groups.to_string(), "s8 tn 1000x5x7 in 4 groups");
        let batch = Problem { gemms: Gemms::Batch(4), ..problem };
        assert_eq!(
            (batch.operations(), batch.bytes(), batch.ends()),
            (840.0, [84, 140, 240], vec![3, 6, 9, 12])
        );
        assert_eq!((batch.row_of_a(2), batch.row_of_a(3), batch.row_of_a(7)), (2, 21, 43));
        assert_eq!(batch.to_string(), "s8 tn 3x5x7, 4 times");
    }

    #[test]
    fn default_shapes_are_distinct() {
        let shapes = default_shapes();
        for (i, shape) in shapes.iter().enumerate() {
            assert!(!shapes[..i].contains(shape), "{shape}");
        }
    }
}
