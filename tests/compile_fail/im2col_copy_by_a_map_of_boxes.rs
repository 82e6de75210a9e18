use ptx_matrix::copy::Im2col;
use ptx_matrix::prelude::*;

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
        tile.load_tma(lane, boxes.at([0; 4], [0; 2]), full);
        //~^ ERROR this method takes 1 argument but 2 arguments were supplied
        tile.load_tma(lane, images.at([0; 4]), full);
        //~^ ERROR this method takes 2 arguments but 1 argument was supplied
        tile.load_tma(lane, images.at([0; 4], [0; 3]), full);
        //~^ ERROR mismatched types
        //~| expected an array with a size of 2, found one with a size of 3
    });
}

fn main() {}
