//! `#[kernel]` cannot check these; the compiler checks them when it evaluates the constants.

use ptx_matrix::prelude::*;

trait Config {
    const THREADS: usize;
    const BLOCKS: u32 = 1;
}

struct Odd;
struct Wide;

impl Config for Odd {
    const THREADS: usize = 33;
}

impl Config for Wide {
    const THREADS: usize = 32;
    const BLOCKS: u32 = 3;
}

#[kernel(threads = C::THREADS, cluster = (C::BLOCKS, C::BLOCKS), target = "sm_90", instances(
    //~^ ERROR evaluation panicked: a block has whole warps: `threads` must be a multiple of 32 from
    //~> 32 to 1024
    //~| odd = <Odd>
    //~^^^^ ERROR evaluation panicked: a cluster has at most 8 blocks
    //~| wide = <Wide>
    odd = <Odd>,
    wide = <Wide>,
))]
fn bounded<C: Config>(_: &Block) {}

const LONG: u64 = (1 << 32) + 32;

#[kernel(threads = LONG)]
//~^ ERROR evaluation panicked: a block has whole warps: `threads` must be a multiple of 32 from 32
//~> to 1024
fn long(_: &Block) {}

const TARGET: &str = "sm_90";

#[kernel(threads = 32, target = TARGET)]
//~^ ERROR a target selects the code to compile before constants have values: write it as text,
//~> `target = "sm_90"`, for the whole kernel or for an instance
fn for_some_target(_: &Block) {}

#[kernel(threads = "32")]
//~^ ERROR expected a number, or a constant
fn of_text(_: &Block) {}

fn main() {
    println!("{}", odd::INFO.threads + wide::INFO.threads);
}
