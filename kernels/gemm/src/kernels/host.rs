//! The kernels as the host knows them: descriptions, and the arguments of launches.

use super::repack::Repack;
use super::sm90_grouped::GROUPED_ROWS;
use super::sm90_mma::{self, F64Gemm, F64TilesA, F64TilesB};
use super::split_k_reduce::{REDUCED_COLS, ReduceArgsHost};
use super::{sm80_mma, sm90_wgmma};
use crate::layout::{Operand, Order};
use crate::parts::mma::{TileA, TileB};
use crate::parts::source::Source;
use crate::parts::{
    Activation, AsyncArgsHost, EpilogueArgsHost, EpilogueScalars, MatrixArgs, Number, OperandA,
    OperandB, Output, ProblemShape, TileShape, TmaArgsHost,
};
use crate::slices::{Failed, Launched, OnSlices, Slice};
use ptx_matrix::copy::BoxTile;
use ptx_matrix::element::Element;
use ptx_matrix::fragment::Order as TileOrder;
use ptx_matrix::isa::TensorMapError;
use ptx_matrix::launch::{KernelInfo, LaunchError, Tensor};

/// A table of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the macros of `table.rs`")]
pub enum TableId {
    Sm80Mma,
    Sm80Grouped,
    Sm90Mma,
    Sm90Wgmma,
    Sm90SwapAb,
    Sm90SplitK,
    Sm90Grouped,
}

/// A kernel that computes a row-major D.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its table, and its index there.
    pub(super) table: TableId,
    pub(super) index: usize,
    /// The orders of A and B; none if the kernel takes all orders.
    pub orders: Option<OperandOrders>,
    /// Its tile, and the step of K.
    pub tile: TileShape,
    /// Rows of A of a TMA box.
    pub box_rows: usize,
    /// Columns of B of a TMA box.
    pub box_cols: usize,
    /// Alignment in bytes of the rows of A and B (columns, if column-major).
    pub alignment: usize,
    /// Whether persistent blocks load A and B by TMA, and store D by TMA where a tensor map can
    /// describe it.
    pub uses_tma: bool,
    /// Whether it computes Dᵀ = BᵀAᵀ. The other fields describe D, A and B.
    pub swaps_ab: bool,
    /// Blocks that compute a tile together: with cluster split-K all of a cluster, each for a part
    /// of K; else 1.
    pub blocks_per_tile: u32,
    /// Whether 8-bit floats use fast accumulation: in the tensor cores, with 13 bits of fraction.
    pub fast_accumulation: bool,
    /// Its throughput as a multiple of `mma.sync`'s on an SM, where nothing else limits it, as
    /// measured on an H200.
    pub rate: f64,
    /// Its threads and its shared memory.
    pub info: &'static KernelInfo,
}

/// The orders of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandOrders {
    /// A's.
    pub a: Order,
    /// B's.
    pub b: Order,
}

