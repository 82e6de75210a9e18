//! Memory, modules and launches. `cargo test -- --ignored` runs these tests on a GPU; without it,
//! they run on a stand-in.

mod stand_in;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ptx_matrix::isa::TensorMapWords;
use ptx_matrix::launch::{Device, Im2colTensor, Tensor};
use ptx_matrix::prelude::*;
use ptx_matrix_host::{BuiltCode, DeviceBuffer, Gpu, GpuDevice, LaunchRequest};

#[test]
fn ignored_tests_pass_on_the_stand_in() {
    stand_in::run_ignored_tests();
}

fn gpu() -> Gpu {
    Gpu::open(0).unwrap()
}

/// A launch of `scale` on no elements, with a null pointer.
const SCALE_NOTHING: LaunchRequest<'_> = LaunchRequest {
    kernel: "scale",
    grid: [1, 1, 1],
    threads: 128,
    dynamic_shared_bytes: 0,
    dependent: false,
    params: &[&[0; 8], &[0; 8], &[0; 4]],
};

/// The message that refuses a launch of this library's kernels.
fn refusal(request: LaunchRequest<'_>) -> String {
    let gpu = gpu();
    let module = gpu.load(stand_in::KERNELS).unwrap();
    // SAFETY: the requests of these tests pass no pointer to anything.
    unsafe { gpu.launch(&module, &request) }.unwrap_err().to_string()
}

#[test]
#[ignore = "needs a GPU"]
fn lists_devices_with_limits() {
    let devices = Gpu::list().unwrap();
    let device = &devices[0];
    assert_eq!(device, gpu().info());
    assert!(device.capability.major >= 7, "{device}");
    assert!(device.driver.major >= 11, "{}", device.driver);
    assert!(device.multiprocessors > 0 && device.memory_bytes > 1 << 30);
    assert!(device.limits.shared_bytes > 48 * 1024 && device.limits.threads == 1024);
    let message = Gpu::open(999).unwrap_err().to_string();
    let there = format!("this machine has {}, counted from 0", devices.len());
    assert_eq!(message, format!("there is no device 999: {there}"));
}

#[test]
#[ignore = "needs a GPU"]
fn download_returns_the_uploaded_data() {
    let gpu = gpu();
    let data: Vec<u64> = (0..1000).map(|i| i * 0x0101_0101_0101).collect();
    let mut buffer = gpu.upload(&data).unwrap();
    assert_eq!(buffer.len(), 1000);
    assert_eq!(buffer.download().unwrap(), data);
    buffer.fill(0xcd).unwrap();
    assert_eq!(buffer.download().unwrap(), [0xcdcd_cdcd_cdcd_cdcd; 1000]);
    assert_eq!(gpu.filled::<u16>(3, 0xff).unwrap().download().unwrap(), [0xffff; 3]);

    let empty = gpu.upload::<f32>(&[]).unwrap();
    assert!(empty.is_empty() && empty.address() == 0);
    assert!(empty.download().unwrap().is_empty());
}

#[test]
#[ignore = "needs a GPU"]
fn runs_and_times_kernel() {
    let gpu = gpu();
    let module = gpu.load(stand_in::KERNELS).unwrap();
    let names: Vec<_> = module.kernels().iter().map(|kernel| &kernel.name).collect();
    assert_eq!(names, ["scale", "shared_size", "traps"]);

    let data: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let buffer = gpu.upload(&data).unwrap();
    let (address, len) = (buffer.address().to_le_bytes(), buffer.len().to_le_bytes());
    let request = LaunchRequest {
        grid: [8, 1, 1],
        params: &[&address, &len, &3.0_f32.to_le_bytes()],
        ..SCALE_NOTHING
    };
    // SAFETY: `scale` takes a slice and a factor.
    let report = unsafe { gpu.launch(&module, &request) }.unwrap();
    assert!(report.elapsed > Duration::ZERO && report.elapsed < Duration::from_secs(1));
    let scaled: Vec<f32> = data.iter().map(|x| x * 3.0).collect();
    assert_eq!(buffer.download().unwrap(), scaled);
}

