//! TMA copies in im2col mode, and a convolution that uses them.

use super::tensors::right;
use super::{Check, upload};
use crate::data::Rng;
use crate::{bytes, elements};
use bytemuck::Pod;
use ptx_matrix::copy::{BoxTile, Im2col, Im2colAt};
use ptx_matrix::element::bf16;
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::{Device, EncodedMap, EncodedMapMut, Im2colTensor, LaunchError};
use ptx_matrix::target::{OnlyArch, Requirement};
use ptx_matrix_conformance_kernels::REDUCTIONS;
use ptx_matrix_conformance_kernels::convolution::Convolution;
use ptx_matrix_conformance_kernels::im2col::{self as kernels, Of32, Of64, Of128, Plain};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};
use std::iter::zip;

/// The variants of copies to shared memory. All but `Corners` have im2col offsets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Every pixel of the bounding box, without offsets.
    Corners,
    /// With im2col offsets.
    Offsets,
    /// With traversal strides: every n'th pixel.
    Steps,
    /// With traversal strides; the first pixel is not a multiple of them from the box's corner.
    BetweenSteps,
    /// The first pixel lies before the first image.
    BeforeTheImages,
}

/// The bounding box of a copy and its traversal strides, along W, H and D.
#[derive(Clone, Copy)]
struct Window {
    lower: [i32; 3],
    upper: [i32; 3],
    steps: [i32; 3],
}

/// Images in a buffer, with the bounding boxes and the first pixels of two copies (a load and a
/// store), and the offsets of the load.
struct Images<const RANK: usize> {
    start: usize,
    sizes: [usize; RANK],
    strides: [usize; RANK],
    windows: [Window; 2],
    at: [[i32; RANK]; 2],
    offsets: [i32; 3],
}

/// Mostly a small offset, otherwise the largest possible one.
fn offset(rng: &mut Rng, limit: i32) -> i32 {
    if rng.random_range(0..8) == 0 { limit - 1 } else { rng.random_range(0..4) }
}

impl<const RANK: usize> Images<RANK> {
    /// Dimensions of an image.
    const SPATIAL: usize = RANK - 2;

    /// Draws a few small images with gaps between their rows. They are so small that a tile has
    /// pixels of several images. The second bounding box is within the images.
    fn draw<Tile: BoxTile>(rng: &mut Rng, kind: Kind) -> Self {
        let unit = 16 / size_of::<Tile::Element>();
        let mut sizes = std::array::from_fn(|d| match d {
            0 => rng.random_range(1..=Tile::INNER * 2 + 2),
            _ if d == RANK - 1 => rng.random_range(1..=3),
            _ => rng.random_range(1..=[9, 6, 4][d - 1]),
        });
        if RANK == 3 {
            sizes[1] *= 4;
        }
        let mut strides = [1; RANK];
        for d in 1..RANK {
            let least: usize = strides[d - 1] * sizes[d - 1];
            strides[d] = (least.div_ceil(unit) + rng.random_range(0..2)) * unit;
        }
        let mut window = |kind: Kind, is_within: bool| {
            let (mut lower, mut upper, mut steps) = ([0; 3], [0; 3], [1; 3]);
            for d in 0..Self::SPATIAL {
                let size = sizes[d + 1] as i32;
                lower[d] =
                    if is_within { rng.random_range(0..size) } else { rng.random_range(-4..=2) };
                let last = rng.random_range(
                    lower[d]..if is_within { size } else { size + 4 }.max(lower[d] + 1),
                );
                upper[d] = last - (size - 1);
                if matches!(kind, Kind::Steps | Kind::BetweenSteps) {
                    steps[d] =
                        if rng.random_range(0..8) == 0 { 8 } else { rng.random_range(1..=3) };
                }
            }
            Window { lower, upper, steps }
        };
        let windows = [window(kind, false), window(Kind::Steps, true)];
        let mut first = |kind: Kind, Window { lower, upper, steps }: Window, is_within: bool| {
            std::array::from_fn(|d| {
                if d == 0 {
                    let (first, unit) =
                        (if is_within { 0 } else { -(Tile::INNER as i32) / 2 }, unit as i32);
                    rng.random_range(first..=sizes[0] as i32) / unit * unit
                } else if d < RANK - 1 {
                    let last = sizes[d] as i32 - 1 + upper[d - 1];
                    let pixel = rng.random_range(lower[d - 1]..=last);
                    let between = if kind == Kind::BetweenSteps {
                        0
                    } else {
                        (pixel - lower[d - 1]) % steps[d - 1]
                    };
                    pixel - between
                } else if kind == Kind::BeforeTheImages {
                    rng.random_range(-2..0)
                } else {
                    rng.random_range(0..=sizes[d] as i32)
                }
            })
        };
        let at = [first(kind, windows[0], false), first(Kind::Steps, windows[1], true)];
        let limit = [1 << 16, 1 << 8, 1 << 5][Self::SPATIAL - 1];
        let offsets = std::array::from_fn(|d| {
            if kind == Kind::Corners || d >= Self::SPATIAL { 0 } else { offset(rng, limit) }
        });
        Images { start: rng.random_range(0..3) * unit, sizes, strides, windows, at, offsets }
    }

