//! [`Instruction`]: the differences between the instructions of a warp and those of a warpgroup.

use super::{Operand, Problem, State};
use ptx_matrix::forms::{Form, Needs, WgmmaForm};
use ptx_matrix::sim::{Execution, SimError, Simulator};

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;
impl Sealed for Form {}
impl Sealed for WgmmaForm {}

/// The properties of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// Its name in [`raw`](ptx_matrix::raw).
    pub name: String,
    /// The requirements on the GPU.
    pub needs: Needs,
    /// The first PTX version with the form.
    pub ptx_version: &'static str,
    /// Bits of a register.
    pub register_bits: usize,
    /// Registers of D in a lane; zero if there is no D.
    pub d: usize,
    /// Whether it loads or stores shared memory, which the file gives as an image.
    pub has_image: bool,
    /// Whether it stores to shared memory.
    pub stores: bool,
}

/// A form that a file can be an input of. The trait is sealed, because the launch trusts its buffer
/// sizes.
pub trait Instruction: Sealed {
    /// The qualifiers and immediate operands of the instruction.
    type Options;

    /// The number of lanes that execute it together.
    const LANES: usize;

    /// The fields of [`State`] with these options.
    const OPTIONS: &'static [&'static str];

    /// The properties of the form.
    fn about(&self) -> About;

    /// The options of a file.
    ///
    /// # Errors
    /// The form does not take them.
    fn options(&self, state: &State) -> Result<Self::Options, Problem>;

    /// The operands, in the order in which [`input`](Self::input) takes them.
    fn takes(&self, options: &Self::Options) -> Vec<Operand>;

    /// The input bytes of the kernel, from a file and the words of each line of the operands.
    ///
    /// # Errors
    /// The image does not fit the form.
    fn input(
        &self,
        state: &State,
        options: &Self::Options,
        operands: &[Vec<Vec<u64>>],
    ) -> Result<Vec<u8>, Problem>;

    /// The bytes that the kernel reads and writes. The registers of D come first.
    fn bytes(&self, options: &Self::Options) -> (usize, usize);

    /// The words of an operand in an example, by line and place in the line.
    fn example(&self, operand: &Operand) -> impl Fn(usize, usize) -> u64;

    /// Adds to an example the fields that are not operands.
    fn example_beside_operands(&self, options: &Self::Options, state: &mut State);

    /// The PTX of a kernel that executes the form once. Its parameters are two pointers, then
    /// words.
    fn kernel_text(&self, name: &str, options: &Self::Options) -> String;

    /// The parameters after the two pointers.
    fn parameters(&self, options: &Self::Options) -> Vec<u32>;

    /// Executes the form on the simulator.
    ///
    /// # Errors
    /// The simulated GPU lacks the form, or the simulator finds an error that would stop a GPU.
    fn on_simulator(
        &self,
        simulator: &Simulator,
        options: &Self::Options,
        input: &[u8],
    ) -> Result<Execution, SimError>;
}
