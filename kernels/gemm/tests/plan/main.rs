//! GEMMs through the public interface, on the simulator; and refusals before any launch.

mod choice;
mod select;
mod slices;

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use ptx_matrix::element::{F8E4M3, F8E5M2, bf16, f16};
use ptx_matrix::isa::{TensorEncoding, TensorMapError, TensorMapWords};
use ptx_matrix::launch::{Device, KernelInfo, Launch};
use ptx_matrix::sim::{Arch, Simulator};
use ptx_matrix_gemm::{Choice, Gemm, GemmDevice, Layout, Multiply, Operands, Order, Output, Tuned};

/// A device that must not launch anything.
struct Idle;

// SAFETY: buffers are in host memory, and nothing is launched.
unsafe impl Device for Idle {
    type Buffer<T: Pod> = [T];
    type Owned<T: Pod> = Vec<T>;
    type Report = ();
    type Error = Infallible;

    fn upload<T: Pod>(&self, data: &[T]) -> Result<Vec<T>, Infallible> {
        Ok(data.to_vec())
    }

    fn download<T: Pod>(&self, buffer: &[T]) -> Result<Vec<T>, Infallible> {
        Ok(buffer.to_vec())
    }

    fn slice<T: Pod>(&self, buffer: &[T]) -> (*mut T, usize) {
        (buffer.as_ptr().cast_mut(), buffer.len())
    }

    fn slice_mut<T: Pod>(&self, buffer: &mut [T]) -> (*mut T, usize) {
        (buffer.as_mut_ptr(), buffer.len())
    }

    fn encode_tensor_map(&self, _: &TensorEncoding) -> Result<TensorMapWords, TensorMapError> {
        unreachable!("nothing here has tensor maps")
    }

    unsafe fn launch(&self, launch: Launch<'_>) -> Result<(), Infallible> {
        panic!("{} was launched", launch.kernel.name)
    }
}

impl GemmDevice for Idle {
    fn multiprocessors(&self) -> u32 {
        132
    }

    fn beyond_16_bytes(&self, address: *const u8) -> usize {
        address.addr() % 16
    }

    /// Has the kernels of PTX for sm_80.
    fn has(&self, kernel: &KernelInfo) -> bool {
        kernel.name != "sm80_bf16_nn_128x256x64" && !kernel.name.starts_with("sm90_")
    }
}

fn elements<T: Pod>(len: usize) -> Vec<T> {
    vec![T::zeroed(); len]
}

/// The message with which planning is refused.
fn refusal(gemm: &Gemm<bf16>) -> String {
    gemm.plan(&Idle).map_or_else(|error| error.to_string(), |plan| panic!("planned: {plan:?}"))
}

/// The message with which buffers of these lengths are refused.
fn refused_buffers(gemm: &Gemm<bf16>, [a, b, d]: [usize; 3]) -> String {
    let (a, b, mut d) = (elements(a), elements(b), elements(d));
    let outcome = gemm.plan(&Idle).unwrap().run(Operands::new(&Idle, &a, &b, &mut d));
    outcome.unwrap_err().to_string()
}

/// Other crates of the workspace switch the feature `host` on. So a compiler sees this crate
/// without it only elsewhere, and this reads the sources.
#[test]
fn only_gpu_rs_needs_the_gpu_runtime() {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let needs_it = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap();
        text.contains("ptx_matrix_host") || text.contains("crate::gpu")
    };
    let needing: Vec<PathBuf> = files(&source).into_iter().filter(needs_it).collect();
    assert_eq!(needing, [source.join("gpu.rs")]);
}

#[test]
fn rejects_layouts_with_remedy() {
    let gemm = Gemm::<bf16>::new(40, 48, 56);
    let cases = [
        (
            gemm.clone().a(Layout::row_major(48)),
            "A is 40x56 and row-major: its leading dimension is at least 56, not 48",
        ),
        (
            gemm.clone().b(Layout::col_major(48)),
            "B is 56x48 and column-major: its leading dimension is at least 56, not 48",
        ),
        (
            gemm.clone().batches(2),
            "the batch stride of D is 0: matrices of 1920 elements each would overlap",
        ),
        (
            Gemm::new(1, 1, 1 << 31),
            "K is 2147483648, more than the 2147483584 that kernels count to",
        ),
        (
            Gemm::new(2, 8, 10_000_000),
            "the leading dimension of A is 10000000, more than the 8388607 that kernels count to",
        ),
    ];
    for (gemm, message) in cases {
        assert_eq!(refusal(&gemm), message);
    }
    // Unaligned rows and columns.
    let anywhere = gemm
        .clone()
        .a(Layout::row_major(57).starting_at(3))
        .b(Layout::col_major(59).starting_at(1));
    assert_eq!(
        anywhere.plan(&Idle).unwrap().choice().unwrap().kernel,
        "sm80_bf16_unaligned_128x128x32"
    );
    // Interleaved in long rows, the matrices of a batch do not overlap.
    assert!(gemm.d(Layout::row_major(96).batch_stride(48)).batches(2).plan(&Idle).is_ok());
}

#[test]
fn rejects_short_buffers_with_needed_len() {
    let gemm = Gemm::<bf16>::new(40, 44, 56).b(Layout::row_major(48));
    assert_eq!(
        refused_buffers(&gemm, [2239, 2688, 1760]),
        "A has 2239 elements; the GEMM needs 2240"
    );
    assert_eq!(
        refused_buffers(&gemm, [2240, 2687, 1760]),
        "B has 2687 elements; the GEMM needs 2688, 4 of them beyond the last row or column, which \
         is read in whole 16 bytes"
    );
    assert_eq!(
        refused_buffers(&gemm, [2240, 2688, 1759]),
        "D has 1759 elements; the GEMM needs 1760"
    );
    assert_eq!(
        refused_buffers(&gemm.clone().beta(2.0), [2240, 2688, 1760]),
        "beta is 2, and there is no C: give one, or leave beta 0"
    );

    let (a, b, mut d) = (elements(2240), elements(2688), elements(1760));
    let (short, mut workspace) = (elements(43), vec![0.0; 7]);
    let with_bias =
        gemm.plan(&Idle).unwrap().run(Operands::new(&Idle, &a, &b, &mut d).bias(&short));
    assert_eq!(with_bias.unwrap_err().to_string(), "the bias has 43 elements; the GEMM needs 44");
    let split = Gemm::<bf16>::new(8, 8, 512).choose(Choice::new("sm80_bf16_nn_64x64x64", 2));
    let plan = split.plan(&Idle).unwrap();
    assert_eq!(plan.workspace_len(), 128);
    let (a, b, mut d) = (elements(4096), elements(4096), elements(64));
    let refused =
        plan.run(Operands::new(&Idle, &a, &b, &mut d).workspace(&mut workspace)).unwrap_err();
    assert_eq!(refused.to_string(), "the workspace has 7 elements; the GEMM needs 128");
    let by_rows = Gemm::<bf16>::new(41, 8, 8).bias_per_row().plan(&Idle).unwrap();
    let mut of_rows = elements(41 * 8);
    let refused =
        by_rows.run(Operands::new(&Idle, &a, &b, &mut of_rows).bias(&short[..40])).unwrap_err();
    assert_eq!(refused.to_string(), "the bias has 40 elements; the GEMM needs 41");
}

