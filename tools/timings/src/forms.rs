//! The forms to measure, each with its two kernels.

use ptx_matrix::fragment::Shape;
use ptx_matrix::launch::Device;
use ptx_matrix::{mma_forms, mma_named, mma_ptx, mma_shape};
use ptx_matrix_timing_kernels::ROUND;
use ptx_matrix_timing_kernels::matrices::*;
use ptx_matrix_timing_kernels::multiply::*;
use ptx_matrix_timing_kernels::{timed_loads, timed_stores};

/// A form to measure on devices of type `D`.
#[derive(Debug)]
pub struct Form<D: Device> {
    /// The instruction, as in PTX.
    pub ptx: &'static str,
    /// The number of a matrix's rows in the same bank, for instructions that access shared memory.
    pub ways: Option<u32>,
    /// The work of one instruction.
    pub work: Work,
    /// One warp with a chain of dependent instructions.
    pub(super) latency: Run<D>,
    /// Warps with several instructions in flight.
    pub(super) throughput: Run<D>,
}

/// The work of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Moves this many bytes.
    Bytes(usize),
    /// Multiplies and adds: two operations for each product.
    Operations(usize),
}

/// A kernel that executes an instruction in a loop.
pub struct Run<D: Device> {
    /// Instructions of a warp in a round.
    pub(super) per_round: usize,
    /// Launches the kernel, with `clocks`, `out` and `rounds`.
    pub(super) launch: Launch<D>,
}

type Launch<D> = Box<
    dyn Fn(
        &D,
        &mut <D as Device>::Buffer<u64>,
        &mut <D as Device>::Buffer<u32>,
        u32,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>,
>;

impl<D: Device> std::fmt::Debug for Run<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("per_round", &self.per_round).finish_non_exhaustive()
    }
}

/// A kernel, its instructions in a round, and its arguments after `clocks`, `out` and `rounds`.
macro_rules! run {
    ($kernel:ident, $per_round:expr $(, $argument:expr)*) => {
        Run {
            per_round: $per_round,
            launch: Box::new(move |device, clocks, out, rounds| {
                $kernel::launch(device, 1, clocks, out, rounds $(, $argument)*)
            }),
        }
    };
}

/// Every form. A form that accesses shared memory occurs once for each number of rows in the same
/// bank.
pub fn all<D: Device + 'static>() -> Vec<Form<D>> {
    let mut forms = Vec::new();
    macro_rules! loads {
        ($($latency:ident $throughput:ident $load:ident $ptx:literal $trans:literal;)*) => {$(
            for (stride, ways) in STRIDES {
                forms.push(Form {
                    ptx: $ptx,
                    ways: Some(ways),
                    work: Work::Bytes(128 * matrices($ptx)),
                    latency: run!($latency, ROUND, stride),
                    throughput: run!($throughput, ROUND, stride, 0),
                });
            }
        )*};
    }
    timed_loads!(loads);
    macro_rules! stores {
        ($($latency:ident $throughput:ident $store:ident $load:ident $ptx:literal
            $matrices:literal;)*) => {$(
            for (stride, ways) in STRIDES {
                forms.push(Form {
                    ptx: $ptx,
                    ways: Some(ways),
                    work: Work::Bytes(128 * $matrices),
                    latency: run!($latency, ROUND, stride),
                    throughput: run!($throughput, ROUND, stride, 0),
                });
            }
        )*};
    }
    timed_stores!(stores);
    forms.push(Form {
        ptx: "movmatrix.sync.aligned.m8n8.trans.b16",
        ways: None,
        work: Work::Bytes(128),
        latency: run!(latency_mov_trans, ROUND),
        throughput: run!(time_mov_trans, ROUND),
    });
    macro_rules! of_each_mma {
        ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
            $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
            mma_named! { $q $shape $la $lb $d $a $b $c => of_each_mma ($nature
                [mma_ptx!($q $shape $la $lb $d $a $b $c)] [mma_shape!($shape $la $lb $a)]) }
        )*)*};
        (@named $kernel:ident (absent $($rest:tt)*)) => {};
        (@named $kernel:ident ($nature:ident [$ptx:expr] [$s:ty])) => {
            forms.push(Form {
                ptx: $ptx,
                ways: None,
                work: Work::Operations(2 * <$s>::COUNT * <$s>::M * <$s>::N * <$s>::K),
                latency: pastey::paste!(run!([<latency_ $kernel>], PRODUCTS, 0)),
                throughput: pastey::paste!(run!([<time_ $kernel>], PRODUCTS, 0)),
            });
        };
    }
    mma_forms!(of_each_mma);
    forms
}

/// The number of matrices: that of `.x1`, `.x2` or `.x4`.
fn matrices(ptx: &str) -> usize {
    let count = ptx.split('.').find_map(|part| part.strip_prefix('x')?.parse().ok());
    count.expect("a form that says how many")
}