impl OperandOrders {
    /// The order of an operand.
    pub const fn get(self, operand: Operand) -> Order {
        match operand {
            Operand::A => self.a,
            Operand::B => self.b,
        }
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Kernel {
    /// Whether it takes A and B of these orders.
    pub fn takes(&self, a: Order, b: Order) -> bool {
        self.takes_operand(Operand::A, a) && self.takes_operand(Operand::B, b)
    }

    /// Whether it takes an operand of this order.
    pub fn takes_operand(&self, operand: Operand, order: Order) -> bool {
        self.orders.is_none_or(|orders| orders.get(operand) == order)
    }

    /// The most tiles that `m` rows in `groups` groups can have. The last tile of each group may be
    /// partly empty; a group without rows has no tile.
    pub fn grouped_tiles(&self, m: u32, n: u32, groups: u32) -> u32 {
        let (height, width) = (self.tile.m as u64, self.tile.n as u64);
        let (rows, ending) = (u64::from(m), u64::from(groups.min(m)));
        ((rows + ending * (height - 1)) / height * u64::from(n).div_ceil(width)) as u32
    }

    /// Consumer warpgroups of a warp-specialized kernel.
    pub fn consumers(&self) -> f64 {
        f64::from(self.info.threads / 128 - 1)
    }

    /// Blocks that `sms` SMs run at once, one each, in whole clusters. A cluster lies in one GPC.
    /// Clusters of more than two leave some SMs of a GPC idle: an H200 runs 120 blocks in clusters
    /// of four, not 132.
    pub fn at_once(&self, sms: u32) -> u32 {
        let blocks = self.info.cluster.blocks() as u32;
        let found = if blocks > 2 { sms * 23 / 25 } else { sms };
        (found / blocks).max(1) * blocks
    }

    /// Tiles of an `m` x `n` GEMM, in whole clusters. With cluster split-K, a cluster has one tile;
    /// else each of its blocks has one.
    pub fn tiles(&self, m: u32, n: u32, along: ClusterAlong) -> u32 {
        let cluster = self.info.cluster.blocks() as u32 / self.blocks_per_tile;
        let (tiles_m, tiles_n) = (m.div_ceil(self.tile.m as u32), n.div_ceil(self.tile.n as u32));
        match along {
            ClusterAlong::M => tiles_m.next_multiple_of(cluster) * tiles_n,
            ClusterAlong::N => tiles_m * tiles_n.next_multiple_of(cluster),
        }
    }
}

/// The direction in which the tiles of a cluster are adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterAlong {
    /// Along M: the blocks share B's tile.
    M,
    /// Along N: the blocks share A's tile.
    N,
}

impl ClusterAlong {
    /// The direction of a launch.
    pub const fn of(shape: &ProblemShape) -> Self {
        if shape.cluster_along_n { Self::N } else { Self::M }
    }
}

/// A kernel of a table with TMA, which computes a D of the order `L`.
const fn tma_kernel<A: OperandA, B: OperandB, L: TileOrder>(
    table: TableId,
    tile: TileShape,
    rate: f64,
    info: &'static KernelInfo,
) -> Kernel {
    let (a, b) = (Order::of(A::ROW_MAJOR), Order::of(B::ROW_MAJOR));
    let TileShape { m, n, k } = tile;
    assert!(rate > 0.0 && rate < 10.0, "the rate is a multiple of the throughput of `mma.sync`");
    // Dᵀ has the operands Bᵀ and Aᵀ.
    let (orders, box_rows, box_cols, tile) = if L::ROW_MAJOR {
        (OperandOrders { a, b }, A::BOX_ROWS, B::BOX_COLS, tile)
    } else {
        let orders = OperandOrders { a: b.transposed(), b: a.transposed() };
        (orders, B::BOX_COLS, A::BOX_ROWS, TileShape { m: n, n: m, k })
    };
    Kernel {
        name: info.name,
        table,
        index: 0,
        orders: Some(orders),
        tile,
        box_rows,
        box_cols,
        alignment: 16,
        uses_tma: true,
        swaps_ab: !L::ROW_MAJOR,
        blocks_per_tile: 1,
        fast_accumulation: false,
        rate,
        info,
    }
}

/// A kernel on `wgmma`.
pub const fn wgmma_kernel<C: sm90_wgmma::Config, L: TileOrder>(
    table: TableId,
    rate: f64,
    info: &'static KernelInfo,
) -> Kernel {
    let blocks_per_tile = match table {
        TableId::Sm90SplitK => info.cluster.blocks() as u32,
        _ => 1,
    };
    let fast_accumulation = <C::Mainloop as sm90_wgmma::Mainloop<C::A, C::B>>::FAST_ACCUMULATION;
    Kernel {
        blocks_per_tile,
        fast_accumulation,
        ..tma_kernel::<C::A, C::B, L>(table, C::TILE, rate, info)
    }
}

/// A kernel whose threads load the tiles.
pub const fn async_kernel<
    C: sm80_mma::Config<M, N, K>,
    const M: usize,
    const N: usize,
    const K: usize,
>(
    table: TableId,
    rate: f64,
    info: &'static KernelInfo,
) -> Kernel {
    let of_a = <C::SourceA<'static> as Source<'static, TileA<C::Op, C::OrderA, M, K>>>::ROW_MAJOR;
    let of_b = <C::SourceB<'static> as Source<'static, TileB<C::Op, C::OrderB, K, N>>>::ROW_MAJOR;
    Kernel {
        name: info.name,
        table,
        index: 0,
        orders: match (of_a, of_b) {
            (Some(a), Some(b)) => Some(OperandOrders { a: Order::of(a), b: Order::of(b) }),
            _ => None,
        },
        tile: TileShape { m: M, n: N, k: K },
        box_rows: M,
        box_cols: N,
        alignment:
            <C::SourceA<'static> as Source<'static, TileA<C::Op, C::OrderA, M, K>>>::ALIGNMENT,
        uses_tma: false,
        swaps_ab: false,
        blocks_per_tile: 1,
        fast_accumulation: false,
        rate,
        info,
    }
}

/// The kernels of a table, each with its row.
pub const fn numbered<const COUNT: usize>(mut kernels: [Kernel; COUNT]) -> [Kernel; COUNT] {
    let mut index = 0;
    while index < COUNT {
        kernels[index].index = index;
        index += 1;
    }
    kernels
}

/// How many kernels some tables have together.
pub const fn count(tables: &[&[Kernel]]) -> usize {
    let (mut all, mut table) = (0, 0);
    while table < tables.len() {
        all += tables[table].len();
        table += 1;
    }
    all
}

/// The kernels of some tables, in order. The first table must not be empty.
pub const fn joined<const COUNT: usize>(tables: &[&[Kernel]]) -> [Kernel; COUNT] {
    let mut all = [tables[0][0]; COUNT];
    let (mut next, mut table) = (0, 0);
    while table < tables.len() {
        let (_, rest) = all.split_at_mut(next);
        let (here, _) = rest.split_at_mut(tables[table].len());
        here.copy_from_slice(tables[table]);
        next += tables[table].len();
        table += 1;
    }
    all
}

/// A launch: the sizes, the layouts and the epilogue's scalars. All sizes are in elements.
#[derive(Clone, Copy, Debug)]
pub struct GemmLaunch<S> {
    /// M, N, K, the batch, and the K of a split.
    pub shape: ProblemShape,
    /// Splits of K.
    pub splits: u32,
    /// Groups of rows, in a grouped GEMM.
    pub groups: u32,
    /// Where A lies.
    pub a: MatrixArgs,
    /// Where B lies.
    pub b: MatrixArgs,
    /// Where C and D lie.
    pub d: MatrixArgs,
    /// The scale of A x B.
    pub alpha: S,
    /// The scale of C.
    pub beta: S,
    /// Whether the bias has an element for each row; else for each column.
    pub bias_per_row: bool,
    /// The last step.
    pub activation: Activation,
    /// Whether TMA can store D: its rows start at, and are, multiples of 16 bytes.
    pub tma_store: bool,
    /// SMs of the device.
    pub sms: u32,
}

impl<S: Copy> GemmLaunch<S> {
    /// The same GEMM as Dᵀ = BᵀAᵀ.
    pub fn transposed(&self) -> Self {
        let ProblemShape { m, n, cluster_along_n, .. } = self.shape;
        let shape = ProblemShape { m: n, n: m, cluster_along_n: !cluster_along_n, ..self.shape };
        let transposed = |matrix: MatrixArgs| MatrixArgs { row_major: !matrix.row_major, ..matrix };
        Self {
            shape,
            a: transposed(self.b),
            b: transposed(self.a),
            d: transposed(self.d),
            bias_per_row: !self.bias_per_row,
            ..*self
        }
    }

