//! How the host makes a tensor map.

use super::{BoxTile, TensorEncoding, TensorMapError, TensorMapWords};
use crate::Element;
use crate::launch::Device;
use core::marker::PhantomData;

/// A tensor in a buffer, of which boxes fill tiles of the type `Tile`: its sizes, innermost first, that is, the dimension whose elements are
/// neighbours.
///
/// Without more, it lies densely from the buffer's start on, and a box is the tile: its lines along dimension 0, and as many of them along
/// dimension 1.
///
/// ```
/// use ptx_matrix::{sim::Simulator, *};
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
    start: usize,
    sizes: [usize; RANK],
    strides: [usize; RANK],
    boxes: [usize; RANK],
    steps: [usize; RANK],
    _tile: PhantomData<fn() -> Tile>,
}

impl<Tile: BoxTile, const RANK: usize> Tensor<Tile, RANK> {
    /// A tensor of these sizes. A rank other than 1 to 5 does not compile.
    pub fn new(sizes: [usize; RANK]) -> Self {
        const { assert!(1 <= RANK && RANK <= 5, "a tensor has from 1 to 5 dimensions") };
        let mut strides = [1usize; RANK];
        for dimension in 1..RANK {
            strides[dimension] = strides[dimension - 1].saturating_mul(sizes[dimension - 1]);
        }
        let boxes = core::array::from_fn(|dimension| match dimension {
            0 => Tile::INNER,
            1 => Tile::LINES,
            _ => 1,
        });
        Tensor { start: 0, sizes, strides, boxes, steps: [1; RANK], _tile: PhantomData }
    }

    /// It starts at this element of the buffer, which is a multiple of 16 bytes.
    #[must_use]
    pub fn start(self, element: usize) -> Self {
        Tensor { start: element, ..self }
    }

    /// So many elements from one to the next along each dimension: 1 along dimension 0, and multiples of 16 bytes, less than 2^40.
    #[must_use]
    pub fn strides(self, strides: [usize; RANK]) -> Self {
        Tensor { strides, ..self }
    }

    /// So many elements of a box along each dimension, at most 256. Along dimension 0 they are the tile's lines; the product of the others is
    /// the number of them.
    #[must_use]
    pub fn boxes(self, sizes: [usize; RANK]) -> Self {
        Tensor { boxes: sizes, ..self }
    }

    /// Of a box, every so many elements along a dimension are copied, from 1 to 8; the others take no place in the tile. 1 along dimension 0.
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
        Ok(EncodedMap { words: self.encode(device, start, len)?, buffer, _tile: PhantomData })
    }

    /// The map, for a kernel to write through. Lines along dimension 0 have multiples of 16 bytes: of others, an H200 writes what lies behind
    /// them in the last 16 bytes, too.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_mut<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b mut D::Buffer<Tile::Element>,
    ) -> Result<EncodedMapMut<'b, D, Tile, RANK>, TensorMapError> {
        let bytes = (self.sizes[0] as u64).saturating_mul(size_of::<Tile::Element>() as u64);
        if !bytes.is_multiple_of(16) {
            return Err(TensorMapError::WrittenLine { bytes });
        }
        let (start, len) = device.slice_mut(buffer);
        Ok(EncodedMapMut { words: self.encode(device, start, len)?, buffer, _tile: PhantomData })
    }

    fn encode<D: Device>(
        &self,
        device: &D,
        buffer: *mut Tile::Element,
        len: usize,
    ) -> Result<TensorMapWords, TensorMapError> {
        let element_bytes = size_of::<Tile::Element>();
        if self.strides[0] != 1 {
            return Err(TensorMapError::Apart { stride: self.strides[0] as u64 });
        }
        // What is too large for its field is refused as what it is.
        for (dimension, &size) in self.boxes.iter().enumerate() {
            if size > 256 {
                return Err(TensorMapError::BoxSize { dimension, size: size as u64 });
            }
        }
        for (dimension, &step) in self.steps.iter().enumerate() {
            if step > 8 {
                return Err(TensorMapError::Step { dimension, step: step as u64 });
            }
        }
        let start = self.start.saturating_mul(element_bytes) as u64;
        let each = |of: &[usize; RANK], other| core::array::from_fn(|d| of.get(d).map_or(other, |&value| value as u64));
        let encoding = TensorEncoding {
            data_type: <Tile::Element as Element>::TENSOR_DATA_TYPE,
            element_bytes,
            rank: RANK,
            address: (buffer.expose_provenance() as u64).wrapping_add(start),
            sizes: each(&self.sizes, 1),
            strides: each(&self.strides, 0).map(|stride: u64| stride.saturating_mul(element_bytes as u64)),
            box_sizes: each(&self.boxes, 1).map(|size| size as u32),
            steps: each(&self.steps, 1).map(|step| step as u32),
            swizzle: Tile::SWIZZLE,
        };
        encoding.check()?;
        let copied = encoding.copied().map(|count| count as u64);
        let (of_box, of_tile) = ((copied[0], copied[1..].iter().product()), (Tile::INNER as u64, Tile::LINES as u64));
        if of_box != of_tile {
            return Err(TensorMapError::NotTheTile { of_box, of_tile });
        }
        if !start.is_multiple_of(16) {
            return Err(TensorMapError::Start { bytes: start });
        }
        let needed = self.start as u128 + encoding.span();
        if needed > len as u128 {
            return Err(TensorMapError::Buffer { needed, len: len as u64 });
        }
        device.encode_tensor_map(&encoding)
    }
}

/// A tensor map of a buffer, for a kernel's [`TensorMap`](super::TensorMap): [`Tensor::map`] makes it. It serves any number of launches.
pub struct EncodedMap<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize> {
    pub(super) words: TensorMapWords,
    pub(super) buffer: &'b D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> Tile>,
}

/// A tensor map of a buffer that kernels write, for a kernel's [`TensorMapMut`](super::TensorMapMut): [`Tensor::map_mut`] makes it.
pub struct EncodedMapMut<'b, D: Device + 'b, Tile: BoxTile, const RANK: usize> {
    pub(super) words: TensorMapWords,
    pub(super) buffer: &'b mut D::Buffer<Tile::Element>,
    _tile: PhantomData<fn() -> Tile>,
}

impl<D: Device, Tile: BoxTile, const RANK: usize> EncodedMap<'_, D, Tile, RANK> {
    /// The map, for a kernel that is launched in another way.
    pub fn words(&self) -> TensorMapWords {
        self.words
    }
}

impl<D: Device, Tile: BoxTile, const RANK: usize> EncodedMapMut<'_, D, Tile, RANK> {
    /// The same map, for one launch.
    pub fn by_ref(&mut self) -> EncodedMapMut<'_, D, Tile, RANK> {
        EncodedMapMut { words: self.words, buffer: self.buffer, _tile: PhantomData }
    }
}
