//! How the host makes a tensor map of im2col mode.

use super::place::TensorPlace;
use super::{EncodedMap, EncodedMapMut};
use crate::copy::{BoxTile, Im2col, Im2colAt};
use crate::isa::{TensorAccess, TensorEncoding, TensorMapError, TensorMapWords};
use crate::launch::Device;
use core::marker::PhantomData;

/// Images in a buffer, whose pixels fill tiles of the type `Tile` (PTX ISA 5.5.4,
/// `cuTensorMapEncodeIm2col`): how many channels, how wide, and, of more dimensions, how high and
/// deep an image is, and how many images there are. That is `[C, W, N]`, `[C, W, H, N]` or `[C, W,
/// H, D, N]`.
///
/// A tile's line is a pixel, or as many of its channels as the line has elements, at most 256. Its
/// lines, at most 1024, are pixels behind each other: along W, then H, then D, then in the next
/// image, within a *bounding box* that is the same in each image. A convolution has the pixels
/// where its filter starts in the box, and is brought to the others by offsets: see
/// [`SharedTile::load_tma`](crate::memory::SharedTile::load_tma).
///
/// Without more, the images lie densely from the buffer's start on, and the bounding box is the
/// image.
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Im2colTensor, prelude::*, sim::Simulator};
/// type Pixels = SharedTile<bf16, 64, 32, Swizzle64>;
/// # fn main() -> Result<(), TensorMapError> {
/// let (device, buffer) = (Simulator::default(), vec![bf16::ZERO; 32 * 14 * 9 * 2]);
///
/// // Two images of 9 x 14 pixels with 32 channels. Filters of 3 x 3 pixels start from one pixel before the image to two before its last.
/// let images = Im2colTensor::<Pixels, 4>::new([32, 14, 9, 2]).corners([-1, -1], [-1, -1]);
/// images.map(&device, &buffer[..])?;
/// // At every other pixel.
/// images.steps([2, 2]).map(&device, &buffer[..])?;
///
/// let error = images.corners([-1, -129], [0, 0]).map(&device, &buffer[..]).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "the lower corner of a bounding box is -129 along dimension 2: of a tensor of 4 dimensions it must be from -128 to 127"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Im2colTensor<Tile, const RANK: usize> {
    place: TensorPlace<RANK>,
    lower: [i32; 3],
    upper: [i32; 3],
    steps: [usize; 5],
    _tile: PhantomData<fn() -> Tile>,
}

impl<Tile: BoxTile, const RANK: usize> Im2colTensor<Tile, RANK> {
    /// Images of these sizes. A tile of more than 1024 lines does not compile.
    pub fn new(sizes: [usize; RANK]) -> Self
    where
        [i32; RANK]: Im2colAt,
    {
        const { assert!(Tile::LINES <= 1024, "an im2col copy brings at most 1024 pixels") };
        let place = TensorPlace::dense(sizes);
        Im2colTensor { place, lower: [0; 3], upper: [0; 3], steps: [1; 5], _tile: PhantomData }
    }

    /// They start at this element of the buffer, which is a multiple of 16 bytes.
    #[must_use]
    pub fn start(self, element: usize) -> Self {
        Im2colTensor { place: TensorPlace { start: element, ..self.place }, ..self }
    }

    /// So many elements from one to the next along each dimension: 1 along dimension 0, and
    /// multiples of 16 bytes, less than 2^40.
    #[must_use]
    pub fn strides(self, strides: [usize; RANK]) -> Self {
        Im2colTensor { place: TensorPlace { strides, ..self.place }, ..self }
    }

    /// The bounding box, along W, H and D: its first pixel, counted from the image's first, and its
    /// last, counted from the image's last. So the corners 0 and 0 are those of the image. Of a
    /// tensor of 3, 4 and 5 dimensions a corner has 16, 8 and 5 bits.
    ///
    /// A convolution with so much padding, and a filter of so many pixels, has the lower corner
    /// `-padding`, and the upper one `padding - (filter - 1)`.
    #[must_use]
    pub fn corners(
        self,
        lower: <[i32; RANK] as Im2colAt>::Spatial<i32>,
        upper: <[i32; RANK] as Im2colAt>::Spatial<i32>,
    ) -> Self
    where
        [i32; RANK]: Im2colAt,
    {
        let corner =
            |of: &[i32]| core::array::from_fn(|dimension| of.get(dimension).copied().unwrap_or(0));
        Im2colTensor { lower: corner(lower.as_ref()), upper: corner(upper.as_ref()), ..self }
    }

    /// Every so many pixels along W, H and D are copied, from 1 to 8: a convolution's stride.
    /// However many are left out, a tile is filled.
    #[must_use]
    pub fn steps(self, steps: <[i32; RANK] as Im2colAt>::Spatial<usize>) -> Self
    where
        [i32; RANK]: Im2colAt,
    {
        let mut all = [1; 5];
        all[1..RANK - 1].copy_from_slice(steps.as_ref());
        Im2colTensor { steps: all, ..self }
    }

    /// The map, for a kernel to load from.
    ///
    /// # Errors
    /// What is wrong with it, before any driver is asked.
    pub fn map<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b D::Buffer<Tile::Element>,
    ) -> Result<EncodedMap<'b, D, Tile, RANK, Im2col>, TensorMapError> {
        let (start, len) = device.slice(buffer);
        Ok(EncodedMap::new(self.encode(device, start, len, |_| Ok(()))?, buffer))
    }

    /// The map, for a kernel to write through. The bounding box is within the image, and a pixel
    /// has channels of multiples of 16 bytes.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_mut<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b mut D::Buffer<Tile::Element>,
    ) -> Result<EncodedMapMut<'b, D, Tile, RANK, Im2col>, TensorMapError> {
        self.place.check_written::<Tile::Element>()?;
        let (start, len) = device.slice_mut(buffer);
        Ok(EncodedMapMut::new(self.encode(device, start, len, is_within_the_images)?, buffer))
    }

    fn encode<D: Device>(
        &self,
        device: &D,
        buffer: *mut Tile::Element,
        len: usize,
        check: impl FnOnce(&TensorEncoding) -> Result<(), TensorMapError>,
    ) -> Result<TensorMapWords, TensorMapError> {
        self.place.check_neighbours()?;
        let (channels, pixels) = (Tile::INNER as u32, Tile::LINES as u32);
        let access =
            TensorAccess::Im2col { lower: self.lower, upper: self.upper, channels, pixels };
        let encoding = self.place.encoding(buffer, &self.steps, Tile::SWIZZLE, access)?;
        check(&encoding)?;
        self.place.check_in_buffer::<Tile::Element>(&encoding, len)?;
        device.encode_tensor_map(&encoding)
    }
}

/// Whether the bounding box has no pixel beyond an image: what is copied to memory is not to start
/// before it, as an H200 said of boxes.
fn is_within_the_images(encoding: &TensorEncoding) -> Result<(), TensorMapError> {
    for dimension in 1..encoding.rank - 1 {
        let ((first, last), size) = (encoding.bounds(dimension), encoding.sizes[dimension]);
        if first < 0 || last >= size as i64 {
            return Err(TensorMapError::WrittenBounds { dimension, first, last, size });
        }
    }
    Ok(())
}
