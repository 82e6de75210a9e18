//! TMA copies of boxes.

use super::{Check, upload};
use crate::data::Rng;
use crate::{bytes, elements};
use bytemuck::Pod;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::copy::reduction::Operation;
use ptx_matrix::forms::Needs;
use ptx_matrix::isa::TensorMapError;
use ptx_matrix::launch::{Device, EncodedMap, EncodedMapMut, Tensor};
use ptx_matrix_conformance_kernels::tensor::{
    self as kernels, Line, Of32, Of64, Of128, Plain, Reduced, Reduced64,
};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};

/// The box of a check.
#[derive(Clone, Copy)]
pub(super) struct Boxes<const RANK: usize> {
    /// Elements of a box along each dimension.
    pub(super) sizes: [usize; RANK],
    /// The traversal stride of each dimension.
    pub(super) steps: [usize; RANK],
    /// Whether the rows of the tile are along dimension 0; otherwise its columns are.
    pub(super) row_major: bool,
}

/// A tensor in a buffer, and the coordinates of boxes in it.
pub(super) struct Place<const RANK: usize> {
    start: usize,
    sizes: [usize; RANK],
    strides: [usize; RANK],
    at: Vec<[i32; RANK]>,
}

impl<const RANK: usize> Boxes<RANK> {
    fn copied(&self) -> [usize; RANK] {
        std::array::from_fn(|d| self.sizes[d].div_ceil(self.steps[d]))
    }

    /// Draws a tensor that is at most a little larger than a box, with gaps between its rows, and
    /// the coordinates of the boxes. Most boxes overlap the tensor. `is_loaded` says for each box
    /// whether it is loaded or stored.
    pub(super) fn draw(
        &self,
        rng: &mut Rng,
        element_bytes: usize,
        is_loaded: &[bool],
    ) -> Place<RANK> {
        let unit = 16 / element_bytes;
        let sizes: [usize; RANK] = std::array::from_fn(|d| {
            rng.random_range(1..=self.sizes[d] * if d < 2 { 2 } else { 1 } + 2)
        });
        let mut strides = [1; RANK];
        for d in 1..RANK {
            let least = strides[d - 1] * sizes[d - 1];
            strides[d] = (least.div_ceil(unit) + rng.random_range(0..2)) * unit;
        }
        let mut corner = |is_loaded: bool| {
            std::array::from_fn(|d| {
                let first = if is_loaded { -(self.sizes[d] as i32) / 2 } else { 0 };
                let unit = if d == 0 { unit as i32 } else { 1 };
                rng.random_range(first..=sizes[d] as i32) / unit * unit
            })
        };
        let at = is_loaded.iter().map(|&is_loaded| corner(is_loaded)).collect();
        Place { start: rng.random_range(0..3) * unit, sizes, strides, at }
    }

    /// The buffer index of each element of the tile, row by row; `None` outside the tensor.
    pub(super) fn indices(&self, place: &Place<RANK>, at: usize) -> Vec<Option<usize>> {
        let copied = self.copied();
        let (inner, outer_size) = (copied[0], copied[1..].iter().product::<usize>());
        let (rows, cols) = if self.row_major { (outer_size, inner) } else { (inner, outer_size) };
        let elements = (0..rows * cols).map(|element| {
            let (row, col) = (element / cols, element % cols);
            let (mut outer, along) = if self.row_major { (row, col) } else { (col, row) };
            let mut index = place.start;
            for (d, count) in copied.into_iter().enumerate() {
                let number = if d == 0 { along } else { outer % count };
                outer = if d == 0 { outer } else { outer / count };
                let coordinate = i64::from(place.at[at][d]) + (number * self.steps[d]) as i64;
                let inside = (0..place.sizes[d] as i64).contains(&coordinate);
                index += if inside { coordinate as usize * place.strides[d] } else { return None };
            }
            Some(index)
        });
        elements.collect()
    }
}

impl<const RANK: usize> Place<RANK> {
    /// Elements of a buffer that ends with the tensor.
    pub(super) fn len(&self) -> usize {
        self.start + (0..RANK).map(|d| (self.sizes[d] - 1) * self.strides[d]).sum::<usize>() + 1
    }

    /// The layout of the tensor, and the coordinates of the boxes.
    pub(super) fn bytes(&self) -> [Vec<u8>; 2] {
        let layout = [self.start]
            .into_iter()
            .chain(self.sizes)
            .chain(self.strides)
            .map(|value| value as u32);
        [bytes(&layout.collect::<Vec<u32>>()), bytes(self.at.as_flattened())]
    }

