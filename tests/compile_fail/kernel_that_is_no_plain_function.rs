//! Properties of functions that a kernel cannot have.

use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
const fn constant(_: &Block) {}
//~^ ERROR a kernel runs on a device, and never in a constant: remove `const`

#[kernel(threads = 32)]
async fn later(_: &Block) {}
//~^ ERROR a kernel cannot be `async`: it waits with barriers and groups, and a launch waits for it

#[kernel(threads = 32)]
unsafe fn careless(_: &Block) {}
//~^ ERROR a kernel is launched by safe code, so it cannot be an `unsafe fn`: write `unsafe` blocks
//~> in it

#[kernel(threads = 32)]
extern "C" fn foreign(_: &Block) {}
//~^ ERROR #[kernel] makes the entry, with its ABI: remove `extern`

#[kernel(threads = 32)]
fn of_any(_: &Block, _a: impl Element) {}
//~^ ERROR a kernel's parameter cannot have an `impl` type: write a type parameter, and list the
//~> instances

#[kernel(threads = 32)]
fn bounded(_: &Block, _a: f32)
where
//~^ ERROR a kernel without instances has no generic parameters: remove the `where` clause
    f32: Element,
{
}

#[kernel(threads = 32)]
fn taken_apart(_: &Block, [_first, _second]: [f32; 2]) {}
//~^ ERROR a kernel's parameter needs a plain name, which launches and reports use: destructure it
//~> in the body

#[kernel(threads = 32)]
#[unsafe(no_mangle)]
//~^ ERROR the PTX entry has the kernel's name already: remove this attribute
fn exported(_: &Block) {}

#[kernel(threads = 32)]
#[inline(never)]
//~^ ERROR a kernel is inlined into its entry: remove this attribute
fn apart(_: &Block) {}

#[kernel(threads = 32, instances(of_f32 = <f32>))]
fn with_a_default<T = f32>(_: &Block, _a: Global<T>) {}
//~^ ERROR a function's generic parameters have no defaults: name the argument in each instance

fn main() {}
