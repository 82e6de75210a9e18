//! In the simulator, each raw function of `mma` returns the same as the typed instruction, for any
//! bits, NaNs included.

use bytemuck::Pod;
use ptx_matrix::element::{InByte, e2m1, e3m2, ue4m3};
use ptx_matrix::forms::ptx;
use ptx_matrix::fragment::{M16N8K64, Mxf4, Mxf4Nvf4, Mxf8f6f4, ScaleA, ScaleB};
use ptx_matrix::mma::{MmaScaled, Select};
use ptx_matrix::prelude::*;
use ptx_matrix::{mma_element, mma_forms, mma_named, mma_shape, raw};

/// Any bits, different in each lane.
pub fn any_bits<R: Pod>(warp: Warp, seed: u64) -> PerLane<R> {
    warp.each(|lane| {
        let mut source = fastrand::Rng::with_seed(seed * 32 + lane.id() as u64);
        let mut registers = R::zeroed();
        bytemuck::bytes_of_mut(&mut registers).fill_with(|| source.u8(..));
        registers
    })
}

/// Asserts that the two results of a form have the same bits, which are not those of every lane.
pub fn assert_same<R: Pod + Sync>(warp: Warp, form: &str, typed: &PerLane<R>, raw: &PerLane<R>) {
    let hashes = warp.each(|lane| {
        let (typed, raw) = (lane.get(typed), lane.get(raw));
        assert_eq!(bytemuck::bytes_of(&typed), bytemuck::bytes_of(&raw), "{form}");
        let bytes = bytemuck::bytes_of(&typed).iter();
        bytes.fold(0_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x9e37_79b1))
    });
    let neighbours = warp.shuffle_xor(&hashes, 1);
    let mut differences = warp.each(|lane| lane.get(&hashes) ^ lane.get(&neighbours));
    for mask in [2, 4, 8, 16] {
        let others = warp.shuffle_xor(&differences, mask);
        differences = warp.each(|lane| lane.get(&differences) | lane.get(&others));
    }
    warp.each(|lane| assert!(lane.get(&differences) != 0, "{form}: all lanes have one result"));
}

/// A function that runs the typed instruction and the raw one of each form, and compares their
/// results.
macro_rules! same {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {
        fn every_form(warp: Warp, seed: u64) {$($(
            mma_named! { $q $shape $la $lb $d $a $b $c => same (warp seed
                [mma_shape!($shape $la $lb $a)] [mma_element!($q $a)] [mma_element!($q $b)]
                [ptx::$c] [ptx::$q]
            ) }
        )*)*}
    };
    (@named $name:ident
        ($warp:ident $seed:ident [$s:ty] [$a:ty] [$b:ty] [$c:ty] [$q:ty])) => {{
        fn form(warp: Warp, seed: u64) {
            let (a, b, c) =
                (any_bits(warp, seed), any_bits(warp, seed + 1), any_bits(warp, seed + 2));
            let typed = Mma::<$s, $a, $b, $c, $q>::multiply(
                warp,
                &FragmentA::from_registers(a),
                &FragmentB::from_registers(b),
                &Accumulator::from_registers(c),
            );
            // SAFETY: All lanes reach this.
            let raw = warp.each(|lane| unsafe {
                raw::$name(lane.get(&a), lane.get(&b), lane.get(&c))
            });
            assert_same(warp, stringify!($name), &typed.registers(), &raw);
        }
        form($warp, $seed);
    }};
}
mma_forms!(same);

#[kernel(threads = 32)]
fn every_form_from(block: &Block, seed: u64) {
    every_form(block.warp(), seed);
}

#[test]
fn every_form_is_the_typed_one() {
    for round in 0..4 {
        every_form_from::simulate(1, 3 * round).check();
    }
}