    pub(super) fn of(layout: &[u8], at: &[u8]) -> Self {
        let layout: Vec<usize> =
            elements::<u32>(layout).into_iter().map(|value| value as usize).collect();
        Place {
            start: layout[0],
            sizes: std::array::from_fn(|d| layout[1 + d]),
            strides: std::array::from_fn(|d| layout[1 + RANK + d]),
            at: elements::<i32>(at).as_chunks().0.to_vec(),
        }
    }

    /// The tensor of a store: its rows have multiples of 16 bytes.
    pub(super) fn written(mut self, element_bytes: usize) -> Self {
        self.sizes[0] = self.sizes[0].next_multiple_of(16 / element_bytes);
        self
    }

    pub(super) fn tensor<Tile: BoxTile>(&self, boxes: &Boxes<RANK>) -> Tensor<Tile, RANK> {
        let tensor = Tensor::new(self.sizes).start(self.start).strides(self.strides);
        tensor.boxes(boxes.sizes).steps(boxes.steps)
    }
}

/// Unwraps a tensor map that must be valid.
pub(super) fn right<M>(map: Result<M, TensorMapError>) -> M {
    map.unwrap_or_else(|error| panic!("the tensor is right: {error}"))
}

type Copy<D, Tile, const RANK: usize> =
    for<'d> fn(
        &'d D,
        &'d EncodedMap<'d, D, Tile, RANK>,
        EncodedMapMut<'d, D, Tile, RANK>,
        &'d <D as Device>::Buffer<i32>,
        &'d mut <D as Device>::Buffer<<Tile as BoxTile>::Element>,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: the tensor's layout, and two coordinates; the source. Output: the tile, and the buffer
/// that it was stored to.
fn copy<D: Device + 'static, Tile: BoxTile<Element: Pod>, const RANK: usize>(
    name: &str,
    boxes: Boxes<RANK>,
    launch: Copy<D, Tile, RANK>,
) -> Check<D> {
    let element = size_of::<Tile::Element>();
    let tile_bytes = Tile::BYTES as usize;
    Check {
        name: name.into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element,
        inputs: Box::new(move |rng| {
            let place = boxes.draw(rng, element, &[true, false]);
            let [layout, at] = place.bytes();
            let source =
                (0..place.written(element).len() * element).map(|_| rng.random()).collect();
            vec![layout, at, source]
        }),
        run: Box::new(move |device, inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = upload::<D, Tile::Element>(device, &inputs[2])?;
            let mut to = upload::<D, Tile::Element>(device, &vec![0xff; inputs[2].len()])?;
            let mut out = upload::<D, Tile::Element>(device, &vec![0xff; tile_bytes])?;
            let at = upload::<D, i32>(device, &inputs[1])?;
            let from = right(place.tensor::<Tile>(&boxes).map(device, source.borrow()));
            let tensor = place.written(element).tensor::<Tile>(&boxes);
            launch(
                device,
                &from,
                right(tensor.map_mut(device, to.borrow_mut())),
                at.borrow(),
                out.borrow_mut(),
            )?;
            let (out, to) = (device.download(out.borrow())?, device.download(to.borrow())?);
            Ok([bytes(&out), bytes(&to)].concat())
        }),
        reference: Box::new(move |inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = &inputs[2];
            let mut tile = vec![0; tile_bytes];
            for (index, from) in boxes.indices(&place, 0).into_iter().enumerate() {
                if let Some(from) = from {
                    tile[index * element..][..element]
                        .copy_from_slice(&source[from * element..][..element]);
                }
            }
            let mut to = vec![0xff; source.len()];
            for (index, place) in boxes.indices(&place.written(element), 1).into_iter().enumerate()
            {
                if let Some(place) = place {
                    to[place * element..][..element]
                        .copy_from_slice(&tile[index * element..][..element]);
                }
            }
            [tile, to].concat()
        }),
    }
}

/// Launches a kernel with a reduction. The arguments are the source, the coordinates and the tensor
/// map.
pub(super) trait Reduce<D: Device, Tile: BoxTile, const RANK: usize>:
    for<'d> Fn(
        &'d D,
        &'d D::Buffer<Tile::Element>,
        &'d D::Buffer<i32>,
        EncodedMapMut<'d, D, Tile, RANK>,
    ) -> Result<D::Report, D::Error>
    + Send
    + Sync
    + 'static
{
}