/// A vector is a matrix of one row or column. Its buffer is no longer than its elements, so the
/// last 16-byte piece goes beyond it.
#[test]
fn vectors_need_no_padding() {
    fn is_right<T: Multiply<f32> + Pod + std::fmt::Debug>(one: T) {
        let device = Simulator::default().strict();
        for k in [1usize, 15, 135, 136] {
            let wide = k.next_multiple_of(16);
            let (vector, matrix) = (vec![one; k], vec![one; 3 * wide]);
            for copies in [0, 1 << 12] {
                let row = Gemm::<T, f32>::new(1, 3, k)
                    .b(Layout::col_major(wide))
                    .repack_workspace_up_to(copies);
                let col = Gemm::<T, f32>::new(3, 1, k)
                    .a(Layout::row_major(wide))
                    .repack_workspace_up_to(copies);
                for (gemm, a, b) in
                    [(row, &vector, &matrix), (col.b(Layout::col_major(k)), &matrix, &vector)]
                {
                    let plan = gemm.plan(&device).unwrap();
                    let (mut d, mut room) = (vec![0.0; 3], vec![one; plan.repack_workspace_len()]);
                    plan.run(Operands::new(&device, a, b, &mut d).repack_workspace(&mut room))
                        .unwrap();
                    assert_eq!(d, [k as f32; 3], "{plan:?}");
                }
            }
        }
    }
    // Memory after a single row does not matter, if its last piece is whole.
    let of_whole_pieces = Gemm::<bf16>::new(1, 3, 136);
    let plan = |gemm: &Gemm<bf16>| gemm.plan(&Idle).unwrap().choice();
    assert_eq!(plan(&of_whole_pieces), plan(&of_whole_pieces.clone().a(Layout::row_major(1))));
    is_right(bf16::ONE);
    is_right(f16::ONE);
    is_right(1.0f32);
    is_right(F8E4M3::from_bits(0x38));
}

/// Terms far below the largest are lost with fast accumulation. With promotion, they count after
/// 128 terms.
#[test]
fn fast_accumulation_is_opt_in() {
    let device = Simulator::default().strict();
    let (side, k) = (128, 640);
    // One product is 4096; the others are 0.25.
    let [large, small] = [64.0, 0.5].map(F8E4M3::from_f64);
    let lines: Vec<F8E4M3> =
        (0..side * k).map(|i| if i % k == 0 { large } else { small }).collect();
    let gemm = Gemm::<F8E4M3, bf16>::new(side, side, k).b(Layout::col_major(k));
    let run = |gemm: &Gemm<F8E4M3, bf16>| {
        let plan = gemm.plan(&device).unwrap();
        let mut d = vec![bf16::ZERO; side * side];
        plan.run(Operands::new(&device, &lines, &lines, &mut d)).unwrap();
        assert!(d.iter().all(|&element| element == d[0]));
        (plan.choice().unwrap().kernel, d[0].to_f32())
    };
    let (promoted, truncated) = (4096.0 + 4.0 * 32.0, 4096.0);
    assert_eq!(run(&gemm), ("sm90_e4m3_bf16_nt_64x64x128".to_owned(), promoted));
    let fast = gemm.clone().fast_accumulation();
    assert_eq!(run(&fast), ("sm90_e4m3_bf16_nt_64x64x128_fast".to_owned(), truncated));
    // The other tiles agree too; cluster split-K promotes other partial accumulators.
    let by_one_block =
        |choice: &Choice| choice.kernel.starts_with("sm90_") && !choice.kernel.contains("_split");
    let all = fast
        .choices(&device)
        .into_iter()
        .filter(|choice| choice.k_splits == 1 && by_one_block(choice));
    let mut counts = [0; 2];
    for choice in all {
        let is_fast = choice.kernel.ends_with("_fast");
        let expected = (choice.kernel.clone(), if is_fast { truncated } else { promoted });
        assert_eq!(run(&fast.clone().choose(choice)), expected);
        counts[usize::from(is_fast)] += 1;
    }
    assert_eq!(counts, [4; 2]);

    let by_name = Choice::new("sm90_e4m3_bf16_nt_128x256x128_c2_fast", 1);
    let refused = gemm.clone().choose(by_name.clone()).plan(&device).unwrap_err().to_string();
    assert!(
        refused.contains("sm90_e4m3_bf16_nt_128x256x128_c2_fast") && !refused.contains("_fast,"),
        "{refused}"
    );
    assert!(fast.clone().choose(by_name.clone()).plan(&device).is_ok());
    // A choice for one GEMM is not used for the other.
    let mut tuned = Tuned::default();
    tuned.insert(fast.tuned_gemm(by_name.clone()));
    let chosen =
        |gemm: Gemm<F8E4M3, bf16>| gemm.tuned(&tuned).plan(&device).unwrap().choice().unwrap();
    assert_eq!(chosen(fast.clone()), by_name);
    assert_eq!(chosen(gemm), Choice::new("sm90_e4m3_bf16_nt_64x64x128", 1));
    // Into f32 likewise.
    let into_f32 = Gemm::<F8E4M3, f32>::new(side, side, k).b(Layout::col_major(k));
    for (gemm, kernel, sum) in [
        (into_f32.clone(), "sm90_e4m3_f32_nt_64x64x128", promoted),
        (into_f32.fast_accumulation(), "sm90_e4m3_f32_nt_64x64x128_fast", truncated),
    ] {
        let plan = gemm.plan(&device).unwrap();
        assert_eq!(plan.choice().unwrap().kernel, kernel);
        let mut d = vec![0.0; side * side];
        plan.run(Operands::new(&device, &lines, &lines, &mut d)).unwrap();
        assert!(d.iter().all(|&element| element == sum), "{kernel}: {}", d[0]);
    }
    // The tensor cores lose no bits of these elements.
    let of_halves = Gemm::<bf16>::new(side, side, k);
    let kernel = |gemm: &Gemm<bf16>| gemm.plan(&device).unwrap().choice();
    assert_eq!(kernel(&of_halves), kernel(&of_halves.clone().fast_accumulation()));
}

