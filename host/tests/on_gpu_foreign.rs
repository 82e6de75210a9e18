//! Conversions of buffers and streams of `cust` and `cudarc`. `cargo test -- --ignored` runs these
//! tests on a GPU; without it, they run on a stand-in. It detects memory that is freed twice or
//! before its work has run.

mod stand_in;

use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};
use cust::memory::CopyDestination;
use ptx_matrix::prelude::*;
use ptx_matrix_host::{DeviceBuffer, ForeignError, Gpu, GpuDevice, GpuError};

#[test]
fn ignored_tests_pass_on_the_stand_in() {
    stand_in::run_ignored_tests();
}

/// `scale` of the PTX, declared for typed launches.
#[kernel(threads = 128)]
fn scale(block: &Block, data: GlobalMut<f32>, factor: f32) {
    let _ = (block, data, factor);
}

fn device() -> GpuDevice {
    let kernels = [("scale", scale::INFO.fingerprint)];
    let ptx = stand_in::sealed(stand_in::KERNELS, &kernels, b"");
    GpuDevice::new(Gpu::open(0).unwrap(), &ptx).unwrap()
}

#[test]
#[ignore = "needs a GPU"]
fn kernels_run_among_those_of_cust() {
    let device = device();
    device.gpu().stream().enter().unwrap();
    let theirs = cust::stream::Stream::new(cust::stream::StreamFlags::NON_BLOCKING, None).unwrap();
    let theirs = Arc::new(theirs);
    let stream = device.gpu().stream_from_cust(&theirs).unwrap();
    let buffer = cust::memory::DeviceBuffer::from_slice(&[1.0_f32; 100]).unwrap();
    let address = buffer.as_device_ptr().as_raw();

    let mut ours = stream.buffer_from_cust(buffer).unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    let buffer = ours.into_cust().unwrap();
    let mut host = [0.0; 100];
    buffer.copy_to(&mut host).unwrap();
    assert_eq!((buffer.as_device_ptr().as_raw(), host), (address, [2.0; 100]));
    drop(buffer);

    let mut ours = stream.upload(&[1.0_f32; 100]).unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 3.0).unwrap();
    let buffer = ours.into_cust().unwrap();
    buffer.copy_to(&mut host).unwrap();
    assert_eq!(host, [3.0; 100]);
    // `cust`'s memory is freed after the kernel.
    let mut ours = stream.buffer_from_cust(buffer).unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 3.0).unwrap();
    drop(ours);

    assert_eq!(Arc::strong_count(&theirs), 2);
    drop(stream);
    assert_eq!(Arc::strong_count(&theirs), 1);
}

