//! The checks, with a file for each family of instructions.

mod approx;
mod arithmetic;
mod async_stores;
mod atomics;
mod attention;
mod barriers;
mod bulk;
mod cached;
mod clusters;
mod copies;
mod fragments;
mod im2col;
mod matrices;
mod multiply;
mod multiply_sparse;
mod pairs;
mod products;
mod reductions;
mod shuffles;
mod tensors;
mod wgmma;
mod wgmma_sparse;

pub(super) use multiply_sparse::word as metadata;

use super::Buffers;
use super::compare::difference;
use super::data::Rng;
use bytemuck::Pod;
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_host::GpuDevice;
use std::borrow::{Borrow, BorrowMut};
use std::iter::zip;

/// A kernel with its data and its reference.
pub struct Check<D: Device> {
    /// The name: an instruction as in PTX with the kind of data, or the name of a kernel.
    pub name: String,
    /// The requirements of the kernel on the GPU.
    pub needs: Needs,
    /// The number of seeds in a run.
    pub rounds: u64,
    /// Bytes of an output element, for reports.
    pub element: usize,
    /// Draws the input.
    pub inputs: Inputs,
    /// Runs the kernel on an input. Returns the output.
    pub run: RunOn<D>,
    /// The expected output for an input.
    pub reference: Reference,
    /// The output by the simulator's arithmetic. It is present only in checks that also accept the
    /// concatenated inputs of several rounds.
    pub arithmetic: Option<Reference>,
    /// Names of the output elements.
    pub labels: Option<Labels>,
}

impl<D: Device> Check<D> {
    /// The difference from the expected output: the first wrong element and the number of wrong
    /// elements, for the whole output or for each group.
    pub(super) fn difference(
        &self,
        inputs: &Buffers,
        expected: &[u8],
        output: &[u8],
    ) -> Option<String> {
        let element = self.element;
        let whole = || difference(expected, output, element).map(|(_, text)| text);
        let Some(Labels { group, label }) = &self.labels else { return whole() };
        if expected.len() != output.len() {
            return whole();
        }
        let groups = zip(expected.chunks(group * element), output.chunks(group * element));
        let lines = groups.enumerate().filter_map(|(index, (expected, output))| {
            let (first, text) = difference(expected, output, element)?;
            Some(format!("{}: {text}", label(inputs, index * group + first)))
        });
        Some(lines.collect::<Vec<_>>().join("\n")).filter(|lines| !lines.is_empty())
    }
}

/// Names of output elements, for outputs in which the index alone says too little.
pub struct Labels {
    /// Elements in a group. A message names the first difference of each group.
    pub group: usize,
    /// The name of an element.
    pub label: Label,
}

/// The name of an element, from the inputs and its index.
pub type Label = Box<dyn Fn(&Buffers, usize) -> String + Send + Sync>;

/// Draws the input of a kernel.
pub type Inputs = Box<dyn Fn(&mut Rng) -> Buffers + Send + Sync>;

/// The expected output of a kernel.
pub type Reference = Box<dyn Fn(&Buffers) -> Vec<u8> + Send + Sync>;

/// Runs a kernel on a device.
pub type RunOn<D> =
    Box<dyn Fn(&D, &Buffers) -> Result<Vec<u8>, <D as Device>::Error> + Send + Sync>;

/// A device that runs the checks.
pub trait Checked: Device + Sized + 'static {
    /// All checks, with the arithmetic of a GPU.
    fn checks(gpu: Arch) -> Vec<Check<Self>>;
}

// For two devices only, so that the checks are compiled once, in this crate.

impl Checked for Simulator {
    fn checks(gpu: Arch) -> Vec<Check<Self>> {
        all(gpu)
    }
}

impl Checked for GpuDevice {
    fn checks(gpu: Arch) -> Vec<Check<Self>> {
        all(gpu)
    }
}

fn all<D: Device + 'static>(gpu: Arch) -> Vec<Check<D>> {
    let families = [
        matrices::checks(),
        multiply::checks(gpu),
        multiply_sparse::checks(gpu),
        fragments::checks(),
        copies::checks(gpu),
        barriers::checks(),
        bulk::checks(),
        reductions::checks(),
        atomics::checks(),
        shuffles::checks(),
        tensors::checks(),
        im2col::checks(),
        wgmma::checks(),
        wgmma_sparse::checks(),
        clusters::checks(),
        async_stores::checks(),
        approx::checks(),
        pairs::checks(),
        arithmetic::checks(),
        attention::checks(),
        cached::checks(),
        products::checks(gpu),
    ];
    families.into_iter().flatten().collect()
}

/// Runs a kernel with an output of `len` elements. The output is filled with ones (0xff bytes)
/// before, so an element that the kernel does not write is not right by chance.
fn with_output<D: Device + 'static, T: Pod>(
    device: &D,
    len: usize,
    launch: impl FnOnce(&mut D::Buffer<T>) -> Result<D::Report, D::Error>,
) -> Result<Vec<u8>, D::Error> {
    let mut out = poisoned::<D, T>(device, len)?;
    launch(out.borrow_mut())?;
    download::<D, T>(device, out.borrow())
}

// Separate functions, because there are hundreds of launches.

/// A buffer of `len` elements whose bytes are ones.
fn poisoned<D: Device + 'static, T: Pod>(device: &D, len: usize) -> Result<D::Owned<T>, D::Error> {
    upload::<D, T>(device, &vec![0xff; len * size_of::<T>()])
}

/// Copies a buffer from the device.
fn download<D: Device + 'static, T: Pod>(
    device: &D,
    buffer: &D::Buffer<T>,
) -> Result<Vec<u8>, D::Error> {
    Ok(super::bytes(&device.download(buffer)?))
}

/// Copies a buffer to the device.
fn upload<D: Device + 'static, T: Pod>(device: &D, buffer: &[u8]) -> Result<D::Owned<T>, D::Error> {
    device.upload(&super::elements::<T>(buffer))
}