    /// The kernels' parameters: the layout of the images; the bounding boxes; the coordinates and
    /// offsets.
    fn bytes(&self) -> [Vec<u8>; 3] {
        let layout = [self.start]
            .into_iter()
            .chain(self.sizes)
            .chain(self.strides)
            .map(|value| value as u32);
        let windows = self.windows.map(|Window { lower, upper, steps }| [lower, upper, steps]);
        let at = self.at.as_flattened().iter().chain(&self.offsets[..Self::SPATIAL]).copied();
        let windows = windows.as_flattened().as_flattened();
        [bytes(&layout.collect::<Vec<u32>>()), bytes(windows), bytes(&at.collect::<Vec<i32>>())]
    }

    fn of(buffers: &[Vec<u8>]) -> Self {
        let layout: Vec<usize> =
            elements::<u32>(&buffers[0]).into_iter().map(|value| value as usize).collect();
        let (windows, at) = (elements::<i32>(&buffers[1]), elements::<i32>(&buffers[2]));
        let window = |of: &[i32]| {
            let [lower, upper, steps] =
                [0, 3, 6].map(|first| std::array::from_fn(|d| of[first + d]));
            Window { lower, upper, steps }
        };
        Images {
            start: layout[0],
            sizes: std::array::from_fn(|d| layout[1 + d]),
            strides: std::array::from_fn(|d| layout[1 + RANK + d]),
            windows: [window(&windows[..9]), window(&windows[9..])],
            at: std::array::from_fn(|copy| std::array::from_fn(|d| at[copy * RANK + d])),
            offsets: std::array::from_fn(|d| at.get(2 * RANK + d).copied().unwrap_or(0)),
        }
    }

    /// The images of the store: the channels of a pixel have a multiple of 16 bytes.
    fn written(mut self, element_bytes: usize) -> Self {
        self.sizes[0] = self.sizes[0].next_multiple_of(16 / element_bytes);
        self
    }

    /// Elements of a buffer that ends with the last image.
    fn len(&self) -> usize {
        self.start
            + zip(self.sizes, self.strides).map(|(size, stride)| (size - 1) * stride).sum::<usize>()
            + 1
    }

    fn tensor<Tile: BoxTile>(&self, copy: usize) -> Im2colTensor<Tile, RANK>
    where
        [i32; RANK]: Im2colAt,
    {
        let Window { lower, upper, steps } = self.windows[copy];
        let spatial = |of: [i32; 3]| <[i32; RANK]>::spatial(|d| of[d]);
        let tensor = Im2colTensor::new(self.sizes).start(self.start).strides(self.strides);
        tensor
            .corners(spatial(lower), spatial(upper))
            .steps(<[i32; RANK]>::spatial(|d| steps[d] as usize))
    }

