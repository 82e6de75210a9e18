use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn copy<T: Element>(_: &Block, _a: Global<T>) {}
//~^ ERROR a generic kernel lists its instances, each an entry in the PTX: `#[kernel(..,
//~> instances(copy_a = <..>, copy_b = <..>))]`

#[kernel(threads = 32)]
fn filled<const N: usize>(_: &Block) {}
//~^ ERROR a generic kernel lists its instances, each an entry in the PTX: `#[kernel(..,
//~> instances(filled_a = <..>, filled_b = <..>))]`

#[kernel(threads = 32, instances(plain_a = <f32>))]
fn plain(_: &Block) {}
//~^ ERROR `plain` has no generic parameters, so it cannot have instances

#[kernel(threads = 32, instances())]
//~^ ERROR a generic kernel needs at least one instance: `instances(gemm_128 = <Tile128>)`
fn none<T: Element>(_: &Block, _a: Global<T>) {}

fn main() {}