#[test]
#[ignore = "needs a GPU"]
fn another_thread_can_use_and_free_everything() {
    let gpu = gpu();
    let module = gpu.load(stand_in::KERNELS).unwrap();
    let buffer = gpu.upload(&[1, 2, 3]).unwrap();
    let other = thread::spawn(move || {
        // SAFETY: no pointer is passed.
        unsafe { gpu.launch(&module, &SCALE_NOTHING) }.unwrap();
        buffer.download().unwrap()
    });
    assert_eq!(other.join().unwrap(), [1, 2, 3]);
}

#[test]
#[ignore = "needs a GPU"]
fn shared_memory_is_limited_to_the_devices_size() {
    let gpu = gpu();
    let module = gpu.load(stand_in::KERNELS).unwrap();
    let out = gpu.filled::<u32>(1, 0xff).unwrap();
    let address = out.address().to_le_bytes();
    let available = gpu.info().limits.shared_bytes;
    for bytes in [16, 48 * 1024 + 16, available] {
        let request = LaunchRequest {
            kernel: "shared_size",
            threads: 1,
            dynamic_shared_bytes: bytes,
            dependent: false,
            params: &[&address],
            ..SCALE_NOTHING
        };
        // SAFETY: `shared_size` takes the address of one word.
        unsafe { gpu.launch(&module, &request) }.unwrap();
        assert_eq!(out.download().unwrap(), [bytes]);
    }
    let refused = refusal(LaunchRequest { dynamic_shared_bytes: available + 1, ..SCALE_NOTHING });
    let (needed, available) = ((available + 1).to_string(), available.to_string());
    assert!(refused.contains(&needed) && refused.contains(&available), "{refused}");
}

#[test]
#[ignore = "needs a GPU"]
fn invalid_launch_is_refused() {
    assert_eq!(
        refusal(LaunchRequest { kernel: "scael", ..SCALE_NOTHING }),
        "there is no kernel `scael` in this module; its kernels: scale, shared_size, traps"
    );
    for threads in [96, 129] {
        let refused = refusal(LaunchRequest { threads, ..SCALE_NOTHING });
        assert!(refused.ends_with("the kernel is compiled for 128 (.maxntid)"), "{refused}");
    }
    let refused = refusal(LaunchRequest { grid: [0, 1, 1], ..SCALE_NOTHING });
    assert!(refused.contains("a grid of 0x1x1 blocks"), "{refused}");
}

#[test]
#[ignore = "needs a GPU"]
fn ptx_for_another_device_is_refused_with_the_reason() {
    let gpu = gpu();
    let foreign = stand_in::KERNELS.replace(".target sm_75", ".target sm_999a");
    let message = gpu.load(&foreign).unwrap_err().to_string();
    assert!(message.starts_with("this PTX is for sm_999a, which device 0 ("), "{message}");

    let broken = stand_in::KERNELS.replace("trap;", "not_an_instruction;");
    let message = gpu.load(&broken).unwrap_err().to_string();
    assert!(message.contains("CUDA_ERROR_INVALID_PTX (218)"), "{message}");
    assert!(message.lines().nth(1).is_some_and(|log| log.contains("ptxas")), "{message}");
}

#[test]
#[ignore = "needs a GPU"]
fn old_driver_is_named_with_the_version_that_it_lacks() {
    let gpu = gpu();
    let version = stand_in::KERNELS.lines().find(|line| line.starts_with(".version ")).unwrap();
    let newer = stand_in::KERNELS.replace(version, ".version 99.0");
    let message = gpu.load(&newer).unwrap_err().to_string();
    assert!(message.starts_with("device 0 ("), "{message}");
    let lacks = "which does not know PTX version 99.0 of these kernels; install a newer NVIDIA \
                 driver";
    assert!(message.contains(lacks), "{message}");
}

