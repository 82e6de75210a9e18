//! `cargo xtask exec`: every form on the simulator, its kernel for GPUs through ptxas, and the
//! errors for wrong files.

mod files;
mod kernels;
mod program;
mod warp;
mod warp_group;

use ptx_matrix::forms::{AnyForm, WgmmaForm, find_any};
use ptx_matrix::sim::Simulator;
use ptx_matrix_exec::{Instruction, Results, State, example};

const FP16: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

/// A form of `wgmma`.
fn group_form(name: &str) -> WgmmaForm {
    match find_any(name).unwrap() {
        AnyForm::OfWarpGroup(form) => form,
        AnyForm::OfWarp(form) => panic!("{form:?}"),
    }
}

/// The example of a form with default options.
fn plain_example(form: &impl Instruction) -> State {
    example(form, &State::default()).unwrap()
}

/// The results of a form on the simulator.
fn execute(form: &impl Instruction, state: &State) -> Results {
    let (options, input) = state.encode(form).unwrap();
    let execution = form.on_simulator(&Simulator::default(), &options, &input).unwrap();
    assert!(execution.found.is_none(), "{}: {}", form.about().ptx, execution.found.unwrap());
    state.results(form, "the simulator", &execution.output)
}

/// The error for a file.
fn error_of(form: &impl Instruction, state: &State) -> String {
    state.encode(form).err().expect("there is something wrong with it").to_string()
}

/// The value of an element of D, from its hex word and its type.
fn number(word: u64, elements: &str) -> f64 {
    match elements {
        "f16" => match word {
            0x4400 => 4.0,
            0x4800 => 8.0,
            0x4c00 => 16.0,
            0x5000 => 32.0,
            0xd000 => -32.0,
            other => panic!("{other:#x}"),
        },
        "f32" => f64::from(f32::from_bits(word as u32)),
        "f64" => f64::from_bits(word),
        "s32" => f64::from(word as u32 as i32),
        other => panic!("{other}"),
    }
}
