//! The kernel and its launch.

use crate::consumer::{Consumer, ConsumerTile};
use crate::producer::{Maps, Tiles, load};
use pastey::paste;
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Tensor;
use ptx_matrix::prelude::*;

#[cfg(not(target_arch = "nvptx64"))]
use crate::error::AttentionError;
#[cfg(not(target_arch = "nvptx64"))]
use {core::f32::consts::LOG2_E, ptx_matrix::launch::Device};

/// Queries of a block.
pub const QUERIES: usize = 128;
/// Keys of a tile, and values of a tile.
pub const KEYS: usize = 128;
/// Features of a row of the swizzle pattern: 128 bytes.
pub const SLICE: usize = 64;
/// Pipeline stages of keys, and of values.
pub(crate) const STAGES: usize = 2;

/// 64 features of a consumer's queries, or of its rows of O.
pub type Queries<T> = SharedTile<T, 64, SLICE, Swizzle128>;
/// 64 features of a tile's keys: the B operand of Q x K^T.
pub type Keys<T> = SharedTile<T, SLICE, KEYS, Swizzle128, ColMajor>;
/// 64 features of a tile's values: the B operand of P x V.
pub type Values<T> = SharedTile<T, KEYS, SLICE, Swizzle128>;

/// The mask: the sizes of the problem, and the keys that a query sees.
#[derive(Clone, Copy)]
pub struct Mask {
    /// Queries of a head.
    pub queries: u32,
    /// Keys of a head.
    pub keys: u32,
    /// Whether a query sees only the keys up to its own position. The last query sees all keys.
    pub causal: bool,
}

impl Mask {
    /// Whether a query sees a key.
    #[inline]
    pub fn is_visible(self, query: u32, key: u32) -> bool {
        key < self.keys && (!self.causal || key + self.queries <= query + self.keys)
    }

    /// The number of keys, from the first, that the queries before `end` see at most.
    #[inline]
    pub fn visible_before(self, end: u32) -> u32 {
        let end = end.min(self.queries);
        if self.causal {
            (end + self.keys).saturating_sub(self.queries).min(self.keys)
        } else {
            self.keys
        }
    }
}

