//! GEMMs through the public interface of `ptx-matrix-gemm`.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context, Result};
use clap::ValueEnum;
use half::{bf16, f16};
use ptx_matrix::element::{F8E4M3, F8E5M2};

use crate::{Contestant, Gemms, Operands, Problem, Shape, Type};
use ptx_matrix_gemm::{
    self, Choice, Gemm, Kernel, Layout, Multiply, Order, Output, Plan, Repacked, TunedGemm,
};
use ptx_matrix_host::{DeviceBuffer, GpuDevice, Stream};

/// The splits of K that configurations can name.
const SPLITS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 24];

/// The name of these contestants.
pub(super) const NAME: &str = "gemm";
/// The configuration of the kernel that the cost model selects.
pub(super) const AUTO: &str = "auto";

/// A contestant: one kernel, or the kernel that the cost model selects.
pub(super) struct OwnGemm<'a> {
    device: &'a GpuDevice,
    choice: Option<Choice>,
    config: String,
    planned: RefCell<Option<Planned>>,
    scratch: Rc<Scratch>,
}

/// The last problem, its plan (a `Plan` of the problem's elements), and the ends of its groups.
type Planned = (Problem, Box<dyn Any>, DeviceBuffer<u32>);

/// A split-K workspace and a repack workspace, in bytes. All contestants share them, because they
/// run one after another in one stream.
#[derive(Default)]
struct Scratch([RefCell<Option<DeviceBuffer<u8>>>; 2]);

/// A buffer in the stream with at least `bytes` bytes; reallocates a smaller one.
fn room<'b>(
    buffer: &'b mut Option<DeviceBuffer<u8>>,
    stream: &Stream,
    bytes: usize,
) -> Result<&'b mut DeviceBuffer<u8>> {
    if buffer.as_ref().is_none_or(|buffer| buffer.len() < bytes || !buffer.stream().is(stream)) {
        // Frees the old buffer first.
        *buffer = None;
        *buffer = Some(stream.uninitialized(bytes.next_multiple_of(8))?);
    }
    Ok(buffer.as_mut().expect("it was made above"))
}

/// Calls `$call::<T, O>` with the elements of a type.
macro_rules! by_type {
    ($type:expr, $($call:ident).+ ($($argument:expr),*)) => {
        match $type {
            Type::Bf16 => $($call).+::<bf16, bf16>($($argument),*),
            Type::Bf16F32 => $($call).+::<bf16, f32>($($argument),*),
            Type::F16 => $($call).+::<f16, f16>($($argument),*),
            Type::F16F32 => $($call).+::<f16, f32>($($argument),*),
            Type::Tf32 => $($call).+::<f32, f32>($($argument),*),
            Type::F64 => $($call).+::<f64, f64>($($argument),*),
            Type::S8 => $($call).+::<i8, i32>($($argument),*),
            Type::E4m3 | Type::E4m3Fast => $($call).+::<F8E4M3, bf16>($($argument),*),
            Type::E4m3F16 => $($call).+::<F8E4M3, f16>($($argument),*),
            Type::E4m3F32 | Type::E4m3F32Fast => $($call).+::<F8E4M3, f32>($($argument),*),
            Type::E5m2 | Type::E5m2Fast => $($call).+::<F8E5M2, bf16>($($argument),*),
            Type::E5m2F16 => $($call).+::<F8E5M2, f16>($($argument),*),
            Type::E5m2F32 | Type::E5m2F32Fast => $($call).+::<F8E5M2, f32>($($argument),*),
        }
    };
}

fn kernels<T: Multiply<O>, O: Output>() -> &'static [Kernel] {
    T::KERNELS
}

fn gemm<T: Multiply<O>, O: Output>(problem: &Problem) -> Gemm<T, O> {
    let Shape { m, n, k } = problem.shape;
    let layout = |order, rows, cols| match order {
        Order::RowMajor => Layout::row_major(cols),
        Order::ColMajor => Layout::col_major(rows),
    };
    let (a, b) = (layout(problem.layout.a(), m, k), layout(problem.layout.b(), k, n));
    let gemm = Gemm::new(m, n, k).a(a.batch_stride(m * k)).b(b.batch_stride(k * n));
    let gemm = gemm.d(Layout::row_major(n).batch_stride(m * n));
    let gemm = gemm.workspace_up_to(usize::MAX).repack_workspace_up_to(usize::MAX);
    let gemm = if problem.ty.is_fast() { gemm.fast_accumulation() } else { gemm };
    match problem.gemms {
        Gemms::One => gemm,
        Gemms::Batch(count) => gemm.batches(count),
        Gemms::Groups(count) => gemm.groups(count),
    }
}

