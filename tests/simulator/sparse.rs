//! Sparse `mma`: each raw form returns the same as the typed one, and invalid metadata is found.

use crate::assert_at;
use crate::raw_mma::{any_bits, assert_same};
use ptx_matrix::element::Bits16;
use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{FragmentSparseA, Kept, ScaleA, ScaleB};
use ptx_matrix::mma::{AnyOrder, Metadata, MmaSparse, MmaSparseScaled, Plain, Select};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Misuse, SimError};
use ptx_matrix::{
    mma_element, mma_kind, mma_sparse_forms, mma_sparse_named, mma_sparse_ordered_forms,
    mma_sparse_scaled_forms, mma_sparse_scaled_named, raw,
};
use std::ops::RangeInclusive;

/// Metadata with ordered codes, for tf32 or for other types.
fn word(lane: usize, tf32: bool) -> u32 {
    let codes: [u32; 6] = if tf32 { [4, 14, 4, 4, 14, 14] } else { [4, 8, 12, 9, 13, 14] };
    (0..8).fold(0, |word, i| word << 4 | codes[(lane * 5 + i * 7 + lane * i) % 6])
}

/// Runs the typed instruction and the raw one of each form, and compares their results.
macro_rules! same {
    ([$order:ident $forms:ident] $($shape:ident $q:ident $d:ident [$(($a:ident $b:ident))*]
        $c:ident $registers:tt $selectors:tt $needs:ident $version:literal $nature:ident;)*) => {
        fn $forms(warp: Warp) {$($(
            mma_sparse_named! { $order $q $shape $d $a $b $c => same (
                $selectors warp [ptx::$shape] [mma_element!($q $a)] [mma_element!($q $b)]
                [ptx::$c] [ptx::$q] [ptx::$order]
            ) }
        )*)*}
    };
    (@named $name:ident (1 $($types:tt)*)) => { same! { @form $name 0 $($types)* } };
    (@named $name:ident (2 $($types:tt)*)) => { same! { @form $name 1 $($types)* } };
    (@named $name:ident (4 $($types:tt)*)) => { same! { @form $name 2 $($types)* } };
    (@form $name:ident $selector:literal $warp:ident
        [$s:ty] [$a:ty] [$b:ty] [$c:ty] [$q:ty] [$order:ty]) => {{
        fn form(warp: Warp) {
            let (a, b, c) = (any_bits(warp, 1), any_bits(warp, 2), any_bits(warp, 3));
            let words = warp.each(|lane| word(lane.id(), <$a>::NAME == "tf32"));
            let mut typed = Accumulator::from_registers(c);
            MmaSparse::<$s, $a, $b, $c, $q, $order>::accumulate::<$selector>(
                warp,
                &mut typed,
                &FragmentSparseA::from_registers(a),
                &FragmentB::from_registers(b),
                &Metadata::from_words(words),
            );
            // SAFETY: All lanes reach this.
            let raw = warp.each(|lane| unsafe {
                raw::$name::<$selector>(
                    lane.get(&a), lane.get(&b), lane.get(&c), lane.get(&words),
                )
            });
            assert_same(warp, stringify!($name), &typed.registers(), &raw);
        }
        form($warp);
    }};
}
mma_sparse_forms!(same any forms_with_any_metadata);
mma_sparse_forms!(same ordered forms_with_ordered_metadata);
mma_sparse_ordered_forms!(same ordered forms_only_with_ordered_metadata);

macro_rules! same_scaled {
    ($($shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*] $needs:ident
        $version:literal;)*) => {
        fn scaled_forms(warp: Warp) {$($(
            mma_sparse_scaled_named! { $shape $kind $vec $scale $a $b => same_scaled (
                warp [ptx::$shape] [mma_element!($kind $a)] [mma_element!($kind $b)]
                [mma_kind!($kind $vec $scale)]
            ) }
        )*)*}
    };
    (@named $name:ident ($warp:ident [$s:ty] [$a:ty] [$b:ty] [$kind:ty])) => {{
        fn form(warp: Warp) {
            let (a, b) = (any_bits(warp, 1), any_bits(warp, 2));
            let words = warp.each(|lane| word(lane.id(), false));
            // No scale is NaN.
            let [scales_a, scales_b] = [3, 4].map(|seed| {
                let any: PerLane<u32> = any_bits(warp, seed);
                warp.each(|lane| lane.get(&any) & 0x7f7f_7f7f)
            });
            let mut typed = Accumulator::<$s, f32>::zero();
            MmaSparseScaled::<$s, $a, $b, $kind, Select<0, 1>, Select<0, 2>>::accumulate(
                warp,
                &mut typed,
                (
                    &FragmentSparseA::from_registers(a),
                    &Metadata::from_words(words),
                    &ScaleA::from_registers(scales_a),
                ),
                (&FragmentB::from_registers(b), &ScaleB::from_registers(scales_b)),
            );
            // SAFETY: All lanes reach this.
            let raw = warp.each(|lane| unsafe {
                raw::$name::<0, 1, 0, 2>(
                    lane.get(&a), lane.get(&b), [0; 4], lane.get(&words),
                    lane.get(&scales_a), lane.get(&scales_b),
                )
            });
            assert_same(warp, stringify!($name), &typed.registers(), &raw);
        }
        form($warp);
    }};
}
mma_sparse_scaled_forms!(same_scaled);

