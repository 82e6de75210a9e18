//! Unsafe code relies on a swizzle's numbers, so nobody else's will do.

use ptx_matrix::memory::Swizzle;

#[derive(Clone, Copy)]
struct Mine;

impl Swizzle for Mine {
    //~^ ERROR the trait bound `Mine: lane::sealed::Sealed` is not satisfied
    const BITS: u32 = 5;
}

fn main() {}
