//! A checked GEMM with its kernel, and its launches.

use crate::kernels::repack::Repack;
use crate::kernels::{Buffers, ClusterAlong, GemmLaunch, Kernel, Multiply, Number, Output};
use crate::parts::{MatrixArgs, ProblemShape};
use ptx_matrix::element::Element;
use ptx_matrix::launch::Device;

use super::layout::{Matrices, Operand};
use super::select::Candidate;
use super::slices::{Launched, Launches, OnSlices, Slice};
use super::{Choice, Gemm, GemmDevice, GemmError, Refusal};

/// Bytes of one vectorized copy, where rows or columns are aligned to it and can be read whole.
pub(super) const CHUNK: usize = 16;

/// Elements of a row or column of A or B that a kernel reads in one piece, the last piece included.
pub(super) fn piece<T>(kernel: &Kernel) -> usize {
    if kernel.alignment == CHUNK { CHUNK / size_of::<T>() } else { 1 }
}

/// A checked [`Gemm`], with the selected kernel. It can run any number of times, also on other
/// devices of the same kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<T, O: Output = T> {
    /// The GEMM with a row-major D.
    pub(super) gemm: Gemm<T, O>,
    /// Whether the caller's D is column-major.
    pub(super) transposed: bool,
    /// None where nothing is multiplied.
    pub(super) candidate: Option<Candidate>,
    /// The direction in which the blocks of a cluster have adjacent tiles.
    pub(super) cluster_along: ClusterAlong,
    pub(super) workspace_len: usize,
    pub(super) repack_workspace_len: usize,
}

/// The device and the buffers of a GEMM.
#[allow(missing_debug_implementations, reason = "buffers of any device")]
pub struct Operands<'a, D: Device, T: Element, O: Output = T> {
    device: &'a D,
    a: &'a D::Buffer<T>,
    b: &'a D::Buffer<T>,
    c: Option<C<'a, D::Buffer<O>>>,
    bias: Option<&'a D::Buffer<O>>,
    ends: Option<&'a D::Buffer<u32>>,
    d: &'a mut D::Buffer<O>,
    workspace: Option<&'a mut D::Buffer<O::Acc>>,
    repack_workspace: Option<&'a mut D::Buffer<T>>,
}

/// The place of C.
enum C<'a, B: ?Sized> {
    /// In a buffer of its own.
    Apart(&'a B),
    /// In the buffer of D.
    D,
}

impl<'a, D: Device, T: Element, O: Output> Operands<'a, D, T, O> {
    /// The buffers of A, B and D on a device.
    pub fn new(
        device: &'a D,
        a: &'a D::Buffer<T>,
        b: &'a D::Buffer<T>,
        d: &'a mut D::Buffer<O>,
    ) -> Self {
        Self {
            device,
            a,
            b,
            c: None,
            bias: None,
            ends: None,
            d,
            workspace: None,
            repack_workspace: None,
        }
    }

    /// Sets C, which has the layout of D. It needs a scale: [`Gemm::beta`].
    pub fn c(self, c: &'a D::Buffer<O>) -> Self {
        Self { c: Some(C::Apart(c)), ..self }
    }

