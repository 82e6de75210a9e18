//! TMA copies in im2col mode: the pixels that they copy, invalid arguments, and accesses before
//! they complete.

use crate::{assert_at, assert_elected_at, line_of};
use ptx_matrix::copy::{Im2col, reduction};
use ptx_matrix::launch::{Im2colTensor, Tensor};
use ptx_matrix::memory::Unswizzled128;
use ptx_matrix::prelude::*;
use ptx_matrix::raw::{
    self,
    cp_async_bulk_tensor_4d_shared_cluster_global_im2col_mbarrier_complete_tx_bytes as load_4d,
};
use ptx_matrix::sim::{AccessKind, BarrierMisuse, Misuse, SHARED_BASE, SimError, Simulator};

/// 16 pixels of 8 channels.
type Pixels = SharedTile<u32, 16, 8, Swizzle32>;

/// Loads pixels from the coordinates `start`, moved by offsets, and reads them, after a wait (1) or
/// without one (0).
#[kernel(threads = 32, target = "sm_90")]
fn load(
    block: &Block,
    #[shared] tile: Pixels,
    #[shared] full: BarrierMemory,
    images: TensorMap<Pixels, 4, Im2col>,
    start: Global<i32>,
    d: GlobalMut<u32>,
    expected: u32,
    wait: u32,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    warp.elect(|lane| {
        full.arrive_expecting(lane, expected); // <- pixels expected
        let (at, offsets) =
            ([0, 1, 2, 3].map(|i| start.get(i)), [4, 5].map(|i| start.get(i) as u16));
        images.at(at, offsets).prefetch(lane); // <- pixels prefetched
        tile.load_tma(lane, images.at(at, offsets), full); // <- pixels loaded
    });
    if wait == 1 {
        full.wait(warp, Phase::FIRST);
    }
    tile.for_each(warp, |row, col, value| d.set(row * 8 + col, value)); // <- pixels read
}

/// The first two channels of each loaded pixel. There are `N` images of `W` x `H` pixels. A pixel's
/// first channel is its number; each next channel is larger by 1000.
fn loaded(
    [w, h, n]: [usize; 3],
    images: impl Fn(Im2colTensor<Pixels, 4>) -> Im2colTensor<Pixels, 4>,
    start: [i32; 6],
) -> Result<[(u32, u32); 16], SimError> {
    let (device, mut d) = (Simulator::default(), [7; 128]);
    let buffer: Vec<u32> = (0..w * h * n * 8).map(|i| (i / 8 + i % 8 * 1000) as u32 + 1).collect();
    let map = images(Im2colTensor::new([8, w, h, n])).map(&device, &buffer[..]).unwrap();
    load::launch(&device, 1, &map, &start, &mut d, Pixels::BOX_BYTES, 1)
        .and_then(|report| report.check())?;
    Ok(core::array::from_fn(|pixel| (d[pixel * 8], d[pixel * 8 + 1])))
}

fn first_channels(loaded: Result<[(u32, u32); 16], SimError>) -> [u32; 16] {
    loaded.unwrap().map(|(channel, next)| {
        assert_eq!(next, if channel == 0 { 0 } else { channel + 1000 });
        channel
    })
}

