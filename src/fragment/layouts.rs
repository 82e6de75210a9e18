//! The layout of every fragment (PTX ISA 9.7.14.5.2 to .9).

use super::layout::bits::*;
use super::layout::{Coordinates, Layout, layout, layouts};
use super::shape::*;
use super::{ColMajor, Order, RowMajor};
use crate::element::{Bits1, Bits4, Bits8, Bits16, Bits32, Bits64, Width};

layouts! {
    M8N8K4   RoleA Bits64 1 [C0 C1 R0 R1 R2] [];
    M8N8K4   RoleB Bits64 1 [R0 R1 C0 C1 C2] [];
    M8N8K4   RoleC Bits64 2 [C1 C2 R0 R1 R2] [C0];

    M8N8K16  RoleA Bits8  1 [C2 C3 R0 R1 R2] [C0 C1];
    M8N8K16  RoleB Bits8  1 [R2 R3 C0 C1 C2] [R0 R1];
    M8N8K16  RoleC Bits32 2 [C1 C2 R0 R1 R2] [C0];

    M8N8K32  RoleA Bits4  1 [C3 C4 R0 R1 R2] [C0 C1 C2];
    M8N8K32  RoleB Bits4  1 [R3 R4 C0 C1 C2] [R0 R1 R2];
    M8N8K32  RoleC Bits32 2 [C1 C2 R0 R1 R2] [C0];

    M8N8K128 RoleA Bits1  1 [C5 C6 R0 R1 R2] [C0 C1 C2 C3 C4];
    M8N8K128 RoleB Bits1  1 [R5 R6 C0 C1 C2] [R0 R1 R2 R3 R4];
    M8N8K128 RoleC Bits32 2 [C1 C2 R0 R1 R2] [C0];

    M16N8K4  RoleA Bits32 2 [C0 C1 R0 R1 R2] [R3];
    M16N8K4  RoleA Bits64 2 [C0 C1 R0 R1 R2] [R3];
    M16N8K4  RoleB Bits32 1 [R0 R1 C0 C1 C2] [];
    M16N8K4  RoleB Bits64 1 [R0 R1 C0 C1 C2] [];
    M16N8K4  RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K4  RoleC Bits64 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K8  RoleA Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K8  RoleA Bits32 4 [C0 C1 R0 R1 R2] [R3 C2];
    M16N8K8  RoleA Bits64 4 [C0 C1 R0 R1 R2] [R3 C2];
    M16N8K8  RoleB Bits16 1 [R1 R2 C0 C1 C2] [R0];
    M16N8K8  RoleB Bits32 2 [R0 R1 C0 C1 C2] [R2];
    M16N8K8  RoleB Bits64 2 [R0 R1 C0 C1 C2] [R2];
    M16N8K8  RoleC Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K8  RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K8  RoleC Bits64 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K8Pairs RoleA Bits64 4 [C1 C2 R1 R2 R3] [R0 C0];
    M16N8K8Pairs RoleB Bits64 2 [R1 R2 C2 C0 C1] [R0];
    M16N8K8Pairs RoleC Bits64 4 [C0 C1 R1 R2 R3] [C2 R0];

    M16N8K16 RoleA Bits8  2 [C2 C3 R0 R1 R2] [C0 C1 R3];
    M16N8K16 RoleA Bits16 4 [C1 C2 R0 R1 R2] [C0 R3 C3];
    M16N8K16 RoleA Bits64 8 [C0 C1 R0 R1 R2] [R3 C2 C3];
    M16N8K16 RoleB Bits8  1 [R2 R3 C0 C1 C2] [R0 R1];
    M16N8K16 RoleB Bits16 2 [R1 R2 C0 C1 C2] [R0 R3];
    M16N8K16 RoleB Bits64 4 [R0 R1 C0 C1 C2] [R2 R3];
    M16N8K16 RoleC Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K16 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K16 RoleC Bits64 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K32 RoleA Bits4  2 [C3 C4 R0 R1 R2] [C0 C1 C2 R3];
    M16N8K32 RoleA Bits8  4 [C2 C3 R0 R1 R2] [C0 C1 R3 C4];
    M16N8K32 RoleB Bits4  1 [R3 R4 C0 C1 C2] [R0 R1 R2];
    M16N8K32 RoleB Bits8  2 [R2 R3 C0 C1 C2] [R0 R1 R4];
    M16N8K32 RoleC Bits16 2 [C1 C2 R0 R1 R2] [C0 R3];
    M16N8K32 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K64 RoleA Bits4  4 [C3 C4 R0 R1 R2] [C0 C1 C2 R3 C5];
    M16N8K64 RoleB Bits4  2 [R3 R4 C0 C1 C2] [R0 R1 R2 R5];
    M16N8K64 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K128 RoleA Bits1  2 [C5 C6 R0 R1 R2] [C0 C1 C2 C3 C4 R3];
    M16N8K128 RoleB Bits1  1 [R5 R6 C0 C1 C2] [R0 R1 R2 R3 R4];
    M16N8K128 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];

    M16N8K256 RoleA Bits1  4 [C5 C6 R0 R1 R2] [C0 C1 C2 C3 C4 R3 C7];
    M16N8K256 RoleB Bits1  2 [R5 R6 C0 C1 C2] [R0 R1 R2 R3 R4 R7];
    M16N8K256 RoleC Bits32 4 [C1 C2 R0 R1 R2] [C0 R3];
}

