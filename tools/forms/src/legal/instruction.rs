//! A candidate with operands: a line to ask ptxas about, or a kernel to compile.

use super::grammar::{Candidate, Family, Role};
use std::fmt::Write;

/// Registers of A, B, C and D in a lane; zero for an operand that the family lacks.
pub type Registers = [usize; 4];

/// A candidate with the registers of its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    pub family: &'static str,
    pub form: String,
    pub registers: Registers,
    /// Whether A, B, C and D have 64-bit registers.
    pub is_wide: [bool; 4],
    pub selector: usize,
}

/// Bytes of shared memory for matrices in the kernels.
const SHARED: usize = 4096;

impl Instruction {
    /// Assumes that registers hold the elements without gaps. f6 and smaller types have gaps:
    /// [`alternatives`](Self::alternatives) finds their numbers of registers.
    pub fn new(family: &Family, candidate: &Candidate) -> Self {
        let word = |role| family.word(candidate, role).unwrap_or_default();
        let [m, n, k] = dimensions(word(Role::Shape));
        let elements = [Role::A, Role::B, Role::C, Role::D].map(&word);
        let sparse = if family.name.starts_with("mma.sp") { 2 } else { 1 };
        let registers = match family.name {
            "ldmatrix" => [0, 0, 0, matrices(word(Role::Count)) * (m * n).div_ceil(128)],
            "stmatrix" => [matrices(word(Role::Count)) * (m * n).div_ceil(128), 0, 0, 0],
            "movmatrix" => [1, 0, 0, 1],
            _ => {
                let counts = [m * k / sparse, k * n, m * n, m * n];
                std::array::from_fn(|operand| {
                    counts[operand] * bits(elements[operand]) / (32 * register(elements[operand]))
                })
                .map(|count: usize| count.max(1))
            }
        };
        let is_wide = elements.map(|element| element == "f64");
        Self { family: family.name, form: family.form(candidate), registers, is_wide, selector: 0 }
    }

    /// The same instruction with other numbers of registers, for elements with gaps.
    pub fn alternatives(&self) -> Vec<Self> {
        const COUNTS: [usize; 4] = [1, 2, 4, 8];
        let mut all = vec![self.clone()];
        for operand in 0..4 {
            if self.registers[operand] > 0 {
                let other = |of: Self| COUNTS.map(|count| of.clone().with(operand, count));
                all = all.into_iter().flat_map(other).collect();
            }
        }
        // Fewer registers prove nothing here: ptxas then moves fewer matrices.
        if self.family.ends_with("matrix") {
            all.retain(|other| {
                (0..4).all(|operand| other.registers[operand] >= self.registers[operand])
            });
        }
        all.retain(|other| other != self);
        all
    }

    fn with(mut self, operand: usize, count: usize) -> Self {
        self.registers[operand] = count;
        self
    }

    /// The instruction, with operands in the registers that [`DECLARATIONS`] and
    /// [`kernel`](Self::kernel) declare.
    pub fn line(&self) -> String {
        let mut text = self.form.clone();
        let list = |operand: usize| {
            let names: Vec<String> =
                (0..self.registers[operand]).map(|number| self.register(operand, number)).collect();
            format!("{{{}}}", names.join(","))
        };
        match self.family {
            "ldmatrix" => write!(text, " {},[%row]", list(3)),
            "stmatrix" => write!(text, " [%row],{}", list(0)),
            "movmatrix" => write!(text, " %wd0,%wa0"),
            _ => write!(text, " {},{},{},{}", list(3), list(0), list(1), list(2)),
        }
        .expect("a string takes all");
        if self.is_sparse() {
            let _ = write!(text, ",%metadata,{}", self.selector);
        }
        if self.is_scaled() {
            text.push_str(",%scales,{0,0},%scales,{0,0}");
        }
        text + ";"
    }

    pub fn is_sparse(&self) -> bool {
        self.family.starts_with("mma.sp")
    }

    fn is_scaled(&self) -> bool {
        self.form.contains(".block_scale")
    }

    fn register(&self, operand: usize, number: usize) -> String {
        let width = if self.is_wide[operand] { 'l' } else { 'w' };
        format!("%{width}{}{number}", ["a", "b", "c", "d"][operand])
    }

    /// A kernel that loads the operands, executes the instruction once, and stores the result.
    pub fn kernel(&self, name: &str) -> String {
        let mut text =
            format!(".visible .entry {name}(.param .u64 in, .param .u64 out) {{\n{DECLARATIONS}");
        let mut offset = 0;
        let mut access = |text: &mut String, load: bool, register: &str, bits: usize| {
            let _ = match load {
                true => writeln!(text, "ld.global.b{bits} {register},[%in+{offset}];"),
                false => writeln!(text, "st.global.b{bits} [%out+{offset}],{register};"),
            };
            offset += 8;
        };
        text.push_str("ld.param.u64 %in,[in]; ld.param.u64 %out,[out];\n");
        text.push_str("cvta.to.global.u64 %in,%in; cvta.to.global.u64 %out,%out;\n");
        text.push_str(
            "mov.u32 %row,%tid.x; mul.wide.u32 %at,%row,512; add.u64 %in,%in,%at; add.u64 \
             %out,%out,%at;\n",
        );
        if matches!(self.family, "ldmatrix" | "stmatrix") {
            let _ =
                write!(text, ".shared .align 16 .b8 image[{SHARED}];\nmov.u32 %scales,image;\n");
            text.push_str("mad.lo.u32 %row,%row,16,%scales;\n");
        }
        if self.is_sparse() {
            access(&mut text, true, "%metadata", 32);
        }
        if self.is_scaled() {
            access(&mut text, true, "%scales", 32);
        }
        let each = |operand: usize| {
            (0..self.registers[operand]).map(move |number| self.register(operand, number))
        };
        for operand in 0..3 {
            let bits = if self.is_wide[operand] { 64 } else { 32 };
            each(operand).for_each(|register| access(&mut text, true, &register, bits));
        }
        text += &(self.line() + "\n");
        let bits = if self.is_wide[3] { 64 } else { 32 };
        each(3).for_each(|register| access(&mut text, false, &register, bits));
        text + "ret;\n}\n"
    }
}

/// The registers that [`Instruction::line`] names.
pub const DECLARATIONS: &str = ".reg .b32 %wa<130>,%wb<130>,%wc<130>,%wd<130>,%row,%metadata,\
    %scales;\n\
    .reg .b64 %la<130>,%lb<130>,%lc<130>,%ld<130>,%in,%out,%at;\n";

/// M, N and K of a shape; 1 for a missing one.
pub fn dimensions(shape: &str) -> [usize; 3] {
    ['m', 'n', 'k'].map(|letter| {
        let digits = shape.split_once(letter).map_or("1", |(_, rest)| rest);
        let end =
            digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse().unwrap_or(1)
    })
}

/// The number of matrices: 4 for `x4`.
fn matrices(count: &str) -> usize {
    count.trim_start_matches('x').parse().unwrap_or(1)
}

/// Bits of an element.
fn bits(element: &str) -> usize {
    match element {
        "f64" => 64,
        "f32" | "s32" | "tf32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" | "e2m1" | "e0m3" | "e3m0" => 4,
        "s2" | "u2" => 2,
        "b1" => 1,
        _ => 8,
    }
}

/// Bits of a register with such elements.
fn register(element: &str) -> usize {
    if element == "f64" { 64 } else { 32 }
}
