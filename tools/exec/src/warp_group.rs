//! The instruction of a warpgroup: `wgmma`.

use super::example::{FIRST_HALVES, ones};
use super::{About, GroupOptions, Instruction, Operand, Problem, State};
use ptx_matrix::forms::{WgmmaForm, WgmmaOptions};
use ptx_matrix::lane::LANES;
use ptx_matrix::sim::{Execution, SimError, Simulator};

/// Rows of A and D.
const ROWS: usize = 64;

/// Bits of a register.
const REGISTER_BITS: usize = 32;

impl Instruction for WgmmaForm {
    /// The options, and whether the instruction adds to D.
    type Options = (WgmmaOptions, bool);
    const LANES: usize = 4 * LANES;
    const OPTIONS: &'static [&'static str] = &["selector", "options"];

    fn about(&self) -> About {
        About {
            ptx: self.ptx,
            name: self.name(),
            needs: Self::NEEDS,
            ptx_version: self.ptx_version,
            register_bits: REGISTER_BITS,
            d: self.d,
            has_image: false,
            stores: false,
        }
    }

    fn options(&self, state: &State) -> Result<Self::Options, Problem> {
        let (options, adds) =
            state.options.unwrap_or_default().read(state.selector.unwrap_or_default());
        options.check(self).map_err(Problem::Options)?;
        Ok((options, adds))
    }

    fn takes(&self, (options, _): &Self::Options) -> Vec<Operand> {
        let registers = |name, words| Operand::registers(name, Self::LANES, words, REGISTER_BITS);
        let matrix = |name, rows, cols| Operand::matrix(name, rows, cols, self.element_bits());
        let a = match options.a_in_registers {
            true => Operand {
                otherwise: ", or, without `a_in_registers`, elements of 64 rows",
                ..registers("a", 4)
            },
            false => Operand {
                otherwise: ", or, with `a_in_registers`, registers of 128 lanes",
                ..matrix("a", ROWS, self.kept())
            },
        };
        let mut operands = vec![a, matrix("b", self.k, self.n), registers("c", self.d)];
        operands.extend((self.selectors > 0).then(|| registers("metadata", 1)));
        operands
    }

    fn input(
        &self,
        _: &State,
        (options, _): &Self::Options,
        operands: &[Vec<Vec<u64>>],
    ) -> Result<Vec<u8>, Problem> {
        let words =
            |lines: &Vec<Vec<u64>>| lines.iter().flatten().map(|word| *word as u32).collect();
        let mut operands = operands.iter().map(words);
        let mut next = || operands.next().unwrap_or_default();
        let (a, b, c, metadata): (Vec<u32>, _, _, _) = (next(), next(), next(), next());
        let in_shared = (!options.a_in_registers).then_some(&*a);
        let in_registers = if options.a_in_registers { &*a } else { &[] };
        let mut input = self.memory(options).encode_shared(in_shared, &b);
        input.extend(
            [&c, in_registers, &metadata].into_iter().flatten().flat_map(|word| word.to_le_bytes()),
        );
        Ok(input)
    }

    fn bytes(&self, (options, _): &Self::Options) -> (usize, usize) {
        let memory = self.memory(options);
        (memory.input_bytes(), memory.output_bytes())
    }

    fn example(&self, operand: &Operand) -> impl Fn(usize, usize) -> u64 {
        let [_, a, b] = self.elements;
        let word = match operand.name {
            "a" => ones(a, self.element_bits(), operand.bits),
            "b" => ones(b, self.element_bits(), operand.bits),
            "metadata" => FIRST_HALVES,
            _ => 0,
        };
        move |_, _| word
    }

    fn example_beside_operands(&self, (options, adds): &Self::Options, state: &mut State) {
        state.options = Some(GroupOptions::of(self, options, *adds));
    }

    fn kernel_text(&self, name: &str, (options, _): &Self::Options) -> String {
        self.kernel(name, options)
    }

    fn parameters(&self, (_, adds): &Self::Options) -> Vec<u32> {
        vec![u32::from(*adds)]
    }

    fn on_simulator(
        &self,
        simulator: &Simulator,
        (options, adds): &Self::Options,
        input: &[u8],
    ) -> Result<Execution, SimError> {
        simulator.execute_group(self, options, *adds, input)
    }
}