/// The simulator stands in for an H200.
#[test]
fn wgmma_where_tma_is_legal() {
    let device = ptx_matrix::sim::Simulator::default();
    let kernel = |gemm: &Gemm<bf16>| gemm.plan(&device).unwrap().choice().unwrap().kernel;
    let gemm = Gemm::<bf16>::new(2048, 2048, 2048);
    assert_eq!(kernel(&gemm), "sm90_bf16_nn_128x256x64");
    assert_eq!(kernel(&gemm.clone().b(Layout::col_major(2048))), "sm90_bf16_nt_128x256x64");
    // Columns that do not start at multiples of 128 bytes.
    let of_broken_lines = gemm.clone().a(Layout::row_major(2056)).b(Layout::col_major(2056));
    assert_eq!(kernel(&of_broken_lines), "sm90_bf16_nt_128x256x64_c2");
    assert_eq!(kernel(&gemm.clone().d(Layout::col_major(2048))), "sm90_bf16_tt_128x256x64");
    let of = |layout: Layout| layout.batch_stride(2048 * 2048);
    let (a, b, d) =
        (of(Layout::row_major(2048)), of(Layout::row_major(2048)), of(Layout::row_major(2048)));
    assert_eq!(kernel(&gemm.clone().batches(2).a(a).b(b).d(d)), "sm90_bf16_nn_128x256x64");
    // Threads store D where TMA cannot.
    assert_eq!(kernel(&gemm.clone().d(Layout::row_major(2049))), "sm90_bf16_nn_128x256x64");
    assert_eq!(
        kernel(&gemm.clone().d(Layout::row_major(2048).starting_at(4))),
        "sm90_bf16_nn_128x256x64"
    );
    let ends_within_16_bytes =
        Gemm::new(2048, 2047, 2048).b(Layout::row_major(2048)).d(Layout::row_major(2048));
    assert_eq!(kernel(&ends_within_16_bytes), "sm90_bf16_nn_128x256x64");
    // One A for all GEMMs of the batch.
    assert_eq!(kernel(&gemm.batches(2).b(b).d(d)), "sm90_bf16_nn_128x256x64");
}

/// A simulated GPU plans with its own kernels, and they run there.
#[test]
fn simulated_gpus_have_their_own_kernels() {
    let planned = |gpu: Arch| {
        let device = Simulator::default().gpu(gpu);
        let large = Gemm::<f16>::new(4096, 4096, 4096).plan(&device).unwrap();
        let plan = Gemm::<f16>::new(128, 128, 512).plan(&device).unwrap();
        let (a, b) = (vec![f16::ONE; 128 * 512], vec![f16::ONE; 512 * 128]);
        let mut d = elements::<f16>(128 * 128);
        plan.run(Operands::new(&device, &a, &b, &mut d)).unwrap();
        assert!(d.iter().all(|d| d.to_f32() == 512.0), "{gpu}");
        large.choice().unwrap().kernel
    };
    assert!(planned(Arch::SM_90).starts_with("sm90_f16_nn_"));
    for gpu in [Arch::SM_80, Arch::SM_86, Arch::SM_89, Arch::SM_100, Arch::SM_120] {
        assert!(planned(gpu).starts_with("sm80_f16_nn_"), "{gpu}: {}", planned(gpu));
    }
    assert!(planned(Arch::SM_75).starts_with("sm75_f16_nn_"), "{}", planned(Arch::SM_75));
    let refused =
        Gemm::<F8E4M3, bf16>::new(64, 64, 64).plan(&Simulator::default().gpu(Arch::SM_80));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the device has no kernel for e4m3-bf16: there are kernels for sm_89, sm_90, sm_90a; a \
         GPU has those of its loaded PTX, and a simulator those for its GPU"
    );
    // Rows that start anywhere need repacking there.
    let turing = Simulator::default().gpu(Arch::SM_75);
    let unaligned = Gemm::<f16>::new(20, 24, 33);
    assert_eq!(
        unaligned.plan(&turing).unwrap_err().to_string(),
        "the device has no kernel for row-major x row-major f16 into row-major D with these \
         leading dimensions and offsets, except for repacked operands: \
         `repack_workspace_up_to(3392)` allows them: a GPU has those of its loaded PTX, and a \
         simulator those for its GPU"
    );
    let plan = unaligned.repack_workspace_up_to(3392).plan(&turing).unwrap();
    let (a, b) = (vec![f16::ONE; 20 * 33], vec![f16::ONE; 33 * 24]);
    let (mut d, mut workspace) = (elements::<f16>(20 * 24), elements::<f16>(3392));
    let operands = Operands::new(&turing, &a, &b, &mut d).repack_workspace(&mut workspace);
    plan.run(operands).unwrap();
    assert!(d.iter().all(|d| d.to_f32() == 33.0));
}

