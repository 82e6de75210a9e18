//! The host's description of a tensor, and its tensor map (`cuTensorMapEncodeTiled`).

use super::place::{TensorPlace, each};
use crate::copy::{BoxTile, Tiled};
use crate::isa::{BoxLines, TensorAccess, TensorMapError, TensorMapWords};
use crate::launch::Device;
use core::marker::PhantomData;

/// A tensor in a buffer, from which boxes fill tiles of type `Tile`.
///
/// [`new`](Self::new) takes its sizes, innermost (contiguous) dimension first. The other methods
/// are optional, and set:
///
/// | method | default |
/// | --- | --- |
/// | [`start`] | the buffer's start |
/// | [`strides`] | packed, without gaps |
/// | [`boxes`] | the tile: its contiguous dimension along dimension 0, the other along 1 |
/// | [`steps`] | 1 along each dimension |
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
/// type Tile = SharedTile<u16, 64, 32, Swizzle64>;
/// # fn main() -> Result<(), TensorMapError> {
/// let (device, buffer) = (Simulator::default(), vec![0u16; 4096]);
///
/// // Images of 8 x 16 pixels with 32 channels. A box is 4 x 16 pixels of one image.
/// Tensor::<Tile, 4>::new([32, 16, 8, 1]).boxes([32, 16, 4, 1]).map(&device, &buffer[..])?;
///
/// // 40 columns of a matrix of 48, and every other row.
/// let tensor = Tensor::<Tile, 2>::new([40, 85]).strides([1, 48]).boxes([32, 128]).steps([1, 2]);
/// tensor.map(&device, &buffer[..])?;
///
/// let error = tensor.strides([1, 50]).map(&device, &buffer[..]).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "elements along dimension 1 of a tensor are 100 bytes apart: it must be a multiple of 16, \
///      less than 2^40"
/// );
/// # Ok(())
/// # }
/// ```
///
/// [`start`]: Self::start
/// [`strides`]: Self::strides
/// [`boxes`]: Self::boxes
/// [`steps`]: Self::steps
#[derive(Debug, Clone, Copy)]
pub struct Tensor<Tile, const RANK: usize> {
    place: TensorPlace<RANK>,
    boxes: [usize; RANK],
    steps: [usize; RANK],
    overlaps: bool,
    _tile: PhantomData<fn() -> Tile>,
}

impl<Tile: BoxTile, const RANK: usize> Tensor<Tile, RANK> {
    /// Describes a tensor of these sizes. A rank other than 1 to 5 does not compile.
    pub fn new(sizes: [usize; RANK]) -> Self {
        const { assert!(1 <= RANK && RANK <= 5, "a tensor has from 1 to 5 dimensions") };
        let boxes = core::array::from_fn(|dimension| match dimension {
            0 => Tile::INNER,
            1 => Tile::LINES,
            _ => 1,
        });
        let place = TensorPlace::dense(sizes);
        Tensor { place, boxes, steps: [1; RANK], overlaps: false, _tile: PhantomData }
    }

    /// Sets the element of the buffer at which the tensor starts, at a multiple of 16 bytes.
    #[must_use]
    pub fn start(self, element: usize) -> Self {
        Tensor { place: TensorPlace { start: element, ..self.place }, ..self }
    }

    /// Sets the distance between neighbours along each dimension, in elements.
    ///
    /// It is 1 along dimension 0. Along the others it is a multiple of 16 bytes, less than 2^40.
    #[must_use]
    pub fn strides(self, strides: [usize; RANK]) -> Self {
        Tensor { place: TensorPlace { strides, ..self.place }, ..self }
    }

    /// Sets the size of a box along each dimension, in elements, at most 256.
    ///
    /// A box fills the tile. Along dimension 0 its size is that of the tile's contiguous dimension.
    /// The sizes along the others, each divided by its step and rounded up, have the tile's other
    /// dimension as their product.
    #[must_use]
    pub fn boxes(self, sizes: [usize; RANK]) -> Self {
        Tensor { boxes: sizes, ..self }
    }

    /// Sets the traversal stride of a box along each dimension, from 1 to 8.
    ///
    /// A step of `n` copies every `n`-th element; the others take no space in the tile. It is 1
    /// along dimension 0.
    #[must_use]
    pub fn steps(self, steps: [usize; RANK]) -> Self {
        Tensor { steps, ..self }
    }

