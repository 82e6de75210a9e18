//! The PTX of the kernels.

mod conformance;
mod gemm;

use ptx_matrix_build::{Arch, Artifact, Builder};
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// The PTX of a target, and the range of each kernel: from its name to that of the next kernel.
struct Ptx {
    text: String,
    kernels: HashMap<String, Range<usize>>,
}

impl Ptx {
    fn new(text: String) -> Self {
        let starts: Vec<usize> =
            text.match_indices(".entry ").map(|(start, entry)| start + entry.len()).collect();
        let ends = starts.iter().copied().skip(1).chain([text.len()]);
        let places = starts.iter().zip(ends).map(|(&start, end)| start..end);
        let named =
            places.map(|place| (text[place.clone()].split('(').next().unwrap().to_owned(), place));
        Ptx { kernels: named.collect(), text }
    }

    /// Each kernel from its name up to the name of the next one.
    fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.values().map(|place| &self.text[place.clone()])
    }

    /// A kernel up to its end.
    fn kernel(&self, name: &str) -> &str {
        let place = self.kernels.get(name).unwrap_or_else(|| panic!("no kernel {name}"));
        self.text[place.clone()].split_once("\n}").unwrap().0
    }
}

/// The artifacts of a kernel crate and their PTX, for each target.
type Built = LazyLock<Vec<(Artifact, Ptx)>>;

/// Builds a kernel crate for some targets, and reads its PTX.
fn build(folder: &str) -> Vec<(Artifact, Ptx)> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(folder);
    let archs = [Arch::SM_75, Arch::SM_80, Arch::SM_90A, Arch::SM_120A];
    let read = |artifact: Artifact| {
        let text = fs::read_to_string(&artifact.ptx).unwrap();
        (artifact, Ptx::new(text))
    };
    Builder::new(folder).archs(archs).build().unwrap().into_iter().map(read).collect()
}

fn of(built: &Built, arch: Arch) -> &(Artifact, Ptx) {
    built.iter().find(|(artifact, _)| artifact.arch == arch).unwrap()
}

/// The instructions of a kernel, without labels, directives and comments.
fn instructions<'ptx>(ptx: &'ptx Ptx, kernel: &str) -> Vec<&'ptx str> {
    let lines = ptx.kernel(kernel).lines().map(str::trim);
    let statements = lines.map(|line| line.split("//").next().unwrap().trim_end());
    statements.filter(|line| line.ends_with(';') && !line.starts_with('.')).collect()
}

/// The instructions from the first `ldmatrix` to the last `mma`.
fn main_loop<'ptx>(instructions: &[&'ptx str]) -> Vec<&'ptx str> {
    let first = instructions.iter().position(|line| line.starts_with("ldmatrix.")).unwrap();
    let last = instructions.iter().rposition(|line| line.starts_with("mma.")).unwrap();
    instructions[first..=last].to_vec()
}

/// `add.s32 %r3, %r2, 4096;` and similar instructions.
fn adds_a_constant(line: &str) -> bool {
    let operand = line.trim_end_matches(';').rsplit(", ").next().unwrap();
    line.starts_with("add.") && operand.parse::<i64>().is_ok()
}

/// `mov.b32 %r3, 0;` and similar instructions, which set accumulators to zero.
fn is_a_constant(line: &str) -> bool {
    let operand = line.trim_end_matches(';').rsplit(", ").next().unwrap();
    line.starts_with("mov.") && operand.parse::<i64>().is_ok()
}

/// ptxas 13.0 keeps only the lower half of an address that is the same in all threads, unless the
/// address is hidden from it.
#[test]
fn addresses_of_bulk_copies_are_hidden_from_ptxas() {
    let mut copies = 0;
    let (conformance, gemm) = (conformance::built(Arch::SM_90A), gemm::built(Arch::SM_90A));
    for kernel in conformance.1.kernels().chain(gemm.1.kernels()) {
        for line in kernel
            .lines()
            .map(str::trim)
            .filter(|line| line.contains("async.bulk.") && line.contains('['))
        {
            // In TMA copies the tensor map has the address. Copies between blocks have no 64-bit
            // address.
            if line.contains(".tensor.") || !line.contains("global") {
                continue;
            }
            let operand = if line.contains(".shared::cluster.global.") { 3 } else { 1 };
            let address = line.split(['[', ']']).nth(operand).unwrap();
            assert!(kernel.contains(&format!("not.b64 {address}, t;")), "{line}");
            copies += 1;
        }
    }
    assert!(copies > 30, "{copies}");
}
