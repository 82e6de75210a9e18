//! A and B laid out anew, before a product that is faster with them: their lines start at multiples of so many bytes, or rows become columns.

use ptx_matrix::*;

#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;

/// Lines, and elements of each, that a block lays out.
const SIDE: usize = 64;
/// Lines that a warp of it does.
const LINES_EACH: usize = 8;
/// Elements of a line that a lane does, a warp's lanes apart.
const ELEMENTS_EACH: usize = SIDE / 32;

/// What a block passes a part of a matrix through that it transposes.
type Tile<T> = SharedTile<T, SIDE, SIDE, Swizzle128>;

/// How a matrix lies, and how it is to lie: as lines, whatever these are of the matrix.
struct Layouts<'k, T> {
    from: GlobalMatrix<'k, T>,
    /// As `from`, or its transpose; or with longer lines, of which the ends become zero.
    to: GlobalMatrixMut<'k, T>,
    transposes: bool,
}

/// Lays out part `part` of a matrix.
#[inline(always)]
fn lay_out<T: Element>(block: &Block, tile: Tile<T>, layouts: &Layouts<'_, T>, part: usize) {
    let Layouts { from, to, transposes } = *layouts;
    let across = to.cols().div_ceil(SIDE);
    // Where what is written starts.
    let (top, left) = (part / across * SIDE, part % across * SIDE);
    let (first_line, first) = if transposes { (left, top) } else { (top, left) };
    assert!(block.threads() * LINES_EACH == SIDE * 32, "the block's warps do all lines");
    let warp = block.warp();
    let line = warp.index() * LINES_EACH;
    // All of a lane's elements are on their way before the first is needed.
    let read = warp.each(|lane| {
        core::array::from_fn(|i| {
            core::array::from_fn(|j| {
                let (row, col) = (first_line + line + i, first + j * 32 + lane.id());
                if row < from.rows() && col < from.cols() { from.get(row, col) } else { T::zeroed() }
            })
        })
    });
    // What is written by a lane is for places that lie as those that it has read.
    let write = |lane: Lane<'_>, i: usize, j: usize, element: T| {
        let (row, col) = (top + line + i, left + j * 32 + lane.id());
        if row < to.rows() && col < to.cols() {
            to.set(row, col, element);
        }
    };
    if !transposes {
        each(warp, &read, write);
        return;
    }
    each(warp, &read, |lane, i, j, element| tile.set((line + i, j * 32 + lane.id()), element));
    block.sync();
    warp.each(|lane| {
        for i in 0..LINES_EACH {
            for j in 0..ELEMENTS_EACH {
                write(lane, i, j, tile.get(lane, (j * 32 + lane.id(), line + i)));
            }
        }
    });
}

/// What a lane has read.
type Held<T> = PerLane<[[T; ELEMENTS_EACH]; LINES_EACH]>;

/// Has each lane do something with each element that it holds, of a line and its part of that.
#[inline(always)]
fn each<T: Element>(warp: Warp<'_>, held: &Held<T>, visit: impl Fn(Lane<'_>, usize, usize, T) + LaneCapture) {
    warp.each(|lane| {
        for (i, elements) in lane.get(held).iter().enumerate() {
            for (j, &element) in elements.iter().enumerate() {
                visit(lane, i, j, element);
            }
        }
    });
}

/// How matrices lie, and how they are to lie. Sides, distances and places are in elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relaid {
    /// How many there are: those of a batch, or of groups.
    pub count: u32,
    /// Lines as they lie, and elements of each.
    pub lines: [u32; 2],
    /// Whether the elements of a line become those of different lines.
    pub transposes: bool,
    /// From one line to the next, as they lie, and as they are to lie.
    pub strides: [u32; 2],
    /// Where the first matrix starts.
    pub starts: [usize; 2],
    /// From one matrix to the next.
    pub batch_strides: [usize; 2],
    /// Elements of a line as it is to be: at least as many as there are. The others become zero.
    pub length: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Relaid {
    /// The blocks of one matrix.
    fn parts(&self) -> u32 {
        let lines = self.lines[usize::from(self.transposes)];
        if self.count > 0 { lines.div_ceil(SIDE as u32) * self.length.div_ceil(SIDE as u32) } else { 0 }
    }
}

