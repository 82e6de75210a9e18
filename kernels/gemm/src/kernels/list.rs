//! What a host knows of the kernels, and how it launches one.

use super::LayOut;
use super::epilogue::{Activation, Output};
use ptx_matrix::launch::{Device, KernelInfo, LaunchError};
use ptx_matrix::{BoxTile, Element, Order, Tensor};

/// A kernel that multiplies matrices into a row-major D.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Whether A, and whether B, is row-major; none if they may be either.
    pub row_major: Option<[bool; 2]>,
    /// Rows and columns of D that a block computes, and the K of its steps.
    pub tile: [usize; 3],
    /// Rows of D whose elements of A come by one copy, and columns whose elements of B do.
    pub boxes: [usize; 2],
    /// The lines of A and B start at multiples of so many bytes.
    pub alignment: usize,
    /// Whether A and B come by tensor maps, and D goes by one where that can be: the products of a batch have each an A and a B of their own.
    /// Blocks compute tile after tile.
    pub by_tensor_maps: bool,
    /// Whether it computes the transpose of D, as the product of B's with A's: what is said here is of D, A and B.
    pub is_of_transposes: bool,
    /// How many blocks compute a tile together, each the sums of a part of K: all of a cluster, or each its own.
    pub blocks_of_tile: u32,
    /// Whether its sums stay in the tensor cores' hands where these lose bits of them.
    pub accumulates_fast: bool,
    /// How much of a multiprocessor's tensor throughput it reaches where nothing else is in the way.
    pub rate: f64,
    /// Its threads and its shared memory.
    pub info: &'static KernelInfo,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Kernel {
    /// Of a kernel that computes a D of this order: what it is to those whose D is row-major.
    pub(super) const fn of_order<L: Order>(self) -> Self {
        if L::ROW_MAJOR {
            return self;
        }
        let ([m, n, k], [rows, cols]) = (self.tile, self.boxes);
        let row_major = match self.row_major {
            Some([a, b]) => Some([!b, !a]),
            None => None,
        };
        Self { row_major, tile: [n, m, k], boxes: [cols, rows], is_of_transposes: true, ..self }
    }

    /// Whether it takes A and B of these orders.
    pub const fn takes(&self, row_major_a: bool, row_major_b: bool) -> bool {
        self.takes_factor(0, row_major_a) && self.takes_factor(1, row_major_b)
    }

    /// Whether it takes an A, factor 0, or a B, factor 1, of this order.
    pub const fn takes_factor(&self, factor: usize, row_major: bool) -> bool {
        match self.row_major {
            Some(orders) => orders[factor] == row_major,
            None => true,
        }
    }

    /// The most tiles that rows in so many groups can have: each may end within one; those that have no rows have none.
    pub fn blocks_of_groups(&self, m: u32, n: u32, groups: u32) -> u32 {
        let [height, width, _] = self.tile.map(|side| side as u64);
        let (rows, ending) = (u64::from(m), u64::from(groups.min(m)));
        ((rows + ending * (height - 1)) / height * u64::from(n).div_ceil(width)) as u32
    }

    /// Of a block whose tiles come by tensor maps, the warpgroups that multiply: all but the one that has them brought.
    pub fn warpgroups_that_multiply(&self) -> f64 {
        f64::from(self.info.threads / 128 - 1)
    }

    /// Blocks that so many multiprocessors have room for at once, one each, in whole clusters. Those of a cluster lie in one part of a GPU, of which some
    /// multiprocessors are left over where clusters have more than two: on an H200 there is room for 120 blocks in clusters of four, and not for 128.
    pub fn at_once(&self, multiprocessors: u32) -> u32 {
        let blocks = self.info.cluster.blocks() as u32;
        let found = if blocks > 2 { multiprocessors * 23 / 25 } else { multiprocessors };
        (found / blocks).max(1) * blocks
    }

    /// Tiles that blocks compute of a product of `m` x `n`, where those of a cluster lie beside each other or not: all blocks of a cluster have one,
    /// or all of them one together.
    pub fn tiles(&self, m: u32, n: u32, across: bool) -> u32 {
        let together = self.info.cluster.blocks() as u32 / self.blocks_of_tile;
        let (down, right) = (m.div_ceil(self.tile[0] as u32), n.div_ceil(self.tile[1] as u32));
        if across { down * right.next_multiple_of(together) } else { down.next_multiple_of(together) * right }
    }
}

/// How many kernels some lists have together.
pub(super) const fn count(lists: &[&[Kernel]]) -> usize {
    let (mut all, mut list) = (0, 0);
    while list < lists.len() {
        all += lists[list].len();
        list += 1;
    }
    all
}

/// The kernels of some lists, of which the first has some, behind each other.
pub(super) const fn joined<const COUNT: usize>(lists: &[&[Kernel]]) -> [Kernel; COUNT] {
    let mut all = [lists[0][0]; COUNT];
    let (mut next, mut list) = (0, 0);
    while list < lists.len() {
        let (_, rest) = all.split_at_mut(next);
        let (here, _) = rest.split_at_mut(lists[list].len());
        here.copy_from_slice(lists[list]);
        next += lists[list].len();
        list += 1;
    }
    all
}

