//! Launches on slices of buffers.

use ptx_matrix::launch::Tensor;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::kernels::{LaunchError, Launches};

/// A thread writes the element that it has read, or one that another thread reads.
#[kernel(threads = 64)]
fn increment(block: &Block, c: Global<u32>, d: GlobalMut<u32>, shift: u32) {
    let warp = block.warp();
    let first = warp.index() * 32;
    warp.each(|lane| {
        let index = first + lane.id();
        d.set((index + shift as usize) % 64, c.get(index) + 1);
    });
}

/// Runs `increment` in place and returns the elements.
fn increment_in_place(shift: u32) -> Result<Vec<u32>, String> {
    let (device, mut elements) = (Simulator::default().strict(), (0..64).collect::<Vec<u32>>());
    let launches = Launches::new(&device);
    let mut d = launches.write(&mut elements[..]);
    let c = d.in_place();
    // SAFETY: both slices are of these launches, and `d` is from `write`. The simulator checks the
    // order.
    let on = unsafe { launches.on() };
    let launched = increment::launch(&on, 1, &c, &mut d, shift);
    let reports = launches.finish(launched.map_err(LaunchError::Device));
    assert_eq!(reports.map_err(|error| error.to_string())?.len(), 1);
    Ok(elements)
}

#[test]
fn each_element_is_read_before_it_is_written() {
    assert_eq!(increment_in_place(0), Ok((1..65).collect()));
    for shift in [1, 32, 63] {
        let error = increment_in_place(shift).expect_err("another thread reads what is written");
        assert!(error.contains("race") || error.contains("read"), "{error}");
    }
}

type Tile = SharedTile<u32, 4, 32, Swizzle128>;

/// A warp stores the tile that it has loaded by TMA: in its place, or where the other warp loads.
#[kernel(threads = 64, target = "sm_90")]
fn increment_tiles(
    block: &Block,
    #[shared] tiles: SharedRing<Tile, 2>,
    #[shared] full: SharedRing<BarrierMemory, 2>,
    c: TensorMap<Tile, 2>,
    d: TensorMapMut<Tile, 2>,
    shift: u32,
) {
    let full = full.init(block, 1);
    let (warp, index) = (block.warp(), block.warp().index());
    let (tile, full) = (tiles.part(index), full.part(index));
    warp.elect(|lane| {
        full.arrive_expecting(lane, Tile::BOX_BYTES);
        tile.load_tma(lane, c.at([0, 4 * index as i32]), full);
    });
    full.wait(warp, Phase::FIRST);
    warp.each(|lane| {
        for place in (0..4).map(|row| (row, lane.id())) {
            tile.set(place, tile.get(lane, place) + 1);
        }
    });
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, d.at([0, 4 * (index as i32 + shift as i32) % 8]));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

/// Runs `increment_tiles` in place and returns the elements.
fn increment_tiles_in_place(shift: u32) -> Result<Vec<u32>, String> {
    let (device, mut elements) = (Simulator::default().strict(), (0..256).collect::<Vec<u32>>());
    let launches = Launches::new(&device);
    let mut d = launches.write(&mut elements[..]);
    let c = d.in_place();
    // SAFETY: both slices are of these launches, and `d` is from `write`. The simulator checks the
    // order.
    let on = unsafe { launches.on() };
    let tensor = Tensor::<Tile, 2>::new([32, 8]);
    let map = tensor.map(&on, &c).unwrap();
    let mut map_mut = tensor.map_mut(&on, &mut d).unwrap();
    let launched = increment_tiles::launch(&on, 1, &map, map_mut.by_ref(), shift);
    let reports = launches.finish(launched.map_err(LaunchError::Device));
    assert_eq!(reports.map_err(|error| error.to_string())?.len(), 1);
    Ok(elements)
}

#[test]
fn each_element_is_loaded_by_tma_before_it_is_stored() {
    assert_eq!(increment_tiles_in_place(0), Ok((1..257).collect()));
    let error = increment_tiles_in_place(1).expect_err("the other warp loads what is stored");
    assert!(error.contains("race: write of element 128 of `c`"), "{error}");
}