#[kernel(threads = 32)]
fn every_form(block: &Block) {
    let warp = block.warp();
    forms_with_any_metadata(warp);
    forms_with_ordered_metadata(warp);
    forms_only_with_ordered_metadata(warp);
    scaled_forms(warp);
}

#[test]
fn every_raw_form_is_the_typed_one() {
    every_form::simulate(1).check();
}

/// Asserts that the finding is about this code in the metadata of lane 9 (rows 2 and 10).
#[track_caller]
fn assert_code(error: &SimError, code: u8, row: usize, cols: RangeInclusive<usize>, why: &str) {
    let Misuse::Metadata { code: found, row: of, cols: at, why: because, .. } = &error.misuse
    else {
        panic!("{error}")
    };
    assert_eq!((*found, *of, at), (code, row, &cols), "{error}");
    assert!(because.contains(why), "{error}");
}

#[kernel(threads = 32, target = "sm_80")]
fn halves(block: &Block, ordered: u32, word: u32) {
    let warp = block.warp();
    let metadata =
        Metadata::from_words(warp.each(|lane| if lane.id() == 9 { word } else { 0x4444_4444 }));
    let (a, b) = (FragmentSparseA::<M16N8K16, f16>::zero(), FragmentB::<M16N8K16, f16>::zero());
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    if ordered == 1 {
        MmaSparse::<_, f16, f16, _>::accumulate::<1>(warp, &mut acc, &a, &b, &metadata);
        // <- ordered
    } else {
        MmaSparse::<_, f16, f16, _, Plain, AnyOrder>::accumulate::<1>(
            // <- any order
            warp, &mut acc, &a, &b, &metadata,
        );
    }
}

#[test]
fn duplicate_metadata_index_is_an_error() {
    for code in [0b0000, 0b0101, 0b1010, 0b1111] {
        for (ordered, marker) in [(1, "ordered"), (0, "any order")] {
            let error = halves::simulate(1, ordered, 0x4444_4444 & !0xf00 | u32::from(code) << 8)
                .unwrap_err();
            assert_at(&error, marker, (0, 0, 0), 0, Some(9));
            assert_code(&error, code, 2, 8..=11, "one part twice");
        }
    }
}

#[test]
fn metadata_out_of_order_is_an_error_if_ordered() {
    for code in [0b0001, 0b0010, 0b0011, 0b0110, 0b0111, 0b1011] {
        let word = 0x4444_4444 & !0xf00_0000 | u32::from(code) << 24;
        assert_code(
            &halves::simulate(1, 1, word).unwrap_err(),
            code,
            10,
            8..=11,
            "the later part first",
        );
        halves::simulate(1, 0, word).check();
    }
}

#[test]
fn metadata_of_unselected_lanes_is_ignored() {
    #[kernel(threads = 32, target = "sm_80")]
    fn other_lanes(block: &Block) {
        let warp = block.warp();
        let metadata =
            Metadata::from_words(warp.each(|lane| if lane.id() % 4 < 2 { 0 } else { 0x4444_4444 }));
        let (a, b) = (FragmentSparseA::<M16N8K32, f16>::zero(), FragmentB::<M16N8K32, f16>::zero());
        let mut acc = Accumulator::<M16N8K32, f32>::zero();
        MmaSparse::<_, f16, f16, _>::accumulate::<1>(warp, &mut acc, &a, &b, &metadata);
    }
    other_lanes::simulate(1).check();
}

#[test]
fn invalid_tf32_metadata_is_an_error() {
    #[kernel(threads = 32, target = "sm_80")]
    fn pairs(block: &Block) {
        let warp = block.warp();
        let metadata = Metadata::from_words(
            warp.each(|lane| if lane.id() == 9 { 0x4449_4444 } else { 0x4444_4444 }),
        );
        let (a, b) =
            (FragmentSparseA::<M16N8K16, tf32>::zero(), FragmentB::<M16N8K16, tf32>::zero());
        let mut acc = Accumulator::<M16N8K16, f32>::zero();
        MmaSparse::<_, tf32, tf32, _, Plain, AnyOrder>::accumulate::<0>(
            // <- pairs
            warp, &mut acc, &a, &b, &metadata,
        );
    }
    let error = pairs::simulate(1).unwrap_err();
    assert_at(&error, "pairs", (0, 0, 0), 0, Some(9));
    assert_code(&error, 0b1001, 10, 8..=9, "one of two tf32");
}

