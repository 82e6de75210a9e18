//! The approximate special functions return the same on the CPU as on an H100, for every argument.
//!
//! `approx/h100.json` has digests of the GPU's results. The digest of a range of arguments is the
//! sum, modulo 2^64, of [`mixed`] of each argument and its result. A function of f32 has 256
//! digests, one for the 2^24 arguments with each highest byte. It also has one digest of 2^20
//! arguments from the whole range, which the tests compute. `cargo test --release -p
//! ptx-matrix-tests --test approx -- --ignored` computes all 15 x 2^32 results in minutes.

use ptx_matrix::element::{bf16, f16};
use ptx_matrix::math::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, thread};

/// The step between arguments of a sample. It is odd, so all arguments differ.
const STEP: u32 = 4093;
const SAMPLE: u32 = 1 << 20;

/// A function with its PTX name.
type Named<F> = (&'static str, F);
type OfF32 = Named<fn(f32) -> f32>;
type OfPairs = Named<fn(u32) -> u32>;

const FUNCTIONS: [OfF32; 15] = [
    ("ex2.approx.f32", ex2_approx),
    ("ex2.approx.ftz.f32", ex2_approx_ftz),
    ("lg2.approx.f32", lg2_approx),
    ("lg2.approx.ftz.f32", lg2_approx_ftz),
    ("rcp.approx.f32", rcp_approx),
    ("rcp.approx.ftz.f32", rcp_approx_ftz),
    ("rsqrt.approx.f32", rsqrt_approx),
    ("rsqrt.approx.ftz.f32", rsqrt_approx_ftz),
    ("sqrt.approx.f32", sqrt_approx),
    ("sqrt.approx.ftz.f32", sqrt_approx_ftz),
    ("tanh.approx.f32", tanh_approx),
    ("sin.approx.f32", sin_approx),
    ("sin.approx.ftz.f32", sin_approx_ftz),
    ("cos.approx.f32", cos_approx),
    ("cos.approx.ftz.f32", cos_approx_ftz),
];

/// Functions of 16-bit numbers, in both halves of a register.
const PAIRS: [OfPairs; 4] = [
    ("ex2.approx.f16x2", |pair| f16_bits(ex2_approx_f16x2(f16_pair(pair)))),
    ("tanh.approx.f16x2", |pair| f16_bits(tanh_approx_f16x2(f16_pair(pair)))),
    ("ex2.approx.ftz.bf16x2", |pair| bf16_bits(ex2_approx_ftz_bf16x2(bf16_pair(pair)))),
    ("tanh.approx.bf16x2", |pair| bf16_bits(tanh_approx_bf16x2(bf16_pair(pair)))),
];

fn f16_pair(pair: u32) -> [f16; 2] {
    [f16::from_bits(pair as u16), f16::from_bits((pair >> 16) as u16)]
}

fn f16_bits([low, high]: [f16; 2]) -> u32 {
    u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
}

fn bf16_pair(pair: u32) -> [bf16; 2] {
    [bf16::from_bits(pair as u16), bf16::from_bits((pair >> 16) as u16)]
}

fn bf16_bits([low, high]: [bf16; 2]) -> u32 {
    u32::from(low.to_bits()) | u32::from(high.to_bits()) << 16
}

/// Mixes an argument and its result into 64 bits that look random.
fn mixed(argument: u32, result: u32) -> u64 {
    let mut bits = u64::from(argument) << 32 | u64::from(result);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        bits = (bits ^ bits >> 33).wrapping_mul(factor);
    }
    bits ^ bits >> 33
}

fn digest(arguments: impl Iterator<Item = u32>, function: impl Fn(u32) -> u32) -> u64 {
    arguments.fold(0, |sum, argument| sum.wrapping_add(mixed(argument, function(argument))))
}

/// The recorded digests of the GPU.
struct Recorded(serde_json::Value);

impl Recorded {
    fn read() -> Self {
        let text =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/approx/h100.json")).unwrap();
        Recorded(serde_json::from_str(&text).unwrap())
    }

    /// A digest, in hexadecimal.
    fn digest(&self, kind: &str, ptx: &str, index: usize) -> u64 {
        let digest = &self.0[kind][ptx][index];
        u64::from_str_radix(
            digest.as_str().unwrap_or_else(|| panic!("{kind} of {ptx}, {index}")),
            16,
        )
        .unwrap()
    }
}