    /// The buffer index of each element of the tile; `None` outside the tensor. The order of the
    /// elements is that of a row-major tile.
    ///
    /// Pixels are nested loops. In the first iteration of all outer loops, a loop begins at the
    /// coordinate of the first pixel. Otherwise it begins at the corner of the bounding box.
    fn indices<Tile: BoxTile>(
        &self,
        copy: usize,
        offsets: [i32; 3],
        pixels_are_rows: bool,
    ) -> Vec<Option<usize>> {
        let (at, Window { lower, upper, steps }) = (self.at[copy], self.windows[copy]);
        let along = |d: usize, is_first: bool| {
            let (first, last) = match d < Self::SPATIAL {
                true => (
                    if is_first { at[d + 1] } else { lower[d] },
                    self.sizes[d + 1] as i32 - 1 + upper[d],
                ),
                false => (0, 0),
            };
            (first..=last)
                .step_by(steps[d] as usize)
                .enumerate()
                .map(move |(number, value)| (is_first && number == 0, value))
        };
        let images = (at[RANK - 1]..).map(|image| (image == at[RANK - 1], image));
        let pixels = images.flat_map(|(is_first, image)| {
            along(2, is_first).flat_map(move |(is_first, z)| {
                along(1, is_first).flat_map(move |(is_first, y)| {
                    along(0, is_first).map(move |(_, x)| ([x, y, z], image))
                })
            })
        });
        let inside = |d: usize, coordinate: i32| {
            let is_inside = (0..self.sizes[d] as i64).contains(&coordinate.into());
            is_inside.then(|| coordinate as usize * self.strides[d])
        };
        let mut indices = vec![None; Tile::INNER * Tile::LINES];
        for (number, (pixel, image)) in pixels.take(Tile::LINES).enumerate() {
            let places = (0..Self::SPATIAL).map(|d| inside(d + 1, pixel[d] + offsets[d]));
            let Some(place) = places.chain([inside(RANK - 1, image)]).sum::<Option<usize>>() else {
                continue;
            };
            for channel in 0..Tile::INNER {
                let element = if pixels_are_rows {
                    number * Tile::INNER + channel
                } else {
                    channel * Tile::LINES + number
                };
                indices[element] =
                    inside(0, at[0] + channel as i32).map(|channel| self.start + place + channel);
            }
        }
        indices
    }

    /// The tile that a load with these offsets fills.
    fn loaded<Tile: BoxTile<Element: Pod>>(
        &self,
        source: &[u8],
        offsets: [i32; 3],
        pixels_are_rows: bool,
    ) -> Vec<u8> {
        let (source, element) = (elements::<Tile::Element>(source), bytemuck::Zeroable::zeroed());
        let indices = self.indices::<Tile>(0, offsets, pixels_are_rows);
        bytes(
            &indices
                .into_iter()
                .map(|index| index.map_or(element, |index| source[index]))
                .collect::<Vec<_>>(),
        )
    }

    /// The buffer after a store of the tile.
    fn stored<Tile: BoxTile<Element: Pod>>(
        self,
        tile: &[u8],
        len: usize,
        pixels_are_rows: bool,
    ) -> Vec<u8> {
        let mut to = elements::<Tile::Element>(&vec![0xff; len]);
        let indices =
            self.written(size_of::<Tile::Element>()).indices::<Tile>(1, [0; 3], pixels_are_rows);
        for (element, index) in zip(elements(tile), indices) {
            if let Some(index) = index {
                to[index] = element;
            }
        }
        bytes(&to)
    }
}

type Copy<D, Tile, const RANK: usize> =
    for<'d> fn(
        &'d D,
        &'d EncodedMap<'d, D, Tile, RANK, Im2col>,
        EncodedMapMut<'d, D, Tile, RANK, Im2col>,
        &'d <D as Device>::Buffer<i32>,
        &'d mut <D as Device>::Buffer<<Tile as BoxTile>::Element>,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: the images, bounding boxes and coordinates; the source. Output: the tiles, and the buffer