#[test]
fn different_selectors_in_a_warp_are_an_error() {
    fn multiply<const SELECTOR: u32>() {
        // SAFETY: None. This is the bug under test.
        unsafe {
            raw::mma_sp_sync_aligned_m16n8k32_row_col_f32_f16_f16_f32::<SELECTOR>(
                [0; 4],
                [0; 4],
                [0; 4],
                0x4444_4444,
            );
        }
    }
    #[kernel(threads = 32, target = "sm_80")]
    fn differ(block: &Block) {
        block.warp().each(|lane| if lane.id() < 16 { multiply::<0>() } else { multiply::<1>() });
    }
    let error = differ::simulate(1).unwrap_err();
    assert!(matches!(error.misuse, Misuse::SelectorsDiffer { first: 0, other: 1, .. }), "{error}");
}

/// After the finding, an invalid code has the same effect as on hardware.
#[test]
fn invalid_metadata_computes_as_on_hardware() {
    #[kernel(threads = 32, target = "sm_80")]
    fn twice_the_same(block: &Block, d: GlobalMut<f32>) {
        let warp = block.warp();
        let metadata = Metadata::from_fn(warp, |_, _| Kept::from_code(0b1010));
        let a = FragmentSparseA::<M16N8K16, f16>::from_fn(warp, |_, _| f16::ONE);
        let b = FragmentB::<M16N8K16, f16>::from_fn(warp, |k, _| {
            f16::from_f32(if k % 4 == 2 { k as f32 } else { 0.0 })
        });
        let mut acc = Accumulator::<M16N8K16, f32>::zero();
        MmaSparse::<_, f16, f16, _>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata);
        acc.for_each(warp, |row, col, value| d.set(row * 8 + col, value));
    }
    let mut d = [0.0; 128];
    assert_eq!(twice_the_same::simulate(1, &mut d).unwrap_err().findings().len(), 1);
    assert_eq!(d, [2.0 * (2.0 + 6.0 + 10.0 + 14.0); 128]);
}

#[test]
fn missing_lanes_of_a_sparse_mma_diverge() {
    #[kernel(threads = 32, target = "sm_80")]
    fn half(block: &Block) {
        block.warp().each(|lane| {
            if lane.id() < 16 {
                // SAFETY: None. This is the bug under test.
                unsafe {
                    raw::mma_sp_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32::<0>(
                        // <- half
                        [0; 2],
                        [0; 2],
                        [0; 4],
                        0x4444_4444,
                    );
                }
            }
        });
    }
    let error = half::simulate(1).unwrap_err();
    let Misuse::Divergence { waiting, ended } = &error.misuse else { panic!("{error}") };
    assert_eq!((waiting[0].lanes.len(), ended.len()), (16, 16));
    assert_at(&error, "half", (0, 0, 0), 0, None);
}

/// The result of an `mma` is passed as the kept elements of a sparse A.
#[test]
fn accumulator_as_a_sparse_operand_is_an_error() {
    #[kernel(threads = 32, target = "sm_80")]
    fn accumulator_as_a(block: &Block) {
        let warp = block.warp();
        let a = FragmentSparseA::<M16N8K32, f16>::from_fn(warp, |row, k| {
            f16::from_f32((row * 5 + k * 3) as f32 + 0.25)
        });
        let b = FragmentB::<M16N8K32, f16>::from_fn(warp, |k, col| {
            f16::from_f32((k * 7 + col) as f32 * 0.125)
        });
        let metadata = Metadata::from_fn(warp, |_, _| Kept::half(0));
        let mut acc = Accumulator::<M16N8K32, f32>::zero();
        MmaSparse::<_, f16, f16, _>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata); // <- made
        let a = FragmentSparseA::<M16N8K32, f16>::from_registers(acc.registers());
        MmaSparse::<_, f16, f16, _>::accumulate::<0>(warp, &mut acc, &a, &b, &metadata); // <- taken
    }
    let error = accumulator_as_a::simulate(1).unwrap_err();
    let Misuse::WrongOperand { role, element, result, place } = &error.misuse else {
        panic!("{error}")
    };
    assert_eq!(
        (*role, *element, *result, place.line),
        ('A', "f16", "f32", crate::line_of("made").1)
    );
    assert_at(&error, "taken", (0, 0, 0), 0, None);
}

#[kernel(threads = 32, target = "sm_80")]
fn load_metadata(block: &Block, words: Global<u32>, index: usize) {
    Metadata::<Bits16>::load(block.warp(), words, index); // <- metadata loaded
}

#[test]
fn metadata_beyond_its_words_is_an_error() {
    load_metadata::simulate(1, &[0; 64], 1).check();
    for index in [2, 1 << 59, usize::MAX] {
        let error = load_metadata::simulate(1, &[0; 64], index).unwrap_err();
        assert!(
            matches!(error.misuse, Misuse::GlobalOutOfBounds { name: "words", len: 64, .. }),
            "{error}"
        );
        assert_at(&error, "metadata loaded", (0, 0, 0), 0, Some(0));
    }
}