    /// Uses D as C: D = f(alpha A x B + beta D + bias), in place. It needs a scale: [`Gemm::beta`].
    ///
    /// Every kernel supports it, also with split-K, batches, groups and repacked operands. Each
    /// element of D is read before it is written. Elements around D keep their values.
    ///
    /// ```
    /// use ptx_matrix::{launch::Device, sim::Simulator};
    /// use ptx_matrix_gemm::{Gemm, Operands};
    ///
    /// // Gradients of three steps are accumulated.
    /// let device = Simulator::default();
    /// let (a, b) = (device.upload(&[1.0f32; 20 * 24])?, device.upload(&[0.5f32; 24 * 16])?);
    /// let mut gradient = device.upload(&[1.0f32; 20 * 16])?;
    /// let plan = Gemm::<f32>::new(20, 16, 24).beta(1.0).plan(&device)?;
    /// for _ in 0..3 {
    ///     plan.run(Operands::new(&device, &a, &b, &mut gradient).c_is_d())?;
    /// }
    /// assert_eq!(gradient, [1.0 + 3.0 * 12.0; 20 * 16]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn c_is_d(self) -> Self {
        Self { c: Some(C::D), ..self }
    }

    /// Sets the bias. It has one element for each column of D, or, with
    /// [`bias_per_row`](Gemm::bias_per_row), for each row. A [grouped GEMM](Gemm::groups) has a
    /// bias for each group: N elements each, contiguous.
    pub fn bias(self, bias: &'a D::Buffer<O>) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// Sets the ends of the [groups](Gemm::groups): one row past the last of each group, where the
    /// next begins. There are as many ends as groups. Rows after the last group belong to none: D
    /// keeps its elements there.
    ///
    /// The GEMM reads the ends when it runs. An end less than its predecessor counts as its
    /// predecessor. An end beyond the last row counts as the last row. So nothing but D is written,
    /// whatever the ends are.
    pub fn group_ends(self, ends: &'a D::Buffer<u32>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Sets the workspace: [`Plan::workspace_len`] accumulators. Its contents do not matter before,
    /// and are undefined after.
    pub fn workspace(self, workspace: &'a mut D::Buffer<O::Acc>) -> Self {
        Self { workspace: Some(workspace), ..self }
    }

    /// Sets the repacking workspace: [`Plan::repack_workspace_len`] elements. Its contents do not
    /// matter before, and are undefined after.
    pub fn repack_workspace(self, workspace: &'a mut D::Buffer<T>) -> Self {
        Self { repack_workspace: Some(workspace), ..self }
    }
}

impl<T: Multiply<O>, O: Output> Plan<T, O> {
    /// The kernel, the operands that are repacked, and the splits of K; none where A and B are not
    /// multiplied.
    pub fn choice(&self) -> Option<Choice> {
        self.candidate.map(Candidate::choice)
    }

    /// The direction in which the tiles of a cluster are adjacent, in the GEMM with a row-major D.
    /// The blocks of a cluster share the tile of one operand, by multicast. It does not matter for
    /// a kernel without clusters.
    ///
    /// ```
    /// use ptx_matrix::{element::bf16, sim::Simulator};
    /// use ptx_matrix_gemm::{Choice, Gemm, kernels::ClusterAlong};
    ///
    /// // With few columns, few clusters load each row of A: so A is multicast.
    /// let gemm = Gemm::<bf16>::new(8192, 128, 8192);
    /// let plan = gemm
    ///     .choose(Choice::new("sm90_bf16_nn_80x64x64_swap_c2", 1))
    ///     .plan(&Simulator::default())?;
    /// assert_eq!(plan.cluster_along(), ClusterAlong::N);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cluster_along(&self) -> ClusterAlong {
        self.cluster_along
    }

    /// The number of accumulators of workspace (`f32`; for f64, `f64`; for s8, `i32`); 0 without
    /// split-K.
    pub fn workspace_len(&self) -> usize {
        self.workspace_len
    }

    /// The number of elements of repacked A and B; 0 without repacking.
    pub fn repack_workspace_len(&self) -> usize {
        self.repack_workspace_len
    }

    /// Checks the buffers and runs the GEMM: at once, or, on a device that is a stream, in stream
    /// order. It allocates no memory.
    ///
    /// Returns the reports of the launches: the repacking, if any; the GEMM; with split-K, the
    /// reduction. Without elements of D there are no launches.
    pub fn run<D: GemmDevice>(
        &self,
        operands: Operands<'_, D, T, O>,
    ) -> Result<Vec<D::Report>, GemmError<D::Error>> {
        self.check(&operands)?;
        let gemm = &self.gemm;
        if gemm.elements_of_d() == 0 {
            return Ok(Vec::new());
        }
        let Operands { device, a, b, c, bias, ends, d, workspace, repack_workspace } = operands;
        let (a, b) = if self.transposed { (b, a) } else { (a, b) };
        let launches = Launches::new(device);
        let d = launches.write(d);
        let c = match c {
            Some(C::Apart(c)) => launches.read(c),
            Some(C::D) => d.in_place(),
            None => Slice::empty(),
        };
        let buffers = Buffers {
            a: launches.read(a),
            b: launches.read(b),
            c,
            bias: bias.map_or_else(Slice::empty, |bias| launches.read(bias)),
            group_ends: ends.map_or_else(Slice::empty, |ends| launches.read(ends)),
            d,
            partials: match workspace {
                Some(workspace) if self.workspace_len > 0 => launches.write(workspace),
                _ => Slice::empty(),
            },
        };
        let repacked =
            repack_workspace.map_or_else(Slice::empty, |workspace| launches.write(workspace));
        let launch = self.launch_arguments(device.multiprocessors());
        // SAFETY: all slices are of these launches. Kernels write D, the partial accumulators and
        // the repacked operands, which are from `write`. They read the elements of C in a tile of D
        // before they store the tile. The same thread stores, or a sync comes between. For a TMA
        // load, the threads wait. They store each element of D by TMA or by threads.
        let on = unsafe { launches.on() };
        let launched = self.launch_all(&on, buffers, repacked, launch);
        Ok(launches.finish(launched)?)
    }

    /// Launches the repacking, the GEMM and the reduction of split-K, as far as they are needed.
    fn launch_all<'b>(
        &self,
        on: &OnSlices<'b>,
        buffers: Buffers<'b, T, O>,
        mut repacked_to: Slice<'b, T>,
        mut launch: GemmLaunch<O::Acc>,
    ) -> Launched {
        let gemm = &self.gemm;
        let Some(Candidate { kernel, repacked, .. }) = self.candidate else {
            launch.splits = 0;
            return T::reduce(on, &mut { buffers }, &launch);
        };
        if !repacked.is_none() {
            let (as_they_lie, operands) = (gemm.matrices(), gemm.operands(kernel, repacked));
            let [of_a, of_b] = Operand::BOTH.map(|of| match repacked.has(of) {
                true => {
                    repack(as_they_lie[of as usize], operands[of as usize], CHUNK / size_of::<T>())
                }
                false => Repack::default(),
            });
            T::repack(on, (&buffers.a, of_a), (&buffers.b, of_b), &mut repacked_to)?;
        }
        let mut buffers = Buffers {
            a: if repacked.has(Operand::A) { repacked_to.read() } else { buffers.a },
            b: if repacked.has(Operand::B) { repacked_to.read() } else { buffers.b },
            ..buffers
        };
        T::launch(on, kernel, &mut buffers, &launch)?;
        if launch.splits > 1 {
            T::reduce(on, &mut buffers, &launch)?;
        }
        Ok(())
    }

    fn check<D: GemmDevice>(&self, operands: &Operands<'_, D, T, O>) -> Result<(), Refusal> {
        let at_least_with = |buffer, given, (needed, padding)| {
            if given < needed {
                Err(Refusal::TooShort { buffer, given, needed, padding })
            } else {
                Ok(())
            }
        };
        let at_least = |buffer, given, needed| at_least_with(buffer, given, (needed, 0));
        let Operands { device, a, b, c, bias, ends, d, workspace, repack_workspace } = operands;
        let gemm = &self.gemm;
        let [of_a, of_b, of_d] = gemm.matrices();
        if let Some(Candidate { kernel, repacked, .. }) = self.candidate {
            let buffers = match self.transposed {
                false => [("A", *a, Operand::A), ("B", *b, Operand::B)],
                true => [("A", *a, Operand::B), ("B", *b, Operand::A)],
            };
            for (buffer, matrix, of) in buffers {
                let alignment = if repacked.has(of) { size_of::<T>() } else { kernel.alignment };
                check_alignment(*device, buffer, device.slice(matrix).0, alignment)?;
            }
            if let Some(workspace) = repack_workspace {
                let start = device.slice(&**workspace).0;
                let alignment = if repacked.is_none() { size_of::<T>() } else { 16 };
                check_alignment(*device, "the workspace for repacking", start, alignment)?;
            }
            let needed = |of: Operand, matrix: Matrices| {
                let needed = matrix.extent(if repacked.has(of) { 1 } else { piece::<T>(kernel) });
                (needed, needed - matrix.extent(1))
            };
            let needed = [needed(Operand::A, of_a), needed(Operand::B, of_b)];
            let [of_a, of_b] = if self.transposed { [needed[1], needed[0]] } else { needed };
            at_least_with("A", device.slice(*a).1, of_a)?;
            at_least_with("B", device.slice(*b).1, of_b)?;
        }
        at_least("D", device.slice(&**d).1, of_d.extent(1))?;
        match (c, gemm.beta) {
            (Some(_), None) => return Err(Refusal::NoBeta),
            (None, Some(beta)) if beta != O::Acc::ZERO => {
                return Err(Refusal::NoC { beta: beta.to_string() });
            }
            (Some(C::Apart(c)), Some(beta)) if beta != O::Acc::ZERO => {
                at_least("C", device.slice(*c).1, of_d.extent(1))?;
            }
            _ => {}
        }
        if let Some(bias) = bias {
            let of_cols = gemm.n * gemm.groups.unwrap_or(1);
            at_least(
                "the bias",
                device.slice(*bias).1,
                if gemm.bias_per_row { gemm.m } else { of_cols },
            )?;
        }
        match (gemm.groups, ends) {
            (None, None) => {}
            (None, Some(_)) => {
                let reason = "there are ends, and no groups: set `groups`, or give no ends";
                return Err(Refusal::Groups { reason });
            }
            (Some(_), None) => {
                let reason = "nothing says where the groups end: give `group_ends`";
                return Err(Refusal::Groups { reason });
            }
            (Some(groups), Some(ends)) => {
                let given = device.slice(*ends).1;
                if given != groups {
                    return Err(Refusal::GroupEnds { given, groups });
                }
            }
        }
        let workspace = workspace.as_ref().map_or(0, |workspace| device.slice(&**workspace).1);
        at_least("the workspace", workspace, self.workspace_len())?;
        let given = repack_workspace.as_ref().map_or(0, |workspace| device.slice(&**workspace).1);
        at_least("the workspace for repacking", given, self.repack_workspace_len())
    }

    /// The sizes, layouts and scalars of all launches.
    fn launch_arguments(&self, sms: u32) -> GemmLaunch<O::Acc> {
        let Gemm { m, n, k, batches, groups, alpha, beta, bias_per_row, activation, .. } =
            self.gemm;
        let splits = self.candidate.map_or(1, |candidate| candidate.k_splits);
        let step = self.candidate.map_or(1, |candidate| candidate.kernel.tile.k);
        let [a, b, d] = self.gemm.matrices();
        let tma_store = self.gemm.tma_stores_d(d);
        let [a, b] = self
            .candidate
            .map_or([a, b], |candidate| self.gemm.operands(candidate.kernel, candidate.repacked));
        let [a, b, d] = [a, b, d].map(|matrix| MatrixArgs {
            offset: matrix.layout.start,
            batch_stride: matrix.layout.batch_stride,
            ld: matrix.layout.stride_of(matrix.size) as u32,
            row_major: matrix.layout.is_row_major(),
        });
        let shape = ProblemShape {
            m: m as u32,
            n: n as u32,
            k: k as u32,
            batches: batches as u32,
            k_per_split: k.div_ceil(splits).next_multiple_of(step) as u32,
            cluster_along_n: self.cluster_along == ClusterAlong::N,
        };
        GemmLaunch {
            shape,
            splits: splits as u32,
            groups: groups.unwrap_or(0) as u32,
            a,
            b,
            d,
            alpha,
            beta: beta.unwrap_or(O::Acc::ZERO),
            bias_per_row,
            activation,
            tma_store,
            sms,
        }
    }
}

/// Refuses a buffer whose address is not a multiple of `alignment` bytes.
fn check_alignment<D: GemmDevice, T>(
    device: &D,
    buffer: &'static str,
    start: *mut T,
    alignment: usize,
) -> Result<(), Refusal> {
    match device.beyond_16_bytes(start.cast()).is_multiple_of(alignment) {
        true => Ok(()),
        false => Err(Refusal::Misaligned { buffer, address: start.addr(), alignment }),
    }
}

/// How a matrix is repacked: its rows or columns are padded to a multiple of `multiple` elements.
fn repack(from: Matrices, to: Matrices, multiple: usize) -> Repack {
    let (lines, length) = from.layout.lines(from.size);
    Repack {
        offset: from.layout.start,
        offset_to: to.layout.start,
        batch_stride: from.layout.batch_stride,
        batch_stride_to: to.layout.batch_stride,
        count: from.different() as u32,
        lines: lines as u32,
        length: length as u32,
        length_to: to.layout.lines(to.size).1.next_multiple_of(multiple) as u32,
        ld: from.layout.stride_of(from.size) as u32,
        ld_to: to.layout.stride as u32,
        transposes: from.layout.order != to.layout.order,
    }
}
