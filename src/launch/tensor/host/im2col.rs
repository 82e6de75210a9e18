//! The host's description of images, and their tensor map in im2col mode
//! (`cuTensorMapEncodeIm2col`).

use super::place::TensorPlace;
use super::{EncodedMap, EncodedMapMut};
use crate::copy::{BoxTile, Im2col, Im2colAt};
use crate::isa::{TensorAccess, TensorEncoding, TensorMapError, TensorMapWords};
use crate::launch::Device;
use core::marker::PhantomData;

/// Images in a buffer, whose pixels fill tiles of type `Tile` (im2col mode, PTX ISA 5.5.4).
///
/// [`new`](Self::new) takes the sizes, innermost first: channels, width, height, depth, and the
/// number of images. They are `[C, W, N]`, `[C, W, H, N]` or `[C, W, H, D, N]`.
///
/// The tile's contiguous dimension, at most 256 elements, has the channels of one pixel, or some of
/// them. Its other dimension, at most 1024, has consecutive pixels. They follow W, then H, then D,
/// then the next image, within a *bounding box* that is the same in each image. A convolution puts
/// the pixels where its filter starts into the bounding box, and reaches the others by offsets: see
/// [`SharedTile::load_tma`](crate::memory::SharedTile::load_tma).
///
/// By default the images are packed from the buffer's start on, and the bounding box is the image.
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Im2colTensor, prelude::*, sim::Simulator};
/// type Pixels = SharedTile<bf16, 64, 32, Swizzle64>;
/// # fn main() -> Result<(), TensorMapError> {
/// let (device, buffer) = (Simulator::default(), vec![bf16::ZERO; 32 * 14 * 9 * 2]);
///
/// // Two images of 9 x 14 pixels with 32 channels. Filters of 3 x 3 pixels start at pixels from -1
/// // to the last but one, along W and H.
/// let images = Im2colTensor::<Pixels, 4>::new([32, 14, 9, 2]).corners([-1, -1], [-1, -1]);
/// images.map(&device, &buffer[..])?;
/// // A stride of 2.
/// images.steps([2, 2]).map(&device, &buffer[..])?;
///
/// let error = images.corners([-1, -129], [0, 0]).map(&device, &buffer[..]).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "the lower corner of a bounding box is -129 along dimension 2: of a tensor of 4 dimensions \
///      it must be from -128 to 127"
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
    /// Describes images of these sizes. A tile of more than 1024 pixels does not compile.
    pub fn new(sizes: [usize; RANK]) -> Self
    where
        [i32; RANK]: Im2colAt,
    {
        const { assert!(Tile::LINES <= 1024, "an im2col copy loads at most 1024 pixels") };
        let place = TensorPlace::dense(sizes);
        Im2colTensor { place, lower: [0; 3], upper: [0; 3], steps: [1; 5], _tile: PhantomData }
    }

    /// Sets the element of the buffer at which the images start, at a multiple of 16 bytes.
    #[must_use]
    pub fn start(self, element: usize) -> Self {
        Im2colTensor { place: TensorPlace { start: element, ..self.place }, ..self }
    }

    /// Sets the distance between neighbours along each dimension, in elements.
    ///
    /// It is 1 along dimension 0. Along the others it is a multiple of 16 bytes, less than 2^40.
    #[must_use]
    pub fn strides(self, strides: [usize; RANK]) -> Self {
        Im2colTensor { place: TensorPlace { strides, ..self.place }, ..self }
    }

    /// Sets the corners of the bounding box, along W, H and D.
    ///
    /// `lower` is its first pixel, relative to the image's first. `upper` is its last pixel,
    /// relative to the image's last. Corners of 0 are those of the image. A corner is a signed
    /// number of 16, 8 or 5 bits, for 3, 4 or 5 dimensions.
    ///
    /// A convolution has `lower = -padding` and `upper = padding - (filter - 1)`, where `filter` is
    /// the filter's size in pixels.
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

    /// Sets the traversal strides along W, H and D, from 1 to 8: a convolution's strides.
    ///
    /// A step of `n` copies every `n`-th pixel. It does not change the number of copied pixels:
    /// they fill the tile.
    #[must_use]
    pub fn steps(self, steps: <[i32; RANK] as Im2colAt>::Spatial<usize>) -> Self
    where
        [i32; RANK]: Im2colAt,
    {
        let mut all = [1; 5];
        all[1..RANK - 1].copy_from_slice(steps.as_ref());
        Im2colTensor { steps: all, ..self }
    }

    /// Makes the map, for a kernel to load from.
    ///
    /// # Errors
    /// Refuses a map that is wrong, before it calls the driver: [`TensorMapError`] says why.
    pub fn map<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b D::Buffer<Tile::Element>,
    ) -> Result<EncodedMap<'b, D, Tile, RANK, Im2col>, TensorMapError> {
        let (start, len) = device.slice(buffer);
        Ok(EncodedMap::new(self.encode(device, start, len, |_| Ok(()))?, buffer))
    }

    /// Makes the map, for a kernel to store to.
    ///
    /// The bounding box is within the image, and the channels of a pixel have a multiple of 16
    /// bytes.
    ///
    /// # Errors
    /// As for [`map`](Self::map).
    pub fn map_mut<'b, D: Device>(
        &self,
        device: &D,
        buffer: &'b mut D::Buffer<Tile::Element>,
    ) -> Result<EncodedMapMut<'b, D, Tile, RANK, Im2col>, TensorMapError> {
        let (start, len) = device.slice_mut(buffer);
        let words = self.encode(device, start, len, is_within_the_images)?;
        self.place.check_written_lines::<Tile::Element>()?;
        self.place.check_apart()?;
        Ok(EncodedMapMut::new(words, buffer))
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

/// Checks that the bounding box has no pixel outside an image. A store must not start before an
/// image: an H200 reports an illegal instruction for a box that does.
fn is_within_the_images(encoding: &TensorEncoding) -> Result<(), TensorMapError> {
    for dimension in 1..encoding.rank - 1 {
        let ((first, last), size) = (encoding.bounds(dimension), encoding.sizes[dimension]);
        if first < 0 || last >= size as i64 {
            return Err(TensorMapError::WrittenBounds { dimension, first, last, size });
        }
    }
    Ok(())
}