/// that the last tile was stored to.
fn copy<D: Device + 'static, Tile: BoxTile<Element: Pod>, const RANK: usize>(
    name: String,
    kind: Kind,
    needs: Needs,
    pixels_are_rows: bool,
    tiles: usize,
    expected: fn(&Images<RANK>, &[u8], bool) -> Vec<u8>,
    launch: Copy<D, Tile, RANK>,
) -> Check<D>
where
    [i32; RANK]: Im2colAt,
{
    let element = size_of::<Tile::Element>();
    Check {
        name,
        needs,
        arithmetic: None,
        labels: None,
        rounds: 8,
        element,
        inputs: Box::new(move |rng| {
            let images = Images::<RANK>::draw::<Tile>(rng, kind);
            let [layout, windows, at] = images.bytes();
            let source =
                (0..images.written(element).len() * element).map(|_| rng.random()).collect();
            vec![layout, windows, at, source]
        }),
        run: Box::new(move |device, inputs| {
            let images = Images::<RANK>::of(inputs);
            let source = upload::<D, Tile::Element>(device, &inputs[3])?;
            let mut to = upload::<D, Tile::Element>(device, &vec![0xff; inputs[3].len()])?;
            let mut out =
                upload::<D, Tile::Element>(device, &vec![0xff; Tile::BYTES as usize * tiles])?;
            let at = upload::<D, i32>(device, &inputs[2])?;
            let from = right(images.tensor::<Tile>(0).map(device, source.borrow()));
            let tensor = images.written(element).tensor::<Tile>(1);
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
            let images = Images::<RANK>::of(inputs);
            let tile = images.loaded::<Tile>(&inputs[3], images.offsets, pixels_are_rows);
            let out = expected(&images, &inputs[3], pixels_are_rows);
            [out, images.stored::<Tile>(&tile, inputs[3].len(), pixels_are_rows)].concat()
        }),
    }
}

pub(super) type Reduce<D, const RANK: usize> =
    for<'d> fn(
        &'d D,
        &'d <D as Device>::Buffer<u32>,
        &'d <D as Device>::Buffer<i32>,
        u32,
        EncodedMapMut<'d, D, Of32, RANK, Im2col>,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Reduction `which` of `m` and `v`.
pub(super) fn reduced(which: usize, m: u32, v: u32) -> u32 {
    match REDUCTIONS[which] {
        "add" => m.wrapping_add(v),
        "min" => m.min(v),
        "max" => m.max(v),
        "inc" if m >= v => 0,
        "inc" => m + 1,
        "dec" if m == 0 || m > v => v,
        "dec" => m - 1,
        "and" => m & v,
        "or" => m | v,
        _ => m ^ v,
    }
}

/// Input: the images, bounding boxes and coordinates; the buffer with the images; the tile.
pub(super) fn reduction<D: Device + 'static, const RANK: usize>(
    hint: &str,
    which: usize,
    launch: Reduce<D, RANK>,
) -> Check<D>
where
    [i32; RANK]: Im2colAt,
{
    Check {
        name: format!(
            "cp.reduce.async.bulk.tensor.{RANK}d.im2col_no_offs{hint}, {}",
            REDUCTIONS[which]
        ),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 4,
        element: 4,
        inputs: Box::new(|rng| {
            let images = Images::<RANK>::draw::<Of32>(rng, Kind::Steps).written(4);
            let [layout, windows, at] = images.bytes();
            // Half of the numbers are small.
            let mut numbers = |count| {
                let number = |rng: &mut Rng| {
                    if rng.random() { rng.random_range(0..4) } else { rng.random::<u32>() }
                };
                bytes(&(0..count).map(|_| number(rng)).collect::<Vec<_>>())
            };
            vec![layout, windows, at, numbers(images.len()), numbers(Of32::ROWS * Of32::COLS)]
        }),
        run: Box::new(move |device, inputs| {
            let images = Images::<RANK>::of(inputs);
            let mut out = upload::<D, u32>(device, &inputs[3])?;
            let source = upload::<D, u32>(device, &inputs[4])?;
            let at = upload::<D, i32>(device, &bytes(&images.at[1]))?;
            let map = right(images.tensor::<Of32>(1).map_mut(device, out.borrow_mut()));
            launch(device, source.borrow(), at.borrow(), which as u32, map)?;
            Ok(bytes(&device.download(out.borrow())?))
        }),
        reference: Box::new(move |inputs| {
            let images = Images::<RANK>::of(inputs);
            let (mut out, tile) = (elements::<u32>(&inputs[3]), elements::<u32>(&inputs[4]));
            for (value, index) in zip(tile, images.indices::<Of32>(1, [0; 3], true)) {
                if let Some(index) = index {
                    out[index] = reduced(which, out[index], value);
                }
            }
            bytes(&out)
        }),
    }
}

