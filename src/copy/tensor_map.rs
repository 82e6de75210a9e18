//! Tensor maps: the host's description of a tensor in global memory and of the boxes that TMA
//! copies (PTX ISA 5.5, `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`).

use crate::element::{Element, TypeName};
use crate::isa::TensorMapWords;
use crate::lane::{Capturable, Lane, Sealed};
use crate::machine::MapRef;
use crate::memory::{Order, SharedTile, TensorSwizzle};
use crate::raw;
use crate::target::{AtLeast, BuiltFor};
use core::marker::PhantomData;

/// A tile that a TMA copy fills with one box: any [`SharedTile`] whose swizzle the hardware has.
///
/// With [`Unswizzled128`](crate::memory::Unswizzled128), the tile's contiguous dimension has at
/// most 256 elements. With a swizzle of 32, 64 or 128 bytes, it has exactly as many bytes. A map of
/// any other tile does not compile.
pub trait BoxTile: Sealed + Copy + 'static {
    /// The tile's elements.
    type Element: Element;
    /// Elements along the contiguous dimension: the columns, or of a `ColMajor` tile the rows.
    const INNER: usize;
    /// Elements along the other dimension.
    const LINES: usize;
    /// The tile's bytes.
    const BYTES: u32;
    /// The driver API's number of the swizzle (`CUtensorMapSwizzle`).
    const SWIZZLE: u32;
    /// The tile type's name in the fingerprints of kernels.
    #[doc(hidden)]
    const TYPE: TypeName;
}

impl<T: Element, const ROWS: usize, const COLS: usize, S: TensorSwizzle, O: Order> BoxTile
    for SharedTile<T, ROWS, COLS, S, O>
{
    type Element = T;
    const INNER: usize = {
        let inner = if O::ROW_MAJOR { COLS } else { ROWS };
        assert!(
            S::BITS == 0 || inner * size_of::<T>() == 16 << S::BITS,
            "the contiguous side of a tile that a tensor copy swizzles has as many bytes as the \
             swizzle: 32, 64 or 128"
        );
        assert!(inner <= 256, "a box has at most 256 elements along each dimension");
        inner
    };
    const LINES: usize = if O::ROW_MAJOR { ROWS } else { COLS };
    const BYTES: u32 = (Self::INNER * Self::LINES * size_of::<T>()) as u32;
    const SWIZZLE: u32 = S::CODE;
    const TYPE: TypeName = TypeName::Parts(&[
        TypeName::Text("SharedTile<"),
        TypeName::Text(T::TYPE),
        TypeName::Text(", "),
        TypeName::Number(ROWS),
        TypeName::Text(", "),
        TypeName::Number(COLS),
        TypeName::Text(match S::CODE {
            0 => ", Unswizzled128",
            1 => ", Swizzle32",
            2 => ", Swizzle64",
            _ => ", Swizzle128",
        }),
        TypeName::Text(if O::ROW_MAJOR { ", RowMajor>" } else { ", ColMajor>" }),
    ]);
}

/// The mode of a tensor map: [`Tiled`] maps copy boxes, and [`Im2col`] maps the pixels of images.
pub trait TensorMode: Sealed + Copy + 'static {
    /// The mode's name.
    #[doc(hidden)]
    const NAME: &'static str;
}

/// Tiled mode: boxes of a tensor (PTX ISA 5.5.3). [`Tensor`](crate::launch::Tensor) makes such
/// maps.
#[derive(Debug, Clone, Copy)]
pub struct Tiled;

/// Im2col mode: the pixels of images that a convolution multiplies (PTX ISA 5.5.4).
/// [`Im2colTensor`](crate::launch::Im2colTensor) makes such maps.
#[derive(Debug, Clone, Copy)]
pub struct Im2col;

impl Sealed for Tiled {}
impl TensorMode for Tiled {
    const NAME: &'static str = "Tiled";
}
impl Sealed for Im2col {}
impl TensorMode for Im2col {
    const NAME: &'static str = "Im2col";
}

