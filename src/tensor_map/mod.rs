//! Tensor maps: a tensor in global memory, and what of it is copied to and from tiles, described once on the host (PTX ISA
//! 5.5, `cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`).

#[cfg(not(target_arch = "nvptx64"))]
mod encode;
#[cfg(not(target_arch = "nvptx64"))]
mod encoding;
#[cfg(not(target_arch = "nvptx64"))]
mod error;
#[cfg(not(target_arch = "nvptx64"))]
mod im2col;
#[cfg(not(target_arch = "nvptx64"))]
mod place;

#[cfg(not(target_arch = "nvptx64"))]
pub use encode::{EncodedMap, EncodedMapMut, Tensor};
#[cfg(not(target_arch = "nvptx64"))]
pub use encoding::{TensorAccess, TensorEncoding};
#[cfg(not(target_arch = "nvptx64"))]
pub use error::TensorMapError;
#[cfg(not(target_arch = "nvptx64"))]
pub use im2col::Im2colTensor;

use crate::launch::{ByValue, KernelParam, TypeName};
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{Device, ParamValue, Params};
use crate::sealed::Sealed;
use crate::shared::{Order, SharedTile, TensorSwizzle};
use crate::target::{AtLeast, BuiltFor};
use crate::{Element, Lane, LaneCapture, raw};
use core::marker::PhantomData;

/// A tensor map as the hardware knows it: 128 bytes that mean nothing to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct TensorMapWords(pub [u64; 16]);

/// A tile that tensor copies fill, a box each: any [`SharedTile`] whose swizzle the hardware has.
///
/// With [`Unswizzled128`](crate::Unswizzled128), the tile's contiguous side is at most 256 elements; with a swizzle of 32, 64 or 128 bytes,
/// it has just so many. Anything else does not compile where a map of it is made.
pub trait BoxTile: Sealed + Copy + 'static {
    /// What it is of.
    type Element: Element;
    /// Elements of a line, which is a row, or of a `ColMajor` tile a column.
    const INNER: usize;
    /// How many lines.
    const LINES: usize;
    /// Its bytes.
    const BYTES: u32;
    /// The driver's number of its swizzle.
    const SWIZZLE: u32;
    /// Its type's name in fingerprints of kernels.
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
            "the contiguous side of a tile that a tensor copy swizzles has as many bytes as the swizzle: 32, 64 or 128"
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

/// What instructions copy by a tensor map: boxes, if it is [`Tiled`], or the pixels of images, if it is [`Im2col`].
pub trait TensorMode: Sealed + Copy + 'static {
    /// Its name.
    #[doc(hidden)]
    const NAME: &'static str;
}

/// Boxes of a tensor (PTX ISA 5.5.3): what [`Tensor`] makes maps of.
#[derive(Debug, Clone, Copy)]
pub struct Tiled;

/// The pixels of images that a convolution multiplies (PTX ISA 5.5.4): what [`Im2colTensor`] makes maps of.
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

/// A tensor of `RANK` dimensions, from 1 to 5, that no thread writes while the kernel runs, of which boxes are copied to tiles of the type `Tile`
/// ([`SharedTile::load_box`]); or, in [`Im2col`] mode, pixels ([`SharedTile::load_im2col`]).
///
/// The host makes it with [`Tensor::map`] or [`Im2colTensor::map`]; element, swizzle and size of a box are the tile's, so that they cannot differ. It is a kernel's
/// parameter, 128 bytes by value, which stay where they are. Needs sm_90.
///
/// ```
/// use ptx_matrix::{sim::Simulator, *};
///
/// type Tile = SharedTile<bf16, 8, 64, Swizzle128>;
///
/// /// Each block copies its part of a matrix: what of that is beyond the matrix, is zero in the tile, and stays out of the other.
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
///         tile.load_box(lane, a, at, full);
///     });
///     full.wait(warp, Phase::FIRST);
///     warp.elect(|lane| {
///         tile.store_box(lane, d, at);
///         BulkGroup::commit(lane);
///         BulkGroup::wait_read::<0>(lane);
///     });
/// }
///
/// // 13 rows of 72 columns: dimension 0 is the one whose elements are neighbours.
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
    descriptor: Descriptor,
    _kernel: PhantomData<&'k [u8]>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

