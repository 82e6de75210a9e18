//! A stand-in for `libcuda.so.1` with one device, so that the tests of `on_gpu*.rs` also run
//! without a GPU.
//!
//! It knows the kernels of `kernels.ptx` by name and does their work itself. Like the driver, it
//! requires a current context on the calling thread, and limits a launch to the shared memory that
//! was allowed. Once a kernel has trapped, it stays broken. It delays queued work as long as a GPU
//! could: until the host waits. It detects memory that is freed before that.

#![allow(non_snake_case, reason = "the driver's names")]
#![allow(unused_unsafe, reason = "some of its functions need none")]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::SeqCst};

const SUCCESS: u32 = 0;
const INVALID_VALUE: u32 = 1;
const INVALID_CONTEXT: u32 = 201;
const NO_BINARY_FOR_GPU: u32 = 209;
const INVALID_PTX: u32 = 218;
const UNSUPPORTED_PTX_VERSION: u32 = 222;
const NOT_FOUND: u32 = 500;
const LAUNCH_FAILED: u32 = 719;

const HANDLE: *mut c_void = 0x10 as *mut c_void;
const KERNELS: [&str; 3] = ["scale", "shared_size", "traps"];

static TRAPPED: AtomicBool = AtomicBool::new(false);
static DYNAMIC_SHARED_ALLOWED: AtomicU32 = AtomicU32::new(48 * 1024);
static ALLOCATIONS: Mutex<Option<HashMap<u64, Layout>>> = Mutex::new(None);
/// Each stream's pending work, and each event's stream.
static STREAMS: Mutex<BTreeMap<usize, Vec<Work>>> = Mutex::new(BTreeMap::new());
static EVENTS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());
static HANDLES: AtomicUsize = AtomicUsize::new(0x100);
/// The stream that a graph records, or 0.
static CAPTURED: AtomicUsize = AtomicUsize::new(0);

/// Pending work of a stream, and the memory that it touches.
struct Work {
    addresses: Vec<u64>,
    run: Box<dyn FnOnce() + Send>,
}

fn put(stream: usize, addresses: Vec<u64>, run: impl FnOnce() + Send + 'static) {
    STREAMS.lock().unwrap().entry(stream).or_default().push(Work { addresses, run: Box::new(run) });
}

/// Executes the pending work of a stream, up to the first trap.
fn finish(stream: usize) -> u32 {
    let work = STREAMS.lock().unwrap().remove(&stream).unwrap_or_default();
    for work in work {
        if !TRAPPED.load(SeqCst) {
            (work.run)();
        }
    }
    in_context()
}

thread_local! {
    static HAS_CONTEXT: Cell<bool> = const { Cell::new(false) };
}

/// The status of any call that needs a context.
fn in_context() -> u32 {
    match () {
        () if !HAS_CONTEXT.get() => INVALID_CONTEXT,
        () if TRAPPED.load(SeqCst) => LAUNCH_FAILED,
        () => SUCCESS,
    }
}

macro_rules! driver {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            unsafe { $body }
        }
    )*};
}

macro_rules! need_context {
    () => {
        let status = in_context();
        if status != SUCCESS {
            return status;
        }
    };
}