    /// Permits different coordinates to be the same element, in a map for a kernel to
    /// [store](Self::map_mut) to. Of two values stored to an element, the hardware keeps either.
    ///
    /// ```
    /// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
    ///
    /// type Tile = SharedTile<f32, 4, 8, Swizzle32>;
    ///
    /// /// Stores the first `rows` rows of a tile of ones, without the rows after them: TMA cuts
    /// /// the tile off at the end of a matrix.
    /// #[kernel(threads = 32, target = "sm_90")]
    /// fn store(
    ///     block: &Block,
    ///     #[shared] tile: Tile,
    ///     d: TensorMapMut<Tile, 3>,
    ///     end: i32,
    ///     rows: i32,
    /// ) {
    ///     let warp = block.warp();
    ///     tile.fill(warp, |_, _| 1.0);
    ///     warp.fence_for_bulk();
    ///     warp.sync();
    ///     warp.elect(|lane| {
    ///         tile.store_tma(lane, d.at([0, 4 - rows, end - 4]));
    ///         BulkGroup::commit(lane);
    ///         BulkGroup::wait_read::<0>(lane);
    ///     });
    /// }
    ///
    /// // In 10 rows, 7 matrices of 4 rows: one from each row on.
    /// let (device, mut d) = (Simulator::default(), [0.0; 80]);
    /// let matrices = Tensor::<Tile, 3>::new([8, 4, 7]).strides([1, 8, 8]).overlapping();
    /// let mut map = matrices.map_mut(&device, &mut d[..])?;
    /// store::launch(&device, 1, map.by_ref(), 6, 3).check();
    /// let rows: Vec<f32> = d.chunks(8).map(|row| row[0]).collect();
    /// assert_eq!(rows, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), TensorMapError>(())
    /// ```
    #[must_use]
    pub fn overlapping(self) -> Self {
        Tensor { overlaps: true, ..self }
    }

    /// Makes the map, for a kernel to load from.
    ///
    /// # Errors
    /// Refuses a map that is wrong, before it calls the driver: [`TensorMapError`] says why.
    pub fn map<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b D::Buffer<Tile::Element>,
    ) -> Result<EncodedMap<'b, D, Tile, RANK>, TensorMapError> {
        let (start, len) = device.slice(buffer);
        Ok(EncodedMap::new(self.encode(device, start, len)?, buffer))
    }

    /// Makes the map, for a kernel to store to.
    ///
    /// Different coordinates are different elements, unless [`overlapping`](Self::overlapping)
    /// permits others: a stride is at least the extent of the dimensions with smaller strides.
    /// Dimension 0 has a multiple of 16 bytes. If it had not, an H200 would also overwrite the
    /// bytes after it, to the end of the last 16.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn map_mut<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b mut D::Buffer<Tile::Element>,
    ) -> Result<EncodedMapMut<'b, D, Tile, RANK>, TensorMapError> {
        let (start, len) = device.slice_mut(buffer);
        let words = self.encode(device, start, len)?;
        self.place.check_written_lines::<Tile::Element>()?;
        if !self.overlaps {
            self.place.check_apart()?;
        }
        Ok(EncodedMapMut::new(words, buffer))
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
        let of_box = encoding.copied();
        let of_tile = BoxLines { inner: Tile::INNER, lines: Tile::LINES };
        if of_box != of_tile {
            return Err(TensorMapError::NotTheTile { of_box, of_tile });
        }
        self.place.check_in_buffer::<Tile::Element>(&encoding, len)?;
        device.encode_tensor_map(&encoding)
    }
}

/// A tensor map of a buffer, as the argument for a kernel's [`TensorMap`](crate::copy::TensorMap).
///
/// [`Tensor::map`] or [`Im2colTensor::map`](super::Im2colTensor::map) makes it. It serves any
/// number of launches.
pub struct EncodedMap<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize, Mode = Tiled> {
    pub(crate) words: TensorMapWords,
    pub(crate) buffer: &'b D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

/// A tensor map of a buffer that kernels write, as the argument for a kernel's
/// [`TensorMapMut`](crate::copy::TensorMapMut).
///
/// [`Tensor::map_mut`] or [`Im2colTensor::map_mut`](super::Im2colTensor::map_mut) makes it.
pub struct EncodedMapMut<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize, Mode = Tiled> {
    pub(crate) words: TensorMapWords,
    pub(crate) buffer: &'b mut D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

impl<'b, D: Device, Tile: BoxTile, const RANK: usize, Mode> EncodedMap<'b, D, Tile, RANK, Mode> {
    pub(super) fn new(words: TensorMapWords, buffer: &'b D::Buffer<Tile::Element>) -> Self {
        EncodedMap { words, buffer, _tile: PhantomData }
    }

    /// The map's bytes, for a kernel that is launched without this crate's launch functions.
    pub fn words(&self) -> TensorMapWords {
        self.words
    }
}

impl<'b, D: Device, Tile: BoxTile, const RANK: usize, Mode> EncodedMapMut<'b, D, Tile, RANK, Mode> {
    pub(super) fn new(words: TensorMapWords, buffer: &'b mut D::Buffer<Tile::Element>) -> Self {
        EncodedMapMut { words, buffer, _tile: PhantomData }
    }

    /// Borrows the map, for one launch.
    pub fn by_ref(&mut self) -> EncodedMapMut<'_, D, Tile, RANK, Mode> {
        EncodedMapMut::new(self.words, self.buffer)
    }
}
