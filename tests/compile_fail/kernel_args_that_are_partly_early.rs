use ptx_matrix::launch::Early;
use ptx_matrix::prelude::*;

#[derive(Clone, Copy, KernelArgs)]
//~^ ERROR evaluation panicked: if some of a struct's memory is `Early`, all of it is
struct Args<'k> {
    a: Global<'k, f32>,
    d: Early<GlobalMut<'k, f32>>,
}

#[kernel(threads = 32, early = true)]
fn copy(_: &Block, _args: Args) {}

fn main() {}
