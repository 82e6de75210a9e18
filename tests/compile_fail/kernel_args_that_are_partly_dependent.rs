use ptx_matrix::launch::Dependent;
use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
//~^ ERROR evaluation panicked: if some of a struct's memory is `Dependent`, all of it must be
struct Args<'k> {
    a: Global<'k, f32>,
    d: Dependent<GlobalMut<'k, f32>>,
}

#[kernel(threads = 32, dependent = true)]
fn copy(_: &Block, _args: Args) {}

fn main() {}
