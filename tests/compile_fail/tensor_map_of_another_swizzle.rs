use ptx_matrix::prelude::*;

#[kernel(threads = 32, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tile: SharedTile<u16, 8, 64, Swizzle128>,
    #[shared] full: BarrierMemory,
    map: TensorMap<SharedTile<u16, 8, 32, Swizzle64>, 2>,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| tile.load_tma(lane, map.at([0, 0]), full));
    //~^ ERROR cannot be loaded from `TmaBox<TensorMap<'_, SharedTile<u16, 8, 32, Swizzle64>, 2>,
    //~> 2>`
    //~| a tensor map fills tiles of its own type
}

fn main() {}
