use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
fn load(block: &Block, a: Global<f32>) {
    block.warp().each(|_| a.get_vector::<3>(0));
    //~? ERROR a vector has 2, 4, 8 or 16 bytes
    //~| vector_of_12_bytes.rs:5
}

fn main() {
    load::simulate(1, &[0.0; 4]).unwrap();
}
