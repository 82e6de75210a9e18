//! `ldmatrix` and `stmatrix`, from the text of the PTX ISA, bit by bit.

/// The matrices of an instruction, as its name gives them.
#[derive(Debug, Clone, Copy)]
pub struct Matrices {
    /// The number of matrices.
    count: usize,
    shape: Shape,
    element: Element,
    /// Whether a register holds neighbours of a column.
    trans: bool,
}

/// The shape of a matrix, as its name is in PTX.
#[derive(Debug, Clone, Copy)]
enum Shape {
    M8N8,
    M8N16,
    M16N16,
    /// Stored transposed: shared memory has 8 rows of 16 elements.
    M16N8,
}

use Shape::*;

impl Shape {
    /// Rows of a matrix in shared memory, and as many addresses.
    fn rows(self) -> usize {
        match self {
            M8N8 | M8N16 | M16N8 => 8,
            M16N16 => 16,
        }
    }

    /// Registers of a matrix in each lane.
    fn registers(self) -> usize {
        match self {
            M8N8 | M8N16 | M16N8 => 1,
            M16N16 => 2,
        }
    }
}

/// The elements of a matrix in shared memory.
#[derive(Debug, Clone, Copy)]
enum Element {
    B16,
    B8,
    /// `.b6x16_p32`.
    B6,
    /// `.b4x16_p64`.
    B4,
}

use Element::*;

impl Element {
    /// Bits of an element in a register, and in shared memory.
    fn bits(self) -> (usize, usize) {
        match self {
            B16 => (16, 16),
            B8 => (8, 8),
            B6 => (8, 6),
            B4 => (8, 4),
        }
    }
}

impl Matrices {
    /// Those of a form by its name. Panics if the form is not one of those listed here.
    pub fn of(form: &str) -> Self {
        Self::known(form).unwrap_or_else(|| {
            panic!(
                "the reference does not know the matrices of `{form}`: add the form to \
                 `Matrices::known`, and a new shape or element to `Shape` or `Element` \
                 (tools/reference/src/matrices.rs)"
            )
        })
    }

    fn known(form: &str) -> Option<Self> {
        let counts = [(".x1.", 1), (".x2.", 2), (".x4.", 4)];
        let (count, (before, behind)) =
            counts.iter().find_map(|&(name, count)| Some((count, form.split_once(name)?)))?;
        let (shape, element, trans) = match (before, behind) {
            ("ldmatrix.sync.aligned.m8n8", "shared.b16") => (M8N8, B16, false),
            ("ldmatrix.sync.aligned.m8n8", "trans.shared.b16") => (M8N8, B16, true),
            ("ldmatrix.sync.aligned.m8n16", "shared.b8x16.b6x16_p32") => (M8N16, B6, false),
            ("ldmatrix.sync.aligned.m8n16", "shared.b8x16.b4x16_p64") => (M8N16, B4, false),
            ("ldmatrix.sync.aligned.m16n16", "trans.shared.b8") => (M16N16, B8, true),
            ("ldmatrix.sync.aligned.m16n16", "trans.shared.b8x16.b6x16_p32") => (M16N16, B6, true),
            ("ldmatrix.sync.aligned.m16n16", "trans.shared.b8x16.b4x16_p64") => (M16N16, B4, true),
            ("stmatrix.sync.aligned.m8n8", "shared.b16") => (M8N8, B16, false),
            ("stmatrix.sync.aligned.m8n8", "trans.shared.b16") => (M8N8, B16, true),
            ("stmatrix.sync.aligned.m16n8", "trans.shared.b8") => (M16N8, B8, true),
            _ => return None,
        };
        // A warp has 32 addresses of rows.
        (count * shape.rows() <= 32).then_some(Matrices { count, shape, element, trans })
    }

    /// The (row, column) of element `slot` of a register, in one matrix. In the words of the PTX
    /// ISA: "a group of four threads loads an entire row" (transposed: a column), "each thread 4
    /// consecutive columns across 2 rows". These two rows are eight apart.
    fn place(&self, lane: usize, register: usize, slot: usize) -> (usize, usize) {
        let per_register = 32 / self.element.bits().0;
        let (outer, inner) = match self.shape {
            // Two of one half of a row's columns, and two of the other.
            M16N8 => (lane / 4 + 8 * (slot / 2), lane % 4 * 2 + slot % 2),
            M8N8 | M8N16 | M16N16 => (lane / 4 + 8 * register, lane % 4 * per_register + slot),
        };
        if self.trans { (inner, outer) } else { (outer, inner) }
    }