driver! {
    fn cuInit(flags: c_uint) { if flags == 0 { SUCCESS } else { INVALID_VALUE } }
    fn cuDriverGetVersion(version: *mut c_int) { *version = 13_010; SUCCESS }
    fn cuDeviceGetCount(count: *mut c_int) { *count = 1; SUCCESS }
    fn cuDeviceGet(device: *mut c_int, index: c_int) { *device = index; SUCCESS }
    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) { *bytes = 1 << 33; SUCCESS }
    fn cuDeviceGetName(name: *mut c_char, len: c_int, _device: c_int) {
        let text = c"Stand-in".to_bytes_with_nul();
        assert!(text.len() <= len as usize);
        name.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        SUCCESS
    }
    fn cuDeviceGetPCIBusId(id: *mut c_char, len: c_int, _device: c_int) {
        let text = c"0000:00:00.0".to_bytes_with_nul();
        assert!(text.len() <= len as usize);
        id.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        SUCCESS
    }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, _device: c_int) {
        *value = match attribute {
            2 => 1024,
            5 => i32::MAX,
            6 | 7 => 65_535,
            16 => 132,
            38 => 1 << 20,
            75 => 9,
            76 => 0,
            97 => 232_448,
            // Memory pools.
            115 => 0,
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, _device: c_int) {
        *context = HANDLE;
        SUCCESS
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) { SUCCESS }
    fn cuCtxSetCurrent(context: *mut c_void) { HAS_CONTEXT.set(!context.is_null()); SUCCESS }

    fn cuCtxGetCurrent(context: *mut *mut c_void) {
        *context = if HAS_CONTEXT.get() { HANDLE } else { std::ptr::null_mut() };
        SUCCESS
    }

    fn cuStreamCreateWithPriority(stream: *mut usize, _flags: c_uint, _priority: c_int) {
        need_context!();
        *stream = HANDLES.fetch_add(1, SeqCst);
        SUCCESS
    }
    fn cuStreamCreate(stream: *mut usize, _flags: c_uint) {
        need_context!();
        *stream = HANDLES.fetch_add(1, SeqCst);
        SUCCESS
    }
    // Streams that it did not create belong to another context.
    fn cuStreamGetCtx(stream: usize, context: *mut *mut c_void) {
        need_context!();
        let is_known = stream == 0 || (0x100..HANDLES.load(SeqCst)).contains(&stream);
        *context = if is_known { HANDLE } else { HANDLE.wrapping_byte_add(0x10) };
        SUCCESS
    }
    fn cuStreamSynchronize(stream: usize) {
        need_context!();
        // Nobody can wait for a stream that a graph records.
        if stream != 0 && CAPTURED.load(SeqCst) == stream { 900 } else { finish(stream) }
    }
    fn cuStreamIsCapturing(stream: usize, status: *mut c_uint) {
        need_context!();
        *status = (CAPTURED.load(SeqCst) == stream && stream != 0).into();
        SUCCESS
    }
    fn cuStreamBeginCapture_v2(stream: usize, _mode: c_uint) {
        need_context!();
        CAPTURED.store(stream, SeqCst);
        SUCCESS
    }
    // Its graphs are empty.
    fn cuStreamEndCapture(_stream: usize, graph: *mut usize) {
        need_context!();
        CAPTURED.store(0, SeqCst);
        *graph = 0;
        SUCCESS
    }
    fn cuStreamDestroy_v2(stream: usize) { need_context!(); finish(stream) }
    // An event that was never recorded has happened.
    fn cuStreamWaitEvent(_stream: usize, event: usize, _flags: c_uint) {
        need_context!();
        let recorded = EVENTS.lock().unwrap().get(&event).copied();
        recorded.map_or(SUCCESS, |recorded| finish(recorded))
    }
    fn cuCtxSynchronize() {
        need_context!();
        let streams: Vec<usize> = STREAMS.lock().unwrap().keys().copied().collect();
        streams.into_iter().map(|stream| finish(stream)).max().unwrap_or(SUCCESS)
    }
    fn cuEventCreate(event: *mut usize, _flags: c_uint) {
        need_context!();
        *event = HANDLES.fetch_add(1, SeqCst);
        SUCCESS
    }
    fn cuEventRecord(event: usize, stream: usize) {
        need_context!();
        EVENTS.lock().unwrap().insert(event, stream);
        SUCCESS
    }
    fn cuEventSynchronize(event: usize) {
        need_context!();
        let recorded = EVENTS.lock().unwrap()[&event];
        finish(recorded)
    }
    fn cuEventElapsedTime(milliseconds: *mut f32, _start: usize, _end: usize) {
        need_context!();
        *milliseconds = 0.25;
        SUCCESS
    }
    fn cuEventDestroy_v2(event: usize) { EVENTS.lock().unwrap().remove(&event); in_context() }

    fn cuMemcpyHtoD_v2(to: u64, from: *const u8, bytes: usize) {
        need_context!();
        (to as *mut u8).copy_from_nonoverlapping(from, bytes);
        SUCCESS
    }
    fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, bytes: usize) {
        need_context!();
        to.copy_from_nonoverlapping(from as *const u8, bytes);
        SUCCESS
    }
    fn cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        need_context!();
        let layout = Layout::from_size_align(bytes, 256).unwrap();
        *address = alloc(layout) as u64;
        ALLOCATIONS.lock().unwrap().get_or_insert_default().insert(*address, layout);
        SUCCESS
    }
    fn cuMemFree_v2(address: u64) {
        need_context!();
        let used = |work: &Work| work.addresses.contains(&address);
        if STREAMS.lock().unwrap().values().flatten().any(used) {
            eprintln!("memory is freed that work in a stream still needs");
            std::process::abort();
        }
        let Some(layout) = ALLOCATIONS.lock().unwrap().get_or_insert_default().remove(&address)
        else {
            eprintln!("memory is freed that is not allocated");
            std::process::abort();
        };
        dealloc(address as *mut u8, layout);
        SUCCESS
    }
    // Low addresses are memory of another device.
    fn cuPointerGetAttribute(ordinal: *mut c_int, attribute: c_uint, address: u64) {
        need_context!();
        assert_eq!(attribute, 9);
        let mut allocations = ALLOCATIONS.lock().unwrap();
        let holds = |(&start, layout): (&u64, &Layout)| {
            (start..start + layout.size() as u64).contains(&address)
        };
        *ordinal = match () {
            () if allocations.get_or_insert_default().iter().any(holds) => 0,
            () if address < 0x1_0000 => 1,
            () => return INVALID_VALUE,
        };
        SUCCESS
    }
    // The source is pageable memory: the call reads it before it returns.
    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, stream: usize) {
        need_context!();
        let from = slice::from_raw_parts(from, bytes).to_vec();
        put(stream, vec![to], move || from.as_ptr().copy_to_nonoverlapping(to as *mut u8, bytes));
        SUCCESS
    }
    // The destination is pageable memory: the call writes it before it returns.
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, stream: usize) {
        need_context!();
        let status = finish(stream);
        to.copy_from_nonoverlapping(from as *const u8, bytes);
        status
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) {
        need_context!();
        put(stream, vec![to, from], move || {
            (to as *mut u8).copy_from_nonoverlapping(from as *const u8, bytes)
        });
        SUCCESS
    }
    fn cuMemsetD8Async(to: u64, byte: u8, bytes: usize, stream: usize) {
        need_context!();
        put(stream, vec![to], move || (to as *mut u8).write_bytes(byte, bytes));
        SUCCESS
    }

    fn cuModuleLoadDataEx(
        module: *mut *mut c_void,
        image: *const c_char,
        count: c_uint,
        options: *const c_uint,
        values: *const *mut c_void,
    ) {
        need_context!();
        *module = HANDLE;
        // The ninth byte of machine code names its GPU: 7 and above mean another GPU.
        if *image.cast::<[u8; 4]>() == *b"\x7fELF" {
            return if *image.add(8) < 7 { SUCCESS } else { NO_BINARY_FOR_GPU };
        }
        let text = CStr::from_ptr(image).to_str().unwrap();
        if text.contains(".version 99.0") {
            return UNSUPPORTED_PTX_VERSION;
        }
        if !text.contains("not_an_instruction") {
            return SUCCESS;
        }
        let options = slice::from_raw_parts(options, count as usize);
        let values = slice::from_raw_parts(values, count as usize);
        let value = |option| values[options.iter().position(|&at| at == option).unwrap()];
        let log = c"ptxas fatal: not_an_instruction is not an instruction".to_bytes_with_nul();
        assert!(log.len() <= value(6) as usize);
        value(5).cast::<u8>().copy_from_nonoverlapping(log.as_ptr(), log.len());
        INVALID_PTX
    }
    fn cuModuleUnload(_module: *mut c_void) { in_context() }
    fn cuModuleGetFunction(function: *mut usize, _module: *mut c_void, name: *const c_char) {
        need_context!();
        let name = CStr::from_ptr(name).to_str().unwrap();
        let Some(index) = KERNELS.iter().position(|&kernel| kernel == name) else {
            return NOT_FOUND;
        };
        *function = index + 1;
        SUCCESS
    }
    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, _function: usize) {
        need_context!();
        *value = match attribute {
            0 => 1024,
            1 | 3 => 0,
            4 => 10,
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
    fn cuFuncSetAttribute(_function: usize, attribute: c_uint, value: c_int) {
        need_context!();
        assert_eq!(attribute, 8);
        DYNAMIC_SHARED_ALLOWED.store(value as u32, SeqCst);
        SUCCESS
    }
    fn cuLaunchKernel(
        function: usize,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: usize,
        params: *const *const c_void,
        extra: *mut c_void,
    ) {
        need_context!();
        assert_eq!((block_y, block_z, extra.is_null()), (1, 1, true));
        if dynamic_shared_bytes > DYNAMIC_SHARED_ALLOWED.load(SeqCst) {
            return INVALID_VALUE;
        }
        let param = |index| *params.add(index);
        match KERNELS[function - 1] {
            "scale" => {
                let (data, len) = (*param(0).cast::<u64>(), *param(1).cast::<usize>());
                let factor = *param(2).cast::<f32>();
                let threads = (grid_x * grid_y * grid_z * block_x) as usize;
                put(stream, vec![data], move || {
                    (0..len.min(threads)).for_each(|i| *(data as *mut f32).add(i) *= factor)
                });
            }
            "shared_size" => {
                let out = *param(0).cast::<u64>();
                put(stream, vec![out], move || *(out as *mut u32) = dynamic_shared_bytes);
            }
            _ => put(stream, vec![], || TRAPPED.store(true, SeqCst)),
        }
        SUCCESS
    }

    // The stand-in's map contains the arguments, for the test to inspect.
    fn cuTensorMapEncodeTiled(
        map: *mut u64,
        data_type: c_uint,
        rank: c_uint,
        address: u64,
        sizes: *const u64,
        strides: *const u64,
        boxes: *const c_uint,
        steps: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) {
        assert_eq!((map as usize % 64, address % 16), (0, 0));
        if rank != 3 {
            return INVALID_VALUE;
        }
        let options = [data_type, rank, interleave, swizzle, promotion, fill].map(u64::from);
        let words = [address, *sizes, *sizes.add(1), *sizes.add(2), *strides, *strides.add(1)]
            .into_iter()
            .chain(options);
        let words = words.chain(
            (0..2).map(|i| u64::from(*boxes.add(i + 1)) << 32 | u64::from(*steps.add(i + 1))),
        );
        words.enumerate().for_each(|(i, word)| *map.add(i) = word);
        SUCCESS
    }

    fn cuTensorMapEncodeIm2col(
        map: *mut u64,
        data_type: c_uint,
        rank: c_uint,
        address: u64,
        sizes: *const u64,
        strides: *const u64,
        lower: *const c_int,
        upper: *const c_int,
        channels: c_uint,
        pixels: c_uint,
        steps: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) {
        assert_eq!((map as usize % 64, address % 16), (0, 0));
        if rank != 4 {
            return INVALID_VALUE;
        }
        let options = [data_type, rank, interleave, swizzle, promotion, fill, channels, pixels]
            .map(u64::from);
        let pair = |of: *const c_int| (*of.add(1) as u32 as u64) << 32 | *of as u32 as u64;
        let words = [
            address,
            *sizes.add(1),
            *strides.add(2),
            u64::from(*steps.add(1)),
            u64::from(*steps.add(2)),
        ];
        let words = words.into_iter().chain([lower, upper].map(pair)).chain(options);
        words.enumerate().for_each(|(i, word)| *map.add(i) = word);
        SUCCESS
    }

    fn cuGetErrorName(status: u32, word: *mut *const c_char) {
        *word = match status {
            INVALID_PTX => c"CUDA_ERROR_INVALID_PTX".as_ptr(),
            LAUNCH_FAILED => c"CUDA_ERROR_LAUNCH_FAILED".as_ptr(),
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
    fn cuGetErrorString(status: u32, word: *mut *const c_char) {
        *word = match status {
            INVALID_PTX => c"a PTX JIT compilation failed".as_ptr(),
            LAUNCH_FAILED => c"unspecified launch failure".as_ptr(),
            _ => return INVALID_VALUE,
        };
        SUCCESS
    }
}