#[test]
#[ignore = "needs a GPU"]
fn cubin_for_the_gpu_is_loaded_and_else_its_ptx() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built_code");
    let (ptx, cubin) = (folder.join("sm_75/kernels.ptx"), folder.join("sm_75/kernels.cubin"));
    fs::create_dir_all(ptx.parent().unwrap()).unwrap();
    let load = |text: String, machine_code: &[u8]| {
        fs::write(&ptx, &text).unwrap();
        fs::write(&cubin, machine_code).unwrap();
        let gpu = gpu();
        let kernels = BuiltCode::best(gpu.info(), &folder, "kernels").unwrap();
        assert_eq!((kernels.target.to_string(), &kernels.ptx), ("sm_75".to_owned(), &text));
        let module = gpu.load(&kernels).unwrap();
        assert!(module.resources("scale").unwrap().registers > 0);
        module.is_assembled()
    };
    let is_assembled = |code: &[u8]| load(stand_in::sealed(stand_in::KERNELS, &[], code), code);
    // An ELF file without sections. A GPU refuses it; the stand-in checks its ninth byte.
    let mut file = [0; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    file[58] = 64;
    let is_stand_in = gpu().info().name == "Stand-in";
    assert_eq!(is_assembled(&file), is_stand_in);
    let mut for_another = file;
    for_another[8] = 9;
    assert!(!is_assembled(&for_another), "it is for another GPU");
    let of_another = stand_in::sealed(stand_in::KERNELS, &[], &for_another);
    assert!(!load(of_another, &file), "it is of another PTX");
    let sealed = || stand_in::sealed(stand_in::KERNELS, &[], &file);
    assert!(!load(sealed(), &file[..63]), "it is not whole");
    assert!(!load(sealed().replace("trap;", "ret;"), &file), "the PTX was changed");
    assert!(!load(stand_in::KERNELS.to_owned(), &file), "nothing says of which PTX it is");
    fs::remove_file(&cubin).unwrap();
    assert!(
        !gpu()
            .load(&BuiltCode::best(gpu().info(), &folder, "kernels").unwrap())
            .unwrap()
            .is_assembled()
    );
}

#[test]
#[ignore = "needs a GPU"]
fn error_names_the_folder_without_kernels_and_its_contents() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_built_code");
    let _ = fs::remove_dir_all(&folder);
    let best = |name| BuiltCode::best(gpu().info(), &folder, name).unwrap_err().to_string();
    let message = best("kernels");
    assert!(
        message.starts_with(&format!("cannot read the kernels in {}: ", folder.display())),
        "{message}"
    );

    let none = |file: &str, there: &str| {
        format!(
            "no target's folder (such as sm_90a) in {} has `{file}`: build the kernels, or name \
             the folder that has them; PTX there: {there}",
            folder.display()
        )
    };
    fs::create_dir_all(&folder).unwrap();
    assert_eq!(best("kernels"), none("kernels.ptx", "none"));
    for target in ["sm_90a", "sm_100a", "sm_80"] {
        fs::create_dir_all(folder.join(target)).unwrap();
        fs::write(folder.join(target).join("kernels.ptx"), "").unwrap();
    }
    let listed = "sm_80/kernels.ptx, sm_90a/kernels.ptx, sm_100a/kernels.ptx";
    assert_eq!(best("my-kernels"), none("my-kernels.ptx", listed));
    // This passes a target's folder instead of the folder above it.
    let target = folder.join("sm_90a");
    let message = BuiltCode::best(gpu().info(), &target, "kernels").unwrap_err().to_string();
    assert!(message.ends_with("PTX there: kernels.ptx"), "{message}");

    fs::remove_dir_all(folder.join("sm_90a")).unwrap();
    fs::remove_dir_all(folder.join("sm_80")).unwrap();
    fs::create_dir_all(folder.join("sm_120a")).unwrap();
    fs::write(folder.join("sm_120a/kernels.ptx"), "").unwrap();
    let message = best("kernels");
    assert!(message.starts_with("none of the targets of this PTX runs on"), "{message}");
    assert!(message.contains(": sm_100a, sm_120a; build it"), "{message}");
}

/// The kernels, with their fingerprints.
fn kernels() -> String {
    stand_in::sealed(stand_in::KERNELS, &[("scale", scale::INFO.fingerprint)], b"")
}

