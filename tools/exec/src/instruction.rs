//! What forms of a warp and of a warpgroup have each in its own way.

use super::{Operand, Problem, State};
use ptx_matrix::forms::{Form, Needs, WgmmaForm};
use ptx_matrix::sim::{Execution, SimError, Simulator};

mod sealed {
    pub trait Sealed {}
}
use sealed::Sealed;
impl Sealed for Form {}
impl Sealed for WgmmaForm {}

/// What is known of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// Its name in [`raw`](ptx_matrix::raw).
    pub name: String,
    /// What the GPU must be.
    pub needs: Needs,
    /// The PTX version from which on there is the form.
    pub ptx_version: &'static str,
    /// Bits of a register.
    pub register_bits: usize,
    /// Registers that D takes in a lane; zero where there is none.
    pub d: usize,
    /// Whether it loads or stores an image of shared memory that the file gives.
    pub has_image: bool,
    /// Whether it stores.
    pub stores: bool,
}

/// A form that a file is for. It is sealed: the kernel is launched on as many bytes as it says.
pub trait Instruction: Sealed {
    /// What is part of the instruction beside its name and its operands.
    type Options;

    /// Lanes that execute it together.
    const LANES: usize;

    /// What of [`State`] says these options.
    const OPTIONS: &'static [&'static str];

    /// What is known of it.
    fn about(&self) -> About;

    /// The options that a file says.
    ///
    /// # Errors
    /// The form does not take them.
    fn options(&self, state: &State) -> Result<Self::Options, Problem>;

    /// What it takes, in the order in which [`input`](Self::input) is given it.
    fn takes(&self, options: &Self::Options) -> Vec<Operand>;

    /// What its kernel takes: of a file, and of the words of each line of the operands.
    ///
    /// # Errors
    /// The image is not as the form takes it.
    fn input(
        &self,
        state: &State,
        options: &Self::Options,
        operands: &[Vec<Vec<u64>>],
    ) -> Result<Vec<u8>, Problem>;

    /// Bytes that the kernel takes, and that it leaves: first the registers of D.
    fn bytes(&self, options: &Self::Options) -> (usize, usize);

    /// Of an operand in an example: the word in this line, at this place in it.
    fn example(&self, operand: &Operand) -> impl Fn(usize, usize) -> u64;

    /// Puts into an example what there is beside operands.
    fn example_beside_operands(&self, options: &Self::Options, state: &mut State);

    /// A kernel that executes it once, as PTX text: its parameters are two pointers, and words.
    fn kernel_text(&self, name: &str, options: &Self::Options) -> String;

    /// These words.
    fn parameters(&self, options: &Self::Options) -> Vec<u32>;

    /// What the simulator makes of it.
    ///
    /// # Errors
    /// What a GPU would stop at, or the simulated GPU lacks the form.
    fn on_simulator(
        &self,
        simulator: &Simulator,
        options: &Self::Options,
        input: &[u8],
    ) -> Result<Execution, SimError>;
}
