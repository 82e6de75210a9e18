//! A custom op for candle: a x + y, of two f32 tensors.
//!
//! On tensors in a GPU's memory it launches the kernel in candle's stream. On tensors in the CPU's
//! memory it runs the same kernel on the simulator.
//!
//! The argument is the folder with the PTX of `example-kernels`, which has a folder for each
//! target. Without it, only the simulator runs.

use std::env;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::cudarc::driver::DevicePtr;
use candle_core::{
    CpuStorage, CudaStorage, CustomOp2, Device, Layout, Result, Shape, Tensor, bail,
};
use example_kernels::{THREADS, axpy};
use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};

/// a x + y.
struct Axpy {
    a: f32,
    /// A GPU with the loaded kernel.
    gpu: Option<GpuDevice>,
}

impl CustomOp2 for Axpy {
    fn name(&self) -> &'static str {
        "axpy"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        y: &CpuStorage,
        y_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x_range, y_range) = elements(x_layout, y_layout)?;
        let x = &x.as_slice::<f32>()?[x_range];
        let mut result = y.as_slice::<f32>()?[y_range].to_vec();
        axpy::simulate(blocks(result.len())?, self.a, x, &mut result)
            .map_err(candle_core::Error::wrap)?;
        Ok((CpuStorage::F32(result), y_layout.shape().clone()))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        x_layout: &Layout,
        y: &CudaStorage,
        y_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        let Some(gpu) = &self.gpu else { bail!("axpy: the kernel is not loaded on a GPU") };
        let (x_range, y_range) = elements(x_layout, y_layout)?;
        let (device, len) = (x.device().clone(), x_range.len());
        let stream = device.cuda_stream();
        let x = x.as_cuda_slice::<f32>()?.slice(x_range);
        let y = y.as_cuda_slice::<f32>()?.slice(y_range);
        let result = stream.clone_dtod(&y).map_err(candle_core::Error::wrap)?;

        // While it lives, `cudarc` knows that this stream reads x.
        let (address, _reads_x) = x.device_ptr(&stream);
        let result = (|| {
            let ours = gpu.gpu().stream_from_cudarc(&stream)?;
            // SAFETY: candle keeps x, whose work is in this stream. No other buffer has its bytes.
            let x = unsafe { ours.buffer_from_raw::<f32>(address, len, ()) }?;
            let mut result = ours.buffer_from_cudarc(result)?;
            let blocks = blocks(len).map_err(Box::new)?;
            axpy::launch(&gpu.in_stream(&ours), blocks, self.a, &x, &mut result)?;
            result.into_cudarc(&stream).map_err(|_| "the GPU failed".into())
        })()
        .map_err(|error: Box<dyn Error + Send + Sync>| candle_core::Error::wrap(error))?;
        Ok((CudaStorage::wrap_cuda_slice(result, device), y_layout.shape().clone()))
    }
}

/// The elements of both operands within their memory.
fn elements(x: &Layout, y: &Layout) -> Result<(Range<usize>, Range<usize>)> {
    if x.shape() != y.shape() {
        bail!("axpy: x has the shape {:?} and y {:?}", x.shape(), y.shape());
    }
    match (x.contiguous_offsets(), y.contiguous_offsets()) {
        (Some((x, x_end)), Some((y, y_end))) if x < x_end => Ok((x..x_end, y..y_end)),
        (Some(_), Some(_)) => bail!("axpy: the tensors are empty"),
        _ => bail!("axpy: a tensor is not contiguous: pass `x.contiguous()?`"),
    }
}

fn blocks(len: usize) -> Result<u32> {
    Ok(u32::try_from(len).map_err(candle_core::Error::wrap)?.div_ceil(THREADS))
}

const LEN: u32 = 100_000;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let x = Tensor::arange(0.0_f32, LEN as f32, &Device::Cpu)?.reshape((100, 1000))?;
    let y = (&x * 0.25)?;
    let simulated = x.apply_op2_no_bwd(&y, &Axpy { a: 2.0, gpu: None })?;
    let all = simulated.flatten_all()?.to_vec1::<f32>()?;
    assert!(all.iter().zip(0..).all(|(&z, i)| z == 2.25 * i as f32), "a wrong element");
    println!("candle's CPU tensors: all {} elements are right, by the simulator", all.len());
    let error = x.t()?.apply_op2_no_bwd(&y.t()?, &Axpy { a: 2.0, gpu: None }).unwrap_err();
    println!("a transposed tensor is refused: {}", error.to_string().lines().next().unwrap_or(""));

    let Some(folder) = env::args_os().nth(1) else { return Ok(()) };
    let gpu = Gpu::open(0)?;
    println!("{}", gpu.info());
    let code = BuiltCode::best(gpu.info(), Path::new(&folder), "example-kernels")?;
    let op = Axpy { a: 2.0, gpu: Some(GpuDevice::new(gpu, &code)?) };
    for device in [Device::new_cuda(0)?, Device::new_cuda_with_stream(0)?] {
        let (x, y) = (x.to_device(&device)?, y.to_device(&device)?);
        let computed = (x.apply_op2_no_bwd(&y, &op)? * 1.0)?.flatten_all()?.to_vec1::<f32>()?;
        assert_eq!(computed, all, "a wrong element");
        println!("{:?}: all {} elements are right", device.location(), computed.len());
    }
    Ok(())
}
