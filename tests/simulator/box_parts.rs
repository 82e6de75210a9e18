//! TMA copies from a tile to a box that is partly outside of its tensor. The copy does not need the
//! parts outside.

use ptx_matrix::copy::{Im2col, reduction};
use ptx_matrix::launch::{Im2colTensor, Tensor};
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, Report, SHARED_BASE, SimError, Simulator};

/// Eight rows of 128 bytes.
type Tile = SharedTile<f32, 8, 32, Swizzle128>;

/// Another access during the copy: none.
const NOTHING: u32 = 0;
/// An element of the last row is written while the copy is in flight.
const WRITTEN: u32 = 1;
/// The last row is written without a fence afterwards.
const UNFENCED: u32 = 2;
/// Another warp writes the last row without any order.
const RACE: u32 = 3;

/// Writes `rows` and `cols` of a tile, then stores or adds the tile.
macro_rules! stores {
    ($($name:ident $rank:literal ($($at:ident)*);)*) => {$(
        #[kernel(threads = 64, target = "sm_90")]
        fn $name(
            block: &Block,
            #[shared] tile: Tile,
            d: TensorMapMut<Tile, $rank>,
            rows: usize,
            cols: usize,
            $($at: i32,)*
            adds: u32,
            besides: u32,
        ) {
            let (warp, at) = (block.warp(), [$($at),*]);
            if warp.index() == 0 {
                warp.each(|lane| {
                    if lane.id() < cols {
                        (0..rows).for_each(|row| {
                            tile.set((row, lane.id()), (row * 32 + lane.id()) as f32)
                        });
                    }
                });
                warp.fence_for_bulk();
                warp.sync();
                if besides == UNFENCED {
                    warp.each(|lane| tile.set((7, lane.id()), 1.0));
                    warp.sync();
                }
                warp.elect(|lane| {
                    if adds == 1 {
                        tile.reduce_tma(lane, reduction::Add, d.at(at));
                    } else {
                        tile.store_tma(lane, d.at(at));
                    }
                    BulkGroup::commit(lane);
                    if besides == WRITTEN {
                        tile.set((7, 3), 5.0);
                    }
                    BulkGroup::wait_read::<0>(lane);
                });
            } else if besides == RACE {
                warp.each(|lane| tile.set((7, lane.id()), 1.0));
            }
        }
    )*};
}
stores! {
    store_2d 2 (x y);
    store_3d 3 (x y z);
}

/// Runs the kernel on a matrix of these sizes, and returns the matrix.
fn run_2d(
    seed: u64,
    [cols, rows]: [usize; 2],
    (written_rows, written_cols): (usize, usize),
    at: [i32; 2],
    adds: u32,
    besides: u32,
) -> Result<(Report, Vec<f32>), SimError> {
    let (device, mut d) = (Simulator::new(seed), vec![0.0; cols * rows]);
    let mut map = Tensor::<Tile, 2>::new([cols, rows]).map_mut(&device, &mut d[..]).unwrap();
    store_2d::launch(
        &device,
        1,
        map.by_ref(),
        written_rows,
        written_cols,
        at[0],
        at[1],
        adds,
        besides,
    )
    .and_then(Report::check)
    .map(|report| (report, d))
}

#[test]
fn rows_outside_the_tensor_may_be_unwritten() {
    for (seed, adds) in (0..8).flat_map(|seed| [(seed, 0), (seed, 1)]) {
        let (_, d) = run_2d(seed, [32, 4], (4, 32), [0, 0], adds, NOTHING).unwrap();
        assert_eq!(d, (0..128).map(|i| i as f32).collect::<Vec<_>>());
        // The first row of the box is the last of nine rows.
        let (_, d) = run_2d(seed, [32, 9], (1, 32), [0, 8], adds, NOTHING).unwrap();
        assert_eq!(d[256..], (0..32).map(|i| i as f32).collect::<Vec<_>>());
        // The whole box is outside.
        for start in [[0, 4], [32, 0]] {
            let error = run_2d(seed, [32, 4], (0, 0), start, adds, NOTHING).unwrap_err();
            assert!(matches!(error.misuse, Misuse::BoxOutside { loads: false, .. }), "{error}");
            assert_eq!(error.findings().len(), 1, "{error}");
        }
    }
}

#[test]
fn columns_outside_the_tensor_may_be_unwritten() {
    for adds in [0, 1] {
        let (_, d) = run_2d(0, [16, 8], (8, 16), [0, 0], adds, NOTHING).unwrap();
        assert_eq!(d, (0..128).map(|i| (i / 16 * 32 + i % 16) as f32).collect::<Vec<_>>());
        let (_, d) = run_2d(0, [40, 8], (8, 8), [32, 0], adds, NOTHING).unwrap();
        assert_eq!(d[7 * 40 + 39], (7 * 32 + 7) as f32);
        // Rows and columns are outside.
        run_2d(0, [40, 10], (2, 8), [32, 8], adds, NOTHING).unwrap();
    }
}

