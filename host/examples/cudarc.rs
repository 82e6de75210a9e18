//! Runs a kernel of this crate between two kernels of `cudarc`, in `cudarc`'s stream and on its
//! memory. The host waits once, for the result.
//!
//! The argument is the folder with the PTX of `example-kernels`, which has a folder for each
//! target.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use example_kernels::{THREADS, axpy};
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
use ptx_matrix_output::outln;

/// The kernel of `cudarc`'s module: adds 1 to each element.
const INCREMENT: &str = "
.version 6.3
.target sm_75
.address_size 64
.visible .entry increment(.param .u64 data, .param .u32 len)
{
    .reg .pred %p;
    .reg .b32 %thread, %block, %threads, %i, %len;
    .reg .b64 %data, %offset;
    .reg .f32 %x;
    mov.u32 %thread, %tid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %threads, %ntid.x;
    mad.lo.u32 %i, %block, %threads, %thread;
    ld.param.u32 %len, [len];
    setp.ge.u32 %p, %i, %len;
    @%p ret;
    ld.param.u64 %data, [data];
    cvta.to.global.u64 %data, %data;
    mul.wide.u32 %offset, %i, 4;
    add.u64 %data, %data, %offset;
    ld.global.f32 %x, [%data];
    add.f32 %x, %x, 0f3F800000;
    st.global.f32 [%data], %x;
    ret;
}
";

const LEN: u32 = 100_000;

/// Launches `cudarc`'s kernel.
fn increment(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    data: &mut CudaSlice<f32>,
) -> Result<(), Box<dyn Error>> {
    let mut launch = stream.launch_builder(kernel);
    launch.arg(data).arg(&LEN);
    // SAFETY: the kernel takes a slice and its length, and accesses nothing beyond it.
    unsafe { launch.launch(LaunchConfig::for_num_elems(LEN)) }?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("usage: cudarc FOLDER, with TARGET/example-kernels.ptx in it")?;

    // This crate loads its kernel.
    let gpu = Gpu::open(0)?;
    outln!("{}", gpu.info());
    let code = BuiltCode::best(gpu.info(), &folder, "example-kernels")?;
    let device = GpuDevice::new(gpu, &code)?;

    // `cudarc` makes the stream, the memory and a kernel.
    let context = CudaContext::new(0)?;
    let stream = context.new_stream()?;
    let kernel = context.load_module(Ptx::from_src(INCREMENT))?.load_function("increment")?;
    let x = stream.clone_htod(&vec![3.0_f32; LEN as usize])?;
    let mut y = stream.alloc_zeros::<f32>(LEN as usize)?;
    let ours = device.gpu().stream_from_cudarc(&stream)?;

    // Three kernels in one stream: y = 0 + 1, y = 2 * 3 + y, y = y + 1.
    increment(&stream, &kernel, &mut y)?;
    let (x, mut y) = (ours.buffer_from_cudarc(x)?, ours.buffer_from_cudarc(y)?);
    let blocks = LEN.div_ceil(THREADS);
    axpy::launch(&device.in_stream(&ours), blocks, 2.0, &x, &mut y)?;
    let mut y = y.into_cudarc(&stream).map_err(|_| "the GPU failed")?;
    increment(&stream, &kernel, &mut y)?;

    let result = stream.clone_dtoh(&y)?; // Waits.
    assert!(result.iter().all(|&y| y == 8.0), "a wrong element");
    outln!("all {} elements of cudarc's slice are {}", result.len(), result[0]);

    // A buffer of this crate, as a slice of `cudarc`.
    let buffer = ours.upload(&[1.0_f32; LEN as usize])?;
    let mut slice = buffer.into_cudarc(&stream).map_err(|_| "the GPU failed")?;
    increment(&stream, &kernel, &mut slice)?;
    let result = stream.clone_dtoh(&slice)?;
    assert!(result.iter().all(|&y| y == 2.0), "a wrong element");
    outln!("all {} elements of this crate's buffer are {}", result.len(), result[0]);
    Ok(())
}
