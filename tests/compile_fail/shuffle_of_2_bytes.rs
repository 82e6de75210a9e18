use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn pass_on(block: &Block) {
    let warp = block.warp();
    warp.shuffle_xor(&PerLane::splat(bf16::ONE), 1);
}

fn main() {
    pass_on::simulate(1).unwrap();
}
//~? ERROR lanes exchange whole registers: size and alignment of the type must be multiples of 32
//~> bits
//~| shuffle_of_2_bytes.rs:6