    /// Calls `each(index of the register, first bit in it, row's slot, column)` for every element.
    fn for_each(
        &self,
        slots: &[u32],
        registers: usize,
        mut each: impl FnMut(usize, usize, usize, usize),
    ) {
        let (rows, per_matrix) = (self.shape.rows(), self.shape.registers());
        assert_eq!(registers, self.count * per_matrix, "registers of a lane, for {self:?}");
        for (lane, register) in
            (0..32).flat_map(|lane| (0..registers).map(move |register| (lane, register)))
        {
            let bits = self.element.bits().0;
            for slot in 0..32 / bits {
                let (row, col) = self.place(lane, register % per_matrix, slot);
                let row = slots[register / per_matrix * rows + row] as usize;
                each(lane * registers + register, slot * bits, row, col);
            }
        }
    }

    /// Loads the registers of each lane in turn. `source` has rows of 16 bytes ("slots"); each lane
    /// names one.
    pub fn loaded(&self, source: &[u8], slots: &[u32], registers: usize) -> Vec<u32> {
        let bits = self.element.bits().1;
        let mut loaded = vec![0; 32 * registers];
        self.for_each(slots, registers, |register, shift, row, col| {
            for bit in 0..bits {
                let from = col * bits + bit;
                let value = u32::from(source[row * 16 + from / 8] >> (from % 8) & 1);
                loaded[register] |= value << (shift + bit);
            }
        });
        loaded
    }

    /// Stores the registers of each lane in turn into `bytes` bytes of 0xff.
    pub fn stored(&self, registers: &[u32], slots: &[u32], count: usize, bytes: usize) -> Vec<u8> {
        let element_bytes = match self.element {
            B16 => 2,
            B8 => 1,
            B6 | B4 => panic!(
                "the reference cannot store packed elements ({self:?}): extend `Matrices::stored`"
            ),
        };
        let mut stored = vec![0xff; bytes];
        self.for_each(slots, count, |register, shift, row, col| {
            for byte in 0..element_bytes {
                stored[row * 16 + col * element_bytes + byte] =
                    (registers[register] >> (shift + 8 * byte)) as u8;
            }
        });
        stored
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_matrix::forms;
    use std::panic::catch_unwind;

    #[test]
    fn every_form_in_the_tables_is_known() {
        for form in forms::all().filter(|form| matches!(form.family, "ldmatrix" | "stmatrix")) {
            let Matrices { count, shape, .. } = Matrices::of(form.ptx);
            assert_eq!(count * shape.registers(), form.d + form.a, "{}", form.ptx);
        }
    }

    #[test]
    fn unknown_forms_panic() {
        for form in [
            // Shapes, counts, elements, layouts and instructions that there are not.
            "ldmatrix.sync.aligned.m16n8.x1.shared.b16",
            "ldmatrix.sync.aligned.m8n8.x8.shared.b16",
            "ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b32",
            "ldmatrix.sync.aligned.m8n16.x1.shared.b8",
            "ldmatrix.sync.aligned.m16n16.x1.shared.b8",
            "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8x16.b6x16_p32",
            "movmatrix.sync.aligned.m8n8.trans.b16",
        ] {
            let panic = catch_unwind(|| Matrices::of(form)).unwrap_err();
            let message = panic.downcast_ref::<String>().unwrap();
            let start =
                format!("the reference does not know the matrices of `{form}`: add the form to ");
            assert!(message.starts_with(&start), "{message}");
        }
    }

    #[test]
    #[should_panic(expected = "the reference cannot store packed elements")]
    fn packed_elements_are_not_stored() {
        let matrices = Matrices { count: 1, shape: M16N8, element: B6, trans: true };
        matrices.stored(&[0; 32], &[0; 32], 1, 16);
    }

    #[test]
    #[should_panic(expected = "registers of a lane")]
    fn another_number_of_registers_panics() {
        let matrices = Matrices::of("ldmatrix.sync.aligned.m8n8.x2.shared.b16");
        matrices.loaded(&[0; 16], &[0; 32], 4);
    }
}
