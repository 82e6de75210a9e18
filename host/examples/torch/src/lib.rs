//! A C function that launches a kernel on two tensors of another framework, in its stream. The
//! tensors come as DLPack, which PyTorch, JAX and CuPy have.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;
use std::sync::{Mutex, PoisonError};

use example_kernels::{THREADS, axpy};
use ptx_matrix_host::{BuiltCode, DeviceBuffer, Gpu, GpuDevice, Stream};

/// `DLTensor` of `dlpack.h`.
#[repr(C)]
pub struct DlTensor {
    data: u64,
    device_type: i32,
    device: i32,
    rank: i32,
    type_code: u8,
    type_bits: u8,
    type_lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// `kDLCUDA`.
const CUDA: i32 = 2;
/// `kDLFloat`, 32 bits, one lane.
const F32: (u8, u8, u16) = (2, 32, 1);

/// Each device, with the kernels loaded at its first use.
static DEVICES: Mutex<BTreeMap<u32, GpuDevice>> = Mutex::new(BTreeMap::new());

/// Enqueues y = a x + y in a stream, and returns 0. If it fails, it writes a C string of at most
/// `message_size` bytes to `message`, and returns 1.
///
/// # Safety
///
/// - `folder` is a C string: the folder with the kernels' PTX.
/// - `stream` is a `CUstream` of the tensors' device.
/// - The tensors exist until the stream has run the kernel, and have no byte in common. Other work
///   on them is ordered with the stream's.
/// - `message` points to `message_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn enqueue_axpy(
    folder: *const c_char,
    stream: *mut c_void,
    a: f32,
    x: *const DlTensor,
    y: *const DlTensor,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    // SAFETY: the caller upholds the requirements.
    let enqueued = unsafe { enqueue(CStr::from_ptr(folder), stream, a, &*x, &*y) };
    let Err(error) = enqueued else { return 0 };
    let text = error.to_string();
    let len = text.len().min(message_size.saturating_sub(1));
    if message_size > 0 {
        // SAFETY: the message has that many bytes, of which the last is for the end of the text.
        let out = unsafe { slice::from_raw_parts_mut(message.cast::<u8>(), len + 1) };
        out[..len].copy_from_slice(&text.as_bytes()[..len]);
        out[len] = 0;
    }
    1
}

/// # Safety
/// The requirements of `enqueue_axpy` apply.
unsafe fn enqueue(
    folder: &CStr,
    stream: *mut c_void,
    a: f32,
    x: &DlTensor,
    y: &DlTensor,
) -> Result<(), Box<dyn Error>> {
    let index = y.device.try_into()?;
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    let device = match devices.entry(index) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let gpu = Gpu::open(index)?;
            let folder = Path::new(OsStr::from_bytes(folder.to_bytes()));
            let code = BuiltCode::best(gpu.info(), folder, "example-kernels")?;
            entry.insert(GpuDevice::new(gpu, &code)?)
        }
    };
    // SAFETY: the caller keeps the stream.
    let stream = unsafe { device.gpu().stream_from_raw(stream, ()) }?;
    // SAFETY: the caller keeps the tensors.
    let (x, mut y) = unsafe { (buffer(&stream, x)?, buffer(&stream, y)?) };
    if x.len() != y.len() {
        return Err(format!("x has {} elements and y has {}", x.len(), y.len()).into());
    }
    if y.is_empty() {
        return Ok(());
    }
    let blocks = u32::try_from(y.len())?.div_ceil(THREADS);
    axpy::launch(&device.in_stream(&stream), blocks, a, &x, &mut y)?;
    Ok(())
}

/// # Safety
/// The tensor is as DLPack describes it. The requirements of `Stream::buffer_from_raw` apply.
unsafe fn buffer(stream: &Stream, tensor: &DlTensor) -> Result<DeviceBuffer<f32>, Box<dyn Error>> {
    if tensor.device_type != CUDA || (tensor.type_code, tensor.type_bits, tensor.type_lanes) != F32
    {
        return Err("a tensor is not f32 on a GPU: convert it with `x.float().cuda()`".into());
    }
    let rank = usize::try_from(tensor.rank)?;
    let extents = |values: *const i64| match rank {
        0 => &[],
        // SAFETY: DLPack has that many extents and strides.
        _ => unsafe { slice::from_raw_parts(values, rank) },
    };
    let shape = extents(tensor.shape);
    let mut len = 1;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        // No strides mean a contiguous tensor.
        if extent > 1 && !tensor.strides.is_null() && extents(tensor.strides)[axis] != len {
            return Err("a tensor is not contiguous: pass `x.contiguous()`".into());
        }
        len *= extent;
    }
    let address = tensor.data + tensor.byte_offset;
    // SAFETY: the caller upholds the requirements.
    Ok(unsafe { stream.buffer_from_raw(address, len.try_into()?, ()) }?)
}