#[test]
fn sample_of_all_arguments_equals_the_gpu() {
    let recorded = Recorded::read();
    for (ptx, function) in FUNCTIONS {
        let arguments = (0..SAMPLE).map(|index| index.wrapping_mul(STEP));
        let digest = digest(arguments, |x| function(f32::from_bits(x)).to_bits());
        assert_eq!(digest, recorded.digest("sample", ptx, 0), "{ptx}");
    }
}

#[test]
fn all_16_bit_arguments_equal_the_gpu() {
    let recorded = Recorded::read();
    for (ptx, function) in PAIRS {
        // The other half of the register has another number.
        let arguments = (0..1 << 16).map(|x: u32| x << 16 | x.wrapping_mul(0x9e37) & 0xffff);
        assert_eq!(digest(arguments, function), recorded.digest("pairs", ptx, 0), "{ptx}");
    }
}

#[test]
#[ignore = "minutes of computing: 15 functions of 2^32 arguments"]
fn all_arguments_equal_the_gpu() {
    let recorded = Recorded::read();
    let next = AtomicU32::new(0);
    let work = || {
        let mut wrong = BTreeMap::<&str, Vec<usize>>::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            let Some((ptx, function)) = FUNCTIONS.get(job as usize / 256) else { return wrong };
            let highest = job % 256;
            let arguments = (0..1 << 24).map(|low: u32| highest << 24 | low);
            let digest = digest(arguments, |x| function(f32::from_bits(x)).to_bits());
            if digest != recorded.digest("all", ptx, highest as usize) {
                wrong.entry(ptx).or_default().push(highest as usize);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .filter(|wrong| !wrong.is_empty())
            .collect()
    });
    assert!(wrong.is_empty(), "arguments with these highest bytes: {wrong:?}");
}

/// Special values and the ends of ranges, one by one. The GPU's digests include their results.
#[test]
fn special_arguments() {
    let nan = 0x7fff_ffff;
    let bits = |function: fn(f32) -> f32, x: f32| function(x).to_bits();
    for (ptx, function) in FUNCTIONS {
        assert_eq!(bits(function, f32::from_bits(0xff80_0001)), nan, "{ptx}");
    }
    let (infinity, least) = (f32::INFINITY, f32::from_bits(1));
    assert_eq!((ex2_approx(-149.0), ex2_approx_ftz(-127.0), ex2_approx(-0.0)), (least, 0.0, 1.0));
    assert_eq!(
        (ex2_approx(128.0), ex2_approx(-infinity), ex2_approx_ftz(-126.0)),
        (infinity, 0.0, f32::MIN_POSITIVE)
    );
    assert_eq!(
        (lg2_approx(least), lg2_approx_ftz(least), lg2_approx(1.0)),
        (-149.0, -infinity, 0.0)
    );
    assert_eq!(bits(lg2_approx, -1.0), nan);
    assert_eq!(
        (rcp_approx(-0.0), rcp_approx_ftz(least), rcp_approx(infinity)),
        (-infinity, infinity, 0.0)
    );
    assert_eq!(
        (rcp_approx(2f32.powi(127)), rcp_approx_ftz(2f32.powi(127))),
        (2f32.powi(-127), 0.0)
    );
    assert_eq!(
        (rsqrt_approx(0.25), rsqrt_approx(-0.0), bits(rsqrt_approx, -1.0)),
        (2.0, -infinity, nan)
    );
    assert_eq!((sqrt_approx(f32::from_bits(2)), sqrt_approx_ftz(least)), (2f32.powi(-74), 0.0));
    assert_eq!((sqrt_approx(-0.0).to_bits(), bits(sqrt_approx, -least)), (1 << 31, nan));
    assert_eq!(
        (tanh_approx(-100.0), tanh_approx(least), tanh_approx(-0.0).to_bits()),
        (-1.0, least, 1 << 31)
    );
    assert_eq!(
        (bits(sin_approx, infinity), bits(cos_approx, -infinity), cos_approx(0.0)),
        (nan, nan, 1.0)
    );
}
