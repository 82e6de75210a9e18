use ptx_matrix::*;

fn main() {
    Im2colTensor::<SharedTile<u16, 8, 64, Swizzle128>, 2>::new([64, 8]);
    //~^ ERROR im2col copies have no coordinates `[i32; 2]`
}