/// `scale` of the PTX, declared for typed launches.
#[kernel(threads = 128)]
fn scale(block: &Block, data: GlobalMut<f32>, factor: f32) {
    let _ = (block, data, factor);
}

#[test]
#[ignore = "needs a GPU"]
fn stream_work_is_ordered_without_waits() {
    let device = GpuDevice::new(gpu(), &kernels()).unwrap();
    let stream = device.gpu().new_stream().unwrap();
    let queue = device.in_stream(&stream);
    let mut data = queue.upload(&[1.0_f32; 1000]).unwrap();
    let mut copy = stream.uninitialized(1000).unwrap();
    let start = stream.record().unwrap();
    scale::launch(&queue, 8, &mut data, 2.0).unwrap();
    copy.copy_from(&data).unwrap();
    scale::launch(&queue, 8, &mut data, 3.0).unwrap();
    let end = stream.record().unwrap();
    assert_eq!(copy.download().unwrap(), [2.0; 1000]);
    assert_eq!(queue.download(&data).unwrap(), [6.0; 1000]);
    assert!(end.since(&start).unwrap() > Duration::ZERO);
    data.fill(0).unwrap();
    assert_eq!(data.download().unwrap(), [0.0; 1000]);
}

#[test]
#[ignore = "needs a GPU"]
fn buffer_is_freed_after_the_kernel_that_uses_it() {
    let device = GpuDevice::new(gpu(), &kernels()).unwrap();
    let stream = device.gpu().new_stream().unwrap();
    let mut data = stream.filled::<f32>(1 << 20, 0).unwrap();
    for _ in 0..100 {
        scale::launch(&device.in_stream(&stream), 8192, &mut data, 2.0).unwrap();
    }
    drop(data);
    drop(device);
    stream.synchronize().unwrap();
}

#[test]
#[ignore = "needs a GPU"]
fn buffer_moves_between_streams() {
    let device = GpuDevice::new(gpu(), &kernels()).unwrap();
    let (first, second) = (device.gpu().new_stream().unwrap(), device.gpu().new_stream().unwrap());
    let mut data = first.upload(&[1.0_f32; 100]).unwrap();
    scale::launch(&device.in_stream(&first), 1, &mut data, 5.0).unwrap();
    data.move_to(&second).unwrap();
    scale::launch(&device.in_stream(&second), 1, &mut data, 7.0).unwrap();
    assert_eq!(data.download().unwrap(), [35.0; 100]);

    let wrong = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        scale::launch(&device, 1, &mut data, 1.0).unwrap();
    }));
    let message = *wrong.unwrap_err().downcast::<&str>().unwrap();
    assert!(message.ends_with("move it with `buffer.move_to(&stream)`"), "{message}");
}

