use ptx_matrix::prelude::*;

/// The last row and the last column of these windows wrap to 0.
#[kernel(threads = 32)]
fn write(block: &Block, #[shared] tile: SharedTile<bf16, 16, 24>) {
    block.warp().each(|lane| {
        tile.set(At::<{ usize::MAX }, 0>, bf16::ONE);
        //~? ERROR out of range: the last row lies beyond the tile's rows
        //~| coordinate_near_the_largest_number.rs:7
        tile.get(lane, At::<0, { usize::MAX }>);
        //~? ERROR out of range: the last column lies beyond the tile's columns
        //~| coordinate_near_the_largest_number.rs:10
    });
    FragmentA::<M16N8K16, bf16>::load(block.warp(), &tile, At::<{ usize::MAX - 15 }, 0>);
    //~? ERROR out of range: the last row lies beyond the tile's rows
    //~| coordinate_near_the_largest_number.rs:14
}

fn main() {
    write::simulate(1).unwrap();
}
