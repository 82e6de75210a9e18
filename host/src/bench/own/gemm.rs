//! Products through the interface that users call.

use std::any::Any;
use std::cell::RefCell;

use anyhow::{Context, Result};
use half::{bf16, f16};

use crate::bench::{Contestant, Operands, Problem, Shape, Type};
use crate::gemm::{self, Choice, Gemm, GemmElement, Layout, Order, Plan};
use crate::{DeviceBuffer, GpuDevice, Stream};

/// In how many parts K is cut, among what can be asked for by name.
const PARTS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, 24];

/// The contestants' name.
pub(super) const NAME: &str = "gemm";
/// The configuration that the rule chooses.
pub(super) const BY_RULE: &str = "auto";

/// By one kernel, or by the one that the rule chooses.
pub(super) struct Product<'a> {
    device: &'a GpuDevice,
    choice: Option<Choice>,
    config: String,
    planned: RefCell<Option<Planned>>,
}

/// The problem that ran last, its plan, a `Plan` of the problem's elements, and the workspace.
type Planned = (Problem, Box<dyn Any>, DeviceBuffer<f32>);

impl<'a> Product<'a> {
    /// By what the rule chooses, and by each kernel.
    pub(super) fn all(device: &'a GpuDevice) -> Vec<Self> {
        let with = |choice: Option<Choice>| {
            let config = choice.as_ref().map_or_else(|| BY_RULE.to_owned(), Choice::to_string);
            Self { device, choice, config, planned: RefCell::default() }
        };
        let kernels = <bf16 as GemmElement>::KERNELS.iter().chain(<f16 as GemmElement>::KERNELS);
        let choices = kernels.flat_map(|kernel| {
            let parts = PARTS.into_iter().filter(|&parts| parts == 1 || kernel.splits);
            parts.map(|parts| Some(Choice { kernel: kernel.name.to_owned(), parts }))
        });
        [None].into_iter().chain(choices).map(with).collect()
    }

    fn gemm<T: GemmElement>(&self, problem: &Problem) -> Gemm<T> {
        let Shape { m, n, k } = problem.shape;
        let layout = |order, rows, cols| match order {
            Order::RowMajor => Layout::row_major(cols),
            Order::ColMajor => Layout::col_major(rows),
        };
        let (a, b) = (layout(problem.layout.a(), m, k), layout(problem.layout.b(), k, n));
        let gemm = Gemm::new(m, n, k).a(a).b(b).workspace_up_to(usize::MAX);
        match &self.choice {
            Some(choice) => gemm.choose(choice.clone()),
            None => gemm,
        }
    }

    fn run_as<T: GemmElement>(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        let queue = self.device.in_stream(stream);
        let mut planned = self.planned.borrow_mut();
        if planned.as_ref().is_none_or(|(of, ..)| of != problem) {
            let plan = self.gemm::<T>(problem).plan(&queue)?;
            let workspace = stream.uninitialized(plan.workspace_len())?;
            *planned = Some((*problem, Box::new(plan), workspace));
        }
        let (_, plan, workspace) = planned.as_mut().expect("it was planned above");
        let plan: &Plan<T> = plan.downcast_ref().context("a plan of another type")?;
        let (a, b, d) = (operands.a.cast_ref(), operands.b.cast_ref(), operands.d.cast_mut());
        plan.run(gemm::Operands::new(&queue, a, b, d).workspace(workspace))?;
        Ok(())
    }
}

impl Contestant for Product<'_> {
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
        match problem.ty {
            Type::Bf16 => self.gemm::<bf16>(problem).plan(self.device).is_ok(),
            Type::F16 => self.gemm::<f16>(problem).plan(self.device).is_ok(),
            _ => false,
        }
    }

    fn run(&self, stream: &Stream, problem: &Problem, operands: &mut Operands) -> Result<()> {
        if problem.ty == Type::Bf16 {
            self.run_as::<bf16>(stream, problem, operands)
        } else {
            self.run_as::<f16>(stream, problem, operands)
        }
    }
}