/// Makes a kernel for an element type and a number of features.
macro_rules! kernels {
    ($($element:ident [$($features:literal)*];)*) => { paste! {$($(
        /// O = softmax(`scale_log2` ln 2 x Q x K^T) x V, for `queries` queries and `keys` keys of
        /// each head. `heads_of_key` consecutive heads share the same keys.
        ///
        /// A block computes 128 queries; blocks count through the heads. The tensors' dimensions:
        /// features, queries or keys, heads.
        #[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
        pub fn [<attention_ $element _ $features>](
            block: &Block,
            #[shared] queries: SharedRing<SharedRing<Queries<$element>, { $features / SLICE }>, 2>,
            #[shared] keys: SharedRing<SharedRing<Keys<$element>, { $features / SLICE }>, STAGES>,
            #[shared] values: SharedRing<
                SharedRing<Values<$element>, { $features / SLICE }>,
                STAGES,
            >,
            #[shared] queries_full: BarrierMemory,
            #[shared] keys_full: SharedRing<BarrierMemory, STAGES>,
            #[shared] keys_empty: SharedRing<BarrierMemory, STAGES>,
            #[shared] values_full: SharedRing<BarrierMemory, STAGES>,
            #[shared] values_empty: SharedRing<BarrierMemory, STAGES>,
            #[shared] order_barriers: SharedRing<BarrierMemory, 2>,
            q: TensorMap<Queries<$element>, 3>,
            k: TensorMap<Keys<$element>, 3>,
            v: TensorMap<Values<$element>, 3>,
            o: TensorMapMut<Queries<$element>, 3>,
            query_count: u32,
            key_count: u32,
            heads_of_key: u32,
            causal: u32,
            scale_log2: f32,
        ) {
            let queries_full = queries_full.init(block, 1);
            let tiles = Tiles {
                queries,
                queries_full,
                keys,
                keys_full: keys_full.init(block, 1),
                keys_empty: keys_empty.init(block, 2),
                values,
                values_full: values_full.init(block, 1),
                values_empty: values_empty.init(block, 2),
                order_barriers: order_barriers.init(block, 4),
            };
            let mask = Mask { queries: query_count, keys: key_count, causal: causal != 0 };
            let blocks = query_count.div_ceil(QUERIES as u32);
            let (head, before) = (block.index().x / blocks, block.index().x % blocks);
            // The queries with most keys come first, so that none of them ends last.
            let first = (blocks - 1 - before) * QUERIES as u32;
            let steps = mask.visible_before(first + QUERIES as u32).div_ceil(KEYS as u32);
            let group = block.warp_group();
            if group.index() == 0 {
                group.give_registers::<24>();
                if group.warp_rank() == 0 {
                    load(
                        group.warp(),
                        &tiles,
                        Maps { q, k, v },
                        (first, head, head / heads_of_key),
                        steps,
                    );
                }
                return;
            }
            group.take_registers::<240>();
            let tile = ConsumerTile { index: group.index() - 1, first, head };
            Consumer { group, tiles, tile, mask, scale_log2 }.attend::<$features>(steps, o);
        }
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        impl AttentionElement for $element {
            const FEATURES: &'static [usize] = &[$($features),*];

            fn launch<D: Device>(
                of: &Attention,
                device: &D,
                [q, k, v]: [&D::Buffer<Self>; 3],
                o: &mut D::Buffer<Self>,
            ) -> Result<D::Report, AttentionError<D::Error>> {
                let of_queries = [of.features, of.queries, of.heads];
                // Without keys, no kernel reads K and V, and they have no tensor map: Q stands in
                // for them.
                let (of_keys, k, v) = match of.keys {
                    0 => (of_queries, q, q),
                    keys => ([of.features, keys, of.key_heads], k, v),
                };
                let q = Tensor::new(of_queries).map(device, q).map_err(AttentionError::TensorMap)?;
                let k = Tensor::new(of_keys).map(device, k).map_err(AttentionError::TensorMap)?;
                let v = Tensor::new(of_keys).map(device, v).map_err(AttentionError::TensorMap)?;
                let mut o = Tensor::new(of_queries)
                    .map_mut(device, o)
                    .map_err(AttentionError::TensorMap)?;
                let grid = (of.queries.div_ceil(QUERIES) * of.heads) as u32;
                let (queries, keys, heads_of_key) =
                    (of.queries as u32, of.keys as u32, (of.heads / of.key_heads) as u32);
                let launched = match of.features {
                    $($features => [<attention_ $element _ $features>]::launch(
                        device, grid, &q, &k, &v, o.by_ref(), queries, keys, heads_of_key,
                        of.causal.into(), of.scale * LOG2_E,
                    ),)*
                    other => unreachable!("heads of {other} features were refused"),
                };
                launched.map_err(AttentionError::Device)
            }
        }
    )*}};
}
kernels! {
    bf16 [64 128];
    f16 [64 128];
}

/// Element types that have kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub trait AttentionElement: Element {
    /// The numbers of features that have kernels.
    const FEATURES: &'static [usize];

    /// Launches the kernel for a checked problem that has queries.
    #[doc(hidden)]
    fn launch<D: Device>(
        of: &Attention,
        device: &D,
        qkv: [&D::Buffer<Self>; 3],
        o: &mut D::Buffer<Self>,
    ) -> Result<D::Report, AttentionError<D::Error>>;
}

/// An attention problem: queries, and keys with values, for a number of heads.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// Features of a query, a key and a value: 64 or 128.
    pub features: usize,
    /// Queries of a head.
    pub queries: usize,
    /// Keys of a head, and values.
    pub keys: usize,
    /// Heads, of all sequences of a batch.
    pub heads: usize,
    /// Heads of keys and values: as many as `heads`, or a divisor of it (GQA); consecutive heads
    /// share one.
    pub key_heads: usize,
    /// The scale of Q x K^T: more than zero, usually 1 / sqrt(features).
    pub scale: f32,
    /// Whether a query sees only the keys up to its own position. The last query sees all keys.
    pub causal: bool,
}

/// The most queries, or keys, of a head: rounded up to whole tiles, both together are less than
/// 2^32.
#[cfg(not(target_arch = "nvptx64"))]
const LONGEST: usize = (1 << 31) - KEYS;

