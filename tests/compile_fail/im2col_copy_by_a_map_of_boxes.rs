use ptx_matrix::*;

type Tile = SharedTile<u16, 8, 64, Swizzle128>;

#[kernel(threads = 32, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tile: Tile,
    #[shared] full: BarrierMemory,
    boxes: TensorMap<Tile, 4>,
    images: TensorMap<Tile, 4, Im2col>,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| {
        tile.load_im2col(lane, boxes, [0; 4], [0; 2], full);
        //~^ ERROR mismatched types
        //~| expected struct `ptx_matrix::TensorMap<'_, _, _, ptx_matrix::Im2col>`
        //~| found struct `ptx_matrix::TensorMap<'_, _, _, ptx_matrix::Tiled>`
        tile.load_box(lane, images, [0; 4], full);
        //~^ ERROR mismatched types
        tile.load_im2col(lane, images, [0; 4], [0; 3], full);
        //~^ ERROR mismatched types
        //~| expected an array with a size of 2, found one with a size of 3
    });
}

fn main() {}
