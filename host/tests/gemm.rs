//! Products through the interface that users call, on the simulator, and what is refused before anything is launched.

#![cfg(feature = "gemm")]

use std::convert::Infallible;

use bytemuck::Pod;
use ptx_matrix::launch::{Device, KernelInfo, Launch};
use ptx_matrix::sim::Simulator;
use ptx_matrix::{TensorEncoding, TensorMapError, TensorMapWords, bf16, f16};
use ptx_matrix_host::gemm::{Choice, Gemm, GemmDevice, Layout, Operands, Order, Tuned};

/// A device that must not be asked to launch anything.
struct Idle;

// SAFETY: buffers are the host's, and nothing is launched.
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

    /// As PTX for sm_80.
    fn has(&self, kernel: &KernelInfo) -> bool {
        kernel.name != "gemm_bf16_nn" && !kernel.name.starts_with("hopper_") && !kernel.name.ends_with("_tma")
    }

    fn empty<T: Pod>(&self) -> Result<Vec<T>, Infallible> {
        Ok(Vec::new())
    }
}

fn elements<T: Pod>(len: usize) -> Vec<T> {
    vec![T::zeroed(); len]
}

/// What planning is refused with.
fn refusal(gemm: &Gemm<bf16>) -> String {
    gemm.plan(&Idle).map_or_else(|error| error.to_string(), |plan| panic!("planned: {plan:?}"))
}

/// What buffers of these lengths are refused with.
fn refused_buffers(gemm: &Gemm<bf16>, [a, b, d]: [usize; 3]) -> String {
    let (a, b, mut d) = (elements(a), elements(b), elements(d));
    let outcome = gemm.plan(&Idle).unwrap().run(Operands::new(&Idle, &a, &b, &mut d));
    outcome.unwrap_err().to_string()
}

#[test]
fn layouts_are_refused_with_what_would_do() {
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
        (gemm.clone().batches(2), "the batch stride of D is 0: its products of 1920 elements each would overlap"),
        (Gemm::new(1, 1, 1 << 31), "K is 2147483648, more than the 2147483647 that kernels count to"),
    ];
    for (gemm, message) in cases {
        assert_eq!(refusal(&gemm), message);
    }
    // Lines may start anywhere.
    let anywhere = gemm.clone().a(Layout::row_major(57).starting_at(3)).b(Layout::col_major(59).starting_at(1));
    assert_eq!(anywhere.plan(&Idle).unwrap().choice().unwrap().kernel, "gemm_bf16_any");
    // Beside each other in lines that are long enough, products do not overlap.
    assert!(gemm.d(Layout::row_major(96).batch_stride(48)).batches(2).plan(&Idle).is_ok());
}

#[test]
fn buffers_are_refused_with_what_they_need() {
    let gemm = Gemm::<bf16>::new(40, 44, 56).b(Layout::row_major(48));
    let pieces = " (lines of A and B are read in pieces of 16 bytes, the last one too)";
    assert_eq!(
        refused_buffers(&gemm, [2239, 2688, 1760]),
        format!("A has 2239 elements, and the product needs 2240{pieces}")
    );
    assert_eq!(
        refused_buffers(&gemm, [2240, 2687, 1760]),
        format!("B has 2687 elements, and the product needs 2688{pieces}")
    );
    assert_eq!(refused_buffers(&gemm, [2240, 2688, 1759]), "D has 1759 elements, and the product needs 1760");
    assert_eq!(
        refused_buffers(&gemm.clone().beta(2.0), [2240, 2688, 1760]),
        "beta is 2, and there is no C: give one, or leave beta 0"
    );

    let (a, b, mut d) = (elements(2240), elements(2688), elements(1760));
    let (short, mut workspace) = (elements(43), vec![0.0; 7]);
    let with_bias = gemm.plan(&Idle).unwrap().run(Operands::new(&Idle, &a, &b, &mut d).bias(&short));
    assert_eq!(with_bias.unwrap_err().to_string(), "the bias has 43 elements, and the product needs 44");
    let split = Gemm::<bf16>::new(8, 8, 512).choose(Choice { kernel: "gemm_bf16_nn_64x64".into(), parts: 2 });
    let plan = split.plan(&Idle).unwrap();
    assert_eq!(plan.workspace_len(), 128);
    let (a, b, mut d) = (elements(4096), elements(4096), elements(64));
    let refused = plan.run(Operands::new(&Idle, &a, &b, &mut d).workspace(&mut workspace)).unwrap_err();
    assert_eq!(refused.to_string(), "the workspace has 7 elements, and the product needs 128");
    let by_rows = Gemm::<bf16>::new(41, 8, 8).bias_of_rows().plan(&Idle).unwrap();
    let mut of_rows = elements(41 * 8);
    let refused = by_rows.run(Operands::new(&Idle, &a, &b, &mut of_rows).bias(&short[..40])).unwrap_err();
    assert_eq!(refused.to_string(), "the bias has 40 elements, and the product needs 41");
}

