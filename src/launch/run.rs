//! The launch of a kernel, which the launch functions of `#[kernel]` call.

use super::{Device, KernelInfo, KernelParam, Launch, Params};
use crate::engine::{Binding, NameByte};
use crate::lane::Grid;
use crate::scope::Block;

/// The parameters of a kernel, except shared memory, as nested pairs: `(A, (B, ()))`.
pub trait KernelParams {
    /// The parameters in a kernel that runs during `'k`.
    type In<'k>: Copy;
    /// The arguments that the host passes for them, for a launch on `D`.
    type Host<'h, D: Device + 'h>;

    /// Makes the parameters, which have these names, from the host's arguments.
    fn bind<'h, D: Device + 'h>(
        device: &D,
        host: Self::Host<'h, D>,
        names: &[&'static str],
    ) -> Self::In<'h>;

    /// Appends their PTX parameters.
    fn values(bound: Self::In<'_>, into: &mut Params);
}

impl KernelParams for () {
    type In<'k> = ();
    type Host<'h, D: Device + 'h> = ();

    fn bind<'h, D: Device + 'h>(_: &D, (): (), _: &[&'static str]) {}

    fn values((): (), _: &mut Params) {}
}

impl<P: KernelParam, Rest: KernelParams> KernelParams for (P, Rest) {
    type In<'k> = (P::In<'k>, Rest::In<'k>);
    type Host<'h, D: Device + 'h> = (P::Host<'h, D>, Rest::Host<'h, D>);

    fn bind<'h, D: Device + 'h>(
        device: &D,
        (host, rest): Self::Host<'h, D>,
        names: &[&'static str],
    ) -> Self::In<'h> {
        (P::bind(device, host, names[0]), Rest::bind(device, rest, &names[1..]))
    }

    fn values((bound, rest): Self::In<'_>, into: &mut Params) {
        P::values(bound, into);
        Rest::values(rest, into);
    }
}

/// A kernel with parameters `P`, as `#[kernel]` describes it.
pub struct KernelEntry<P: KernelParams> {
    /// Its description.
    pub info: &'static KernelInfo,
    /// The names of its parameters.
    pub names: &'static [&'static str],
    /// Runs it in a block, as each warp does. The block is of a launch of this kernel.
    pub run: unsafe fn(&Block<'_>, P::In<'_>),
    /// Names a byte of its shared memory, for the simulator's reports.
    pub name_byte: NameByte,
}

/// Launches a kernel on a device, with the host's arguments.
///
/// # Safety
/// `P` are the parameters of the kernel that `info` describes. `run` only calls that kernel, with
/// copies of them.
pub unsafe fn launch<'h, P: KernelParams, D: Device + 'h>(
    kernel: &KernelEntry<P>,
    device: &D,
    grid: Grid,
    host: P::Host<'h, D>,
) -> Result<D::Report, D::Error> {
    let binding = Binding::begin();
    let bound = P::bind(device, host, kernel.names);
    binding.bound();
    let mut result = None;
    // SAFETY: the parameters are this kernel's. Their buffers stay borrowed until this returns.
    let mut launch = |launch: Launch<'_>| result = Some(unsafe { device.launch(launch) });
    with_launch(kernel, &binding, grid, bound, &mut launch);
    result.expect("it was launched")
}

/// Calls `launch` with a kernel and its parameters. It is compiled once for all devices.
fn with_launch<P: KernelParams>(
    kernel: &KernelEntry<P>,
    binding: &Binding,
    grid: Grid,
    bound: P::In<'_>,
    launch: &mut dyn FnMut(Launch<'_>),
) {
    let mut params = Params::new();
    P::values(bound, &mut params);
    // SAFETY: by the contract of `Device::launch`, the block is of this launch.
    let body = Body(|block: &Block<'_>| unsafe { (kernel.run)(block, bound) });
    launch(Launch {
        kernel: kernel.info,
        grid,
        params: &params,
        body: &|block| body.run(block),
        id: binding.launch(),
        takes_turns: binding.takes_turns(),
        name_byte: kernel.name_byte,
    });
}

/// A kernel's function with its arguments, as `Sync`, so that blocks run in parallel.
///
/// The scopes that it calls the kernel with are not `Sync`. Its handles belong to one launch, and
/// refuse accesses by others.
struct Body<F>(F);

// SAFETY: by `Device`'s contract it runs only in blocks of its launch, which only the simulator
// has. Its threads only read the captured parameters: they pass copies to the kernel.
unsafe impl<F> Sync for Body<F> {}

impl<F: Fn(&Block<'_>)> Body<F> {
    fn run(&self, block: &Block<'_>) {
        (self.0)(block);
    }
}