/// What a launch is given beside buffers. Sides, distances and places are in elements.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<S> {
    /// M, N and K.
    pub sides: [u32; 3],
    /// The K of each part but the last: whole steps.
    pub k_part: u32,
    /// The parts of K.
    pub parts: u32,
    /// The products.
    pub batches: u32,
    /// Leading dimensions of A, B and D.
    pub strides: [u32; 3],
    /// Where A, B and D start in their buffers.
    pub starts: [usize; 3],
    /// From one product's A, B and D to the next one's.
    pub batch_strides: [usize; 3],
    /// The factor of the product.
    pub alpha: S,
    /// The factor of C.
    pub beta: S,
    /// Whether A, and whether B, is row-major.
    pub row_major: [bool; 2],
    /// Whether the bias has an element for each row; else for each column.
    pub bias_of_rows: bool,
    /// What is done last.
    pub activation: Activation,
    /// Whether the tiles of a cluster lie beside each other, and not below.
    pub across: bool,
    /// Whether a tensor map of D can be: its lines start at multiples of 16 bytes, in each product, and are as long.
    pub d_is_mapped: bool,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

impl<S: Copy> Numbers<S> {
    /// Those of D's transpose, which is the product of B's with A's.
    pub fn of_transposes(&self) -> Self {
        let swapped = |[a, b, d]: [usize; 3]| [b, a, d];
        let ([m, n, k], [lda, ldb, ldd], [a, b]) = (self.sides, self.strides, self.row_major);
        Self {
            sides: [n, m, k],
            strides: [ldb, lda, ldd],
            starts: swapped(self.starts),
            batch_strides: swapped(self.batch_strides),
            row_major: [!b, !a],
            bias_of_rows: !self.bias_of_rows,
            across: !self.across,
            ..*self
        }
    }

    /// Matrix 0, 1 or 2, that is A, B or D, as a tensor: along its lines, across, and through the batch.
    pub fn tensor<Tile: BoxTile>(&self, matrix: usize, row_major: bool) -> Tensor<Tile, 3> {
        let [m, n, k] = self.sides.map(|side| side as usize);
        let (rows, cols) = [(m, k), (k, n), (m, n)][matrix];
        let (inner, lines) = if row_major { (cols, rows) } else { (rows, cols) };
        let stride = self.strides[matrix] as usize;
        let distance = if self.batches > 1 { self.batch_strides[matrix] } else { lines * stride };
        let tensor = Tensor::new([inner, lines, self.batches as usize]);
        tensor.strides([1, stride, distance]).start(self.starts[matrix])
    }
}

/// The buffers of a launch; those without elements are not used. With `sums`, the parts' sums go there.
#[allow(missing_debug_implementations, reason = "buffers of any device")]
#[allow(missing_docs, reason = "as the kernels' parameters")]
pub struct Buffers<'a, D: Device, I: Element, O: Output> {
    pub a: &'a D::Buffer<I>,
    pub b: &'a D::Buffer<I>,
    pub c: &'a D::Buffer<O>,
    pub bias: &'a D::Buffer<O>,
    pub d: &'a mut D::Buffer<O>,
    /// Without elements: what is given for D where it goes another way.
    pub no_d: &'a mut D::Buffer<O>,
    pub sums: &'a mut D::Buffer<O::Sum>,
}

impl<D: Device, I: Element, O: Output> Buffers<'_, D, I, O> {
    /// Those of D's transpose, which is the product of B's with A's.
    pub(super) fn of_transposes(self) -> Self {
        Self { a: self.b, b: self.a, ..self }
    }
}

/// An element of A and B that kernels multiply into elements `O` of D.
pub trait Multiply<O: Output>: LayOut {
    /// Multiplications that a multiprocessor's `mma.sync` does in a cycle.
    const PRODUCTS: f64;
    /// The kernels that do.
    const KERNELS: &'static [Kernel];
    /// The kernels that do so with rows in groups, each of which has a matrix B of its own.
    const OF_GROUPS: &'static [Kernel];

    /// Launches a kernel of [`KERNELS`](Self::KERNELS).
    fn launch<D: Device>(
        device: &D,
        kernel: &Kernel,
        buffers: Buffers<'_, D, Self, O>,
        numbers: &Numbers<O::Sum>,
    ) -> Result<D::Report, LaunchError<D::Error>>;

    /// Launches a kernel of [`OF_GROUPS`](Self::OF_GROUPS). The numbers are those of all rows as one product, but B's lie as those of a batch,
    /// one for each group; a bias of columns has as many elements for each. `ends` are where the groups of rows end, and how many they are.
    fn launch_groups<D: Device>(
        device: &D,
        kernel: &Kernel,
        buffers: Buffers<'_, D, Self, O>,
        ends: (&D::Buffer<u32>, u32),
        numbers: &Numbers<O::Sum>,
    ) -> Result<D::Report, LaunchError<D::Error>>;

    /// Launches the kernel that adds the parts of K; without parts, what is left of a product without A and B.
    fn add_parts<D: Device>(
        device: &D,
        buffers: Buffers<'_, D, Self, O>,
        numbers: &Numbers<O::Sum>,
    ) -> Result<D::Report, D::Error>;
}