/// The simulator stands in for an H200.
#[test]
fn products_go_by_wgmma_where_tensor_maps_do() {
    let device = ptx_matrix::sim::Simulator::default();
    let kernel = |gemm: &Gemm<bf16>| gemm.plan(&device).unwrap().choice().unwrap().kernel;
    let gemm = Gemm::<bf16>::new(2048, 2048, 2048);
    assert_eq!(kernel(&gemm), "hopper_bf16_nn");
    assert_eq!(kernel(&gemm.clone().b(Layout::col_major(2048))), "hopper_bf16_nt");
    // Columns that do not start at multiples of 128 bytes.
    assert_eq!(kernel(&gemm.clone().b(Layout::col_major(2056))), "hopper_bf16_nt_pairs");
    assert_eq!(kernel(&gemm.clone().d(Layout::col_major(2048))), "hopper_bf16_tt");
    let of = |layout: Layout| layout.batch_stride(2048 * 2048);
    let (a, b, d) = (of(Layout::row_major(2048)), of(Layout::row_major(2048)), of(Layout::row_major(2048)));
    assert_eq!(kernel(&gemm.clone().batches(2).a(a).b(b).d(d)), "hopper_bf16_nn");
    let others = [
        gemm.clone().d(Layout::row_major(2049)),
        gemm.clone().d(Layout::row_major(2048).starting_at(4)),
        // Lines of D that end within 16 bytes.
        Gemm::new(2048, 2047, 2048).b(Layout::row_major(2048)).d(Layout::row_major(2048)),
        // One B for all products of a batch.
        gemm.batches(2).a(a).d(d),
    ];
    for other in others {
        assert_eq!(kernel(&other), "gemm_bf16_nn");
    }
}