impl<D: Device, Tile: BoxTile, const RANK: usize, F> Reduce<D, Tile, RANK> for F where
    F: for<'d> Fn(
            &'d D,
            &'d D::Buffer<Tile::Element>,
            &'d D::Buffer<i32>,
            EncodedMapMut<'d, D, Tile, RANK>,
        ) -> Result<D::Report, D::Error>
        + Send
        + Sync
        + 'static
{
}

/// Input: the tensor's layout, and coordinates; the buffer with the tensor; the tile.
pub(super) fn reduction<D: Device + 'static, Tile: BoxTile<Element: Pod>, const RANK: usize>(
    name: &str,
    sizes: [usize; RANK],
    draw: fn(&mut Rng) -> Tile::Element,
    reduce: impl Fn(Tile::Element, Tile::Element) -> Tile::Element + Send + Sync + 'static,
    launch: impl Reduce<D, Tile, RANK>,
) -> Check<D> {
    let boxes = Boxes { sizes, steps: [1; RANK], row_major: true };
    let element = size_of::<Tile::Element>();
    Check {
        name: name.into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element,
        inputs: Box::new(move |rng| {
            let place = boxes.draw(rng, element, &[false]).written(element);
            let mut draw = |count| bytes(&(0..count).map(|_| draw(rng)).collect::<Vec<_>>());
            let [layout, at] = place.bytes();
            vec![layout, at, draw(place.len()), draw(Tile::BYTES as usize / element)]
        }),
        run: Box::new(move |device, inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let mut out = upload::<D, Tile::Element>(device, &inputs[2])?;
            let source = upload::<D, Tile::Element>(device, &inputs[3])?;
            let at = upload::<D, i32>(device, &inputs[1])?;
            let map = right(place.tensor::<Tile>(&boxes).map_mut(device, out.borrow_mut()));
            launch(device, source.borrow(), at.borrow(), map)?;
            Ok(bytes(&device.download(out.borrow())?))
        }),
        reference: Box::new(move |inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let (mut out, tile) =
                (elements::<Tile::Element>(&inputs[2]), elements::<Tile::Element>(&inputs[3]));
            for (index, place) in boxes.indices(&place, 0).into_iter().enumerate() {
                if let Some(place) = place {
                    out[place] = reduce(out[place], tile[index]);
                }
            }
            bytes(&out)
        }),
    }
}

/// Draws numbers; half of them are small.
pub(super) fn number(rng: &mut Rng) -> u32 {
    if rng.random() { rng.random_range(0..4) } else { rng.random() }
}

/// As `number`, of 64 bits.
fn long(rng: &mut Rng) -> u64 {
    u64::from(number(rng)) << 32 | u64::from(number(rng))
}

/// The checks of copies. A row has the name, the kernel, the tile, the rank, the box's sizes and
/// traversal strides, and whether the tile is row-major.
macro_rules! copies {
    ($device:ident; $($name:literal $kernel:ident $tile:ty, $rank:literal $sizes:expr, $steps:expr,
        $row_major:literal;)*) => {
        vec![$(copy::<$device, $tile, $rank>(
            $name,
            Boxes { sizes: $sizes, steps: $steps, row_major: $row_major },
            |d, from, to, at, out| kernels::$kernel::launch(d, 1, from, to, at, out),
        )),*]
    };
}