/// Draws the parameters of a convolution: the sizes of the images, the filter's width and height,
/// the number of filters, the padding and the stride.
fn drawn_convolution(rng: &mut Rng) -> Vec<u8> {
    let filter: [u32; 2] = std::array::from_fn(|_| rng.random_range(1..=3));
    let padding = rng.random_range(0..=2);
    let side = |rng: &mut Rng, filter: u32| {
        rng.random_range(filter.saturating_sub(2 * padding).max(1)..=7)
    };
    let sides = filter.map(|filter| side(rng, filter));
    let (channels, images, filters) =
        (rng.random_range(1..=9) * 8, rng.random_range(1..=3), rng.random_range(1..=70));
    bytes(&[
        channels,
        sides[0],
        sides[1],
        images,
        filter[0],
        filter[1],
        filters,
        padding,
        rng.random_range(1..=2),
    ])
}

fn convolution_of(buffer: &[u8]) -> Convolution {
    let number: Vec<usize> =
        elements::<u32>(buffer).into_iter().map(|number| number as usize).collect();
    Convolution {
        images: std::array::from_fn(|d| number[d]),
        filter: [number[4], number[5]],
        filters: number[6],
        padding: number[7],
        stride: number[8],
    }
}

/// Input: the parameters; images; filters. The values are small integers, so sums are exact.
fn convolution<D: Device + 'static>() -> Check<D> {
    Check {
        name: "convolution by im2col copies and wgmma".into(),
        needs: <OnlyArch<90> as Requirement>::NEEDS,
        arithmetic: None,
        labels: None,
        rounds: 4,
        element: 4,
        inputs: Box::new(|rng| {
            let sizes = drawn_convolution(rng);
            let [images, filters, _] = convolution_of(&sizes).lens();
            let mut integers = |count| {
                bytes(
                    &(0..count)
                        .map(|_| bf16::from_f32(rng.random_range(-8..=8) as f32))
                        .collect::<Vec<_>>(),
                )
            };
            vec![sizes, integers(images), integers(filters)]
        }),
        run: Box::new(|device, inputs| {
            let convolution = convolution_of(&inputs[0]);
            let (images, filters) =
                (upload::<D, bf16>(device, &inputs[1])?, upload::<D, bf16>(device, &inputs[2])?);
            super::with_output::<D, f32>(device, convolution.lens()[2], |out| {
                convolution.run(device, images.borrow(), filters.borrow(), out).map_err(|error| {
                    match error {
                        LaunchError::Device(error) => error,
                        LaunchError::TensorMap(error) => panic!("the tensors are right: {error}"),
                    }
                })
            })
        }),
        reference: Box::new(|inputs| {
            let of = convolution_of(&inputs[0]);
            let ([channels, width, height, images], [across, down]) = (of.images, of.filter);
            let ([out_width, out_height], out_len) = (of.out(), of.lens()[2]);
            let [image, filter] = [1, 2].map(|i| {
                elements::<bf16>(&inputs[i])
                    .into_iter()
                    .map(|value| value.to_f32() as i32)
                    .collect::<Vec<i32>>()
            });
            let mut out = Vec::with_capacity(out_len);
            for (n, y, x) in (0..images).flat_map(|n| {
                (0..out_height).flat_map(move |y| (0..out_width).map(move |x| (n, y, x)))
            }) {
                for f in 0..of.filters {
                    let mut sum = 0;
                    for (v, u) in (0..down).flat_map(|v| (0..across).map(move |u| (v, u))) {
                        let (row, col) = (
                            (y * of.stride + v).wrapping_sub(of.padding),
                            (x * of.stride + u).wrapping_sub(of.padding),
                        );
                        if row < height && col < width {
                            let pixel = ((n * height + row) * width + col) * channels;
                            let place = ((v * across + u) * of.filters + f) * channels;
                            sum += zip(&image[pixel..][..channels], &filter[place..])
                                .map(|(a, b)| a * b)
                                .sum::<i32>();
                        }
                    }
                    out.push(sum as f32);
                }
            }
            bytes(&out)
        }),
    }
}