/// A tensor that tensor copies write: as [`TensorMap`], for [`SharedTile::store_box`] and [`SharedTile::reduce_box`], or [`SharedTile::store_im2col`]
/// and [`SharedTile::reduce_im2col`]. The host makes it with [`Tensor::map_mut`] or [`Im2colTensor::map_mut`].
pub struct TensorMapMut<'k, Tile, const RANK: usize, Mode = Tiled> {
    descriptor: Descriptor,
    _kernel: PhantomData<&'k mut [u8]>,
    _tile: PhantomData<fn() -> (Tile, Mode)>,
}

/// Where the map is.
#[cfg(target_arch = "nvptx64")]
type Descriptor = *const TensorMapWords;

/// The map, as the simulator's, and the slice that it is of.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
struct Descriptor {
    words: TensorMapWords,
    slice: crate::sim::Slice,
}

macro_rules! maps {
    ($($map:ident $encoded:ident $is_mut:literal [$($host:tt)*] $slice:ident;)*) => {$(
        impl<Tile, const RANK: usize, Mode> Clone for $map<'_, Tile, RANK, Mode> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<Tile, const RANK: usize, Mode> Copy for $map<'_, Tile, RANK, Mode> {}
        // SAFETY: the map does not change, and what it is of only copies touch.
        unsafe impl<Tile, const RANK: usize, Mode> LaneCapture for $map<'_, Tile, RANK, Mode> {}

        impl<Tile: BoxTile, const RANK: usize, Mode: TensorMode> $map<'_, Tile, RANK, Mode> {
            /// Where the map is, for `raw`'s functions.
            #[inline(always)]
            pub fn as_ptr(&self) -> *const u8 {
                #[cfg(target_arch = "nvptx64")]
                return self.descriptor.cast();
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    crate::sim::note_slice(self.descriptor.slice);
                    (&raw const self.descriptor.words).cast()
                }
            }

            /// Has the map itself brought near (`prefetch.tensormap`, PTX ISA 9.7.9.20), before the first copy needs it.
            #[inline(always)]
            #[track_caller]
            pub fn prefetch(&self, lane: Lane<'_>)
            where
                Self: BuiltFor<AtLeast<90>>,
            {
                let _ = lane;
                // SAFETY: it is a map.
                unsafe { raw::prefetch_tensormap(self.as_ptr()) }
            }
        }

        // SAFETY: one parameter: the map's 128 bytes, which the builder makes `Head` point to.
        unsafe impl<Tile: BoxTile, const RANK: usize, Mode: TensorMode> KernelParam for $map<'_, Tile, RANK, Mode> {
            type In<'k> = $map<'k, Tile, RANK, Mode>;
            type Head = *const TensorMapWords;
            type Tail = ();
            const BY_VALUE: Option<ByValue> = Some(ByValue::of::<TensorMapWords>());
            const TYPE: TypeName = TypeName::Parts(&[
                TypeName::Text(concat!(stringify!($map), "<")),
                Tile::TYPE,
                TypeName::Text(", "),
                TypeName::Number(RANK),
                TypeName::Text(", "),
                TypeName::Text(Mode::NAME),
                TypeName::Text(">"),
            ]);

            #[inline(always)]
            unsafe fn enter<'k>(head: Self::Head, _: (), _: &'static str) -> Self::In<'k> {
                #[cfg(target_arch = "nvptx64")]
                return $map { descriptor: head, _kernel: PhantomData, _tile: PhantomData };
                #[cfg(not(target_arch = "nvptx64"))]
                unreachable!("no kernel is entered on the host, at {head:?}")
            }

            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'h, D: Device + 'h> = $($host)* $encoded<'h, D, Tile, RANK, Mode>;
            #[cfg(not(target_arch = "nvptx64"))]
            fn bind<'h, D: Device + 'h>(device: &D, host: Self::Host<'h, D>, name: &'static str) -> Self::In<'h> {
                let (start, len) = device.$slice(host.buffer);
                let slice = crate::sim::Slice {
                    name,
                    address: start.addr(),
                    len,
                    element: size_of::<Tile::Element>(),
                    is_mut: $is_mut,
                };
                $map { descriptor: Descriptor { words: host.words, slice }, _kernel: PhantomData, _tile: PhantomData }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            fn values(bound: Self::In<'_>, into: &mut Params) {
                into.push(ParamValue::new(bound.descriptor.words.0));
            }
        }
    )*};
}

