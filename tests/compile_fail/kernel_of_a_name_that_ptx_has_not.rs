use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn größe(_: &Block) {}
//~^ ERROR a kernel's name goes into the PTX, whose names have ASCII letters, digits and `_` only:
//~> rename `größe`

#[kernel(threads = 32)]
fn memcpy(_: &Block) {}
//~^ ERROR `memcpy` means something else in PTX, or to the builder: a kernel needs another name

#[kernel(threads = 32)]
fn __ptx_matrix_scale(_: &Block) {}
//~^ ERROR `__ptx_matrix_scale` means something else in PTX, or to the builder: a kernel needs
//~> another name

fn main() {}