/// A batch whose GEMMs share A or B equals separate GEMMs.
#[test]
fn batches_share_an_operand() {
    let (m, n, k, batches) = (70, 48, 136, 3);
    let device = Simulator::default().strict();
    let value = |i: usize| bf16::from_f32((i * i % 23) as f32 / 7.0 - 1.5);
    let a: Vec<bf16> = (0..batches * m * k).map(value).collect();
    let b: Vec<bf16> = (0..batches * k * n).map(|i| value(i + 5)).collect();
    let (of_a, of_b, of_d) = (Layout::row_major(k), Layout::col_major(k), Layout::row_major(n));
    let (each_a, each_b) = (of_a.batch_stride(m * k), of_b.batch_stride(k * n));
    for kernel in [
        "sm90_bf16_nt_64x64x64",
        "sm90_bf16_nt_128x128x64_c2",
        "sm90_bf16_nt_128x128x64_split2",
        "sm90_bf16_nt_80x64x64_swap_c2",
        "sm80_bf16_nt_64x64x64",
    ] {
        // One after the other, matrices D of one B are computed as one GEMM.
        for (a_layout, b_layout, gap) in
            [(of_a, each_b, 0), (each_a, of_b, 8), (each_a, of_b, 0), (of_a, of_b, 0)]
        {
            let distance = m * n + gap;
            let (mut together, mut one_by_one) =
                (elements(batches * distance), elements(batches * distance));
            let gemm = Gemm::<bf16>::new(m, n, k).choose(Choice::new(kernel, 1));
            let batch = gemm.clone().batches(batches).a(a_layout).b(b_layout);
            let plan = batch.d(of_d.batch_stride(distance)).plan(&device).unwrap();
            plan.run(Operands::new(&device, &a, &b, &mut together)).unwrap();
            for index in 0..batches {
                let of = |layout: Layout| layout.starting_at(index * layout.batch());
                let gemm = gemm.clone().a(of(a_layout)).b(of(b_layout));
                let plan = gemm.d(of_d.starting_at(index * distance)).plan(&device).unwrap();
                plan.run(Operands::new(&device, &a, &b, &mut one_by_one)).unwrap();
            }
            assert_eq!(together, one_by_one, "{kernel}, {a_layout:?} x {b_layout:?}, gap {gap}");
        }
    }
}

/// Many GEMMs of few rows with one B take large tiles, as one GEMM of all rows does.
#[test]
fn batch_with_one_b_is_one_gemm() {
    let device = Simulator::default();
    let choice = |gemm: &Gemm<bf16>| gemm.plan(&device).unwrap().choice();
    let of = |stride: usize, batch: usize| Layout::row_major(stride).batch_stride(batch);
    let rows = Gemm::<bf16>::new(2048, 1024, 512);
    let batch = Gemm::<bf16>::new(16, 1024, 512).batches(128).a(of(512, 16 * 512));
    let joined = batch.clone().d(of(1024, 16 * 1024));
    assert_eq!(choice(&joined), choice(&rows));
    let transposed = Gemm::<bf16>::new(1024, 16, 512)
        .batches(128)
        .a(Layout::col_major(1024))
        .b(Layout::col_major(512).batch_stride(16 * 512))
        .d(Layout::col_major(1024).batch_stride(16 * 1024))
        .bias_per_row();
    assert_eq!(choice(&transposed), choice(&rows));
    // A bias for each row of D is the same in all GEMMs, and gaps belong to no GEMM.
    for apart in [joined.clone().bias_per_row(), batch.d(of(1024, 17 * 1024))] {
        assert_ne!(choice(&apart), choice(&rows));
    }
    // A distance between single rows that no leading dimension may have.
    let single = |distance: usize| {
        let batch = Gemm::<bf16>::new(1, 1024, 512).batches(2048);
        choice(&batch.a(of(distance, distance)).d(of(1024, 1024)))
    };
    assert_eq!(single(512), choice(&rows));
    assert_ne!(single((1 << 32) + 64), choice(&rows));
    // The single rows of a batch may overlap in A, on any GPU.
    let a: Vec<bf16> = (0..64 + 8).map(|i| bf16::from_f32(f32::from(i >= 64))).collect();
    let b = vec![bf16::ONE; 64 * 8];
    let overlapping = Gemm::<bf16>::new(1, 8, 64).batches(2).a(of(8, 8)).d(of(8, 8));
    for device in [Simulator::default(), Simulator::default().gpu(Arch::SM_80)] {
        let (plan, mut d) = (overlapping.plan(&device).unwrap(), elements::<bf16>(2 * 8));
        plan.run(Operands::new(&device, &a, &b, &mut d)).unwrap();
        assert_eq!(
            d.iter().map(|element| element.to_f32()).collect::<Vec<_>>(),
            [[0.0; 8], [8.0; 8]].concat()
        );
    }
    // As one GEMM it would have too many rows.
    let many = Gemm::<bf16>::new(1 << 16, 64, 512).batches(1 << 15).a(of(512, 512 << 16));
    assert!(many.d(of(64, 64 << 16)).plan(&device).is_ok());
}