/// Two images of 4 x 4 pixels. The box starts one pixel before them, and ends one before their end.
/// The expected values are those of a published tutorial, measured on Hopper.
#[test]
fn pixels_continue_in_the_next_row_and_image() {
    let within = |at, offsets: [i32; 2]| {
        let [w, h, n] = at;
        let images = |images: Im2colTensor<Pixels, 4>| images.corners([-1, -1], [-1, -1]);
        first_channels(loaded([4, 4, 2], images, [0, w, h, n, offsets[0], offsets[1]]))
    };
    assert_eq!(within([-1, -1, 0], [0, 0]), [0, 0, 0, 0, 0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11]);
    assert_eq!(
        within([-1, -1, 0], [1, 1]),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
    );
    assert_eq!(within([2, 1, 0], [0, 0]), [7, 0, 9, 10, 11, 0, 0, 0, 0, 0, 17, 18, 19, 0, 21, 22]);
    // Offsets along W and H are separate, and may lead out of the image. There is nothing after the
    // last image.
    assert_eq!(within([-1, 2, 1], [2, 0]), [26, 27, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(within([-1, 0, 1], [0, 1])[..8], [0, 21, 22, 23, 0, 25, 26, 27]);
}

/// The example of the PTX ISA with a traversal stride of two (5.5.4.2), with fewer images. The box
/// has 8 x 14 pixels, from -1 to 6 and from -1 to 12.
#[test]
fn traversal_stride_skips_pixels_and_fills_the_tile() {
    let images = |images: Im2colTensor<Pixels, 4>| images.corners([-1, -1], [-1, -1]).steps([2, 2]);
    let pixels = first_channels(loaded([8, 14, 3], images, [0, 5, 7, 1, 1, 1]));
    let number = |n: u32, h: u32, w: u32| (n * 14 + h) * 8 + w + 1;
    let of_row = |n, h| [0, 2, 4, 6].map(|w| number(n, h, w));
    let rows = [of_row(1, 10), of_row(1, 12), of_row(2, 0)].concat();
    assert_eq!(pixels[..13], [&[number(1, 8, 6)], &rows[..]].concat());
    assert_eq!(pixels[13..], of_row(2, 2)[..3]);
}

#[test]
fn channels_start_at_the_coordinate() {
    let channels = |first| loaded([4, 4, 1], |images| images, [first, 3, 3, 0, 0, 0]).unwrap()[0];
    assert_eq!(channels(4), (16 + 4000, 16 + 5000));
    assert_eq!(channels(8), (0, 0));
}

#[test]
fn invalid_start_of_a_copy_is_an_error() {
    let misuse = |start| {
        let error =
            loaded([4, 4, 2], |images| images.corners([-1, 0], [-1, 1]), start).unwrap_err();
        assert_elected_at(&error, "pixels prefetched", (0, 0, 0), 0);
        error.misuse.clone()
    };
    let outside = |dimension, coordinate, (first, last)| Misuse::OutOfBoundingBox {
        dimension,
        coordinate,
        first,
        last,
    };
    assert_eq!(misuse([0, -2, 0, 0, 0, 0]), outside(1, -2, (-1, 2)));
    assert_eq!(misuse([0, 3, 0, 0, 0, 0]), outside(1, 3, (-1, 2)));
    assert_eq!(misuse([0, 0, 5, 0, 0, 0]), outside(2, 5, (0, 4)));
    assert_eq!(
        misuse([0, 0, 0, 0, 0, 256]),
        Misuse::Im2colOffset { dimension: 2, offset: 256, limit: 256 }
    );
    assert_eq!(misuse([2, 0, 0, 0, 0, 0]), Misuse::BoxStart { bytes: 8 });
}

/// Loads one image of 4 x 4 pixels, with a barrier that expects `expected` bytes.
fn run_load(expected: u32, wait: u32) -> Result<(), SimError> {
    let (device, buffer) = (Simulator::default(), [1; 128]);
    let map = Im2colTensor::<Pixels, 4>::new([8, 4, 4, 1]).map(&device, &buffer[..]).unwrap();
    let report = load::launch(&device, 1, &map, &[0, 3, 0, 0, 0, 0], &mut [0; 128], expected, wait);
    report.and_then(|report| report.check()).map(|_| ())
}

#[test]
fn byte_count_includes_pixels_outside_the_image() {
    run_load(Pixels::BOX_BYTES, 1).unwrap();
    // 13 of the 16 pixels are in the image.
    let error = run_load(13 * 32, 1).unwrap_err();
    let misuse = BarrierMisuse::UnexpectedBytes { bytes: 3 * 32 };
    assert_eq!(error.misuse, Misuse::Barrier { address: SHARED_BASE + 512, misuse });
    assert_elected_at(&error, "pixels expected", (0, 0, 0), 0);
}

#[test]
fn read_before_the_wait_is_an_error() {
    let error = run_load(Pixels::BOX_BYTES, 0).unwrap_err();
    let Misuse::CopyInFlight { access: AccessKind::Read, place, .. } = &error.misuse else {
        panic!("{error}")
    };
    assert_eq!((place.file.clone(), place.line), line_of("pixels loaded"));
    assert_at(&error, "pixels read", (0, 0, 0), 0, Some(0));
}

/// Each block stores or adds pixels, starting `distance` images after those of the block before,
/// with or without a fence.
#[kernel(threads = 32, target = "sm_90")]
fn store(
    block: &Block,
    #[shared] tile: Pixels,
    images: TensorMapMut<Pixels, 4, Im2col>,
    distance: u32,
    add: u32,
    fence: u32,
) {
    let (warp, index) = (block.warp(), block.index().x);
    tile.fill(warp, |row, _| 100 * (index + 1) + row as u32); // <- tile filled
    if fence == 1 {
        warp.fence_for_bulk();
    }
    warp.sync();
    warp.elect(|lane| {
        let at = [0, 0, 0, (index * distance) as i32];
        if add == 1 {
            tile.reduce_tma(lane, reduction::Add, images.at(at));
        } else {
            tile.store_tma(lane, images.at(at)); // <- pixels stored
        }
        BulkGroup::commit(lane);
        BulkGroup::wait::<0>(lane);
    });
}

/// Six images of 5 x 3 pixels, of which every other pixel in each direction is written: six in each
/// image. So the 16 pixels of a tile reach into the third image.
fn run_store(distance: u32, add: u32, fence: u32) -> Result<Vec<u32>, SimError> {
    let (device, mut d) = (Simulator::default(), vec![7; 8 * 5 * 3 * 6]);
    let images = Im2colTensor::<Pixels, 4>::new([8, 5, 3, 6]).steps([2, 2]);
    let mut map = images.map_mut(&device, &mut d[..]).unwrap();
    store::launch(&device, 2, map.by_ref(), distance, add, fence)
        .and_then(|report| report.check())?;
    assert!(
        d.as_chunks()
            .0
            .iter()
            .all(|pixel: &[u32; 8]| pixel.iter().all(|channel| channel == &pixel[0]))
    );
    Ok(d.into_iter().step_by(8).collect())
}

#[test]
fn traversal_stride_leaves_pixels_unwritten() {
    let d = run_store(3, 0, 1).unwrap();
    for (pixel, value) in d.into_iter().enumerate() {
        let (image, row, col) = (pixel / 15, pixel % 15 / 5, pixel % 5);
        let number = image % 3 * 6 + row / 2 * 3 + col / 2;
        let is_written = row % 2 == 0 && col % 2 == 0 && number < 16;
        assert_eq!(
            value,
            if is_written { 100 * (image / 3 + 1) + number } else { 7 } as u32,
            "pixel {pixel}"
        );
    }
}

#[test]
fn overlapping_stores_race_and_reductions_do_not() {
    let error = run_store(2, 0, 1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::Race { access: AccessKind::Write, .. }), "{error}");
    let d = run_store(2, 1, 1).unwrap();
    assert_eq!((d[30], d[30 + 2]), (7 + 112 + 200, 7 + 113 + 201));
}

#[test]
fn store_without_a_fence_is_an_error() {
    let error = run_store(3, 0, 0).unwrap_err();
    assert!(matches!(error.misuse, Misuse::ProxyFence { .. }), "{error}");
    assert_elected_at(&error, "pixels stored", (0, 0, 0), 0);
}

/// Raw instructions of one mode with tensor maps of the other mode, or of another rank.
#[kernel(threads = 32, target = "sm_90")]
fn raw_copies(
    block: &Block,
    #[shared] tile: Pixels,
    #[shared] full: BarrierMemory,
    images: TensorMapMut<Pixels, 4, Im2col>,
    boxes: TensorMap<Pixels, 4>,
    how: u32,
) {
    let full = full.init(block, 1);
    let warp = block.warp();
    tile.fill(warp, |_, _| 1);
    warp.fence_for_bulk();
    warp.sync();
    warp.elect(|_| {
        let (of_images, of_boxes, tile, barrier) =
            (images.as_ptr(), boxes.as_ptr(), tile.address(), full.address());
        // SAFETY: None.
        unsafe {
            match how {
                0 => load_4d(tile, of_boxes, [0; 4], barrier, [0; 2]),
                1 => raw::cp_async_bulk_prefetch_tensor_4d_L2_global_tile(of_images, [0; 4]),
                2 => raw::cp_async_bulk_tensor_4d_global_shared_cta_tile_bulk_group(
                    of_images, [0; 4], tile,
                ),
                3 => raw::cp_async_bulk_tensor_3d_global_shared_cta_im2col_no_offs_bulk_group(
                    of_images, [0; 3], tile,
                ),
                4 => raw::cp_async_bulk_tensor_4d_global_shared_cta_im2col_no_offs_bulk_group(
                    of_images,
                    [0, 0, 0, -1],
                    tile,
                ),
                _ => raw::cp_async_bulk_tensor_4d_global_shared_cta_im2col_no_offs_bulk_group(
                    of_images,
                    [0; 4],
                    tile + 64,
                ),
            }
        }
    });
}

#[test]
fn raw_copies_with_the_wrong_map() {
    let misuse = |how| {
        let (device, mut d, a) = (Simulator::default(), [0; 128], [0; 128]);
        let mut images =
            Im2colTensor::<Pixels, 4>::new([8, 4, 4, 1]).map_mut(&device, &mut d[..]).unwrap();
        let boxes = Tensor::<Pixels, 4>::new([8, 4, 4, 1])
            .boxes([8, 4, 4, 1])
            .map(&device, &a[..])
            .unwrap();
        raw_copies::launch(&device, 1, images.by_ref(), &boxes, how).unwrap_err().misuse.clone()
    };
    assert_eq!(misuse(0), Misuse::TensorMode { im2col: true });
    assert_eq!(misuse(1), Misuse::TensorMode { im2col: false });
    assert_eq!(misuse(2), Misuse::TensorMode { im2col: false });
    assert_eq!(misuse(3), Misuse::TensorRank { map: 4, instruction: 3 });
    assert_eq!(misuse(4), Misuse::BoxBefore { dimension: 3, coordinate: -1 });
    assert_eq!(
        misuse(5),
        Misuse::SharedMisaligned {
            access: AccessKind::Copy,
            address: SHARED_BASE + 64,
            bytes: 128
        }
    );
}

#[test]
fn invalid_map_is_refused() {
    type Small = SharedTile<u16, 8, 40, Unswizzled128>;
    let (device, mut buffer) = (Simulator::default(), vec![0u16; 1 << 16]);
    let right = Im2colTensor::<Small, 5>::new([40, 9, 8, 7, 2]);
    right.corners([-16, 0, 6], [15, -7, 0]).steps([8, 1, 3]).map(&device, &buffer[..]).unwrap();
    for (images, error) in [
        (
            right.corners([0, -17, 0], [0; 3]),
            "the lower corner of a bounding box is -17 along dimension 2: of a tensor of 5 \
             dimensions it must be from -16 to 15",
        ),
        (
            right.corners([0; 3], [0, 0, 16]),
            "the upper corner of a bounding box is 16 along dimension 3: of a tensor of 5 \
             dimensions it must be from -16 to 15",
        ),
        (
            right.corners([3, 0, 0], [-6, 0, 0]),
            "a bounding box starts at 3 and ends at 2 along dimension 1: it must not end before it \
             starts",
        ),
        (
            right.steps([1, 0, 1]),
            "a box takes every 0th element along dimension 2: it must be from 1 to 8",
        ),
        (
            right.steps([1, 1, 9]),
            "a box takes every 9th element along dimension 3: it must be from 1 to 8",
        ),
        (right.start(4), "a tensor starts at byte 8: it must be a multiple of 16"),
        (right.start(32_000), "a tensor spans 72320 elements, and the buffer has 65536"),
        (
            right.strides([2, 40, 360, 2880, 20160]),
            "elements along dimension 0 of a tensor are 2 apart: they must be neighbours",
        ),
        (
            Im2colTensor::new([40, 9, 0, 7, 2]),
            "dimension 2 of a tensor has 0 elements: it must have from 1 to 2^32",
        ),
    ] {
        assert_eq!(images.map(&device, &buffer[..]).err().unwrap().to_string(), error);
    }
    let error = Im2colTensor::<SharedTile<u16, 8, 12, Unswizzled128>, 3>::new([16, 8, 1])
        .map(&device, &buffer[..]);
    assert_eq!(
        error.err().unwrap().to_string(),
        "a line of a box has 24 bytes: it must be a multiple of 16"
    );
    let error =
        Im2colTensor::<Small, 3>::new([40, 8, 1]).corners([-32_769], [0]).map(&device, &buffer[..]);
    assert!(error.err().unwrap().to_string().ends_with("it must be from -32768 to 32767"));

    let written =
        right.corners([0, 0, -1], [0; 3]).map_mut(&device, &mut buffer[..]).err().unwrap();
    assert_eq!(
        written.to_string(),
        "the bounding box of a tensor that is written is from -1 to 6 along dimension 3: it must \
         be within the tensor, from 0 to 6"
    );
    assert!(right.corners([0; 3], [1, 0, 0]).map_mut(&device, &mut buffer[..]).is_err());
    assert!(
        Im2colTensor::<Small, 3>::new([36, 8, 1])
            .strides([1, 40, 320])
            .map_mut(&device, &mut buffer[..])
            .is_err()
    );
}
