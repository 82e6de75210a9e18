use ptx_matrix::mma::GroupAccumulator;

const BYTES: usize = size_of::<GroupAccumulator<12, f32>>();
//~^ ERROR there is no accumulator `M64<12>`
//~| N is a multiple of 8, from 8 to 256

fn main() {}