/// A tensor map: a tensor of 1 to 5 dimensions in global memory, which TMA loads read.
///
/// [`SharedTile::load_tma`] copies a box of the tensor to a tile of type `Tile`, or in [`Im2col`]
/// mode its pixels. No thread writes the tensor while the kernel runs.
///
/// The host makes the map with [`Tensor::map`](crate::launch::Tensor::map) or
/// [`Im2colTensor::map`](crate::launch::Im2colTensor::map). The tile's type determines element,
/// swizzle and size of a box, so that map and tile always agree. As a kernel's parameter it has 128
/// bytes by value, which the copies read in place (`__grid_constant__`). Needs sm_90.
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
///
/// type Tile = SharedTile<bf16, 8, 64, Swizzle128>;
///
/// /// Copies a matrix, a box for each block. Elements outside the matrix are zero in the tile, and
/// /// are not stored.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn copy(
///     block: &Block,
///     #[shared] tile: Tile,
///     #[shared] full: BarrierMemory,
///     a: TensorMap<Tile, 2>,
///     d: TensorMapMut<Tile, 2>,
/// ) {
///     let full = full.init(block, 1);
///     let (warp, at) = (block.warp(), [block.index().x as i32 * 64, block.index().y as i32 * 8]);
///     warp.elect(|lane| {
///         full.arrive_expecting(lane, Tile::BOX_BYTES);
///         tile.load_tma(lane, a.at(at), full);
///     });
///     full.wait(warp, Phase::FIRST);
///     warp.elect(|lane| {
///         tile.store_tma(lane, d.at(at));
///         BulkGroup::commit(lane);
///         BulkGroup::wait_read::<0>(lane);
///     });
/// }
///
/// // 13 rows of 72 columns. Dimension 0 is the contiguous one.
/// let device = Simulator::default();
/// let a: Vec<bf16> = (0..13 * 72).map(|i| bf16::from_f32((i % 251) as f32)).collect();
/// let mut copied = vec![bf16::ZERO; 13 * 72];
/// let tensor = Tensor::<Tile, 2>::new([72, 13]);
/// let (from, mut to) = (tensor.map(&device, &a[..])?, tensor.map_mut(&device, &mut copied[..])?);
/// copy::launch(&device, (2, 2), &from, to.by_ref()).check();
/// assert_eq!(copied, a);
/// # Ok::<(), TensorMapError>(())
/// ```
pub struct TensorMap<'k, Tile, const RANK: usize, Mode = Tiled> {
    map: MapRef,
    _kernel: PhantomData<&'k [u8]>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

/// A tensor map for TMA stores and reductions: as [`TensorMap`], for [`SharedTile::store_tma`] and
/// [`SharedTile::reduce_tma`].
///
/// The host makes it with [`Tensor::map_mut`](crate::launch::Tensor::map_mut) or
/// [`Im2colTensor::map_mut`](crate::launch::Im2colTensor::map_mut).
pub struct TensorMapMut<'k, Tile, const RANK: usize, Mode = Tiled> {
    map: MapRef,
    _kernel: PhantomData<&'k mut [u8]>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

macro_rules! maps {
    ($($map:ident $is_mut:literal;)*) => {$(
        impl<Tile, const RANK: usize, Mode> Clone for $map<'_, Tile, RANK, Mode> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<Tile, const RANK: usize, Mode> Copy for $map<'_, Tile, RANK, Mode> {}
        // SAFETY: the map does not change, and only copies touch its tensor.
        unsafe impl<Tile, const RANK: usize, Mode> Capturable for $map<'_, Tile, RANK, Mode> {}

        impl<Tile: BoxTile, const RANK: usize, Mode: TensorMode> $map<'_, Tile, RANK, Mode> {
            /// Takes the map that a kernel's parameter points to.
            ///
            /// # Safety
            /// It points to a map that stays there for `'k`.
            #[inline]
            pub(crate) unsafe fn from_ptr(map: *const TensorMapWords) -> Self {
                // SAFETY: the caller upholds the conditions.
                let map = unsafe { MapRef::at(map) };
                $map { map, _kernel: PhantomData, _tile: PhantomData }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            /// Takes a map that the host has made of a slice. If `in_place`, the simulator orders
            /// its reads with the writes of the launch.
            pub(crate) fn of(
                words: TensorMapWords,
                slice: (&'static str, *mut Tile::Element, usize),
                in_place: bool,
            ) -> Self {
                let map = MapRef::of(words, slice, $is_mut || in_place);
                $map { map, _kernel: PhantomData, _tile: PhantomData }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            /// The map's bytes.
            pub(crate) fn words(&self) -> TensorMapWords {
                self.map.words()
            }

            /// The address of the map, for the functions of `raw`.
            #[inline]
            pub fn as_ptr(&self) -> *const u8 {
                self.map.as_ptr()
            }

            /// Prefetches the map itself (`prefetch.tensormap`, PTX ISA 9.7.9.20), before the first
            /// copy needs it.
            #[inline]
            #[track_caller]
            pub fn prefetch(&self, lane: Lane<'_>)
            where
                Self: BuiltFor<AtLeast<90>>,
            {
                let _ = lane;
                // SAFETY: the address is that of a map.
                unsafe { raw::prefetch_tensormap(self.as_ptr()) }
            }
        }
    )*};
}

maps! {
    TensorMap false;
    TensorMapMut true;
}
