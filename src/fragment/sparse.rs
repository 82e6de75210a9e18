//! The layouts of fragments for `mma.sp`, and of the metadata (PTX ISA 9.7.14.6.2).

use super::Kept;
use super::layout::bits::*;
use super::layout::{Coordinates, Layout, layout, layouts};
use super::shape::*;
use crate::element::{Bits4, Bits8, Bits16, Bits32, Width};
use crate::lane::Sealed;

/// A structured sparse A operand: its kept M x K/2 elements.
#[derive(Debug, Clone, Copy)]
pub struct RoleSparseA;
impl Sealed for RoleSparseA {}
impl Role for RoleSparseA {
    const NAME: char = 'A';
    const PACKS_ROWS: bool = true;
    const RUNS_DOWN: bool = true;
}

/// The sparsity of matrices with elements of this width: half of each chunk of a row is kept.
///
/// A chunk has four parts, and two of them are kept. A part is an element of 16 or 8 bits, two
/// elements of 4 bits, or half of a tf32. The two halves of a tf32 are kept or dropped together.
#[diagnostic::on_unimplemented(message = "there is no sparse `mma` of elements of width `{Self}`")]
pub trait SparseWidth: Width {
    /// Columns of a chunk.
    const CHUNK: usize;
    /// Kept elements of a chunk.
    const KEPT: usize = Self::CHUNK / 2;
    /// The layout of the metadata: (lane, index of four bits) to (row, chunk).
    ///
    /// A register holds the codes of 16 rows of 16 chunks.
    const METADATA: Layout;

    /// The element that the kept element `index` of a chunk is multiplied with. `row` gives the
    /// elements of the chunk's rows of B.
    #[doc(hidden)]
    fn pick(row: impl Fn(usize) -> Self::Bits, kept: Kept, index: usize) -> Self::Bits {
        row(kept.column::<Self>(index))
    }
}

// The kept elements have the layout of a dense A with half of the columns. The layouts of B and C
// here are those without a dense form.
layouts! {
    M16N8K8   RoleSparseA Bits32 2 [C0 C1 R0 R1 R2] [R3];

    M16N8K16  RoleSparseA Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K16  RoleSparseA Bits32 4 [C0 C1 R0 R1 R2] [R3 C2];
    M16N8K16  RoleB       Bits32 4 [R0 R1 C0 C1 C2] [R2 R3];

    M16N8K32  RoleSparseA Bits8  2 [C2 C3 R0 R1 R2] [C0 C1 R3];
    M16N8K32  RoleSparseA Bits16 4 [C1 C2 R0 R1 R2] [C0 R3 C3];
    M16N8K32  RoleB       Bits16 4 [R1 R2 C0 C1 C2] [R0 R3 R4];

    M16N8K64  RoleSparseA Bits4  2 [C3 C4 R0 R1 R2] [C0 C1 C2 R3];
    M16N8K64  RoleSparseA Bits8  4 [C2 C3 R0 R1 R2] [C0 C1 R3 C4];
    M16N8K64  RoleB       Bits8  4 [R2 R3 C0 C1 C2] [R0 R1 R4 R5];
    M16N8K64  RoleC       Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K128 RoleSparseA Bits4  4 [C3 C4 R0 R1 R2] [C0 C1 C2 R3 C5];
    M16N8K128 RoleB       Bits4  4 [R3 R4 C0 C1 C2] [R0 R1 R2 R5 R6];
}