/// Every useful repacking, for one kernel of each family: each element size, each order, also in a
/// batch.
#[test]
fn products_of_copies() {
    fn check<T: Multiply<O>, O: Output>(to: fn(i32) -> T, from: fn(O) -> f64, batches: usize) {
        let (m, n, k) = (21, 37, 69);
        let device = Simulator::default().strict();
        let value = |i: usize| (i * i % 7) as i32 - 3;
        let matrix = |row_major: bool, (rows, cols): (usize, usize)| {
            let stride = if row_major { cols } else { rows } + 1;
            let layout =
                if row_major { Layout::row_major(stride) } else { Layout::col_major(stride) };
            let layout = layout.starting_at(1).batch_stride(stride * 70);
            (layout, (0..1 + batches * stride * 70).map(|i| to(value(i))).collect::<Vec<T>>())
        };
        let at = |layout: Layout, batch: usize, row: usize, col: usize| {
            let (line, along) = if layout.is_row_major() { (row, col) } else { (col, row) };
            value(
                layout.start() + batch * layout.batch() + line * layout.leading_dimension() + along,
            )
        };
        for (row_major_a, row_major_b) in
            [(true, true), (true, false), (false, true), (false, false)]
        {
            let ((of_a, a), (of_b, b)) = (matrix(row_major_a, (m, k)), matrix(row_major_b, (k, n)));
            let of_d = Layout::row_major(n).batch_stride(m * n);
            let gemm = Gemm::<T, O>::new(m, n, k)
                .a(of_a)
                .b(of_b)
                .d(of_d)
                .batches(batches)
                .repack_workspace_up_to(usize::MAX);
            let mut choices = gemm.choices(&device);
            // A family shares the reasons to repack: sm80 or sm90, and the order.
            let family = |choice: &Choice| {
                let parts: Vec<&str> = choice.kernel.split('_').collect();
                (parts[0].to_owned(), parts.contains(&"nn"), choice.repacked)
            };
            choices.retain(|choice| !choice.repacked.is_none() && choice.k_splits == 1);
            choices.sort_by_key(family);
            choices.dedup_by_key(|choice| family(choice));
            assert!(!choices.is_empty(), "{} makes no copies", T::NAME);
            for choice in choices {
                let plan = gemm.clone().choose(choice.clone()).plan(&device).unwrap();
                let (mut d, mut copies) =
                    (elements::<O>(batches * m * n), elements(plan.repack_workspace_len()));
                plan.run(Operands::new(&device, &a, &b, &mut d).repack_workspace(&mut copies))
                    .unwrap();
                for (index, element) in d.into_iter().enumerate() {
                    let (batch, row, col) = (index / (m * n), index / n % m, index % n);
                    let terms = (0..k).map(|i| at(of_a, batch, row, i) * at(of_b, batch, i, col));
                    let expected = f64::from(terms.sum::<i32>());
                    assert_eq!(from(element), expected, "{choice}: GEMM {batch}, ({row}, {col})");
                }
            }
        }
    }
    check::<bf16, f32>(|i| bf16::from_f32(i as f32), f64::from, 2);
    check::<f16, f32>(|i| f16::from_f32(i as f32), f64::from, 1);
    check::<f32, f32>(|i| i as f32, f64::from, 1);
    check::<f64, f64>(f64::from, |d| d, 1);
    check::<i8, i32>(|i| i as i8, f64::from, 2);
    check::<F8E4M3, f16>(|i| F8E4M3::from_f32(i as f32), f64::from, 1);
    check::<F8E5M2, f16>(|i| F8E5M2::from_f32(i as f32), f64::from, 1);
}

/// `Tuned` files of earlier versions load. A GEMM whose kernel has another name now, or was
/// removed, is refused with the reason.
#[test]
fn tuned_file_with_removed_kernel_is_explained() {
    for removed in ["hopper_bf16_nn_pairs", "sm90_bf16_nn_128x224x64_c2"] {
        let file = format!(
            r#"{{ "device": "NVIDIA H200", "gemms": [{{
                "element": "bf16", "a": "row_major", "b": "row_major",
                "m": 64, "n": 64, "k": 64, "batches": 1,
                "choice": {{ "kernel": "{removed}", "k_splits": 1 }}
            }}]}}"#
        );
        let tuned: Tuned = file.parse().unwrap();
        let gemm = Gemm::<bf16>::new(64, 64, 64).tuned(&tuned);
        let error = gemm.plan(&Simulator::default()).unwrap_err().to_string();
        let start = format!(
            "no kernel `{removed}` computes row-major x row-major bf16 into row-major D with these \
             leading dimensions and offsets on this device (this version has no kernel of this \
             name for these elements: choose another, or tune again); those that do: "
        );
        assert!(error.starts_with(&start), "{error}");
        assert!(error.contains("sm90_bf16_nn_128x256x64_c2"), "{error}");
    }
}

#[test]
fn repacks_what_needs_it_within_workspace() {
    let device = Simulator::default();
    let choices = |gemm: &Gemm<bf16>| -> Vec<String> {
        gemm.choices(&device)
            .iter()
            .map(Choice::to_string)
            .filter(|name| {
                name.starts_with("sm90_bf16_nt_128x256x64/") || name.contains("nt_128x256x64+")
            })
            .collect()
    };
    // Whole lines of the cache, in the order that the kernel takes.
    let whole =
        Gemm::<bf16>::new(64, 64, 128).b(Layout::col_major(128)).repack_workspace_up_to(usize::MAX);
    assert_eq!(choices(&whole), Vec::<String>::new());
    // A with an odd leading dimension: 64 x 128, and 128 x 129 of B if it is repacked too.
    let odd = Gemm::<bf16>::new(64, 128, 129).a(Layout::row_major(129)).b(Layout::col_major(136));
    assert!(choices(&odd.clone().repack_workspace_up_to(64 * 192 - 1)).is_empty());
    let with_a = choices(&odd.clone().repack_workspace_up_to(64 * 192));
    assert!(
        with_a.contains(&"sm90_bf16_nt_128x256x64+a".to_owned())
            && !with_a.contains(&"sm90_bf16_nt_128x256x64+a+b".to_owned())
    );
    assert!(
        choices(&odd.clone().repack_workspace_up_to(192 * 192))
            .contains(&"sm90_bf16_nt_128x256x64+a+b".to_owned())
    );

    // Lines of a transposed copy would be too far apart.
    let long = Gemm::<i8, i32>::new(16, 16, 10_000_000)
        .a(Layout::col_major(16))
        .repack_workspace_up_to(usize::MAX);
    let choices = long.choices(&device);
    assert!(
        !choices.is_empty() && choices.iter().all(|choice| choice.repacked.is_none()),
        "{choices:?}"
    );

    let plan = odd.choose("sm90_bf16_nt_128x256x64+a".parse().unwrap()).plan(&device).unwrap();
    assert_eq!(plan.repack_workspace_len(), 64 * 192);
    let (a, b, mut d) = (elements(64 * 129), elements(128 * 136), elements(64 * 128));
    let refused = plan
        .run(Operands::new(&device, &a, &b, &mut d).repack_workspace(&mut elements(64 * 192 - 1)))
        .unwrap_err();
    let expected = "the workspace for repacking has 12287 elements; the GEMM needs 12288";
    assert_eq!(refused.to_string(), expected);
}