    /// A `rows` x `cols` matrix as a tensor. Its dimensions: contiguous, strided, batch.
    fn tensor<Tile: BoxTile>(
        &self,
        matrix: MatrixArgs,
        rows: u32,
        cols: u32,
        count: u32,
        row_major: bool,
    ) -> Tensor<Tile, 3> {
        let (length, lines) =
            if row_major { (cols as usize, rows as usize) } else { (rows as usize, cols as usize) };
        let ld = matrix.ld as usize;
        let distance = if count > 1 { matrix.batch_stride } else { lines * ld };
        Tensor::new([length, lines, count as usize]).strides([1, ld, distance]).start(matrix.offset)
    }
}

/// The buffers of a launch. Unused buffers are empty.
#[allow(missing_debug_implementations, reason = "it may be memory of a GPU")]
pub struct Buffers<'b, I: Element, O: Output> {
    /// A.
    pub a: Slice<'b, I>,
    /// B.
    pub b: Slice<'b, I>,
    /// C.
    pub c: Slice<'b, O>,
    /// The bias.
    pub bias: Slice<'b, O>,
    /// The ends of the groups of a grouped GEMM.
    pub group_ends: Slice<'b, u32>,
    /// D.
    pub d: Slice<'b, O>,
    /// The accumulators of each split.
    pub partials: Slice<'b, O::Acc>,
}