/// Elements whose matrices are laid out anew.
pub trait LayOut: Element {
    /// Launches the kernel that does, with the As and with the Bs, if there are such.
    #[cfg(not(target_arch = "nvptx64"))]
    fn lay_out<D: Device>(
        device: &D,
        from: [&D::Buffer<Self>; 2],
        to: &mut D::Buffer<Self>,
        relaid: [Relaid; 2],
    ) -> Result<D::Report, D::Error>;
}

/// One row a kernel: its elements, and the oldest GPU that has them.
macro_rules! kernels {
    ($($kernel:ident $element:ident $target:literal;)*) => {$(
        /// Copies matrices A, and B, as two `Relaid` say: `parts_a` blocks along x do the parts of an A, the others those of a B; along y they do one
        /// after the other.
        #[kernel(threads = 256, early = true, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile<$element>,
            a: Global<$element>,
            b: Global<$element>,
            to: GlobalMut<$element>,
            parts_a: u32,
            count_a: u32,
            count_b: u32,
            lines_a: u32,
            lines_b: u32,
            length_a: u32,
            length_b: u32,
            stride_a: u32,
            stride_b: u32,
            skip_a: usize,
            skip_b: usize,
            batch_a: usize,
            batch_b: usize,
            transposes_a: u32,
            transposes_b: u32,
            length_to_a: u32,
            length_to_b: u32,
            stride_to_a: u32,
            stride_to_b: u32,
            skip_to_a: usize,
            skip_to_b: usize,
            batch_to_a: usize,
            batch_to_b: usize,
        ) {
            let (part, matrix) = (block.index().x, block.index().y);
            let is_a = part < parts_a;
            let of = |of_a: u32, of_b: u32| if is_a { of_a } else { of_b };
            let place = |of_a: usize, of_b: usize| if is_a { of_a } else { of_b };
            if matrix >= of(count_a, count_b) {
                return;
            }
            let matrix = matrix as usize;
            let (lines, length) = (of(lines_a, lines_b) as usize, of(length_a, length_b) as usize);
            let transposes = of(transposes_a, transposes_b) != 0;
            let (lines_to, length_to) = (if transposes { length } else { lines }, of(length_to_a, length_to_b) as usize);
            let from = if is_a { a } else { b }.skip(place(skip_a, skip_b) + matrix * place(batch_a, batch_b));
            let to = to.skip(place(skip_to_a, skip_to_b) + matrix * place(batch_to_a, batch_to_b));
            let layouts = Layouts {
                from: GlobalMatrix::new(from, lines, length, of(stride_a, stride_b) as usize),
                to: GlobalMatrixMut::new(to, lines_to, length_to, of(stride_to_a, stride_to_b) as usize),
                transposes,
            };
            lay_out(block, tile, &layouts, if is_a { part } else { part - parts_a } as usize);
        }

        impl LayOut for $element {
            #[cfg(not(target_arch = "nvptx64"))]
            fn lay_out<D: Device>(
                device: &D,
                from: [&D::Buffer<Self>; 2],
                to: &mut D::Buffer<Self>,
                [a, b]: [Relaid; 2],
            ) -> Result<D::Report, D::Error> {
                let grid = (a.parts() + b.parts(), a.count.max(b.count));
                $kernel::launch(
                    device, grid, from[0], from[1], to, a.parts(), a.count, b.count, a.lines[0], b.lines[0], a.lines[1], b.lines[1],
                    a.strides[0], b.strides[0], a.starts[0], b.starts[0], a.batch_strides[0], b.batch_strides[0], a.transposes.into(),
                    b.transposes.into(), a.length, b.length, a.strides[1], b.strides[1], a.starts[1], b.starts[1], a.batch_strides[1],
                    b.batch_strides[1],
                )
            }
        }
    )*};
}

kernels! {
    lay_out_bf16 bf16 "sm_80";
    lay_out_f16 f16 "sm_75";
    lay_out_f32 f32 "sm_80";
    lay_out_f64 f64 "sm_80";
    lay_out_s8 i8 "sm_80";
    lay_out_e4m3 F8E4M3 "sm_89";
    lay_out_e5m2 F8E5M2 "sm_89";
}