/// The problem with a choice, as [`Tuned`](ptx_matrix_gemm::Tuned) stores it. Without one, it is
/// that of the cost model.
pub(super) fn tuned(
    device: &GpuDevice,
    problem: &Problem,
    choice: Option<Choice>,
) -> Option<TunedGemm> {
    fn of<T: Multiply<O>, O: Output>(
        device: &GpuDevice,
        problem: &Problem,
        choice: Option<Choice>,
    ) -> Option<TunedGemm> {
        let gemm = gemm::<T, O>(problem);
        let by_cost_model = || gemm.plan(device).ok()?.choice();
        Some(gemm.tuned_gemm(choice.or_else(by_cost_model)?))
    }
    by_type!(problem.ty, of(device, problem, choice))
}

impl<'a> OwnGemm<'a> {
    /// The contestant with the selected kernel, and one for each kernel.
    pub(super) fn all(device: &'a GpuDevice) -> Vec<Self> {
        let scratch = Rc::<Scratch>::default();
        let with = |choice: Option<Choice>| {
            let config = choice.as_ref().map_or_else(|| AUTO.to_owned(), Choice::to_string);
            Self { device, choice, config, planned: RefCell::default(), scratch: scratch.clone() }
        };
        // Types with fast accumulation use kernels of the same elements.
        let types = Type::value_variants().iter().filter(|ty| !ty.is_fast());
        let kernels = types.flat_map(|&ty| by_type!(ty, kernels()));
        let choices = kernels.flat_map(|kernel| {
            let with_copies = |k_splits| {
                Repacked::ALL.map(|repacked| Choice {
                    kernel: kernel.name.to_owned(),
                    k_splits,
                    repacked,
                })
            };
            SPLITS.into_iter().flat_map(with_copies)
        });
        [None].into_iter().chain(choices.map(Some)).map(with).collect()
    }

    fn gemm<T: Multiply<O>, O: Output>(&self, problem: &Problem) -> Gemm<T, O> {
        let gemm = gemm(problem);
        match &self.choice {
            Some(choice) => gemm.choose(choice.clone()),
            None => gemm,
        }
    }

    fn can<T: Multiply<O>, O: Output>(&self, problem: &Problem) -> bool {
        self.gemm::<T, O>(problem).plan(self.device).is_ok()
    }

    fn run_as<T: Multiply<O>, O: Output>(
        &self,
        stream: &Stream,
        problem: &Problem,
        operands: &mut Operands,
    ) -> Result<()> {
        let queue = self.device.in_stream(stream);
        let mut planned = self.planned.borrow_mut();
        if planned.as_ref().is_none_or(|(of, ..)| of != problem) {
            let plan = self.gemm::<T, O>(problem).plan(&queue)?;
            *planned = Some((*problem, Box::new(plan), stream.upload(&problem.ends())?));
        }
        let (_, plan, ends) = planned.as_mut().expect("it was planned above");
        let plan: &Plan<T, O> = plan.downcast_ref().context("a plan of another type")?;
        let (a, b, d) = (operands.a.cast_ref(), operands.b.cast_ref(), operands.d.cast_mut());
        let [mut workspace, mut copies] = self.scratch.0.each_ref().map(RefCell::borrow_mut);
        let workspace = room(&mut workspace, stream, plan.workspace_len() * size_of::<O::Acc>())?;
        let copies = room(&mut copies, stream, plan.repack_workspace_len() * size_of::<T>())?;
        let operands = ptx_matrix_gemm::Operands::new(&queue, a, b, d)
            .workspace(workspace.cast_mut())
            .repack_workspace(copies.cast_mut());
        plan.run(if let Gemms::Groups(_) = problem.gemms {
            operands.group_ends(ends)
        } else {
            operands
        })?;
        Ok(())
    }
}

impl Contestant for OwnGemm<'_> {
    fn name(&self) -> &str {
        NAME
    }

    fn config(&self) -> &str {
        &self.config
    }

    fn by_default(&self) -> bool {
        self.choice.is_none()
    }

    fn supports(&self, problem: &Problem) -> bool {
        by_type!(problem.ty, self.can(problem))
    }

    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        by_type!(problem.ty, self.run_as(stream, problem, operands))
    }
}
