//! Tensor maps as kernel parameters, and their construction on the host (`cuTensorMapEncodeTiled`,
//! `cuTensorMapEncodeIm2col`).

#[cfg(not(target_arch = "nvptx64"))]
mod host;

#[cfg(not(target_arch = "nvptx64"))]
pub use host::{EncodedMap, EncodedMapMut, Im2colTensor, Tensor};

use super::{ByValue, KernelParam, TypeName};
#[cfg(not(target_arch = "nvptx64"))]
use super::{Device, Params};
use crate::copy::{BoxTile, TensorMap, TensorMapMut, TensorMode};
use crate::isa::TensorMapWords;
use crate::machine::host_items;

/// The implementations of `KernelParam` for tensor maps.
macro_rules! maps {
    ($($map:ident $encoded:ident [$($host:tt)*] $slice:ident;)*) => {$(
        // SAFETY: one parameter: the map's 128 bytes. The builder makes `Head` point to them.
        unsafe impl<Tile: BoxTile, const RANK: usize, Mode: TensorMode> KernelParam
            for $map<'_, Tile, RANK, Mode>
        {
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

            #[inline]
            unsafe fn enter<'k>(head: Self::Head, _: (), _: &'static str) -> Self::In<'k> {
                // SAFETY: the caller upholds the conditions.
                unsafe { $map::from_ptr(head) }
            }

            host_items! {
                type Host<'h, D: Device + 'h> = $($host)* $encoded<'h, D, Tile, RANK, Mode>;
                fn bind<'h, D: Device + 'h>(
                    device: &D, host: Self::Host<'h, D>, name: &'static str
                ) -> Self::In<'h> {
                    let in_place = device.is_in_place(&*host.buffer);
                    let (start, len) = device.$slice(host.buffer);
                    $map::of(host.words, (name, start, len), in_place)
                }
                fn values(bound: Self::In<'_>, into: &mut Params) {
                    into.push(bound.words().0);
                }
            }
        }
    )*};
}
maps! {
    TensorMap EncodedMap [&'h] slice;
    TensorMapMut EncodedMapMut [] slice_mut;
}

/// An optional map: a launch passes `Some(map)` or `None`, and the kernel matches on it.
///
/// ```
/// use ptx_matrix::{isa::TensorMapError, launch::Tensor, prelude::*, sim::Simulator};
///
/// type Tile = SharedTile<f32, 8, 32, Swizzle128>;
///
/// /// Numbers the elements of a tile, and stores it to a tensor if there is one, otherwise to a
/// /// slice.
/// #[kernel(threads = 32, target = "sm_90")]
/// fn count(
///     block: &Block,
///     #[shared] tile: Tile,
///     tensor: Option<TensorMapMut<Tile, 2>>,
///     slice: GlobalMut<f32>,
/// ) {
///     let warp = block.warp();
///     tile.fill(warp, |row, col| (row * 32 + col) as f32);
///     warp.fence_for_bulk();
///     warp.sync();
///     match tensor {
///         Some(tensor) => warp.elect(|lane| {
///             tile.store_tma(lane, tensor.at([0, 0]));
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
// SAFETY: one parameter: the map's 128 bytes, or as many zeros, which are no map.
unsafe impl<P: KernelParam<Head = *const TensorMapWords, Tail = ()>> KernelParam for Option<P> {
    type In<'k> = Option<P::In<'k>>;
    type Head = *const TensorMapWords;
    type Tail = ();
    const BY_VALUE: Option<ByValue> = Some(ByValue::of::<TensorMapWords>());
    const IS_EARLY: bool = P::IS_EARLY;
    const TYPE: TypeName =
        TypeName::Parts(&[TypeName::Text("Option<"), P::TYPE, TypeName::Text(">")]);

    #[inline]
    unsafe fn enter<'k>(head: Self::Head, _: (), name: &'static str) -> Self::In<'k> {
        // SAFETY: the caller guarantees that it points to the parameter's bytes, which do not
        // change. They are a map if the first eight are not zero.
        unsafe { if (*head).0[0] == 0 { None } else { Some(P::enter(head, (), name)) } }
    }

    host_items! {
        type Host<'h, D: Device + 'h> = Option<P::Host<'h, D>>;
        fn bind<'h, D: Device + 'h>(
            device: &D, host: Self::Host<'h, D>, name: &'static str
        ) -> Self::In<'h> {
            host.map(|host| P::bind(device, host, name))
        }
        fn values(bound: Self::In<'_>, into: &mut Params) {
            match bound {
                Some(map) => {
                    P::values(map, into);
                    let has_address = !into.last(size_of::<TensorMapWords>()).starts_with(&[0; 8]);
                    assert!(has_address, "a tensor map starts with the tensor's address");
                }
                None => into.push([0u64; 16]),
            }
        }
    }
}
