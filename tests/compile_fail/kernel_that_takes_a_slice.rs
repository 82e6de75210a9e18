use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
//~^ ERROR a kernel's arguments cannot hold a `[f32]`
//~| memory, such as a `Global<'k, T>`, belongs in a struct with a lifetime `'k`
//~| required for `&[f32]` to implement `KernelParam`
fn sum(_: &Block, _a: &[f32]) {}
//~^ ERROR a kernel cannot take a parameter of type `&[f32]`
//~| not a kernel parameter
//~| kernels take `Global<T>`, `GlobalMut<T>`, `GlobalAtomic<T>`, `TensorMap<Tile, RANK>`,
//~> `TensorMapMut<Tile, RANK>`, numbers, structs with `#[derive(KernelArgs)]`, and, marked
//~> `#[shared]`, their shared memory

fn main() {}