/// A grouped GEMM equals a GEMM for each group.
#[test]
fn groups_equal_separate_gemms() {
    let (m, n, k, ends) = (90, 48, 40, [33u32, 33, 34, 90]);
    let device = Simulator::default().strict();
    let value = |i: usize| bf16::from_f32((i * i % 23) as f32 / 7.0 - 1.5);
    let a: Vec<bf16> = (0..m * k).map(value).collect();
    let b: Vec<bf16> = (0..ends.len() * k * n).map(|i| value(i + 5)).collect();
    let (mut together, mut one_by_one) = (elements(m * n), elements(m * n));
    let of_b = Layout::col_major(k);
    for (kernel, alone) in [
        ("sm90_bf16_nt_128x256x64_grouped", "sm90_bf16_nt_128x256x64"),
        ("sm80_bf16_grouped_128x128x32", "sm80_bf16_unaligned_128x128x32"),
    ] {
        let choice = |kernel: &str| Choice::new(kernel, 1);
        let gemm = Gemm::<bf16>::new(m, n, k)
            .groups(ends.len())
            .b(of_b.batch_stride(k * n))
            .choose(choice(kernel));
        let operands = Operands::new(&device, &a, &b, &mut together).group_ends(&ends);
        gemm.plan(&device).unwrap().run(operands).unwrap();
        let mut first = 0;
        for (group, end) in ends.into_iter().map(|end| end as usize).enumerate() {
            let gemm = Gemm::<bf16>::new(end - first, n, k)
                .a(Layout::row_major(k).starting_at(first * k))
                .b(of_b.starting_at(group * k * n))
                .d(Layout::row_major(n).starting_at(first * n))
                .choose(choice(alone));
            let operands = Operands::new(&device, &a, &b, &mut one_by_one);
            gemm.plan(&device).unwrap().run(operands).unwrap();
            first = end;
        }
        assert_eq!(together, one_by_one, "{kernel}");
    }
}

#[test]
fn rejects_groups_with_remedy() {
    let gemm =
        Gemm::<bf16>::new(40, 48, 512).groups(3).b(Layout::row_major(48).batch_stride(512 * 48));
    let cases = [
        (gemm.clone().batches(2), "grouped GEMM: it cannot be a batch as well: leave `batches` 1"),
        (
            gemm.clone().a(Layout::col_major(40)),
            "grouped GEMM: A is column-major: make it row-major",
        ),
        (
            gemm.clone().d(Layout::col_major(40)),
            "grouped GEMM: D is column-major: make it row-major",
        ),
        (
            gemm.clone().alpha(0.0),
            "grouped GEMM: K or alpha is 0, so nothing is multiplied: leave the groups",
        ),
        (
            gemm.clone().b(Layout::row_major(48)),
            "grouped GEMM: the batch stride of B is 0, so all groups have the same B: set the \
             stride, or leave the groups if one B is meant for all rows",
        ),
        (
            gemm.clone().choose(Choice::new("sm80_bf16_grouped_128x128x32", 2)),
            "sm80_bf16_grouped_128x128x32 cannot split a K of 512 in 2: a grouped GEMM has no \
             split-K: 1 is the most",
        ),
    ];
    for (gemm, message) in cases {
        assert_eq!(refusal(&gemm), message);
    }
    let b = 3 * 512 * 48;
    assert_eq!(
        refused_buffers(&gemm, [40 * 512, b - 1, 40 * 48]),
        format!("B has {} elements; the GEMM needs {b}", b - 1)
    );
    assert_eq!(
        refused_buffers(&gemm, [40 * 512, b, 40 * 48]),
        "grouped GEMM: nothing says where the groups end: give `group_ends`"
    );
    let (a, b, mut d, ends) =
        (elements(40 * 512), elements(b), elements(40 * 48), [40, 40, 40, 40]);
    let plan = gemm.plan(&Idle).unwrap();
    let mut refused = |ends: &[u32], bias: &[bf16]| {
        plan.run(Operands::new(&Idle, &a, &b, &mut d).group_ends(ends).bias(bias))
            .unwrap_err()
            .to_string()
    };
    let bias: Vec<bf16> = elements(3 * 48);
    assert_eq!(
        refused(&ends, &bias),
        "there are 4 ends of groups, and 3 groups: each group has one"
    );
    assert_eq!(refused(&ends[..3], &bias[..48]), "the bias has 48 elements; the GEMM needs 144");
    // Of one group there is one B.
    assert!(gemm.clone().groups(1).b(Layout::row_major(48)).plan(&Idle).is_ok());
    let plain = Gemm::<bf16>::new(40, 48, 512).plan(&Idle).unwrap();
    let refused =
        plain.run(Operands::new(&Idle, &a, &b, &mut d).group_ends(&ends)).unwrap_err().to_string();
    assert_eq!(
        refused,
        "grouped GEMM: there are ends, and no groups: set `groups`, or give no ends"
    );
}

/// Grouped GEMMs use `wgmma` where TMA is legal, else `mma.sync`; other elements have no grouped
/// kernels.
#[test]
fn grouped_gemms_have_their_own_kernels() {
    let kernel = |n: usize, b: Layout| {
        let gemm = Gemm::<bf16>::new(64, n, 4096)
            .groups(8)
            .b(b.batch_stride(4096 * n))
            .workspace_up_to(usize::MAX);
        gemm.plan(&Simulator::default()).unwrap().choice().unwrap().to_string()
    };
    assert_eq!(kernel(4096, Layout::col_major(4096)), "sm90_bf16_nt_128x256x64_grouped");
    assert_eq!(kernel(4096, Layout::row_major(4096)), "sm90_bf16_nn_128x256x64_grouped");
    assert_eq!(kernel(4095, Layout::row_major(4095)), "sm80_bf16_grouped_128x128x32");
    assert_eq!(kernel(4095, Layout::col_major(4096)), "sm90_bf16_nt_128x256x64_grouped");
    // Unaligned or MN-major operands are repacked.
    let copied = |gemm: Gemm<i8, i32>| {
        gemm.groups(8)
            .repack_workspace_up_to(usize::MAX)
            .plan(&Simulator::default())
            .unwrap()
            .choice()
            .unwrap()
            .to_string()
    };
    let b = Layout::row_major(4096).batch_stride(4096 * 4096);
    assert_eq!(copied(Gemm::new(16384, 4096, 4096).b(b)), "sm90_s8_nt_128x256x128_grouped+b");
    let b = Layout::col_major(4095).batch_stride(4095 * 4096);
    assert_eq!(copied(Gemm::new(16384, 4096, 4095).b(b)), "sm90_s8_nt_128x256x128_grouped+a+b");
    let refused = Gemm::<f64>::new(64, 64, 64).groups(2).plan(&Idle).unwrap_err().to_string();
    assert!(refused.starts_with("grouped GEMM: no kernel has these elements"), "{refused}");
}

