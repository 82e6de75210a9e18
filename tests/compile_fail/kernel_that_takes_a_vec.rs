use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
//~^ ERROR a kernel cannot take a parameter of type `Vec<f32>`
fn sum(_: &Block, _a: Vec<f32>) {}
//~^ ERROR a kernel cannot take a parameter of type `Vec<f32>`
//~| not a kernel parameter
//~| kernels take `Global<T>`, `GlobalMut<T>`, `GlobalAtomic<T>`, `TensorMap<Tile, RANK>`,
//~> `TensorMapMut<Tile, RANK>`, numbers, structs with `#[derive(KernelArgs)]`, and, marked
//~> `#[shared]`, their shared memory

fn main() {}
