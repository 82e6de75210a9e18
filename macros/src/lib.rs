//! The macros of `ptx-matrix`; its documentation describes them.

mod arguments;
#[cfg(test)]
mod files;
mod kernel;
mod manifest;
mod shared_layout;
mod sources;
mod tokens;

use proc_macro::TokenStream;

/// Makes a function a kernel.
///
/// `#[kernel(threads = 128)]` on `fn name(block: &Block, a: Global<bf16>, d: GlobalMut<f32>, k: u32)` leaves the
/// function as it is and adds
/// - for the device: the PTX entry `name`, with its launch bounds;
/// - for the host: `name::launch(&device, grid, &a, &mut d, k)`, which runs it on any `Device`, and
///   `name::simulate(grid, &a, &mut d, k)`, which runs it on the simulator with slices;
/// - `name::INFO`: what is known of it.
///
/// The first parameter is the block. The others are `Global`, `GlobalMut`, `TensorMap`, `TensorMapMut` and numbers, which the host hands
/// over (as `&buffer`, `&mut buffer`, `&map`, `map.by_ref()`, and numbers), and, marked `#[shared]`, the shared memory: any `SharedLayout`.
///
/// | argument | meaning |
/// | --- | --- |
/// | `threads = N` | threads in a block, a multiple of 32 up to 1024; required |
/// | `min_blocks = N` | blocks that are to fit a multiprocessor together (`.minnctapersm`) |
/// | `max_registers = N` | the most registers a thread may take (`.maxnreg`) |
/// | `cluster = 2`, `cluster = (2, 2)` | blocks of a cluster, at most 8, or how many along each dimension (`.reqnctapercluster`): the grid is one of whole clusters, and the block may be a `&ClusterBlock<N>` |
/// | `early = true` | on sm_90 and newer, blocks come to multiprocessors as the kernel ahead in the stream leaves them, and wait there until it has ended (`griddepcontrol`): less time passes between the two. They wait at the start, or, with parameters of `launch::Early`, when the kernel asks |
/// | `target = "sm_90"` | the oldest GPU that has what the kernel uses: builds for older ones leave it out. Of what newer ones need not have, one for each: `"sm_100a or sm_120a"` |
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let file = proc_macro::Span::call_site().local_file();
    kernel::expand(arguments.into(), function.into(), file).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Lays out a struct of shared-memory parts, each behind the one before it, as its alignment needs.
#[proc_macro_derive(SharedLayout)]
pub fn shared_layout(item: TokenStream) -> TokenStream {
    shared_layout::expand(item.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}
