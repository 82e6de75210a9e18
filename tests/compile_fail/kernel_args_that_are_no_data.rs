//! Fields whose bytes are not valid values on both sides.

use core::num::NonZero;
use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
#[repr(C)]
struct Rows {
    rows: NonZero<u32>,
    //~^ ERROR a kernel cannot take a parameter of type `NonZero<u32>`
    //~^^ ERROR a kernel's arguments cannot hold a `NonZero<u32>`
    //~| plain data: numbers, `bool`, arrays, and structs with `#[derive(KernelArgs)]`
}

#[derive(Clone, Copy, KernelArgs)]
#[repr(C)]
struct Memory {
    a: Global<'static, f32>,
    //~^ ERROR a kernel's arguments cannot hold a `ptx_matrix::memory::Global<'static, f32>`
    //~| belongs in a struct with a lifetime `'k`
}

fn main() {}