/// Rows in groups, and the same group by group.
#[test]
fn groups_are_as_products_of_their_own() {
    let (m, n, k, ends) = (90, 48, 40, [33u32, 33, 34, 90]);
    let device = Simulator::default().strict();
    let value = |i: usize| bf16::from_f32((i * i % 23) as f32 / 7.0 - 1.5);
    let a: Vec<bf16> = (0..m * k).map(value).collect();
    let b: Vec<bf16> = (0..ends.len() * k * n).map(|i| value(i + 5)).collect();
    let (mut together, mut one_by_one) = (elements(m * n), elements(m * n));
    let of_b = Layout::col_major(k);
    for (kernel, alone) in [("hopper_bf16_nt_groups", "hopper_bf16_nt"), ("gemm_bf16_groups", "gemm_bf16_any")] {
        let choice = |kernel: &str| Choice { kernel: kernel.to_owned(), parts: 1 };
        let gemm = Gemm::<bf16>::new(m, n, k).groups(ends.len()).b(of_b.batch_stride(k * n)).choose(choice(kernel));
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
fn groups_are_refused_with_what_would_do() {
    let gemm = Gemm::<bf16>::new(40, 48, 512).groups(3).b(Layout::row_major(48).batch_stride(512 * 48));
    let cases = [
        (gemm.clone().batches(2), "rows in groups: they are of one product, not of a batch: leave `batches` 1"),
        (gemm.clone().a(Layout::col_major(40)), "rows in groups: rows of A are not lines: make A row-major"),
        (gemm.clone().d(Layout::col_major(40)), "rows in groups: rows of D are not lines: make D row-major"),
        (gemm.clone().alpha(0.0), "rows in groups: nothing is multiplied, as K or alpha is 0: leave the groups"),
        (
            gemm.clone().choose(Choice { kernel: "gemm_bf16_groups".into(), parts: 2 }),
            "gemm_bf16_groups cannot cut a K of 512 in 2 parts: rows in groups are multiplied in one part",
        ),
    ];
    for (gemm, message) in cases {
        assert_eq!(refusal(&gemm), message);
    }
    let pieces = " (lines of A and B are read in pieces of 16 bytes, the last one too)";
    let b = 3 * 512 * 48;
    assert_eq!(
        refused_buffers(&gemm, [40 * 512, b - 1, 40 * 48]),
        format!("B has {} elements, and the product needs {b}{pieces}", b - 1)
    );
    assert_eq!(
        refused_buffers(&gemm, [40 * 512, b, 40 * 48]),
        "rows in groups: nothing says where they end: give `group_ends`"
    );
    let (a, b, mut d, ends) = (elements(40 * 512), elements(b), elements(40 * 48), [40, 40, 40, 40]);
    let plan = gemm.plan(&Idle).unwrap();
    let mut refused = |ends: &[u32], bias: &[bf16]| {
        plan.run(Operands::new(&Idle, &a, &b, &mut d).group_ends(ends).bias(bias)).unwrap_err().to_string()
    };
    let bias: Vec<bf16> = elements(3 * 48);
    assert_eq!(refused(&ends, &bias), "there are 4 ends of groups, and the product has 3 groups: each has one");
    assert_eq!(refused(&ends[..3], &bias[..48]), "the bias has 48 elements, and the product needs 144");
    let plain = Gemm::<bf16>::new(40, 48, 512).plan(&Idle).unwrap();
    let refused = plain.run(Operands::new(&Idle, &a, &b, &mut d).group_ends(&ends)).unwrap_err().to_string();
    assert_eq!(refused, "rows in groups: there are ends, and the product has no groups: say how many, or give no ends");
}

/// Of rows in groups by `wgmma` where tensor maps do, else by `mma.sync`; other elements have no such kernels.
#[test]
fn groups_have_kernels_of_their_own() {
    let kernel = |n: usize, b: Layout| {
        let gemm = Gemm::<bf16>::new(64, n, 4096).groups(8).b(b.batch_stride(4096 * n)).workspace_up_to(usize::MAX);
        gemm.plan(&Simulator::default()).unwrap().choice().unwrap().to_string()
    };
    assert_eq!(kernel(4096, Layout::col_major(4096)), "hopper_bf16_nt_groups");
    assert_eq!(kernel(4096, Layout::row_major(4096)), "hopper_bf16_nn_groups");
    assert_eq!(kernel(4095, Layout::row_major(4095)), "gemm_bf16_groups");
    let refused = Gemm::<f32>::new(64, 64, 64).groups(2).plan(&Idle).unwrap_err().to_string();
    assert!(refused.starts_with("rows in groups: no kernel multiplies these elements so"), "{refused}");
}

#[test]
fn a_named_kernel_has_to_do_it() {
    let gemm = Gemm::<bf16>::new(64, 64, 512);
    let named = |kernel: &str, parts| gemm.clone().choose(Choice { kernel: kernel.to_owned(), parts });
    assert_eq!(
        refusal(&named("gemm_bf16_nn", 1)),
        "no kernel `gemm_bf16_nn` multiplies row-major x row-major bf16 into row-major D on this device; \
         there are: gemm_bf16_nn_16x64, gemm_bf16_nn_16x128, gemm_bf16_nn_64x128, \
         gemm_bf16_nn_64x64x128, gemm_bf16_nn_64x64, \
         gemm_bf16_any"
    );
    assert!(
        refusal(&named("gemm_bf16_nt_64x64", 1))
            .starts_with("no kernel `gemm_bf16_nt_64x64` multiplies row-major x row")
    );
    assert!(named("gemm_bf16_nn_64x64", 2).plan(&Idle).is_ok());
}

#[test]
fn k_is_cut_in_whole_steps() {
    let gemm = Gemm::<bf16>::new(64, 64, 512);
    let named = |parts| gemm.clone().choose(Choice { kernel: "gemm_bf16_nn_64x64".to_owned(), parts });
    assert_eq!(
        refusal(&named(5)),
        "gemm_bf16_nn_64x64 cannot cut a K of 512 in 5 parts: parts of whole steps of 64 would be 4"
    );
    assert!(refusal(&named(0)).ends_with("one is the least"));
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
fn without_terms_d_is_what_is_added() {
    let device = Simulator::default().strict();
    let (a, b, c) = (elements(8), elements(8), vec![f16::from_f32(3.0); 30]);
    let mut d = elements(30);
    let gemm = Gemm::<f16>::new(5, 6, 0).b(Layout::row_major(8)).beta(2.0);
    let plan = gemm.plan(&device).unwrap();
    assert_eq!(plan.choice(), None);
    plan.run(Operands::new(&device, &a, &b, &mut d).c(&c)).unwrap();
    assert!(d.iter().all(|&element| element == f16::from_f32(6.0)));
}

#[test]
fn a_tuned_choice_is_saved_and_taken() {
    let gemm = Gemm::<bf16>::new(64, 128, 1024).b(Layout::col_major(1024));
    let choice = Choice { kernel: "gemm_bf16_nt_64x128".to_owned(), parts: 4 };
    let mut tuned = Tuned { device: "a simulator".to_owned(), products: Vec::new() };
    tuned.insert(gemm.tuned_product(Choice { kernel: "another".to_owned(), parts: 1 }));
    tuned.insert(gemm.tuned_product(choice.clone()));
    assert_eq!((tuned.products.len(), tuned.products[0].b), (1, Order::ColMajor));

    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("tuned.json");
    tuned.save(&file).unwrap();
    let loaded = Tuned::load(&file).unwrap();
    assert_eq!(loaded, tuned);
    assert_eq!(gemm.clone().tuned(&loaded).plan(&Idle).unwrap().choice(), Some(choice));
    // Another product is chosen for as ever.
    let other = Gemm::<bf16>::new(64, 128, 1024);
    assert_eq!(other.clone().tuned(&loaded), other);

    std::fs::write(&file, "{}").unwrap();
    let message = Tuned::load(&file).unwrap_err().to_string();
    assert!(message.contains("tuned.json: no tuned choices: missing field `device`"), "{message}");
    let missing = Tuned::load(&file.with_extension("none")).unwrap_err().to_string();
    assert!(missing.contains("tuned.none: "), "{missing}");
}

/// A small sample of what `cargo xtask trials` runs on a GPU.
#[cfg(feature = "trials")]
#[test]
fn random_products_are_right() {
    for (seeds, longest) in [(0..20, 60), (20..22, 160)] {
        for seed in seeds {
            ptx_matrix_host::trials::run(&Simulator::new(seed).strict(), seed, longest).unwrap();
        }
    }
}