/// Defines the widths, one row each: columns of a chunk, then the (row, chunk) bits of the lane's
/// bits and of the index's bits.
macro_rules! widths {
    (
        $($width:ident $chunk:literal [$($lane:ident)*] [$($index:ident)*] $({ $($pick:tt)* })?;)*
    ) => {$(
        impl SparseWidth for $width {
            const CHUNK: usize = $chunk;
            const METADATA: Layout = layout!([$($lane),*] [$($index),*]);
            $($($pick)*)?
        }
    )*};
}
widths! {
    Bits32 2 [C2 C3 R0 R1 R2] [C0 C1 R3] {
        /// The two halves that the code names. A code that is invalid for tf32 names halves of two
        /// elements.
        fn pick(row: impl Fn(usize) -> u32, kept: Kept, _: usize) -> u32 {
            let half = |part: usize| row(part / 2) >> (part % 2 * 16) & 0xffff;
            half(kept.first()) | half(kept.second()) << 16
        }
    };
    Bits16 4 [C2 C3 R0 R1 R2] [C0 C1 R3];
    Bits8  4 [R3 C3 R0 R1 R2] [C0 C1 C2];
    Bits4  8 [R3 C3 R0 R1 R2] [C0 C1 C2];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// The metadata layout of each width, and whether it is one of the wider two.
    const WIDTHS: &[(&str, Layout, bool)] = &[
        ("tf32", Bits32::METADATA, true),
        ("16 bits", Bits16::METADATA, true),
        ("8 bits", Bits8::METADATA, false),
        ("4 bits", Bits4::METADATA, false),
    ];

    #[test]
    fn layouts_are_bijections() {
        let of_metadata = WIDTHS.iter().map(|&(name, layout, _)| (name, layout, 8));
        for (name, layout, held) in ALL.iter().copied().chain(of_metadata) {
            assert_eq!(layout.elements(), held, "{name}");
            let mut seen = vec![false; layout.rows() * layout.cols()];
            for lane in 0..32 {
                for index in 0..held {
                    let (row, col) = layout.position(lane, index);
                    let seen = &mut seen[row * layout.cols() + col];
                    assert!(!std::mem::replace(seen, true), "{name}: ({row}, {col}) twice");
                    assert_eq!(layout.owner(row, col), (lane, index), "{name}");
                }
            }
            assert!(seen.iter().all(|&seen| seen), "{name}");
        }
    }

    /// A formula of the PTX ISA for A: from groupID, threadID_in_group and the element's index, the
    /// row and the columns that the element may come from.
    type Chunks = fn(usize, usize, usize) -> (usize, core::ops::RangeInclusive<usize>);

    /// The sections of 9.7.14.6.2, each with the number of kept elements in these columns.
    const CHUNKS: &[(&str, usize, Chunks)] = &[
        // .1
        ("M16N8K16 RoleSparseA Bits16", 2, |group, thread, i| {
            (if i < 2 { group } else { group + 8 }, thread * 4..=thread * 4 + 3)
        }),
        // .2
        ("M16N8K32 RoleSparseA Bits16", 2, |group, thread, i| {
            let first = if i < 4 { thread * 4 } else { thread * 4 + 16 };
            (if i < 2 || (4..6).contains(&i) { group } else { group + 8 }, first..=first + 3)
        }),
        // .3
        ("M16N8K16 RoleSparseA Bits32", 1, |group, thread, i| {
            let first = if i < 2 { thread * 2 } else { thread * 2 + 8 };
            (if i % 2 == 0 { group } else { group + 8 }, first..=first + 1)
        }),
        // .4
        ("M16N8K8 RoleSparseA Bits32", 1, |group, thread, i| {
            (if i == 0 { group } else { group + 8 }, thread * 2..=thread * 2 + 1)
        }),
        // .5
        ("M16N8K32 RoleSparseA Bits8", 4, |group, thread, i| {
            (if i < 4 { group } else { group + 8 }, thread * 8..=thread * 8 + 7)
        }),
        // .6
        ("M16N8K64 RoleSparseA Bits8", 4, |group, thread, i| {
            let first = if i < 8 { thread * 8 } else { thread * 8 + 32 };
            (if i < 4 || (8..12).contains(&i) { group } else { group + 8 }, first..=first + 7)
        }),
        // .7
        ("M16N8K64 RoleSparseA Bits4", 8, |group, thread, i| {
            (if i < 8 { group } else { group + 8 }, thread * 16..=thread * 16 + 15)
        }),
        // .8
        ("M16N8K128 RoleSparseA Bits4", 8, |group, thread, i| {
            let first = if i < 16 { thread * 16 } else { thread * 16 + 64 };
            (if i < 8 || (16..24).contains(&i) { group } else { group + 8 }, first..=first + 15)
        }),
    ];

    #[test]
    fn kept_columns_match_ptx_isa() {
        for &(name, layout, held) in ALL.iter().filter(|(name, ..)| name.contains("RoleSparseA")) {
            let &(_, kept, chunks) = CHUNKS.iter().find(|row| row.0 == name).expect("a formula");
            for lane in 0..32 {
                for i in 0..held {
                    let (row, col) = layout.position(lane, i);
                    // The packed row has `kept` consecutive elements for each `2 * kept` columns.
                    let first = col / kept * 2 * kept;
                    assert_eq!(
                        (row, first..=first + 2 * kept - 1),
                        chunks(lane >> 2, lane % 4, i),
                        "{name}: {lane}, {i}"
                    );
                }
            }
        }
    }

    /// The PTX ISA prints the metadata's layout as pictures. An H200 confirms it: of all 120
    /// permutations of the bits, one for each form explains its results for random metadata.
    #[test]
    fn metadata_layout_matches_hardware() {
        for &(name, layout, wide) in WIDTHS {
            for row in 0..16 {
                for col in 0..16 {
                    let (lane, bit) = (layout.owner(row, col).0, layout.owner(row, col).1 * 4);
                    let group = row % 8 * 4;
                    // Wide elements: a lane holds four chunks of a row, and four of the row eight
                    // below. Narrow ones: eight chunks of one row.
                    let expected = if wide {
                        (group + col / 4, (row / 8 * 4 + col % 4) * 4)
                    } else {
                        (group + col / 8 * 2 + row / 8, col % 8 * 4)
                    };
                    assert_eq!((lane, bit), expected, "{name}: row {row}, chunk {col}");
                }
            }
        }
    }

    /// The formulas of dense forms that the PTX ISA refers to, continued.
    #[test]
    fn b_and_c_match_ptx_isa() {
        type Formula = fn(usize, usize, usize) -> (usize, usize);
        let formulas: [(&str, Formula); 5] = [
            ("M16N8K16 RoleB Bits32", |group, thread, i| (thread + i * 4, group)),
            ("M16N8K32 RoleB Bits16", |group, thread, i| (thread * 2 + i % 2 + i / 2 * 8, group)),
            ("M16N8K64 RoleB Bits8", |group, thread, i| (thread * 4 + i % 4 + i / 4 * 16, group)),
            ("M16N8K128 RoleB Bits4", |group, thread, i| (thread * 8 + i % 8 + i / 8 * 32, group)),
            ("M16N8K64 RoleC Bits16", |group, thread, i| {
                (if i < 2 { group } else { group + 8 }, thread * 2 + i % 2)
            }),
        ];
        for &(name, layout, held) in ALL.iter().filter(|(name, ..)| !name.contains("RoleSparseA")) {
            let (_, formula) = formulas
                .iter()
                .find(|row| row.0 == name)
                .unwrap_or_else(|| panic!("no formula for {name}"));
            for lane in 0..32 {
                for i in 0..held {
                    assert_eq!(
                        layout.position(lane, i),
                        formula(lane >> 2, lane % 4, i),
                        "{name}: lane {lane}, {i}"
                    );
                }
            }
        }
    }
}
