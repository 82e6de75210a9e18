use ptx_matrix::*;

#[kernel(threads = 32, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tile: SharedTile<u16, 8, 64, Swizzle128>,
    #[shared] full: BarrierMemory,
    map: TensorMap<SharedTile<u16, 8, 32, Swizzle64>, 2>,
) {
    let full = full.init(block, 1);
    block.warp().elect(|lane| tile.load_box(lane, map, [0, 0], full));
    //~^ ERROR mismatched types
    //~| expected struct `ptx_matrix::TensorMap<'_, ptx_matrix::SharedTile<_, _, 64, ptx_matrix::Swizzle128>, _>`
    //~| found struct `ptx_matrix::TensorMap<'_, ptx_matrix::SharedTile<_, _, 32, ptx_matrix::Swizzle64>, _>`
}

fn main() {}