#[test]
fn rejects_unsuitable_named_kernel() {
    let gemm = Gemm::<bf16>::new(64, 64, 512);
    let named = |kernel: &str, parts| gemm.clone().choose(Choice::new(kernel, parts));
    assert_eq!(
        refusal(&named("sm80_bf16_nn_128x256x64", 1)),
        "no kernel `sm80_bf16_nn_128x256x64` computes row-major x row-major bf16 into row-major D \
         with these leading dimensions and offsets on this device; those that do: \
         sm80_bf16_nn_16x64x64, sm80_bf16_nn_16x128x64, \
         sm80_bf16_nn_64x128x64, sm80_bf16_nn_64x64x128, sm80_bf16_nn_64x64x64, \
         sm80_bf16_unaligned_128x128x32"
    );
    assert!(
        refusal(&named("sm80_bf16_nt_64x64x64", 1))
            .starts_with("no kernel `sm80_bf16_nt_64x64x64` computes row-major x row")
    );
    assert!(named("sm80_bf16_nn_64x64x64", 2).plan(&Idle).is_ok());
}

#[test]
fn splits_of_k_are_whole_steps() {
    let gemm = Gemm::<bf16>::new(64, 64, 512);
    let named = |splits| gemm.clone().choose(Choice::new("sm80_bf16_nn_64x64x64", splits));
    assert_eq!(
        refusal(&named(5)),
        "sm80_bf16_nn_64x64x64 cannot split a K of 512 in 5: with whole steps of 64 there are 4 \
         splits"
    );
    assert!(refusal(&named(0)).ends_with("1 is the least"));
}

#[test]
fn nothing_to_compute_launches_nothing() {
    let (a, b, mut d) = (elements(64), elements(64), elements(64));
    for gemm in [Gemm::<bf16>::new(0, 8, 8), Gemm::new(8, 0, 8), Gemm::new(8, 8, 8).batches(0)] {
        let reports = gemm.plan(&Idle).unwrap().run(Operands::new(&Idle, &a, &b, &mut d)).unwrap();
        assert!(reports.is_empty());
    }
}

#[test]
fn empty_k_leaves_scaled_c() {
    let device = Simulator::default().strict();
    let (a, b, c) = (elements(8), elements(8), vec![f16::from_f32(3.0); 30]);
    let mut d = elements(30);
    let gemm = Gemm::<f16>::new(5, 6, 0).b(Layout::row_major(8)).beta(2.0);
    let plan = gemm.plan(&device).unwrap();
    assert_eq!(plan.choice(), None);
    plan.run(Operands::new(&device, &a, &b, &mut d).c(&c)).unwrap();
    assert!(d.iter().all(|&element| element == f16::from_f32(6.0)));
}

/// Where nothing is multiplied there is nothing to choose.
#[test]
fn empty_k_has_no_choices() {
    assert_eq!(Gemm::<bf16>::new(16, 16, 0).choices(&Simulator::default()), []);
    assert_eq!(Gemm::<bf16>::new(16, 16, 8).alpha(0.0).choices(&Simulator::default()), []);
}

/// A measured kernel may be unable to compute a GEMM of the same size in other layouts.
#[test]
fn tuned_choice_is_left_where_it_does_not_fit() {
    let device = Simulator::default();
    let gemm = Gemm::<bf16>::new(128, 256, 512);
    let choice = Choice::new("sm90_bf16_nn_128x256x64", 1);
    let mut tuned = Tuned::default();
    tuned.insert(gemm.tuned_gemm(choice.clone()));
    let planned = |gemm: &Gemm<bf16>| gemm.plan(&device).unwrap().choice();
    assert_eq!(planned(&gemm.clone().tuned(&tuned)), Some(choice));
    for other in [gemm.clone().a(Layout::row_major(513)), gemm.clone().d(Layout::col_major(128))] {
        assert_eq!(planned(&other.clone().tuned(&tuned)), planned(&other));
    }
    // The caller's own choice comes first.
    let own = Choice::new("sm80_bf16_nn_64x64x64", 2);
    assert_eq!(planned(&gemm.choose(own.clone()).tuned(&tuned)), Some(own));
}

/// Kernels with TMA take longer leading dimensions than the others.
#[test]
fn long_leading_dimensions() {
    let device = Simulator::default();
    let stride = 8_400_000;
    let gemm = Gemm::<bf16>::new(2, 8, 64).a(Layout::row_major(stride));
    let plan = gemm.plan(&device).unwrap();
    assert!(plan.choice().unwrap().kernel.starts_with("sm90_"), "{:?}", plan.choice());
    let (mut a, b, mut d) = (elements(stride + 64), vec![bf16::ONE; 64 * 8], elements(2 * 8));
    a[stride..].fill(bf16::ONE);
    plan.run(Operands::new(&device, &a, &b, &mut d)).unwrap();
    let d: Vec<f32> = d.into_iter().map(bf16::to_f32).collect();
    assert_eq!(d, [[0.0; 8], [64.0; 8]].concat());
    // The leading dimension of a single row does not matter.
    let row = Gemm::<bf16>::new(1, 8, 64);
    assert_eq!(
        refusal(&gemm),
        "the leading dimension of A is 8400000, more than the 8388607 that kernels count to"
    );
    assert!(row.a(Layout::row_major(stride)).plan(&Idle).is_ok());
}

/// The driver takes no more blocks, and kernels count them in 32 bits.
#[test]
fn too_many_blocks_are_refused() {
    let gemm = Gemm::<bf16>::new(1, 1, 1 << 21)
        .b(Layout::row_major(8))
        .batches(32_768)
        .d(Layout::row_major(1).batch_stride(1))
        .choose(Choice::new("sm90_bf16_nn_80x128x64_swap_c4", 32_768));
    assert_eq!(
        gemm.plan(&Simulator::default()).unwrap_err().to_string(),
        "the number of blocks, counted through batch and splits of K, is 4294967296, more than the \
         2147483647 that kernels count to"
    );
}

