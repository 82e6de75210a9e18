//! Invalid rows of `instances(..)`.

use ptx_matrix::prelude::*;

trait Config {
    type Element: Element;
}

trait Other {
    type Element;
}

#[kernel(threads = 32, instances(twice = <f32>, twice = <f64>))]
//~^ ERROR two instances are named `twice`, and the PTX can have only one entry of that name: rename
//~> one
fn of_one_name<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(itself = <f32>))]
//~^ ERROR `itself` is the name of the function, and of the table of its instances: give this
//~> instance another name
fn itself<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(few = <f32>))]
//~^ ERROR `few` has 1 generic arguments; the function takes 2: `<T, N>`
fn too_few<T: Element, const N: usize>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(number = <32>))]
//~^ ERROR `T` takes a type
fn of_another_kind<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(bare))]
//~^ ERROR an instance is a name and its generic arguments: `bare = <Tile128, 64>`
fn without_arguments<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(memcpy = <f32>))]
//~^ ERROR `memcpy` has another meaning in PTX or for the builder: give the kernel another name
fn of_a_name_that_ptx_has_not<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(of_two = <f32>))]
fn of_two_traits<C: Config + Other>(_: &Block, _a: Global<C::Element>) {}
//~^ ERROR #[kernel] cannot tell which trait has `Element`: write `<C as Trait>::Element`

#[kernel(instances(unsized_block = <f32>))]
//~^ ERROR say how many threads a block has: `#[kernel(threads = 128)]`
fn without_threads<T: Element>(_: &Block, _a: Global<T>) {}

#[kernel(threads = 32, instances(paired(cluster = 2) = <2>, alone = <1>))]
//~^ ERROR a `ClusterBlock` needs a kernel with clusters: write `#[kernel(.., cluster = 2)]`
fn some_with_clusters<const N: usize>(_: &ClusterBlock<N>) {}

#[kernel(threads = 32, instances(renamed(crate = px) = <2>))]
//~^ ERROR `crate` belongs to the whole kernel: move it out of the instance
fn of_two_crates<const N: usize>(_: &Block) {}

fn main() {}
