use ptx_matrix::launch::Tensor;
use ptx_matrix::prelude::*;

fn main() {
    Tensor::<SharedTile<u16, 8, 64, Swizzle128>, 6>::new([64, 8, 1, 1, 1, 1]);
}
//~? ERROR a tensor has from 1 to 5 dimensions
