//! Copies and reductions with an L2 cache policy.

use super::im2col::reduced;
use super::tensors::{self, Boxes, Place, right};
use super::{Check, upload, with_output};
use crate::{bytes, data, elements};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::{Device, EncodedMap, EncodedMapMut, Im2colTensor, Tensor};
use ptx_matrix::target::{OnlyArch, Requirement};
use ptx_matrix_conformance_kernels::cached::{self as kernels, Copied, CopiedLine, PARTS};
use ptx_matrix_conformance_kernels::tensor::{self, Line};
use ptx_matrix_conformance_kernels::{REDUCTIONS, im2col};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};

/// The checks of a reduction. A row has the mode (boxes or pixels), the tile, the rank, the sizes
/// of the tensor that the source is in, and the kernel. The tensor is as large as the tile.
macro_rules! boxes_and_pixels {
    ($device:ident $which:ident; $($mode:ident $tile:ty, $rank:literal $sizes:tt
        $kernel:ident;)*) => {
        vec![$(boxes_and_pixels!(@$mode $device $which $tile, $rank $sizes $kernel)),*]
    };
    (@boxes $device:ident $which:ident $tile:ty, $rank:literal $sizes:tt $kernel:ident) => {
        tensors::reduction::<$device, $tile, $rank>(
            &format!(
                "cp.reduce.async.bulk.tensor.{}d.L2::cache_hint, {}",
                $rank, REDUCTIONS[$which]
            ),
            $sizes,
            tensors::number,
            move |memory, value| reduced($which, memory, value),
            move |device: &$device, source, at, out| {
                let from =
                    right(Tensor::<$tile, $rank>::new($sizes).boxes($sizes).map(device, source));
                kernels::$kernel::launch(device, 1, &from, at, $which as u32, out)
            },
        )
    };
    (@pixels $device:ident $which:ident $tile:ty, $rank:literal $sizes:tt $kernel:ident) => {
        super::im2col::reduction::<$device, $rank>(
            ".L2::cache_hint",
            $which,
            |device, source, at, which, out| {
                let from = right(Im2colTensor::<$tile, $rank>::new($sizes).map(device, source));
                kernels::$kernel::launch(device, 1, &from, at, which, out)
            },
        )
    };
}

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let copies = vec![
        bulk(),
        boxes::<D, CopiedLine, 1>("1d", [64], |device, a, d, at| {
            kernels::cached_1d::launch(device, 1, a, d, at)
        }),
        boxes::<D, Copied, 2>("2d", [64, 16], |device, a, d, at| {
            kernels::cached_2d::launch(device, 1, a, d, at)
        }),
        boxes::<D, Copied, 3>("3d", [64, 4, 4], |device, a, d, at| {
            kernels::cached_3d::launch(device, 1, a, d, at)
        }),
        boxes::<D, Copied, 4>("4d", [64, 4, 2, 2], |device, a, d, at| {
            kernels::cached_4d::launch(device, 1, a, d, at)
        }),
        boxes::<D, Copied, 5>("5d", [64, 2, 2, 2, 2], |device, a, d, at| {
            kernels::cached_5d::launch(device, 1, a, d, at)
        }),
        parts(),
    ];
    copies.into_iter().chain((0..REDUCTIONS.len()).flat_map(reductions)).collect()
}

/// The checks of reduction `which`: boxes and pixels of each rank.
fn reductions<D: Device + 'static>(which: usize) -> Vec<Check<D>> {
    boxes_and_pixels! { D which;
        boxes Line, 1 [96] cached_reduce_1d;
        boxes tensor::Of32, 2 [8, 24] cached_reduce_2d;
        boxes tensor::Of32, 3 [8, 4, 6] cached_reduce_3d;
        boxes tensor::Of32, 4 [8, 2, 3, 4] cached_reduce_4d;
        boxes tensor::Of32, 5 [8, 2, 3, 2, 2] cached_reduce_5d;
        pixels im2col::Of32, 3 [8, 40, 1] cached_reduce_im2col_3d;
        pixels im2col::Of32, 4 [8, 40, 1, 1] cached_reduce_im2col_4d;
        pixels im2col::Of32, 5 [8, 40, 1, 1, 1] cached_reduce_im2col_5d;
    }
}

/// Elements of a tile, and the number of tiles.
const TILE: usize = 8 * 64;
const TILES: usize = 12;

/// Input: the tiles; the number of places to rotate them by.
fn bulk<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk.L2::cache_hint".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| {
            let by = rng.random_range(0..TILES as u32);
            vec![bytes(&data::distinct(rng, TILES * TILE)), bytes(&[by])]
        }),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            let [by] = elements::<u32>(&inputs[1])[..] else { panic!("one number") };
            with_output::<D, u16>(device, TILES * TILE, |out| {
                kernels::cached_bulk::launch(device, TILES as u32, source.borrow(), by, out)
            })
        }),
        reference: Box::new(|inputs| {
            let mut tiles = elements::<u16>(&inputs[0]);
            tiles.rotate_right(elements::<u32>(&inputs[1])[0] as usize * TILE);
            bytes(&tiles)
        }),
    }
}

/// Input: the tiles.
fn parts<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk.L2::cache_hint, of a part".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&data::distinct(rng, PARTS * TILE))]),
        run: Box::new(|device, inputs| {
            let source = upload::<D, u16>(device, &inputs[0])?;
            with_output::<D, u16>(device, PARTS * TILE, |out| {
                kernels::cached_parts::launch(device, PARTS as u32, source.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| inputs[0].clone()),
    }
}

type Copy<D, Tile, const RANK: usize> =
    for<'d> fn(
        &'d D,
        &'d EncodedMap<'d, D, Tile, RANK>,
        EncodedMapMut<'d, D, Tile, RANK>,
        &'d <D as Device>::Buffer<i32>,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: the tensor's layout, and two coordinates; the source. Output: the buffer that the box was
/// stored to.
fn boxes<D: Device + 'static, Tile: BoxTile<Element = u16>, const RANK: usize>(
    dims: &str,
    sizes: [usize; RANK],
    launch: Copy<D, Tile, RANK>,
) -> Check<D> {
    let boxes = Boxes { sizes, steps: [1; RANK], row_major: true };
    Check {
        name: format!("cp.async.bulk.tensor.{dims}.L2::cache_hint"),
        needs: <OnlyArch<90> as Requirement>::NEEDS,
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(move |rng| {
            let place = boxes.draw(rng, 2, &[true, false]);
            let [layout, at] = place.bytes();
            let source = (0..place.written(2).len() * 2).map(|_| rng.random()).collect();
            vec![layout, at, source]
        }),
        run: Box::new(move |device, inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = upload::<D, u16>(device, &inputs[2])?;
            let mut to = upload::<D, u16>(device, &vec![0xff; inputs[2].len()])?;
            let at = upload::<D, i32>(device, &inputs[1])?;
            let from = right(place.tensor::<Tile>(&boxes).map(device, source.borrow()));
            let tensor = place.written(2).tensor::<Tile>(&boxes);
            launch(device, &from, right(tensor.map_mut(device, to.borrow_mut())), at.borrow())?;
            Ok(bytes(&device.download(to.borrow())?))
        }),
        reference: Box::new(move |inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = elements::<u16>(&inputs[2]);
            let tile = boxes
                .indices(&place, 0)
                .into_iter()
                .map(|from| from.map_or(0, |from| source[from]));
            let mut to = vec![0xffff_u16; source.len()];
            for (value, place) in tile.zip(boxes.indices(&place.written(2), 1)) {
                if let Some(place) = place {
                    to[place] = value;
                }
            }
            bytes(&to)
        }),
    }
}
