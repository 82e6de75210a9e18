//! Kernels of a crate that gives names which the macros use to other things.

extern crate self as core;

use ptx_matrix::launch::{KernelParam, Params};
use ptx_matrix::prelude::*;

/// Code of the macros that took these would read and write the wrong bytes.
pub mod mem {
    #[macro_export]
    macro_rules! offset_of {
        ($of:ty, $field:tt) => {
            4096
        };
    }

    pub use crate::offset_of;

    pub const fn size_of<T>() -> usize {
        8192
    }
}

const NUMBERS: Stored = Stored { first: 5, second: 7 };

/// A field's type by the name of what `derive(KernelArgs)` makes.
#[repr(C)]
#[derive(Clone, Copy, KernelArgs)]
pub struct Stored {
    first: u32,
    second: u32,
}

#[derive(Clone, Copy, KernelArgs)]
pub struct Sums<'a> {
    data: Global<'a, u32>,
    numbers: Stored,
}

#[kernel(threads = 32)]
pub fn sum(block: &Block, sums: Sums<'_>, out: GlobalMut<u32>) {
    block.warp().each(|lane| {
        let number = sums.data.get(lane.id()) + sums.numbers.first * sums.numbers.second;
        out.set(lane.id(), number);
    });
}

#[test]
fn kernel_gets_its_values_whatever_the_crate_names_core() {
    let data: Vec<u32> = (0..32).collect();
    let mut out = [0; 32];
    let sums = SumsHost { data: &data[..], numbers: NUMBERS };
    sum::simulate(1, sums, &mut out).unwrap();
    assert!(out.iter().zip(0..).all(|(out, lane)| *out == lane + 35), "{out:?}");
}

#[test]
fn launch_passes_each_byte_whatever_the_crate_names_core() {
    assert_eq!(mem::size_of::<Stored>(), 8192);
    let mut params = Params::new();
    Stored::values(NUMBERS, &mut params);
    let params: Vec<&[u8]> = params.iter().collect();
    assert_eq!(params, [bytemuck::bytes_of(&[5, 7])]);
}