/// The checks of reductions. A row has the name, the operation, the kernel, the tile, the rank, the
/// box's sizes, a generator, and the reduction of `m` by `v`.
macro_rules! reductions {
    ($device:ident; $($name:literal $operation:ident $kernel:ident $tile:ty, $rank:literal
        $sizes:expr, $draw:expr, |$m:ident, $v:ident| $reduced:expr;)*) => {
        vec![$(reduction::<$device, $tile, $rank>(
            $name, $sizes, $draw, |$m, $v| $reduced,
            |d, source, at, out| {
                kernels::$kernel::launch(d, 1, Operation::$operation as u32, source, at, out)
            },
        )),*]
    };
}

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let copies = copies! { D;
        "cp.async.bulk.tensor.1d" tensor_1d Line, 1 [96], [1], true;
        "cp.async.bulk.tensor.2d" tensor_2d Plain, 2 [40, 8], [1, 1], true;
        "cp.async.bulk.tensor.2d, swizzle of 32 bytes" tensor_2d_swizzle_32 Of32, 2 [8, 24], [1, 1],
            true;
        "cp.async.bulk.tensor.2d, swizzle of 64 bytes" tensor_2d_swizzle_64 Of64, 2 [32, 24],
            [1, 1], false;
        "cp.async.bulk.tensor.2d, swizzle of 128 bytes" tensor_2d_swizzle_128 Of128, 2 [64, 24],
            [1, 1], true;
        "cp.async.bulk.tensor.2d, swizzle of 128 bytes, from row 3 of a tile" tensor_2d_from_row_3
            Of128, 2 [64, 24], [1, 1], true;
        "cp.async.bulk.tensor.2d, every third line" tensor_2d Plain, 2 [40, 24], [1, 3], true;
        "cp.async.bulk.tensor.3d" tensor_3d Of128, 3 [64, 6, 4], [1, 1, 1], true;
        "cp.async.bulk.tensor.4d" tensor_4d Of64, 4 [32, 4, 2, 3], [1, 1, 1, 1], false;
        "cp.async.bulk.tensor.5d" tensor_5d Of32, 5 [8, 3, 2, 2, 2], [1, 1, 1, 1, 1], true;
        "cp.async.bulk.tensor.5d, with steps" tensor_5d Of32, 5 [8, 6, 2, 3, 4], [1, 2, 1, 2, 2],
            true;
    };
    let reductions: Vec<Check<D>> = reductions! { D;
        "cp.reduce.async.bulk.tensor.1d, add" Add tensor_reduce_1d Line, 1 [96], number,
            |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.2d, add" Add tensor_reduce_2d Of32, 2 [8, 24], number,
            |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.3d, add" Add tensor_reduce_3d Of32, 3 [8, 4, 6], number,
            |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.4d, add" Add tensor_reduce_4d Of32, 4 [8, 2, 3, 4], number,
            |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.5d, add" Add tensor_reduce_5d Of32, 5 [8, 2, 3, 2, 2], number,
            |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.2d, add f32" Add tensor_reduce_f32 Reduced<f32>, 2 [8, 24],
            |rng| rng.random_range(1.0..2.0), |m, v| m + v;
        "cp.reduce.async.bulk.tensor.2d, min" Min tensor_reduce_s32 Reduced<i32>, 2 [8, 24],
            |rng| number(rng) as i32, |m, v| m.min(v);
        "cp.reduce.async.bulk.tensor.2d, max" Max tensor_reduce_s32 Reduced<i32>, 2 [8, 24],
            |rng| number(rng) as i32, |m, v| m.max(v);
        "cp.reduce.async.bulk.tensor.2d, inc" Inc tensor_reduce_2d Of32, 2 [8, 24], number,
            |m, v| if m >= v { 0 } else { m + 1 };
        "cp.reduce.async.bulk.tensor.2d, dec" Dec tensor_reduce_2d Of32, 2 [8, 24], number,
            |m, v| if m == 0 || m > v { v } else { m - 1 };
        "cp.reduce.async.bulk.tensor.2d, and" And tensor_reduce_2d Of32, 2 [8, 24],
            number, |m, v| m & v;
        "cp.reduce.async.bulk.tensor.2d, or" Or tensor_reduce_2d Of32, 2 [8, 24],
            number, |m, v| m | v;
        "cp.reduce.async.bulk.tensor.2d, xor" Xor tensor_reduce_2d Of32, 2 [8, 24],
            number, |m, v| m ^ v;
        "cp.reduce.async.bulk.tensor.2d, add u64" Add tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m.wrapping_add(v);
        "cp.reduce.async.bulk.tensor.2d, min u64" Min tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m.min(v);
        "cp.reduce.async.bulk.tensor.2d, max u64" Max tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m.max(v);
        "cp.reduce.async.bulk.tensor.2d, min s64" Min tensor_reduce_s64 Reduced64<i64>, 2 [4, 24],
            |rng| long(rng) as i64, |m, v| m.min(v);
        "cp.reduce.async.bulk.tensor.2d, max s64" Max tensor_reduce_s64 Reduced64<i64>, 2 [4, 24],
            |rng| long(rng) as i64, |m, v| m.max(v);
        "cp.reduce.async.bulk.tensor.2d, and b64" And tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m & v;
        "cp.reduce.async.bulk.tensor.2d, or b64" Or tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m | v;
        "cp.reduce.async.bulk.tensor.2d, xor b64" Xor tensor_reduce_u64 Reduced64<u64>, 2 [4, 24],
            long, |m, v| m ^ v;
        "cp.reduce.async.bulk.tensor.2d, add f64" Add tensor_reduce_f64 Reduced64<f64>, 2 [4, 24],
            |rng| rng.random_range(1.0..2.0), |m, v| m + v;
    };
    copies.into_iter().chain(reductions).collect()
}