maps! {
    TensorMap EncodedMap false [&'h] slice;
    TensorMapMut EncodedMapMut true [] slice_mut;
}

/// A map, or none: what a kernel does without then, it finds out by `match`.
///
/// ```
/// use ptx_matrix::{sim::Simulator, *};
///
/// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
///
/// /// Counts in a tile, and brings it to a tensor, if there is one: else to a slice.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn count(block: &Block, #[shared] tile: Tile, tensor: Option<TensorMapMut<Tile, 2>>, slice: GlobalMut<f32>) {
///     let warp = block.warp();
///     tile.fill(warp, |row, col| (row * 32 + col) as f32);
///     warp.fence_for_bulk();
///     warp.sync();
///     match tensor {
///         Some(tensor) => warp.elect(|lane| {
///             tile.store_box(lane, tensor, [0, 0]);
///             BulkGroup::commit(lane);
///             BulkGroup::wait_read::<0>(lane);
///         }),
///         None => tile.for_each(warp, |row, col, number| slice.set(row * 32 + col, number)),
///     }
/// }
///
/// let (device, mut one, mut other) = (Simulator::default(), [0.0; 256], [0.0; 256]);
/// let mut tensor = Tensor::<Tile, 2>::new([32, 8]).map_mut(&device, &mut one[..])?;
/// count::launch(&device, 1, Some(tensor.by_ref()), &mut []).check();
/// count::launch(&device, 1, None, &mut other).check();
/// assert!(one == other && one[255] == 255.0);
/// # Ok::<(), TensorMapError>(())
/// ```
// SAFETY: one parameter: the map's 128 bytes, or as many zeros, which no map has.
unsafe impl<P: KernelParam<Head = *const TensorMapWords, Tail = ()>> KernelParam for Option<P> {
    type In<'k> = Option<P::In<'k>>;
    type Head = *const TensorMapWords;
    type Tail = ();
    const BY_VALUE: Option<ByValue> = Some(ByValue::of::<TensorMapWords>());
    const IS_EARLY: bool = P::IS_EARLY;
    const TYPE: TypeName = TypeName::Parts(&[TypeName::Text("Option<"), P::TYPE, TypeName::Text(">")]);

    #[inline(always)]
    unsafe fn enter<'k>(head: Self::Head, _: (), name: &'static str) -> Self::In<'k> {
        // SAFETY: by the caller, it points to the parameter's bytes, which do not change; and to a map, if these are not zero.
        unsafe { if (*head).0[0] == 0 { None } else { Some(P::enter(head, (), name)) } }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    type Host<'h, D: Device + 'h> = Option<P::Host<'h, D>>;
    #[cfg(not(target_arch = "nvptx64"))]
    fn bind<'h, D: Device + 'h>(device: &D, host: Self::Host<'h, D>, name: &'static str) -> Self::In<'h> {
        host.map(|host| P::bind(device, host, name))
    }
    #[cfg(not(target_arch = "nvptx64"))]
    fn values(bound: Self::In<'_>, into: &mut Params) {
        match bound {
            Some(map) => {
                P::values(map, into);
                let starts_with_zeros = into.last().is_some_and(|map| map.bytes().starts_with(&[0; 8]));
                assert!(!starts_with_zeros, "a tensor map starts with the tensor's address");
            }
            None => into.push(ParamValue::new([0u64; 16])),
        }
    }
}
