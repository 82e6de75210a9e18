use ptx_matrix::launch::Tensor;
use ptx_matrix::prelude::*;

fn main() {
    Tensor::<SharedTile<u16, 8, 32, Swizzle128>, 2>::new([64, 8]);
}
//~? ERROR the contiguous side of a tile that a tensor copy swizzles has as many bytes as the
//~> swizzle: 32, 64 or 128