#[cfg(not(target_arch = "nvptx64"))]
impl Attention {
    /// The number of elements of Q and O, and of K and V. A product beyond `usize` gives
    /// `usize::MAX`.
    pub fn lens(&self) -> [usize; 2] {
        let len =
            |rows: usize, heads: usize| rows.saturating_mul(heads).saturating_mul(self.features);
        [len(self.queries, self.heads), len(self.keys, self.key_heads)]
    }

    /// Computes O from Q, K and V: each is row-major for one head, and heads are contiguous.
    /// Returns the report of the launch; none if O has no elements, and nothing is launched.
    ///
    /// Without keys, O is zero. The row of a query that sees no key is zero, too.
    ///
    /// # NaN and infinity
    /// - A query with a score of NaN or positive infinity, among those of the keys that it sees,
    ///   becomes NaN.
    /// - A key with a score of negative infinity has a weight of zero. The row of a query with no
    ///   other scores is zero.
    /// - A query whose largest score, times the scale and log2(e), is beyond 2^28 can become
    ///   infinite or zero in f16. Beyond 2^31 it can become NaN in bf16. The rounding error of that
    ///   product is an error of the weights' exponents.
    /// - A key that a query does not see has no effect on it, whatever the key is. Its weight is
    ///   zero.
    /// - A finite value of such a key has no effect either.
    /// - An infinite or NaN value of such a key can make a query NaN, as in FlashAttention 2 and
    ///   PyTorch: tensor cores multiply it by the weight of zero. A block computes 128 queries of a
    ///   head: 0 to 127, 128 to 255 and so on. It reads values in tiles of 128 keys, up to the last
    ///   key that any of these queries sees, and to the end of that tile. Such a value in one of
    ///   these tiles makes its feature NaN in each query of the block that sees a key. Values
    ///   beyond these tiles have no effect.
    ///
    /// So a hidden value can matter only with `causal`, and less than 255 keys after the last key
    /// that the query sees. Where such values may be infinite or NaN, overwrite them before.
    ///
    /// # Errors
    /// - Other features than 64 and 128.
    /// - Heads that are no multiple of the heads of keys.
    /// - A scale that is not positive and finite.
    /// - More than 2^31 - 128 queries or keys, or 2^31 blocks or more of 128 queries.
    /// - A buffer with fewer elements than [`lens`](Self::lens).
    /// - The device's own.
    pub fn run<T: AttentionElement, D: Device>(
        &self,
        device: &D,
        q: &D::Buffer<T>,
        k: &D::Buffer<T>,
        v: &D::Buffer<T>,
        o: &mut D::Buffer<T>,
    ) -> Result<Option<D::Report>, AttentionError<D::Error>> {
        self.check(T::FEATURES)?;
        let [of_queries, of_keys] = self.lens();
        let buffers = [
            ("Q", device.slice(q).1, of_queries),
            ("K", device.slice(k).1, of_keys),
            ("V", device.slice(v).1, of_keys),
            ("O", device.slice(o).1, of_queries),
        ];
        for (buffer, given, needed) in buffers {
            if given < needed {
                return Err(AttentionError::TooShort { buffer, given, needed });
            }
        }
        if of_queries == 0 {
            return Ok(None);
        }
        T::launch(self, device, [q, k, v], o).map(Some)
    }

    /// Checks all that is known without the buffers.
    fn check<E>(&self, known: &'static [usize]) -> Result<(), AttentionError<E>> {
        let Attention { features, queries, keys, heads, key_heads, scale, .. } = *self;
        if !known.contains(&features) {
            return Err(AttentionError::Features { given: features, known });
        }
        if !heads.is_multiple_of(key_heads) {
            return Err(AttentionError::Heads { heads, key_heads });
        }
        if !(scale > 0.0 && (scale * LOG2_E).is_finite()) {
            return Err(AttentionError::Scale { given: scale });
        }
        let blocks = queries.div_ceil(QUERIES).saturating_mul(heads);
        let limits = [
            ("the number of queries", queries, LONGEST),
            ("the number of keys", keys, LONGEST),
            (
                "the number of blocks of 128 queries, counted through the heads,",
                blocks,
                i32::MAX as usize,
            ),
        ];
        match limits.into_iter().find(|&(_, given, limit)| given > limit) {
            Some((size, given, limit)) => Err(AttentionError::TooLarge { size, given, limit }),
            None => Ok(()),
        }
    }
}