/// The epilogue's arguments.
fn epilogue<'a, 'b, O: Output>(
    (c, bias): (&'a Slice<'b, O>, &'a Slice<'b, O>),
    d: &'a mut Slice<'b, O>,
    partials: &'a mut Slice<'b, O::Acc>,
    launch: &GemmLaunch<O::Acc>,
) -> EpilogueArgsHost<'a, O, OnSlices<'b>> {
    let GemmLaunch { d: d_layout, alpha, beta, bias_per_row, activation, .. } = *launch;
    let scalars = EpilogueScalars {
        alpha,
        beta,
        bias_per_row: bias_per_row.into(),
        activation: activation as u32,
    };
    EpilogueArgsHost { c, bias, d, partials, d_layout, scalars }
}

/// An element of A and B that kernels multiply into elements `O` of D.
pub trait Multiply<O: Output>: Element {
    /// Multiply-adds of an SM's `mma.sync` in a cycle.
    const PRODUCTS: f64;
    /// The kernels.
    const KERNELS: &'static [Kernel];
    /// The kernels for grouped GEMMs.
    const GROUPED: &'static [Kernel] = &[];

    /// Launches a kernel of [`KERNELS`](Self::KERNELS), or of [`GROUPED`](Self::GROUPED).
    fn launch<'b>(
        device: &OnSlices<'b>,
        kernel: &Kernel,
        buffers: &mut Buffers<'b, Self, O>,
        launch: &GemmLaunch<O::Acc>,
    ) -> Launched;

    /// Launches the repacking of the matrices A and the matrices B.
    fn repack<'b>(
        device: &OnSlices<'b>,
        a: (&Slice<'b, Self>, Repack),
        b: (&Slice<'b, Self>, Repack),
        to: &mut Slice<'b, Self>,
    ) -> Launched;

    /// Launches the reduction of split-K. With zero splits, it computes the epilogue alone: D
    /// without A x B.
    fn reduce<'b>(
        device: &OnSlices<'b>,
        buffers: &mut Buffers<'b, Self, O>,
        launch: &GemmLaunch<O::Acc>,
    ) -> Launched;
}

/// A table's kernels for some elements.
pub trait Table<I: Element, O: Output> {
    const KERNELS: &'static [Kernel];

    fn launch<'b>(
        device: &OnSlices<'b>,
        index: usize,
        buffers: &mut Buffers<'b, I, O>,
        launch: &GemmLaunch<O::Acc>,
    ) -> Launched;
}

pub enum Sm80Mma {}
pub enum Sm80Grouped {}
pub enum Sm90Mma {}
pub enum Sm90Wgmma {}
pub enum Sm90SwapAb {}
pub enum Sm90SplitK {}
pub enum Sm90Grouped {}

/// A kernel with TMA.
pub trait TmaKernel {
    type A: OperandA;
    type B: OperandB;
    type Tile: BoxTile<Element: Output>;
    const KERNEL: Kernel;

    fn launch<'b>(
        device: &OnSlices<'b>,
        grid: u32,
        args: TmaArgsHost<'_, Self::A, Self::B, Self::Tile, OnSlices<'b>>,
    ) -> Result<(), Failed>;
}

