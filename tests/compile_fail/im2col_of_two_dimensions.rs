use ptx_matrix::launch::Im2colTensor;
use ptx_matrix::prelude::*;

fn main() {
    Im2colTensor::<SharedTile<u16, 8, 64, Swizzle128>, 2>::new([64, 8]);
    //~^ ERROR im2col copies have no coordinates `[i32; 2]`
}