/// The layouts of the four matrices of `M8N8K4Quad` (PTX ISA 9.7.14.5.1). Bits 3 and 4 of the row
/// (for B, of the column) are the number of the matrix.
macro_rules! quad_layouts {
    (
        $(
            [$($orders:ident)*] $name:literal $a:ty, $b:ty,
            $role:ident $width:ident $registers:literal [$($lane:ident)*] [$($index:ident)*];
        )*
    ) => {
        $(
            impl<$($orders: Order),*> FragmentShape<$role, $width> for M8N8K4Quad<$a, $b> {
                type Registers = [<$width as Width>::Register; $registers];
                const LAYOUT: Layout = layout!([$($lane),*] [$($index),*]);
            }
        )*
        #[cfg(test)]
        const QUADS: &[(&str, Layout, usize)] = &[$((
            concat!($name, " ", stringify!($role), " ", stringify!($width)),
            layout!([$($lane),*] [$($index),*]),
            $registers * <$width as Width>::PER_REGISTER,
        )),*];
    };
}

quad_layouts! {
    [B] "row" RowMajor, B, RoleA Bits16 2 [R0 R1 R3 R4 R2] [C0 C1];
    [B] "col" ColMajor, B, RoleA Bits16 2 [C0 C1 R3 R4 R2] [R0 R1];
    [A] "row" A, RowMajor, RoleB Bits16 2 [R0 R1 C3 C4 C2] [C0 C1];
    [A] "col" A, ColMajor, RoleB Bits16 2 [C0 C1 C3 C4 C2] [R0 R1];
    [A B] "any" A, B,      RoleC Bits16 4 [R0 R1 R3 R4 R2] [C0 C1 C2];
    [A B] "any" A, B,      RoleC Bits32 8 [R0 C1 R3 R4 R2] [C0 R1 C2];
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn layouts_are_bijections() {
        for &(name, layout, held) in ALL.iter().chain(QUADS) {
            assert_eq!(layout.elements(), held, "{name}");
            let mut seen = vec![false; layout.rows() * layout.cols()];
            for lane in 0..32 {
                for index in 0..layout.elements() {
                    let (row, col) = layout.position(lane, index);
                    assert!(
                        !std::mem::replace(&mut seen[row * layout.cols() + col], true),
                        "{name}: ({row}, {col}) twice"
                    );
                    assert_eq!(layout.owner(row, col), (lane, index), "{name}");
                }
            }
            assert!(seen.iter().all(|&seen| seen), "{name}");
        }
    }

    /// A formula of the PTX ISA: the (row, column) of element `i`, from groupID, threadID_in_group
    /// and `i`.
    type Formula = fn(usize, usize, usize) -> (usize, usize);

    /// The formulas as the PTX ISA prints them, section by section.
    const FORMULAS: &[(&[&str], Formula)] = &[
        (&["M8N8K4 RoleA Bits64"], |group, thread, _| (group, thread)),
        (
            &["M8N8K4 RoleB Bits64", "M16N8K4 RoleB Bits32", "M16N8K4 RoleB Bits64"],
            |group, thread, _| (thread, group),
        ),
        (
            &[
                "M8N8K4 RoleC Bits64",
                "M8N8K16 RoleC Bits32",
                "M8N8K32 RoleC Bits32",
                "M8N8K128 RoleC Bits32",
            ],
            |group, thread, i| (group, thread * 2 + i),
        ),
        (&["M8N8K16 RoleA Bits8"], |group, thread, i| (group, thread * 4 + i)),
        (&["M8N8K16 RoleB Bits8", "M16N8K16 RoleB Bits8"], |group, thread, i| {
            (thread * 4 + i, group)
        }),
        (&["M16N8K4 RoleA Bits32", "M16N8K4 RoleA Bits64"], |group, thread, i| {
            (if i == 0 { group } else { group + 8 }, thread)
        }),
        (
            &[
                "M16N8K4 RoleC Bits32",
                "M16N8K4 RoleC Bits64",
                "M16N8K8 RoleA Bits16",
                "M16N8K8 RoleC Bits16",
                "M16N8K8 RoleC Bits32",
                "M16N8K8 RoleC Bits64",
                "M16N8K16 RoleC Bits16",
                "M16N8K16 RoleC Bits32",
                "M16N8K16 RoleC Bits64",
                "M16N8K32 RoleC Bits16",
                "M16N8K32 RoleC Bits32",
                "M16N8K64 RoleC Bits32",
                "M16N8K128 RoleC Bits32",
                "M16N8K256 RoleC Bits32",
            ],
            |group, thread, i| (if i < 2 { group } else { group + 8 }, thread * 2 + (i & 1)),
        ),
        (&["M16N8K8 RoleA Bits32", "M16N8K8 RoleA Bits64"], |group, thread, i| {
            (
                if i == 0 || i == 2 { group } else { group + 8 },
                if i < 2 { thread } else { thread + 4 },
            )
        }),
        (&["M16N8K8 RoleB Bits16"], |group, thread, i| (thread * 2 + i, group)),
        (&["M16N8K8 RoleB Bits32", "M16N8K8 RoleB Bits64"], |group, thread, i| {
            (if i == 0 { thread } else { thread + 4 }, group)
        }),
        // From the lowest on, the instruction's row bits are bits 1, 2, 3, 0 of the matrix's. Its
        // column bits are 2, 0, 1, and its K bits 1, 2, 0.
        (&["M16N8K8Pairs RoleA Bits64"], |group, thread, i| {
            (2 * group + i % 2, 2 * thread + i / 2)
        }),
        (&["M16N8K8Pairs RoleB Bits64"], |group, thread, i| {
            (2 * thread + i, group / 2 + 4 * (group % 2))
        }),
        (&["M16N8K8Pairs RoleC Bits64"], |group, thread, i| {
            (2 * group + i / 2, thread + 4 * (i % 2))
        }),
        (&["M16N8K16 RoleA Bits8"], |group, thread, i| {
            (if i < 4 { group } else { group + 8 }, thread * 4 + (i & 3))
        }),
        (&["M16N8K16 RoleA Bits16"], |group, thread, i| {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            (row, thread * 2 + (i & 1) + if i >= 4 { 8 } else { 0 })
        }),
        (&["M16N8K16 RoleA Bits64"], |group, thread, i| {
            if i % 2 == 0 { (group, i * 2 + thread) } else { (group + 8, i * 2 - 2 + thread) }
        }),
        (&["M16N8K16 RoleB Bits16"], |group, thread, i| {
            (thread * 2 + (i & 1) + if i >= 2 { 8 } else { 0 }, group)
        }),
        (&["M16N8K16 RoleB Bits64"], |group, thread, i| (thread + i * 4, group)),
        (&["M16N8K32 RoleA Bits8"], |group, thread, i| {
            let row = if i < 4 || (8..12).contains(&i) { group } else { group + 8 };
            (row, thread * 4 + (i & 3) + if i >= 8 { 16 } else { 0 })
        }),
        (&["M16N8K32 RoleB Bits8"], |group, thread, i| {
            (thread * 4 + (i & 3) + if i >= 4 { 16 } else { 0 }, group)
        }),
        (&["M8N8K32 RoleA Bits4"], |group, thread, i| (group, thread * 8 + i)),
        (&["M8N8K32 RoleB Bits4", "M16N8K32 RoleB Bits4"], |group, thread, i| {
            (thread * 8 + i, group)
        }),
        (&["M16N8K32 RoleA Bits4"], |group, thread, i| {
            (if i < 8 { group } else { group + 8 }, thread * 8 + (i & 7))
        }),
        (&["M16N8K64 RoleA Bits4"], |group, thread, i| {
            let row = if i < 8 || (16..24).contains(&i) { group } else { group + 8 };
            (row, thread * 8 + (i & 7) + if i >= 16 { 32 } else { 0 })
        }),
        (&["M16N8K64 RoleB Bits4"], |group, thread, i| {
            (thread * 8 + (i & 7) + if i >= 8 { 32 } else { 0 }, group)
        }),
        (&["M8N8K128 RoleA Bits1"], |group, thread, i| (group, thread * 32 + i)),
        (&["M8N8K128 RoleB Bits1", "M16N8K128 RoleB Bits1"], |group, thread, i| {
            (thread * 32 + i, group)
        }),
        (&["M16N8K128 RoleA Bits1"], |group, thread, i| {
            (if i < 32 { group } else { group + 8 }, thread * 32 + (i & 31))
        }),
        (&["M16N8K256 RoleA Bits1"], |group, thread, i| {
            let row = if i < 32 || (64..96).contains(&i) { group } else { group + 8 };
            (row, thread * 32 + (i & 31) + if i >= 64 { 128 } else { 0 })
        }),
        (&["M16N8K256 RoleB Bits1"], |group, thread, i| {
            (thread * 32 + (i & 31) + if i >= 32 { 128 } else { 0 }, group)
        }),
    ];

    /// The (row, column) of an element, from lane and index.
    type QuadFormula = fn(usize, usize) -> (usize, usize);

    /// The formulas of `m8n8k4` with f16 as the PTX ISA prints them: the (row, column) in the
    /// matrix of the lane's own multiplication.
    const QUAD_FORMULAS: &[(&str, QuadFormula)] = &[
        ("row RoleA Bits16", |lane, i| (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i)),
        ("col RoleA Bits16", |lane, i| (if lane < 16 { i % 4 } else { i % 4 + 4 }, lane % 4)),
        ("row RoleB Bits16", |lane, i| (lane % 4, if lane < 16 { i } else { i + 4 })),
        ("col RoleB Bits16", |lane, i| (i, if lane < 16 { lane % 4 } else { lane % 4 + 4 })),
        ("any RoleC Bits16", |lane, i| (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i)),
        ("any RoleC Bits32", |lane, i| {
            let x = (lane & 0b1) + (i & 0b10);
            (if lane < 16 { x } else { x + 4 }, (i & 0b100) + (lane & 0b10) + (i & 0b1))
        }),
    ];

    #[test]
    fn layouts_of_four_matrices_match_ptx_isa() {
        for &(name, layout, held) in QUADS {
            let (_, formula) = QUAD_FORMULAS.iter().find(|(of, _)| *of == name).expect(name);
            for lane in 0..32 {
                // Lanes 0 to 3 and 16 to 19 compute the first multiplication, lanes 4 to 7 and 20
                // to 23 the second, and so on.
                let which = lane % 16 / 4;
                for i in 0..held {
                    let (row, col) = formula(lane, i);
                    let stacked = if name.contains("RoleB") {
                        (row, col + 8 * which)
                    } else {
                        (row + 8 * which, col)
                    };
                    assert_eq!(layout.position(lane, i), stacked, "{name}: lane {lane}, {i}");
                }
            }
        }
    }

    #[test]
    fn layouts_match_ptx_isa() {
        for &(name, layout, held) in ALL {
            let formula = FORMULAS.iter().find(|(names, _)| names.contains(&name));
            let (_, formula) = formula.unwrap_or_else(|| panic!("no formula for {name}"));
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
