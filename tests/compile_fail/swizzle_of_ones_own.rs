//! Unsafe code relies on the numbers of a swizzle, so users cannot implement one.

use ptx_matrix::memory::Swizzle;

#[derive(Clone, Copy)]
struct Mine;

impl Swizzle for Mine {
    //~^ ERROR the trait bound `Mine: lane::sealed::Sealed` is not satisfied
    const BITS: u32 = 5;
}

fn main() {}