#[test]
#[ignore = "needs a GPU"]
fn kernels_run_in_a_raw_stream() {
    let device = GpuDevice::new(gpu(), &kernels()).unwrap();
    let theirs = device.gpu().new_stream().unwrap();
    // SAFETY: `theirs` lives to the end of the test.
    let stream = unsafe { device.gpu().stream_from_raw(theirs.raw(), ()) }.unwrap();
    assert!(stream.is(&theirs) && !stream.is(device.gpu().stream()));
    let mut data = stream.upload(&[1.0_f32; 100]).unwrap();
    scale::launch(&device.in_stream(&theirs), 1, &mut data, 2.0).unwrap();
    assert_eq!(data.download().unwrap(), [2.0; 100]);
    drop((stream, data));
    theirs.synchronize().expect("a wrapped stream is not destroyed");
    if device.gpu().info().name == "Stand-in" {
        // SAFETY: the stand-in knows no stream of this handle, and does not dereference it.
        let other = unsafe { device.gpu().stream_from_raw(0x40 as *mut _, ()) }.unwrap_err();
        let other = other.to_string();
        assert!(other.contains("primary context of device 0: create it in that"), "{other}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn owner_of_a_raw_stream_lives_until_the_last_handle() {
    let gpu = gpu();
    let (theirs, used) = (gpu.new_stream().unwrap(), Arc::new(()));
    let (raw, owner) = (theirs.raw(), (theirs, used.clone()));
    // SAFETY: the owner keeps the stream.
    let stream = unsafe { gpu.stream_from_raw(raw, owner) }.unwrap();
    let data = stream.upload(&[1, 2, 3]).unwrap();
    drop(stream);
    assert_eq!((Arc::strong_count(&used), data.download().unwrap()), (2, vec![1, 2, 3]));
    drop(data);
    assert_eq!(Arc::strong_count(&used), 1);
}

#[test]
#[ignore = "needs a GPU"]
fn kernels_use_memory_of_another_owner() {
    let device = GpuDevice::new(gpu(), &kernels()).unwrap();
    let stream = device.gpu().new_stream().unwrap();
    let theirs = device.gpu().upload(&[1.0_f32; 100]).unwrap();
    let (address, len) = (theirs.address() + 4, 99);
    // SAFETY: the owner keeps the memory, and nobody else uses it until it is returned.
    let mut ours = unsafe { stream.buffer_from_raw::<f32>(address, len, theirs) }.unwrap();
    assert_eq!((ours.address(), ours.len()), (address, len));
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    let ours = ours.into_owner::<Vec<f32>>().expect_err("the owner has another type");
    let theirs = ours.into_owner::<DeviceBuffer<f32>>().unwrap();
    let data = theirs.download().unwrap();
    assert_eq!((data[0], &data[1..]), (1.0, &[2.0; 99][..]));

    // The stand-in detects memory that is freed before the kernel has run, or twice.
    let address = theirs.address();
    // SAFETY: as above.
    let mut ours = unsafe { stream.buffer_from_raw::<f32>(address, 100, theirs) }.unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    drop(ours);

    let mut theirs = stream.upload(&[1.0_f32; 100]).unwrap();
    // SAFETY: `theirs` is of the same stream, and outlives the kernel.
    let mut ours = unsafe { stream.buffer_from_raw(theirs.address(), 100, ()) }.unwrap();
    scale::launch(&device.in_stream(&stream), 1, &mut ours, 2.0).unwrap();
    drop(ours);
    scale::launch(&device.in_stream(&stream), 1, &mut theirs, 3.0).unwrap();
    assert_eq!(theirs.download().unwrap(), [6.0; 100]);
}

#[test]
#[ignore = "needs a GPU"]
fn bad_memory_of_others_is_refused_with_the_remedy() {
    let gpu = gpu();
    let theirs = gpu.upload(&[1.0_f32; 100]).unwrap();
    let refusal = |address, len| {
        // SAFETY: the memory is not used.
        unsafe { gpu.stream().buffer_from_raw::<f32>(address, len, ()) }.unwrap_err().to_string()
    };
    assert_eq!(
        refusal(0, 3),
        "a null address for 3 elements: pass the device address of the first element"
    );
    let message = refusal(theirs.address() + 2, 3);
    assert!(
        message.ends_with("as elements of type f32 must be: copy the elements to a new buffer")
    );
    let message = refusal(theirs.address(), usize::MAX / 2);
    assert!(message.ends_with("pass the number of elements, not of bytes"), "{message}");
    let on_host = [1.0_f32];
    let message = refusal(on_host.as_ptr().addr() as u64, 1);
    assert!(message.ends_with("is not memory of a GPU: upload the data first"), "{message}");
    if gpu.info().name == "Stand-in" {
        let message = refusal(0x1000, 1);
        assert!(message.contains("is memory of device 1, and the stream runs on device 0"));
    }
    // SAFETY: there are no elements.
    let empty = unsafe { gpu.stream().buffer_from_raw::<f32>(0, 0, ()) }.unwrap();
    assert!(empty.is_empty() && empty.download().unwrap().is_empty());

    // SAFETY: `theirs` lives to the end of the test, and nothing runs.
    let odd = unsafe { gpu.stream().buffer_from_raw::<u32>(theirs.address() + 4, 2, ()) }.unwrap();
    let cast = std::panic::AssertUnwindSafe(|| odd.cast_ref::<u64>().len());
    let cast = std::panic::catch_unwind(cast);
    let message = *cast.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("is not aligned to 8 bytes"), "{message}");
}

#[test]
#[ignore = "needs a GPU"]
fn buffer_is_cast_to_another_element_type() {
    let gpu = gpu();
    let mut bytes = gpu.upload(&[0_u8, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_eq!(bytes.cast_ref::<u32>().download().unwrap(), [0x0302_0100, 0x0706_0504]);
    bytes.cast_mut::<u16>().write(&[0x0101; 4]).unwrap();
    assert_eq!(bytes.download().unwrap(), [1; 8]);
}

/// A view is a `&mut` buffer, so safe code can swap two of them.
#[test]
#[ignore = "needs a GPU"]
fn swapped_views_copy_whole_elements() {
    let gpu = gpu();
    let mut pairs = gpu.upload(&[[1_u8, 2]]).unwrap();
    let mut bytes = gpu.upload(&[7_u8; 3]).unwrap();
    std::mem::swap(pairs.cast_mut::<u8>(), &mut bytes);
    assert_eq!(pairs.len(), 1);
    pairs.copy_from(&gpu.upload(&[[3_u8, 4]]).unwrap()).unwrap();
    assert_eq!(pairs.cast_ref::<u8>().download().unwrap(), [3, 4, 7]);
}

#[test]
#[ignore = "needs a GPU"]
fn driver_encodes_tensor_map() {
    type Tile = SharedTile<bf16, 16, 64, Swizzle128>;
    let gpu = gpu();
    if gpu.info().capability.major < 9 {
        return;
    }
    let is_stand_in = gpu.info().name == "Stand-in";
    let device = GpuDevice::new(gpu, &kernels()).unwrap();
    let buffer = device.upload(&[bf16::ZERO; 4096]).unwrap();
    let tensor = Tensor::<Tile, 3>::new([60, 8, 3])
        .strides([1, 64, 1024])
        .boxes([64, 8, 4])
        .steps([1, 1, 2])
        .start(8);
    let words = tensor.map(&device, &buffer).unwrap().words();
    assert_ne!(words, TensorMapWords([0; 16]));
    if is_stand_in {
        // Type bf16, rank 3, no interleave, swizzle of 128 bytes, L2 promotion to 128 bytes, zero
        // fill; boxes and steps.
        let address = device.slice(&buffer).0.addr() as u64 + 16;
        let expected = [address, 60, 8, 3, 128, 2048, 9, 3, 0, 3, 2, 0, 8 << 32 | 1, 4 << 32 | 2];
        assert_eq!(words.0[..14], expected);
        // If the driver refuses, here another rank, the error contains its words.
        let error =
            Tensor::<Tile, 2>::new([64, 16]).map(&device, &buffer).err().unwrap().to_string();
        assert!(error.starts_with("encoding a tensor map: "), "{error}");
    }

    // Corners at their limits, which a real driver accepts.
    let images =
        Im2colTensor::<Tile, 4>::new([64, 4, 4, 4]).corners([-128, -1], [127, -3]).steps([8, 3]);
    let words = images.map(&device, &buffer).unwrap().words();
    assert_ne!(words, TensorMapWords([0; 16]));
    if is_stand_in {
        // A size, a stride, steps; both corners, W in the lower half; then as above, and 64
        // channels of 16 pixels.
        let address = device.slice(&buffer).0.addr() as u64;
        let (lower, upper) = (0xffff_ffff_ffff_ff80, 0xffff_fffd_0000_007f);
        assert_eq!(words.0[..15], [address, 4, 2048, 8, 3, lower, upper, 9, 4, 0, 3, 2, 0, 64, 16]);
    } else {
        Im2colTensor::<Tile, 3>::new([64, 16, 4])
            .corners([-32768], [32767])
            .map(&device, &buffer)
            .unwrap();
        let images =
            Im2colTensor::<Tile, 5>::new([64, 4, 4, 2, 2]).corners([-16, -1, 0], [15, 0, -1]);
        images.map(&device, &buffer).unwrap();
    }
}
