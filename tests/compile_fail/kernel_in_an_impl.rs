//! A kernel is a free function.

use ptx_matrix::prelude::*;

struct Model;

impl Model {
    #[kernel(threads = 32)]
    fn method(&self, _: &Block) {}
    //~^ ERROR a kernel is a free function and takes no `self`: move it out of the `impl`, and pass
    //~> its data as parameters

    #[kernel(threads = 32)]
    fn of_self(_: &Block, _model: Self) {}
    //~^ ERROR a kernel is a free function and has no `Self`: move it out of the `impl`, and name
    //~> the type
}

fn main() {}