/// One form of each kind of block scaling, each with its own selectors.
macro_rules! same_scaled {
    ($($name:ident $shape:ident $a:ty, $b:ty, $kind:ty,
        $select_a:ty [$byte_a:literal $thread_a:literal]
        $select_b:ty [$byte_b:literal $thread_b:literal];)*) => {$(
        #[test]
        fn $name() {
            #[kernel(threads = 32)]
            fn both(block: &Block, words: Global<u32>, typed: GlobalMut<f32>, raw: GlobalMut<f32>) {
                let warp = block.warp();
                let registers = |from: usize| {
                    warp.each(|lane| core::array::from_fn(|i| words.get(lane.id() * 12 + from + i)))
                };
                let (a, b) = (
                    FragmentA::<$shape, $a>::from_registers(registers(0)),
                    warp.each(|lane| {
                        [words.get(lane.id() * 12 + 4), words.get(lane.id() * 12 + 5)]
                    }),
                );
                let b = FragmentB::<$shape, $b>::from_registers(b);
                let c = Accumulator::<$shape, f32>::from_registers(registers(6));
                let scales_a = ScaleA::<$kind>::from_registers(
                    warp.each(|lane| words.get(lane.id() * 12 + 10)),
                );
                let scales_b = ScaleB::<$kind>::from_registers(
                    warp.each(|lane| words.get(lane.id() * 12 + 11)),
                );
                let mut sum = c;
                MmaScaled::<$shape, $a, $b, $kind, $select_a, $select_b>::accumulate(
                    warp, &mut sum, (&a, &scales_a), (&b, &scales_b),
                );
                sum.for_each(warp, |row, col, value| typed.set(row * 8 + col, value));
                let (a, b, c) = (a.registers(), b.registers(), c.registers());
                let (scales_a, scales_b) = (scales_a.registers(), scales_b.registers());
                let sum = warp.each(|lane| {
                    let (a, b, c) = (lane.get(&a), lane.get(&b), lane.get(&c));
                    let (scales_a, scales_b) = (lane.get(&scales_a), lane.get(&scales_b));
                    // SAFETY: All lanes reach this, and the selectors exist.
                    unsafe {
                        raw::$name::<$byte_a, $thread_a, $byte_b, $thread_b>(
                            a, b, c, scales_a, scales_b,
                        )
                    }
                });
                let sum = Accumulator::<$shape, f32>::from_registers(sum);
                sum.for_each(warp, |row, col, value| raw.set(row * 8 + col, value));
            }

            // Scales near one, so that sums are finite.
            let mut source = fastrand::Rng::with_seed(1);
            let words: Vec<u32> = (0..32 * 12).map(|i| match i % 12 {
                10.. => u32::from_le_bytes([0; 4].map(|_: u8| {
                    if stringify!($kind).contains("ue4m3") {
                        source.u8(0x30..0x40)
                    } else {
                        source.u8(120..134)
                    }
                })),
                6.. => source.f32().to_bits(),
                _ => source.u32(..) & 0x3f3f_3f3f,
            }).collect();
            let (mut typed, mut raw) = ([0.0; 128], [0.0; 128]);
            both::simulate(1, &words, &mut typed, &mut raw).check();
            assert_eq!(typed, raw);
            assert!(typed.iter().all(|value| *value != 0.0));
        }
    )*};
}
same_scaled! {
    mma_sync_aligned_m16n8k32_row_col_kind_mxf8f6f4_block_scale_scale_vec_1x_f32_e3m2_e2m1_f32_ue8m0
        M16N8K32 e3m2, InByte<e2m1>, Mxf8f6f4, Select<3, 1> [3 1] Select<1, 2> [1 2];
    mma_sync_aligned_m16n8k64_row_col_kind_mxf4_block_scale_scale_vec_2x_f32_e2m1_e2m1_f32_ue8m0
        M16N8K64 e2m1, e2m1, Mxf4, Select<2, 0> [2 0] Select<0, 3> [0 3];
    mma_sync_aligned_m16n8k64_row_col_kind_mxf4nvf4_block_scale_scale_vec_4x_f32_e2m1_e2m1_f32_ue4m3
        M16N8K64 e2m1, e2m1, Mxf4Nvf4<4, ue4m3>, Select<0, 1> [0 1] Select<0, 2> [0 2];
}
