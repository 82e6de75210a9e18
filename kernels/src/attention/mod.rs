//! Attention in one kernel, for Hopper: of each head, O = softmax(scale Q x K^T) x V, of which the scores never leave the registers.
//!
//! A block computes 128 queries of a head, by two warpgroups of 64 each (`consumer.rs`), while a warp of a third has the tiles of keys and of values
//! copied (`producer.rs`). What is known of a softmax whose scores come tile by tile is in `softmax.rs`.

mod consumer;
mod producer;
mod softmax;

use consumer::{Consumer, Half};
use pastey::paste;
use producer::{Maps, Tiles, bring};
use ptx_matrix::*;

#[cfg(not(target_arch = "nvptx64"))]
use {crate::gemm::LaunchError, core::f32::consts::LOG2_E, ptx_matrix::launch::Device};

/// Queries of a block.
pub const QUERIES: usize = 128;
/// Keys of a tile, and their values.
pub const KEYS: usize = 128;
/// Features of a line of the tiles: those that the swizzle has.
pub const LINE: usize = 64;
/// Tiles of keys, and of values, that are multiplied or on their way.
const STAGES: usize = 2;

/// 64 features of a consumer's queries, or of what these come to.
pub type Queries<T> = SharedTile<T, 64, LINE, Swizzle128>;
/// 64 features of a tile's keys: columns of the right factor of Q x K^T.
pub type Keys<T> = SharedTile<T, LINE, KEYS, Swizzle128, ColMajor>;
/// 64 features of a tile's values: the right factor of the probabilities.
pub type Values<T> = SharedTile<T, KEYS, LINE, Swizzle128>;

/// What a block has of the whole: how many queries and keys there are, and which keys a query sees.
#[derive(Clone, Copy)]
pub struct Sight {
    /// Queries of a head.
    pub queries: u32,
    /// Keys of a head.
    pub keys: u32,
    /// Whether a query sees only the keys up to its own, the last query all of them.
    pub causal: bool,
}

impl Sight {
    /// Whether a query sees a key.
    #[inline(always)]
    pub fn is_seen(self, query: u32, key: u32) -> bool {
        key < self.keys && (!self.causal || key + self.queries <= query + self.keys)
    }

    /// How many keys the queries before `end` see, the last of them most: the first of all keys.
    #[inline(always)]
    pub fn seen_before(self, end: u32) -> u32 {
        let end = end.min(self.queries);
        if self.causal { (end + self.keys).saturating_sub(self.queries).min(self.keys) } else { self.keys }
    }
}

