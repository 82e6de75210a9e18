use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn größe(_: &Block) {}
//~^ ERROR a kernel's name goes into the PTX, whose names have ASCII letters, digits and `_` only:
//~> rename `größe`

#[kernel(threads = 32)]
fn memcpy(_: &Block) {}
//~^ ERROR `memcpy` has another meaning in PTX or for the builder: give the kernel another name

#[kernel(threads = 32)]
fn __ptx_matrix_scale(_: &Block) {}
//~^ ERROR `__ptx_matrix_scale` has another meaning in PTX or for the builder: give the kernel
//~> another name

fn main() {}
