use ptx_matrix::launch::Im2colTensor;
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;

fn main() {
    Im2colTensor::<SharedTile<u8, 1040, 16, Unswizzled128>, 3>::new([16, 8, 1]);
}
//~? ERROR an im2col copy loads at most 1024 pixels