/// The kernels: of some elements, for heads of some features.
macro_rules! kernels {
    ($($element:ident [$($features:literal)*];)*) => { paste! {$($(
        /// O = softmax(`scale_log2` ln 2 x Q x K^T) x V, of `queries` queries and `keys` keys of each head, of which `heads_of_key` neighbours have the same keys.
        ///
        /// A block computes 128 queries, counted through the heads. The tensors have a dimension of the features, one of the queries or keys, and one of the heads.
        #[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
        pub fn [<attention_ $element _ $features>](
            block: &Block,
            #[shared] queries: SharedRing<SharedRing<Queries<$element>, { $features / LINE }>, 2>,
            #[shared] keys: SharedRing<SharedRing<Keys<$element>, { $features / LINE }>, STAGES>,
            #[shared] values: SharedRing<SharedRing<Values<$element>, { $features / LINE }>, STAGES>,
            #[shared] asked: BarrierMemory,
            #[shared] keys_full: SharedRing<BarrierMemory, STAGES>,
            #[shared] keys_empty: SharedRing<BarrierMemory, STAGES>,
            #[shared] values_full: SharedRing<BarrierMemory, STAGES>,
            #[shared] values_empty: SharedRing<BarrierMemory, STAGES>,
            #[shared] turns: SharedRing<BarrierMemory, 2>,
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
            let asked = asked.init(block, 1);
            let tiles = Tiles {
                queries,
                asked,
                keys,
                keys_full: keys_full.init(block, 1),
                keys_empty: keys_empty.init(block, 2),
                values,
                values_full: values_full.init(block, 1),
                values_empty: values_empty.init(block, 2),
                turns: turns.init(block, 1),
            };
            let sight = Sight { queries: query_count, keys: key_count, causal: causal != 0 };
            let blocks = query_count.div_ceil(QUERIES as u32);
            let (head, before) = (block.index().x / blocks, block.index().x % blocks);
            // Those that see most come first, so that none of them is the last to end.
            let first = (blocks - 1 - before) * QUERIES as u32;
            let steps = sight.seen_before(first + QUERIES as u32).div_ceil(KEYS as u32);
            let group = block.warp_group();
            if group.index() == 0 {
                group.give_registers::<24>();
                if group.warp_rank() == 0 {
                    bring(group.warp(), &tiles, Maps { q, k, v }, (first, head, head / heads_of_key), steps);
                }
                return;
            }
            group.take_registers::<240>();
            let half = Half { index: group.index() - 1, first, head };
            Consumer { group, tiles, half, sight, scale_log2 }.attend::<$features>(steps, o);
        }
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        impl Attended for $element {
            fn launch<D: Device>(
                of: &Attention,
                device: &D,
                [q, k, v]: [&D::Buffer<Self>; 3],
                o: &mut D::Buffer<Self>,
            ) -> Result<D::Report, LaunchError<D::Error>> {
                let [of_queries, of_keys] =
                    [(of.queries, of.heads), (of.keys, of.key_heads)].map(|(rows, heads)| [of.features, rows, heads]);
                let q = Tensor::new(of_queries).map(device, q).map_err(LaunchError::TensorMap)?;
                let k = Tensor::new(of_keys).map(device, k).map_err(LaunchError::TensorMap)?;
                let v = Tensor::new(of_keys).map(device, v).map_err(LaunchError::TensorMap)?;
                let mut o = Tensor::new(of_queries).map_mut(device, o).map_err(LaunchError::TensorMap)?;
                let grid = u32::try_from(of.queries.div_ceil(QUERIES) * of.heads).expect("a grid has fewer blocks than 2^31");
                let (queries, keys, heads_of_key) = (of.queries as u32, of.keys as u32, (of.heads / of.key_heads) as u32);
                let launched = match of.features {
                    $($features => [<attention_ $element _ $features>]::launch(
                        device, grid, &q, &k, &v, o.by_ref(), queries, keys, heads_of_key, of.causal.into(), of.scale * LOG2_E,
                    ),)*
                    other => panic!("heads have {:?} features, and not {other}", [$($features),*]),
                };
                launched.map_err(LaunchError::Device)
            }
        }
    )*}};
}
kernels! {
    bf16 [64 128];
    f16 [64 128];
}

/// Elements that there are kernels for.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Attended: Element {
    /// Launches the one for so many features.
    #[doc(hidden)]
    fn launch<D: Device>(
        of: &Attention,
        device: &D,
        qkv: [&D::Buffer<Self>; 3],
        o: &mut D::Buffer<Self>,
    ) -> Result<D::Report, LaunchError<D::Error>>;
}

/// What attention is of: queries, and keys with their values, of heads of some features.
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
    /// Heads of keys and values: as many, or a part, of which each serves as many neighbours.
    pub key_heads: usize,
    /// What products of queries and keys are multiplied by: more than zero, 1 / sqrt(features) as a rule.
    pub scale: f32,
    /// Whether a query sees only the keys up to its own, the last query all of them.
    pub causal: bool,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Attention {
    /// Elements of Q and O, and of K and V.
    pub fn lens(&self) -> [usize; 2] {
        [self.queries * self.heads * self.features, self.keys * self.key_heads * self.features]
    }

    /// Computes O from Q, K and V, each head's behind that of the one before, row by row. A query that sees no key comes to zeros; one of whose scores any
    /// is infinite, or not a number, to what is not a number.
    ///
    /// # Errors
    /// The tensor map's, where a buffer is too short, or the device's.
    ///
    /// # Panics
    /// If heads have other features than there are kernels for, or cannot share those of keys, or nothing is to be computed.
    pub fn run<T: Attended, D: Device>(
        &self,
        device: &D,
        q: &D::Buffer<T>,
        k: &D::Buffer<T>,
        v: &D::Buffer<T>,
        o: &mut D::Buffer<T>,
    ) -> Result<D::Report, LaunchError<D::Error>> {
        let Attention { queries, keys, heads, key_heads, scale, .. } = *self;
        assert!(queries > 0 && keys > 0 && heads > 0, "there are no queries, keys or heads");
        assert!(
            key_heads > 0 && heads.is_multiple_of(key_heads),
            "{heads} heads of queries do not share {key_heads} of keys"
        );
        assert!(scale > 0.0 && scale.is_finite(), "a scale of {scale} is not more than zero");
        T::launch(self, device, [q, k, v], o)
    }
}