/// Launches a kernel with TMA, or returns why the driver refuses a tensor map.
pub fn launch_tma<'b, K, I, O>(
    device: &OnSlices<'b>,
    buffers: &mut Buffers<'b, I, O>,
    launch: &GemmLaunch<O::Acc>,
) -> Launched
where
    K: TmaKernel<A: OperandA<Element = I>, B: OperandB<Element = I>, Tile: BoxTile<Element = O>>,
    I: Element,
    O: Output,
{
    let kernel = K::KERNEL;
    let Buffers { a, b, c, bias, group_ends, d, partials } = buffers;
    let (a, b, c, bias, group_ends) = (&*a, &*b, &*c, &*bias, &*group_ends);
    let ProblemShape { m, n, batches, .. } = launch.shape;
    // Each group has its own B. The groups' rows are one A.
    let (blocks, matrices_b) = match launch.groups {
        0 => {
            (kernel.tiles(m, n, ClusterAlong::of(&launch.shape)) * batches * launch.splits, batches)
        }
        groups => (kernel.grouped_tiles(m, n, groups), groups),
    };
    let (a, b, launch) =
        if kernel.swaps_ab { (b, a, &launch.transposed()) } else { (a, b, launch) };
    let ProblemShape { m, n, k, .. } = launch.shape;
    let a = launch
        .tensor(launch.a, m, k, batches, K::A::ROW_MAJOR)
        .map(device, a)
        .map_err(LaunchError::TensorMap)?;
    let b = launch
        .tensor(launch.b, k, n, matrices_b, K::B::ROW_MAJOR)
        .map(device, b)
        .map_err(LaunchError::TensorMap)?;
    let tensor_d = match launch.groups {
        0 => launch.tensor(launch.d, m, n, batches, !kernel.swaps_ab),
        // Rows from each row of D on: see `sm90_grouped`.
        _ => {
            let from_each_row = MatrixArgs { batch_stride: launch.d.ld as usize, ..launch.d };
            let count = m.saturating_sub(GROUPED_ROWS - 1);
            launch.tensor(from_each_row, GROUPED_ROWS, n, count, true).overlapping()
        }
    };
    let stores_by_tma = launch.tma_store && (launch.groups == 0 || m >= GROUPED_ROWS);
    // Kernels store each element of D once: by TMA, or by threads.
    let mut d_by_threads = d.in_place();
    let mut map = match stores_by_tma.then(|| tensor_d.map_mut(device, d)) {
        // TMA cannot store from this address on. Threads can.
        None | Some(Err(TensorMapError::Start { .. })) => None,
        Some(Ok(map)) => Some(map),
        Some(Err(error)) => return Err(LaunchError::TensorMap(error)),
    };
    // If TMA cannot load C, threads do.
    let reads_c = map.is_some() && launch.splits == 1 && launch.beta != O::Acc::ZERO;
    let map_c = reads_c.then(|| tensor_d.map(device, c).ok()).flatten();
    // With cluster split-K, a cluster computes one tile, and is not persistent.
    let grid = match kernel.blocks_per_tile {
        1 => blocks.min(kernel.at_once(launch.sms)),
        blocks_per_tile => blocks.saturating_mul(blocks_per_tile),
    };
    let epilogue = epilogue((c, bias), &mut d_by_threads, partials, launch);
    let d = map.as_mut().map(|map| map.by_ref());
    let (a, b, c) = (&a, &b, map_c.as_ref());
    let args = TmaArgsHost { a, b, c, d, group_ends, epilogue, shape: launch.shape };
    K::launch(device, grid, args).map_err(LaunchError::Device)
}

/// The description of a kernel of f64 with TMA.
pub const fn f64_kernel<L: TileOrder>(rate: f64, info: &'static KernelInfo) -> Kernel {
    let tile = <F64Gemm<L> as sm90_mma::Config>::TILE;
    tma_kernel::<F64TilesA, F64TilesB, L>(TableId::Sm90Mma, tile, rate, info)
}

/// A kernel whose threads load the tiles.
pub trait AsyncKernel<I: Element, O: Output> {
    const KERNEL: Kernel;

    fn launch<'b>(
        device: &OnSlices<'b>,
        grid: (u32, u32, u32),
        args: AsyncArgsHost<'_, I, O, OnSlices<'b>>,
    ) -> Result<(), Failed>;
}

/// Launches a kernel whose threads load the tiles.
pub fn launch_by_threads<'b, K: AsyncKernel<I, O>, I: Element, O: Output>(
    device: &OnSlices<'b>,
    buffers: &mut Buffers<'b, I, O>,
    launch: &GemmLaunch<O::Acc>,
) -> Launched {
    let Buffers { a, b, c, bias, group_ends, d, partials } = buffers;
    let GemmLaunch { shape, splits, groups, a: a_layout, b: b_layout, .. } = *launch;
    let grid = match groups {
        0 => (K::KERNEL.tiles(shape.m, shape.n, ClusterAlong::M), shape.batches, splits),
        _ => (K::KERNEL.grouped_tiles(shape.m, shape.n, groups), 1, 1),
    };
    let epilogue = epilogue((c, bias), d, partials, launch);
    let args = AsyncArgsHost { a, b, group_ends, epilogue, a_layout, b_layout, shape };
    K::launch(device, grid, args).map_err(LaunchError::Device)
}

/// The grid and the arguments of a reduction of split-K.
pub fn reduce_args<'a, 'b, I: Element, O: Output>(
    buffers: &'a mut Buffers<'b, I, O>,
    launch: &GemmLaunch<O::Acc>,
) -> ((u32, u32), ReduceArgsHost<'a, O, OnSlices<'b>>) {
    let Buffers { c, bias, d, partials, .. } = buffers;
    let GemmLaunch { shape, splits, .. } = *launch;
    let grid = (shape.m * shape.n.div_ceil(REDUCED_COLS as u32), shape.batches);
    let epilogue = epilogue((c, bias), d, partials, launch);
    (grid, ReduceArgsHost { epilogue, shape, splits })
}
