use ptx_matrix::prelude::*;

struct Model;

impl Model {
    #[kernel(threads = 32)]
    //~^ ERROR a kernel is a free function: move it out of the `impl`
    fn run(_: &Block) {}
}

trait Runs {
    #[kernel(threads = 32)]
    //~^ ERROR a kernel is a free function: move it out of the `trait`
    fn run(_: &Block) {}
}

impl Model {
    fn other() {
        #[kernel(threads = 32)]
        fn of_a_function(_: &Block) {}
    }
}

fn main() {
    Model::other();
}