/// The checks of copies. A row has the form, its kernel, its multicast kernel, the tile, the rank,
/// and whether pixels are rows of the tile.
macro_rules! copies {
    ($device:ident; $($form:literal $kernel:ident $multicast:ident $tile:ty,
        $rank:literal $pixels_are_rows:literal;)*) => {
        [$(
            copies!(@each $form $kernel $device $tile, $rank $pixels_are_rows: "" Corners,
                ", with offsets" Offsets, ", with steps" Steps,
                ", from between steps" BetweenSteps, ", from before the images" BeforeTheImages),
            vec![copy::<$device, $tile, $rank>(
                concat!($form, ", to several blocks, L2::cache_hint").into(),
                Kind::Steps,
                <OnlyArch<90> as Requirement>::NEEDS,
                $pixels_are_rows,
                4,
                |images, source, pixels_are_rows| {
                    let both = [images.offsets, [0; 3]]
                        .map(|offsets| images.loaded::<$tile>(source, offsets, pixels_are_rows));
                    both.concat().repeat(2)
                },
                |d, from, to, at, out| kernels::$multicast::launch(d, 2, from, to, at, out),
            )],
        )*]
    };
    (@each $form:literal $kernel:ident $device:ident $tile:ty,
        $rank:literal $pixels_are_rows:literal: $($name:literal $kind:ident),*) => {
        vec![$(copy::<$device, $tile, $rank>(
            concat!($form, $name).into(),
            Kind::$kind,
            Needs::at_least(90),
            $pixels_are_rows,
            1,
            |images, source, pixels_are_rows| {
                images.loaded::<$tile>(source, images.offsets, pixels_are_rows)
            },
            |d, from, to, at, out| kernels::$kernel::launch(d, 1, from, to, at, out),
        )),*]
    };
}

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let copies: [Vec<Check<D>>; 8] = copies! { D;
        "cp.async.bulk.tensor.3d.im2col" im2col_3d im2col_multicast_3d Plain, 3 true;
        "cp.async.bulk.tensor.4d.im2col, swizzle of 128 bytes" im2col_4d im2col_multicast_4d Of128,
            4 true;
        "cp.async.bulk.tensor.4d.im2col, swizzle of 64 bytes" im2col_4d_swizzle_64
            im2col_multicast_4d_swizzle_64 Of64, 4 false;
        "cp.async.bulk.tensor.5d.im2col, swizzle of 32 bytes" im2col_5d im2col_multicast_5d Of32,
            5 true;
    };
    let reductions = (0..REDUCTIONS.len()).flat_map(|which| {
        [
            reduction::<D, 3>("", which, |d, source, at, which, out| {
                kernels::im2col_reduce_3d::launch(d, 1, source, at, which, out)
            }),
            reduction::<D, 4>("", which, |d, source, at, which, out| {
                kernels::im2col_reduce_4d::launch(d, 1, source, at, which, out)
            }),
            reduction::<D, 5>("", which, |d, source, at, which, out| {
                kernels::im2col_reduce_5d::launch(d, 1, source, at, which, out)
            }),
        ]
    });
    copies.into_iter().flatten().chain(reductions).chain([convolution()]).collect()
}
