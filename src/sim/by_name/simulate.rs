//! One execution of a `wgmma` whose name is known only at run time.

use crate::engine::wgmma::{A, Columns, Form, Operands, Operation, WARPS};
use crate::isa::{WgmmaForm, WgmmaOptions};
use crate::lane::{LANES, PerLane};
use std::vec;
use std::vec::Vec;

impl WgmmaForm {
    /// Executes the form once, with the simulator's arithmetic. Input and output have the format of
    /// its [`kernel`](Self::kernel).
    ///
    /// ```
    /// use ptx_matrix::forms::{self, WgmmaMatrices, WgmmaOptions};
    /// let name = "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8";
    /// let form = forms::all_wgmma().find(|form| form.ptx == name).unwrap();
    /// let options = WgmmaOptions { a_in_registers: true, ..WgmmaOptions::default() };
    /// let (a, b, c) = (vec![0xfd; 64 * 32], vec![200; 32 * 8], vec![7; 64 * 8]);
    /// let matrices = WgmmaMatrices { a, b, c, metadata: Vec::new() };
    /// let memory = form.memory(&options);
    /// let output = form.simulate(&options, true, &memory.encode(&matrices)); // as s8, 0xfd is -3
    /// assert_eq!(memory.decode(&output)[50 * 8 + 6] as i32, 32 * -3 * 200 + 7);
    /// ```
    ///
    /// # Panics
    /// If the form does not take the options, or the length of `input` is wrong.
    pub fn simulate(&self, options: &WgmmaOptions, adds: bool, input: &[u8]) -> Vec<u8> {
        let memory = self.memory(options);
        assert_eq!(input.len(), memory.input_bytes(), "bytes of the input");
        let form = self.simulated();
        let word =
            |at: usize| u32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"));
        let (descriptor, b) = memory.descriptors();
        let operation = Operation {
            form,
            b,
            transposes_b: options.transposes_b,
            accumulates: adds,
            negates_a: options.negates_a,
            negates_b: options.negates_b,
            selector: options.selector,
        };
        let mut output = vec![0; memory.output_bytes()];
        let of_warp = |rank: usize| {
            let thread = |lane: usize| rank * LANES + lane;
            let of_lanes =
                |of: &dyn Fn(usize) -> [u32; 4]| PerLane::from_array(core::array::from_fn(of));
            let a = match descriptor {
                Some(descriptor) => A::Shared { descriptor, transposed: options.transposes_a },
                None => A::Registers(of_lanes(&|lane| {
                    core::array::from_fn(|register| {
                        word(memory.registers_of_a(thread(lane)) + 4 * register)
                    })
                })),
            };
            let kept = |lane: usize| {
                if self.selectors > 0 { word(memory.metadata(thread(lane))) } else { 0 }
            };
            let metadata = PerLane::from_array(core::array::from_fn(kept));
            let in_register = |register: usize| {
                core::array::from_fn(|lane| {
                    word(memory.registers_of_d(thread(lane)) + 4 * register)
                })
            };
            (Operands { operation, a, metadata }, (0..self.d).map(in_register).collect::<Columns>())
        };
        let (operands, c): (Vec<Operands>, Vec<Columns>) = (0..WARPS).map(of_warp).unzip();
        let d = (form.family.land)(&|address: u32| word(address as usize), &operands, &c);
        for (warp, d) in d.iter().enumerate() {
            for (register, column) in d.iter().enumerate() {
                for (lane, value) in column.iter().enumerate() {
                    let thread = warp * LANES + lane;
                    output[4 * (thread * self.d + register)..][..4]
                        .copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        output
    }

    /// The simulator's description of the form.
    pub(super) fn simulated(&self) -> Form {
        Form::of(self.family, self.ptx, self.n)
    }
}