#[test]
#[ignore = "needs a GPU"]
fn kernels_run_among_those_of_cudarc() {
    let device = device();
    let context = CudaContext::new(0).unwrap();
    for theirs in [context.default_stream(), context.new_stream().unwrap()] {
        let stream = device.gpu().stream_from_cudarc(&theirs).unwrap();
        assert_eq!(stream.raw().cast(), theirs.cu_stream());
        let slice = theirs.clone_htod(&[1.0_f32; 100]).unwrap();
        let mut ours = stream.buffer_from_cudarc(slice).unwrap();
        let address = ours.address();
        scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
        let slice = ours.into_cudarc(&theirs).unwrap();
        assert_eq!(theirs.clone_dtoh(&slice).unwrap(), [2.0; 100]);

        // In a stream of this crate, and back in the slice's.
        let mut ours = device.gpu().stream().buffer_from_cudarc(slice).unwrap();
        assert_eq!(ours.address(), address);
        scale::launch(&device, 1, &mut ours, 3.0).unwrap();
        let slice = ours.into_cudarc(&theirs).unwrap();
        assert_eq!(slice.stream(), &theirs);
        assert_eq!(theirs.clone_dtoh(&slice).unwrap(), [6.0; 100]);

        // Dropped here, after the kernel.
        let mut ours = stream.buffer_from_cudarc(slice).unwrap();
        scale::launch(&device.in_stream(&stream), 1, &mut ours, 3.0).unwrap();
        drop(ours);

        // From this crate to `cudarc`, which frees the memory.
        let mut ours = device.gpu().stream().upload(&[1.0_f32; 100]).unwrap();
        scale::launch(&device, 1, &mut ours, 5.0).unwrap();
        let slice = ours.into_cudarc(&theirs).unwrap();
        assert_eq!(theirs.clone_dtoh(&slice).unwrap(), [5.0; 100]);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn cudarc_runs_in_a_stream_of_this_crate() {
    let device = device();
    let context = CudaContext::new(0).unwrap();
    let stream = device.gpu().new_stream().unwrap();
    // SAFETY: `stream` outlives all of `theirs`.
    let theirs = unsafe { stream.to_cudarc(&context) }.unwrap();
    let mut ours = stream.upload(&[1.0_f32; 100]).unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    let slice = ours.into_cudarc(&theirs).unwrap();
    assert_eq!(theirs.clone_dtoh(&slice).unwrap(), [2.0; 100]);
    drop((slice, theirs));
    stream.synchronize().expect("cudarc does not destroy a wrapped stream");
}

#[test]
#[ignore = "needs a GPU"]
fn memory_of_another_owner_is_not_converted() {
    let gpu = Gpu::open(0).unwrap();
    let context = CudaContext::new(0).unwrap();
    let memory = gpu.upload(&[1.0_f32; 100]).unwrap();
    // SAFETY: the owner keeps the memory.
    let ours = unsafe { gpu.stream().buffer_from_raw::<f32>(memory.address(), 100, memory) };
    let ours = ours.unwrap().into_cust().unwrap_err();
    let ours = ours.into_cudarc(&context.default_stream()).unwrap_err();
    assert_eq!(ours.into_owner::<DeviceBuffer<f32>>().unwrap().len(), 100);
}

/// Another thread would wait for its own default stream.
#[test]
#[ignore = "needs a GPU"]
fn default_stream_of_each_thread_is_refused() {
    let (gpu, context) = (Gpu::open(0).unwrap(), CudaContext::new(0).unwrap());
    let refused = gpu.stream_from_cudarc(&context.per_thread_stream()).unwrap_err();
    assert!(matches!(refused, GpuError::Foreign(ForeignError::PerThread)), "{refused}");
}

/// A graph would run after its buffers have been freed.
#[test]
#[ignore = "needs a GPU"]
fn stream_that_a_graph_records_gets_no_work() {
    let device = device();
    let theirs = CudaContext::new(0).unwrap().new_stream().unwrap();
    let stream = device.gpu().stream_from_cudarc(&theirs).unwrap();
    let mut ours = stream.upload(&[1.0_f32; 100]).unwrap();
    theirs.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED).unwrap();
    let refused = scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap_err();
    assert!(matches!(refused, GpuError::Captured), "{refused}");
    assert!(matches!(ours.fill(0), Err(GpuError::Captured)));
    assert!(matches!(stream.record(), Err(GpuError::Captured)));
    assert!(matches!(stream.synchronize(), Err(GpuError::Captured)));
    // Nobody can wait for earlier work now, so that its memory is not freed.
    let owner = Arc::new(());
    // SAFETY: `ours` outlives the buffer, and nothing writes the memory meanwhile.
    let borrowed = unsafe { stream.buffer_from_raw::<f32>(ours.address(), 100, owner.clone()) };
    drop(borrowed.unwrap().into_owner::<Arc<()>>().unwrap_err());
    assert_eq!(Arc::strong_count(&owner), 2);
    assert!(theirs.end_capture(sys::CUgraphInstantiate_flags(0)).is_ok());
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    assert_eq!(ours.download().unwrap(), [2.0; 100]);
}
