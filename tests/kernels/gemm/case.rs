//! Test cases of GEMMs, and the check of their results.

use ptx_matrix::element::{Element, F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::Order;
use ptx_matrix_gemm::kernels::{
    Activation, Buffers, ClusterAlong, GemmLaunch, Kernel, Launches, Multiply, Number, Output,
};
use ptx_matrix_gemm::parts::{MatrixArgs, ProblemShape};
use ptx_matrix_reference::integer_product;

/// Elements that represent small integers.
pub trait Integral: Element {
    /// The value of elements that must not be read: NaN, if the type has one.
    const POISON: Self;

    fn of(integer: i32) -> Self;
    fn number(self) -> f64;
}

macro_rules! integral {
    ($($element:ident $poison:expr, $of:expr, $number:expr;)*) => {$(
        impl Integral for $element {
            const POISON: Self = $poison;

            fn of(integer: i32) -> Self {
                let of: fn(i32) -> Self = $of;
                of(integer)
            }

            fn number(self) -> f64 {
                let number: fn(Self) -> f64 = $number;
                number(self)
            }
        }
    )*};
}
integral! {
    bf16 bf16::NAN, |i| bf16::from_f32(i as f32), |x| x.to_f64();
    f16 f16::NAN, |i| f16::from_f32(i as f32), |x| x.to_f64();
    f32 f32::NAN, |i| i as f32, f64::from;
    f64 f64::NAN, f64::from, |x| x;
    i8 99, |i| i as i8, f64::from;
    i32 -99_999, |i| i, f64::from;
    F8E4M3 F8E4M3::from_bits(0x7f), |i| F8E4M3::from_f32(i as f32), |x| x.to_f32().into();
    F8E5M2 F8E5M2::from_bits(0x7f), |i| F8E5M2::from_f32(i as f32), |x| x.to_f32().into();
}

/// A GEMM problem.
#[derive(Clone, Copy)]
pub struct Case {
    /// M, N and K.
    pub size: (usize, usize, usize),
    /// The gap between rows (columns, if column-major) beyond their alignment, in elements.
    pub padding: usize,
    /// Elements before each matrix.
    pub start: usize,
    pub alpha: i32,
    pub beta: i32,
    pub bias: bool,
    pub bias_per_row: bool,
    pub activation: Activation,
    pub batches: usize,
    /// The ends of the row groups of a grouped GEMM. Each group has its own B, and its own bias of
    /// columns.
    pub groups: Option<&'static [u32]>,
    /// Whether D is unaligned, so that a tensor map cannot describe it.
    pub unaligned_d: bool,
    /// Whether the tiles of a cluster are adjacent along N, or along M. `None` takes the direction
    /// with fewer tiles.
    pub cluster_along_n: Option<bool>,
    pub schedules: u64,
}

pub const PLAIN: Case = Case {
    size: (64, 64, 64),
    padding: 0,
    start: 0,
    alpha: 1,
    beta: 0,
    bias: false,
    bias_per_row: false,
    activation: Activation::Identity,
    batches: 1,
    groups: None,
    unaligned_d: false,
    cluster_along_n: None,
    schedules: 1,
};

/// A matrix in its buffer.
struct Matrix<T> {
    elements: Vec<T>,
    size: (usize, usize),
    stride: usize,
    batch: usize,
    row_major: bool,
    start: usize,
}

impl<T: Integral> Matrix<T> {
    /// The stride is the length of a row (column, if column-major), aligned and with the gap.
    /// Elements of the gap must not be read.
    fn new(
        (rows, cols): (usize, usize),
        row_major: bool,
        align: usize,
        case: &Case,
        count: usize,
        seed: usize,
    ) -> Self {
        let (lines, length) = if row_major { (rows, cols) } else { (cols, rows) };
        let stride = length.next_multiple_of(align) + case.padding.next_multiple_of(align);
        let batch = lines * stride + case.padding.next_multiple_of(align);
        let start = case.start.next_multiple_of(align);
        let value = |line: usize, along: usize| {
            ((line * 31 + along * 17 + line * along * 7 + seed) % 9) as i32 - 4
        };
        let elements = (0..start + count * batch).map(|i| {
            let Some(i) = i.checked_sub(start) else { return T::POISON };
            let (line, along) = (i % batch / stride, i % batch % stride);
            if line < lines && along < length {
                T::of(value(line + i / batch, along))
            } else {
                T::POISON
            }
        });
        Matrix { elements: elements.collect(), size: (rows, cols), stride, batch, row_major, start }
    }

    fn index(&self, batch: usize, row: usize, col: usize) -> usize {
        let (line, along) = if self.row_major { (row, col) } else { (col, row) };
        self.start + batch * self.batch + line * self.stride + along
    }

    fn at(&self, batch: usize, row: usize, col: usize) -> f64 {
        self.elements[self.index(batch, row, col)].number()
    }

    /// The integers of the matrix, row by row or column by column.
    fn integers(&self, batch: usize, by_rows: bool) -> Vec<i8> {
        let (rows, cols) = self.size;
        let (lines, length) = if by_rows { (rows, cols) } else { (cols, rows) };
        let mut integers = Vec::with_capacity(rows * cols);
        for line in 0..lines {
            for along in 0..length {
                let (row, col) = if by_rows { (line, along) } else { (along, line) };
                integers.push(self.at(batch, row, col) as i8);
            }
        }
        integers
    }
}

/// Runs a kernel for all layouts that it takes, with `splits` splits of K, and checks D.
pub fn check<T: Multiply<O> + Integral, O: Output + Integral>(
    kernel: &Kernel,
    case: Case,
    splits: usize,
) where
    O::Acc: Integral,
{
    let orders = [true, false].map(|a| [true, false].map(|b| (a, b)));
    for &(a, b) in orders.as_flattened() {
        let order = |row_major| if row_major { Order::RowMajor } else { Order::ColMajor };
        if kernel.takes(order(a), order(b)) {
            check_orders::<T, O>(kernel, case, splits, (a, b));
        }
    }
}

fn check_orders<T: Multiply<O> + Integral, O: Output + Integral>(
    kernel: &Kernel,
    case: Case,
    splits: usize,
    (row_a, row_b): (bool, bool),
) where
    O::Acc: Integral,
{
    let Case { size: (m, n, k), batches, groups, alpha, beta, .. } = case;
    if groups.is_some() && !row_a {
        return;
    }
    let matrices_b = groups.map_or(batches, <[u32]>::len);
    // The group of a row: the first one with an end after the row, even if ends are not in order.
    let group =
        |row: usize| groups.map_or(Some(0), |ends| ends.iter().position(|&end| row < end as usize));
    let align = kernel.alignment / size_of::<T>();
    let align_d =
        if kernel.uses_tma && !case.unaligned_d { kernel.alignment / size_of::<O>() } else { 1 };
    let n = n.next_multiple_of(align_d);
    let a = Matrix::<T>::new((m, k), row_a, align, &case, batches, 1);
    let b = Matrix::<T>::new((k, n), row_b, align, &case, matrices_b, 5);
    let c = Matrix::<O>::new((m, n), true, align_d, &case, batches, 7);
    let bias_len = if case.bias_per_row { m } else { n * groups.map_or(1, <[u32]>::len) };
    let bias: Vec<O> =
        if case.bias { (0..bias_len).map(|i| O::of((i % 5) as i32)).collect() } else { Vec::new() };
    let mut d = vec![O::of(99); c.elements.len()];
    let k_per_split = k.div_ceil(splits).next_multiple_of(kernel.tile.k);
    assert_eq!(k.div_ceil(k_per_split), splits, "no split is empty");
    let mut partials = vec![O::Acc::POISON; if splits > 1 { splits * batches * m * n } else { 0 }];
    let [of_a, of_b, of_d] = [
        (a.stride, a.start, a.batch, row_a),
        (b.stride, b.start, b.batch, row_b),
        (c.stride, c.start, c.batch, true),
    ]
    .map(|(stride, offset, batch_stride, row_major)| MatrixArgs {
        offset,
        batch_stride,
        ld: stride as u32,
        row_major,
    });
    let launch = GemmLaunch {
        shape: ProblemShape {
            m: m as u32,
            n: n as u32,
            k: k as u32,
            batches: batches as u32,
            k_per_split: k_per_split as u32,
            cluster_along_n: case.cluster_along_n.unwrap_or_else(|| {
                let [along_n, along_m] = [ClusterAlong::N, ClusterAlong::M]
                    .map(|along| kernel.tiles(m as u32, n as u32, along));
                along_n < along_m
            }),
        },
        splits: splits as u32,
        groups: groups.map_or(0, |ends| ends.len() as u32),
        a: of_a,
        b: of_b,
        d: of_d,
        alpha: O::Acc::of(alpha),
        beta: O::Acc::of(beta),
        bias_per_row: case.bias_per_row,
        activation: case.activation,
        tma_store: !case.unaligned_d,
        // With one SM, a persistent block computes all tiles, one after another.
        sms: 1,
    };
    let device = Simulator::new(0).schedules(case.schedules).strict();
    let mut run = |add: bool| {
        let launches = Launches::new(&device);
        let mut buffers = Buffers {
            a: launches.read(&a.elements[..]),
            b: launches.read(&b.elements[..]),
            c: launches.read(if beta == 0 { &[] } else { &c.elements[..] }),
            bias: launches.read(&bias[..]),
            group_ends: launches.read(groups.unwrap_or(&[])),
            d: launches.write(&mut d[..]),
            partials: launches.write(&mut partials[..]),
        };
        // SAFETY: all slices are of these launches; kernels write `d` and `partials`.
        let on = unsafe { launches.on() };
        let launched = if add {
            T::reduce(&on, &mut buffers, &launch)
        } else {
            T::launch(&on, kernel, &mut buffers, &launch)
        };
        if let Err(error) = launches.finish(launched) {
            panic!("{}: {m}x{n}x{k}: {error}", kernel.name);
        }
    };
    run(false);
    if splits > 1 {
        run(true);
    }
    let mut touched = vec![false; d.len()];
    for batch in 0..batches {
        // A times the B of each group. Sums of such integers are exact in every type.
        let rows = a.integers(batch, true);
        let times_b =
            |group: usize| integer_product((m, n, k), &rows, &b.integers(batch + group, false));
        let products: Vec<Vec<i32>> = (0..groups.map_or(1, <[u32]>::len)).map(times_b).collect();
        for row in 0..m {
            let Some(group) = group(row) else { continue };
            for col in 0..n {
                let mut expected = f64::from(alpha) * f64::from(products[group][row * n + col]);
                if beta != 0 {
                    expected += f64::from(beta) * c.at(batch, row, col);
                }
                if case.bias {
                    expected +=
                        bias[if case.bias_per_row { row } else { group * n + col }].number();
                }
                let expected = O::Acc::of(expected as i32).activate(case.activation);
                let index = c.index(batch, row, col);
                touched[index] = true;
                let (got, expected) = (d[index].number(), O::narrow(expected).number());
                assert_eq!(
                    got, expected,
                    "{}: {m}x{n}x{k}, GEMM {batch}, ({row}, {col})",
                    kernel.name
                );
            }
        }
    }
    for (index, element) in d.iter().enumerate().filter(|(index, _)| !touched[*index]) {
        assert_eq!(element.number(), 99.0, "{}: element {index} is not D's", kernel.name);
    }
}

/// Calls a macro for every combination of the elements of A and B, and of D.
macro_rules! each_element_type {
    ($call:ident $($argument:tt)*) => {
        $call!(bf16 bf16 $($argument)*);
        $call!(f16 f16 $($argument)*);
        $call!(bf16 f32 $($argument)*);
        $call!(f16 f32 $($argument)*);
        $call!(f32 f32 $($argument)*);
        $call!(f64 f64 $($argument)*);
        $call!(i8 i32 $($argument)*);
        $call!(F8E4M3 bf16 $($argument)*);
        $call!(F8E4M3 f16 $($argument)*);
        $call!(F8E4M3 f32 $($argument)*);
        $call!(F8E5M2 bf16 $($argument)*);
        $call!(F8E5M2 f16 $($argument)*);
        $call!(F8E5M2 f32 $($argument)*);
    };
}
pub(crate) use each_element_type;

/// Checks a case with each selected kernel, of which there is at least one.
macro_rules! check_kernels {
    ($input:ident $output:ident, $selects:expr, $case:expr $(, $splits:expr)?) => {
        let selects: fn(&&Kernel) -> bool = $selects;
        let any = <$input as Multiply<$output>>::KERNELS.iter().any(|kernel| selects(&kernel));
        assert!(any, "no kernel is selected");
        check_kernels_there!($input $output, selects, $case $(, $splits)?);
    };
}
pub(crate) use check_kernels;

/// The same, for an element type that may have no such kernel.
macro_rules! check_kernels_there {
    ($input:ident $output:ident, $selects:expr, $case:expr) => {
        check_kernels_there!($input $output, $selects, $case, 1)
    };
    ($input:ident $output:ident, $selects:expr, $case:expr, $splits:expr) => {
        let selects: fn(&&Kernel) -> bool = $selects;
        for kernel in <$input as Multiply<$output>>::KERNELS.iter().filter(selects) {
            check::<$input, $output>(kernel, $case, $splits);
        }
    };
}
pub(crate) use check_kernels_there;

/// Whether a kernel's tiles are small. Large tiles take the simulator long.
pub fn is_small(kernel: &&Kernel) -> bool {
    kernel.tile.m * kernel.tile.n <= 64 * 64
}