#[test]
fn store_of_unwritten_elements_names_them() {
    let misuse = |sizes, written, at| {
        let errors =
            [0, 1].map(|adds| run_2d(3, sizes, written, at, adds, NOTHING).map(drop).unwrap_err());
        assert_eq!(errors[0].misuse, errors[1].misuse);
        errors[0].misuse.clone()
    };
    let unwritten =
        |first: u32, bytes| Misuse::SharedUnwritten { address: SHARED_BASE + first, bytes };
    assert_eq!(misuse([32, 8], (4, 32), [0, 0]), unwritten(512, 512));
    assert_eq!(misuse([32, 5], (4, 32), [0, 0]), unwritten(512, 128));
    assert_eq!(misuse([32, 9], (0, 32), [0, 8]), unwritten(0, 128));
    // Columns 12 to 15 are the fourth 16 bytes of each row, which are swizzled.
    assert_eq!(misuse([16, 8], (8, 12), [0, 0]), unwritten(48, 8 * 16));
}

#[test]
fn elements_outside_the_tensor_may_change_during_the_store() {
    for seed in 0..8 {
        for besides in [WRITTEN, UNFENCED, RACE] {
            run_2d(seed, [32, 7], (7, 32), [0, 0], 0, besides).unwrap();
            let error = run_2d(seed, [32, 8], (8, 32), [0, 0], 0, besides).map(drop).unwrap_err();
            let is_it = |misuse: &Misuse| match besides {
                WRITTEN => matches!(misuse, Misuse::CopySourceInFlight { .. }),
                UNFENCED => matches!(misuse, Misuse::ProxyFence { .. }),
                _ => matches!(misuse, Misuse::Race { .. } | Misuse::CopySourceInFlight { .. }),
            };
            assert!(error.findings().iter().all(|finding| is_it(&finding.misuse)), "{error}");
        }
    }
}

#[test]
fn boxes_of_three_dimensions() {
    let run = |written, [x, y, z]: [i32; 3]| {
        let (device, mut d) = (Simulator::default(), vec![0.0; 32 * 3 * 3]);
        let tensor = Tensor::<Tile, 3>::new([32, 3, 3]).boxes([32, 4, 2]);
        let mut map = tensor.map_mut(&device, &mut d[..]).unwrap();
        store_3d::launch(&device, 1, map.by_ref(), written, 32, x, y, z, 0, NOTHING)
            .and_then(Report::check)
            .map(|_| d)
    };
    // Three of each four rows are inside. So rows 5 to 7 are needed, and row 4 is not.
    assert_eq!(run(7, [0, 0, 0]).unwrap()[3 * 32], (4 * 32) as f32);
    assert_eq!(
        run(4, [0, 0, 0]).unwrap_err().misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE + 512, bytes: 384 }
    );
    run(3, [0, 0, 2]).unwrap();
    run(1, [0, 2, 2]).unwrap();
    assert_eq!(
        run(0, [0, 2, 2]).unwrap_err().misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE, bytes: 128 }
    );
}

type Pixels = SharedTile<u32, 16, 8, Unswizzled128>;

/// Writes some of 16 pixels, and stores all of them from an image on.
#[kernel(threads = 32, target = "sm_90")]
fn store_pixels(
    block: &Block,
    #[shared] tile: Pixels,
    images: TensorMapMut<Pixels, 4, Im2col>,
    written: usize,
    image: i32,
    adds: u32,
) {
    let warp = block.warp();
    warp.each(|lane| {
        if lane.id() < written {
            (0..8).for_each(|channel| tile.set((lane.id(), channel), 100 + lane.id() as u32));
        }
    });
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        if adds == 1 {
            tile.reduce_tma(lane, reduction::Add, images.at([0, 0, 0, image]));
        } else {
            tile.store_tma(lane, images.at([0, 0, 0, image]));
        }
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

#[test]
fn pixels_after_the_last_image_may_be_unwritten() {
    let run = |written, image, adds| {
        let (device, mut d) = (Simulator::default(), vec![0; 8 * 2 * 3 * 3]);
        let mut map =
            Im2colTensor::<Pixels, 4>::new([8, 2, 3, 3]).map_mut(&device, &mut d[..]).unwrap();
        store_pixels::launch(&device, 1, map.by_ref(), written, image, adds)
            .and_then(Report::check)
            .map(|_| d)
    };
    for adds in [0, 1] {
        // An image has six pixels.
        assert_eq!(run(6, 2, adds).unwrap()[8 * 17], 105);
        run(12, 1, adds).unwrap();
        let unwritten = Misuse::SharedUnwritten { address: SHARED_BASE + 5 * 32, bytes: 32 };
        assert_eq!(run(5, 2, adds).unwrap_err().misuse, unwritten);
    }
}

/// A bulk copy of a whole tile that is partly written.
#[kernel(threads = 32, target = "sm_90")]
fn store_rows(
    block: &Block,
    #[shared] tile: SharedTile<u32, 8, 32>,
    d: GlobalMut<u32>,
    rows: usize,
) {
    let warp = block.warp();
    warp.each(|lane| (0..rows).for_each(|row| tile.set((row, lane.id()), 1)));
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|lane| {
        tile.store_tma(lane, d.bulk(0));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

#[test]
fn bulk_copy_of_unwritten_elements_names_them() {
    let error = store_rows::simulate(1, &mut [0; 256], 5).unwrap_err();
    assert_eq!(
        error.misuse,
        Misuse::SharedUnwritten { address: SHARED_BASE + 5 * 128, bytes: 3 * 128 }
    );
    store_rows::simulate(1, &mut [0; 256], 8).check();
}