/// A GPU's kernel would stop at such an address, and the simulator has none.
#[test]
fn buffers_at_odd_addresses_are_refused_with_remedy() {
    let gemm = Gemm::<bf16>::new(64, 64, 64);
    let (all, mut d) = (elements::<bf16>(64 * 64 + 8), elements::<bf16>(64 * 64));
    let aligned = all.iter().position(|element| (&raw const *element).addr() % 16 == 0).unwrap();
    let whole = &all[aligned..][..64 * 64];
    let odd = &all[(aligned + 1) % 8..][..64 * 64];
    let plan = gemm.plan(&Idle).unwrap();
    for (a, b, buffer) in [(odd, whole, "A"), (whole, odd, "B")] {
        let refused = plan.run(Operands::new(&Idle, a, b, &mut d)).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "{buffer} starts at address {:p}, and the selected kernel reads multiples of 16 \
                 bytes: let the buffer start at such an address before the matrix, and say where \
                 the matrix starts, with `Layout::starting_at`",
                odd.as_ptr()
            )
        );
    }
}

#[test]
fn tuned_choice_round_trips() {
    let gemm = Gemm::<bf16>::new(64, 128, 1024).b(Layout::col_major(1024));
    let choice = Choice::new("sm80_bf16_nt_64x128x64", 4);
    let mut tuned = Tuned { device: "a simulator".to_owned(), gemms: Vec::new() };
    tuned.insert(gemm.tuned_gemm(Choice::new("another", 1)));
    tuned.insert(gemm.tuned_gemm(choice.clone()));
    assert_eq!((tuned.gemms.len(), tuned.gemms[0].b), (1, Order::ColMajor));

    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("tuned.json");
    tuned.save(&file).unwrap();
    let loaded = Tuned::load(&file).unwrap();
    assert_eq!(loaded, tuned);
    assert_eq!(gemm.clone().tuned(&loaded).plan(&Idle).unwrap().choice(), Some(choice));
    // The selection for another GEMM does not change.
    let other = Gemm::<bf16>::new(64, 128, 1024);
    assert_eq!(other.clone().tuned(&loaded), other);

    std::fs::write(&file, "{}").unwrap();
    let message = Tuned::load(&file).unwrap_err().to_string();
    assert!(
        message.contains("tuned.json has no tuned choices: missing field `device`"),
        "{message}"
    );
    let missing = Tuned::load(&file.with_extension("none")).unwrap_err().to_string();
    assert!(missing.contains("tuned.none: "), "{missing}");
}

/// C and beta go together: one without the other is refused, as no default could be meant.
#[test]
fn c_and_beta_are_given_together() {
    let gemm = Gemm::<bf16>::new(8, 8, 8);
    let (a, b, c, mut d) = (elements(64), elements(64), elements(64), elements(64));
    let without = "there is a C, and beta was not set: set it (1 adds C as it is, 0 leaves it \
                   out), or give no C";
    let plan = gemm.plan(&Idle).unwrap();
    let refused = plan.run(Operands::new(&Idle, &a, &b, &mut d).c(&c)).unwrap_err();
    assert_eq!(refused.to_string(), without);
    let refused = plan.run(Operands::new(&Idle, &a, &b, &mut d).c_is_d()).unwrap_err();
    assert_eq!(refused.to_string(), without);
    let plan = gemm.clone().beta(1.0).plan(&Idle).unwrap();
    let refused = plan.run(Operands::new(&Idle, &a, &b, &mut d).c(&c[..63])).unwrap_err();
    assert_eq!(refused.to_string(), "C has 63 elements; the GEMM needs 64");
    // With 0, C is not read, and may be too short.
    let (device, mut ones) = (Simulator::default().strict(), vec![bf16::NAN; 64]);
    let plan = gemm.beta(0.0).plan(&device).unwrap();
    plan.run(Operands::new(&device, &a, &b, &mut ones).c_is_d()).unwrap();
    assert_eq!(ones, elements(64));
    plan.run(Operands::new(&device, &a, &b, &mut ones).c(&[])).unwrap();
}

/// The largest dimensions, and products of them, are refused or planned: no number wraps around.
#[test]
fn largest_dimensions_do_not_overflow() {
    let longest = (1 << 31) - 64;
    for (m, n, k) in
        [(longest, 1, longest), (1, longest, longest), (longest, 64, longest), (1, 1, longest)]
    {
        let gemm = Gemm::<f64>::new(m, n, k)
            .workspace_up_to(usize::MAX)
            .repack_workspace_up_to(usize::MAX);
        let gemm = gemm.a(Layout::col_major(m)).b(Layout::row_major(n));
        let refused = gemm.plan(&Idle).map(|plan| plan.workspace_len());
        assert!(gemm.choices(&Idle).is_empty() == refused.is_err(), "{m}x{n}x{k}: {refused:?}");
    }
    let huge = Gemm::<bf16>::new(usize::MAX, usize::MAX, usize::MAX);
    assert_eq!(huge.choices(&Idle), []);
    assert_eq!(
        refusal(&huge),
        "M is 18446744073709551615, more than the 2147483584 that kernels count to"
    );
    let far = Layout::row_major(8).starting_at(usize::MAX).batch_stride(usize::MAX);
    let gemm = Gemm::<bf16>::new(8, 8, 8);
    for (gemm, what) in [
        (gemm.clone().a(far), "A has 64 elements; the GEMM needs 18446744073709551615"),
        (gemm.clone().b(far), "B has 64 elements; the GEMM needs 18446744073709551615"),
        (gemm.clone().d(far), "D has 64 elements; the GEMM needs 18446744073709551615"),
        (gemm.clone().d(far).batches(3), "D has 64 elements; the GEMM needs 18446744073709551615"),
    ] {
        let refused = refused_buffers(&gemm, [64, 64, 64]);
        assert!(refused.starts_with(what), "{refused}");
    }
    let parts = Gemm::<bf16>::new(1, 1, longest)
        .choose(Choice::new("sm80_bf16_unaligned_128x128x32", 1 << 17));
    let parts = parts.a(Layout::row_major(longest)).b(Layout::row_major(1));
    let refused = refusal(&parts);
    assert!(
        refused.ends_with("65535 is the most") || refused.contains("leading dimension"),
        "{refused}"
    );
}
