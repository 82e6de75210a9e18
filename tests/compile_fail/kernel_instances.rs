//! Invalid rows of `instances(..)`.

use ptx_matrix::prelude::*;

trait Config {
    type Element: Element;
}

trait Other {
    type Element;
}

#[kernel(threads = 32, instances(twice = <f32>, twice = <f64>))]
//~^ ERROR two instances are named `twice`, as whose entry in the PTX one can be: rename one
fn of_one_name<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(itself = <f32>))]
//~^ ERROR `itself` is the function, and the table of its instances: name this one otherwise
fn itself<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(few = <f32>))]
//~^ ERROR `few` has 1 generic arguments; the function has 2: `<T, N>`
fn too_few<T: Element, const N: usize>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(number = <32>))]
//~^ ERROR `T` takes a type
fn of_another_kind<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(bare))]
//~^ ERROR an instance is a name and its generic arguments: `bare = <Tile128, 64>`
fn without_arguments<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(memcpy = <f32>))]
//~^ ERROR `memcpy` means something else in PTX, or to the builder: a kernel needs another name
fn of_a_name_that_ptx_has_not<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(of_two = <f32>))]
fn of_two_traits<C: Config + Other>(_: &Block, _a: Global<C::Element>) {}
//~^ ERROR #[kernel] cannot tell which trait `Element` is of: write `<C as Trait>::Element`

#[kernel(instances(unsized_block = <f32>))]
//~^ ERROR say how many threads a block has: `#[kernel(threads = 128)]`
fn without_threads<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(paired(cluster = 2) = <2>, alone = <1>))]
//~^ ERROR without clusters a kernel has no block of one: say `#[kernel(.., cluster = 2)]`
fn some_with_clusters<const N: usize>(_: &ClusterBlock<N>) {}

#[kernel(threads = 32, instances(renamed(crate = px) = <2>))]
//~^ ERROR `crate` is one of the whole kernel, and not of an instance
fn of_two_crates<const N: usize>(_: &Block) {}

fn main() {}
