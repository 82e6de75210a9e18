//! The instructions of a warp: `mma`, `mma.sp`, `ldmatrix`, `stmatrix` and `movmatrix`.

use super::example::{FIRST_HALVES, ones};
use super::{About, Instruction, Operand, Problem, Selection, State, image};
use ptx_matrix::forms::{Form, Selectors};
use ptx_matrix::fragment::Selected;
use ptx_matrix::lane::LANES;
use ptx_matrix::sim::{Execution, SimError, Simulator};

impl Instruction for Form {
    type Options = Selectors;
    const LANES: usize = LANES;
    const OPTIONS: &'static [&'static str] = &["selector", "select_a", "select_b"];

    fn about(&self) -> About {
        About {
            ptx: self.ptx,
            name: self.name(),
            needs: self.needs,
            ptx_version: self.ptx_version,
            register_bits: self.register_bits,
            d: self.d,
            has_image: self.has_image(),
            stores: self.family == "stmatrix",
        }
    }

    fn options(&self, state: &State) -> Result<Selectors, Problem> {
        let selected = |of: Option<Selection>| {
            let Selection { byte, thread } = of.unwrap_or_default();
            Selected { byte, thread }
        };
        let metadata = state.selector.unwrap_or_default();
        let selectors = Selectors {
            metadata,
            scales_a: selected(state.select_a),
            scales_b: selected(state.select_b),
        };
        selectors.check(self).map_err(Problem::Options)?;
        Ok(selectors)
    }

    fn takes(&self, _: &Selectors) -> Vec<Operand> {
        let of_lanes = |operand: ptx_matrix::forms::Operand| {
            Operand::registers(operand.name, LANES, operand.registers, self.register_bits)
        };
        self.operands().into_iter().map(of_lanes).collect()
    }

    fn input(
        &self,
        state: &State,
        _: &Selectors,
        operands: &[Vec<Vec<u64>>],
    ) -> Result<Vec<u8>, Problem> {
        let (rows, mut input) =
            if self.has_image() { image::parse(state)? } else { (Vec::new(), Vec::new()) };
        for lane in 0..LANES {
            input.extend(rows.get(lane).into_iter().flat_map(|row| row.to_le_bytes()));
            let words = operands.iter().flat_map(|lines| &lines[lane]);
            input.extend(
                words.flat_map(|word| word.to_le_bytes().into_iter().take(self.register_bits / 8)),
            );
        }
        Ok(input)
    }

    fn bytes(&self, _: &Selectors) -> (usize, usize) {
        (self.input_bytes(), self.output_bytes())
    }

    fn example(&self, operand: &Operand) -> impl Fn(usize, usize) -> u64 {
        let of = match operand.name {
            "a" => "A",
            "b" => "B",
            "scales_a" => "scales of A",
            "scales_b" => "scales of B",
            other => other,
        };
        let matrices = self.matrices();
        let matrix = matrices.iter().find(|matrix| matrix.name == of);
        let bits = self.register_bits;
        let word = match (of, matrix) {
            ("c", _) => 0,
            ("metadata", _) => FIRST_HALVES,
            (_, Some(matrix)) => ones(&matrix.elements, bits / matrix.per_register, bits),
            // The source registers of `stmatrix` and `movmatrix`: bytes that all differ, made
            // below.
            (_, None) => 0x0302_0100,
        };
        let step = if self.arrangement.is_some() { 0x0404_0404 } else { 0 };
        move |lane, register| word + step * ((lane + LANES * register) as u64 % 64)
    }

    fn example_beside_operands(&self, _: &Selectors, state: &mut State) {
        if self.has_image() {
            let (rows, image) = image::example();
            (state.rows, state.image) = (Some(rows), Some(image));
        }
    }

    fn kernel_text(&self, name: &str, selectors: &Selectors) -> String {
        self.kernel(name, selectors)
    }

    fn parameters(&self, _: &Selectors) -> Vec<u32> {
        Vec::new()
    }

    fn on_simulator(
        &self,
        simulator: &Simulator,
        selectors: &Selectors,
        input: &[u8],
    ) -> Result<Execution, SimError> {
        simulator.execute(self, selectors, input)
    }
}
