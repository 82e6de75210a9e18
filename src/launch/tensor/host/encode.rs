//! How the host makes a tensor map.

use super::place::{TensorPlace, each};
use crate::copy::{BoxTile, Tiled};
use crate::isa::{TensorAccess, TensorMapError, TensorMapWords};
use crate::launch::Device;
use core::marker::PhantomData;

/// A tensor in a buffer, of which boxes fill tiles of the type `Tile`: its sizes, innermost first,
/// that is, the dimension whose elements are neighbours.
///
/// Without more, it lies densely from the buffer's start on, and a box is the tile: its lines along
/// dimension 0, and as many of them along dimension 1.
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
/// type Tile = SharedTile<u16, 64, 32, Swizzle64>;
/// # fn main() -> Result<(), TensorMapError> {
/// let (device, buffer) = (Simulator::default(), vec![0u16; 4096]);
///
/// // Pictures of 8 x 16 pixels with 32 channels; a box is 4 x 16 of one.
/// Tensor::<Tile, 4>::new([32, 16, 8, 1]).boxes([32, 16, 4, 1]).map(&device, &buffer[..])?;
///
/// // 40 columns of a matrix of 48: every other row.
/// let tensor = Tensor::<Tile, 2>::new([40, 85]).strides([1, 48]).boxes([32, 128]).steps([1, 2]);
/// tensor.map(&device, &buffer[..])?;
///
/// let error = tensor.strides([1, 50]).map(&device, &buffer[..]).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "elements along dimension 1 of a tensor are 100 bytes apart: it must be a multiple of 16, less than 2^40"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Tensor<Tile, const RANK: usize> {
    place: TensorPlace<RANK>,
    boxes: [usize; RANK],
    steps: [usize; RANK],
    _tile: PhantomData<fn() -> Tile>,
}

impl<Tile: BoxTile, const RANK: usize> Tensor<Tile, RANK> {
    /// A tensor of these sizes. A rank other than 1 to 5 does not compile.
    pub fn new(sizes: [usize; RANK]) -> Self {
        const { assert!(1 <= RANK && RANK <= 5, "a tensor has from 1 to 5 dimensions") };
        let boxes = core::array::from_fn(|dimension| match dimension {
            0 => Tile::INNER,
            1 => Tile::LINES,
            _ => 1,
        });
        Tensor { place: TensorPlace::dense(sizes), boxes, steps: [1; RANK], _tile: PhantomData }
    }

    /// It starts at this element of the buffer, which is a multiple of 16 bytes.
    #[must_use]
    pub fn start(self, element: usize) -> Self {
        Tensor { place: TensorPlace { start: element, ..self.place }, ..self }
    }

    /// So many elements from one to the next along each dimension: 1 along dimension 0, and
    /// multiples of 16 bytes, less than 2^40.
    #[must_use]
    pub fn strides(self, strides: [usize; RANK]) -> Self {
        Tensor { place: TensorPlace { strides, ..self.place }, ..self }
    }

    /// So many elements of a box along each dimension, at most 256. Along dimension 0 they are the
    /// tile's lines; the product of the others is the number of them.
    #[must_use]
    pub fn boxes(self, sizes: [usize; RANK]) -> Self {
        Tensor { boxes: sizes, ..self }
    }

    /// Of a box, every so many elements along a dimension are copied, from 1 to 8; the others take
    /// no place in the tile. 1 along dimension 0.
    #[must_use]
    pub fn steps(self, steps: [usize; RANK]) -> Self {
        Tensor { steps, ..self }
    }

    /// The map, for a kernel to load from.
    ///
    /// # Errors
    /// What is wrong with it, before any driver is asked.
    pub fn map<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b D::Buffer<Tile::Element>,
    ) -> Result<EncodedMap<'b, D, Tile, RANK>, TensorMapError> {
        let (start, len) = device.slice(buffer);
        Ok(EncodedMap::new(self.encode(device, start, len)?, buffer))
    }

    /// The map, for a kernel to write through. No two places of the tensor are one element: a
    /// stride is not less than what the dimensions with smaller ones span. Lines along
    /// dimension 0 have multiples of 16 bytes: of others, an H200 writes what lies behind
    /// them in the last 16 bytes, too.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_mut<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b mut D::Buffer<Tile::Element>,
    ) -> Result<EncodedMapMut<'b, D, Tile, RANK>, TensorMapError> {
        self.place.check_written::<Tile::Element>()?;
        let (start, len) = device.slice_mut(buffer);
        Ok(EncodedMapMut::new(self.encode(device, start, len)?, buffer))
    }

    fn encode<D: Device>(
        &self,
        device: &D,
        buffer: *mut Tile::Element,
        len: usize,
    ) -> Result<TensorMapWords, TensorMapError> {
        self.place.check_neighbours()?;
        for (dimension, &size) in self.boxes.iter().enumerate() {
            if size > 256 {
                return Err(TensorMapError::BoxSize { dimension, size: size as u64 });
            }
        }
        let access =
            TensorAccess::Tiled { box_sizes: each(&self.boxes, 1).map(|size| size as u32) };
        let encoding = self.place.encoding(buffer, &each(&self.steps, 1), Tile::SWIZZLE, access)?;
        let (inner, lines) = encoding.copied();
        let (of_box, of_tile) =
            ((inner as u64, lines as u64), (Tile::INNER as u64, Tile::LINES as u64));
        if of_box != of_tile {
            return Err(TensorMapError::NotTheTile { of_box, of_tile });
        }
        self.place.check_in_buffer::<Tile::Element>(&encoding, len)?;
        device.encode_tensor_map(&encoding)
    }
}

/// A tensor map of a buffer, for a kernel's [`TensorMap`](crate::copy::TensorMap): [`Tensor::map`]
/// makes it, or, of im2col mode, [`Im2colTensor::map`](super::Im2colTensor::map). It serves any
/// number of launches.
pub struct EncodedMap<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize, Mode = Tiled> {
    pub(crate) words: TensorMapWords,
    pub(crate) buffer: &'b D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

/// A tensor map of a buffer that kernels write, for a kernel's
/// [`TensorMapMut`](crate::copy::TensorMapMut): [`Tensor::map_mut`] makes it, or, of im2col
/// mode, [`Im2colTensor::map_mut`](super::Im2colTensor::map_mut).
pub struct EncodedMapMut<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize, Mode = Tiled> {
    pub(crate) words: TensorMapWords,
    pub(crate) buffer: &'b mut D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

impl<'b, D: Device, Tile: BoxTile, const RANK: usize, Mode> EncodedMap<'b, D, Tile, RANK, Mode> {
    pub(super) fn new(words: TensorMapWords, buffer: &'b D::Buffer<Tile::Element>) -> Self {
        EncodedMap { words, buffer, _tile: PhantomData }
    }

    /// The map, for a kernel that is launched in another way.
    pub fn words(&self) -> TensorMapWords {
        self.words
    }
}

impl<'b, D: Device, Tile: BoxTile, const RANK: usize, Mode> EncodedMapMut<'b, D, Tile, RANK, Mode> {
    pub(super) fn new(words: TensorMapWords, buffer: &'b mut D::Buffer<Tile::Element>) -> Self {
        EncodedMapMut { words, buffer, _tile: PhantomData }
    }

    /// The same map, for one launch.
    pub fn by_ref(&mut self) -> EncodedMapMut<'_, D, Tile, RANK, Mode> {
        EncodedMapMut::new(self.words, self.buffer)
    }
}
