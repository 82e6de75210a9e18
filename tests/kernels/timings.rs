//! The kernels that time instructions, on the simulator: they do their work without findings.

use ptx_matrix::sim::{CheckedRun, Profile, Simulator};
use ptx_matrix::{mma_forms, mma_named, mma_ptx};
use ptx_matrix_timing_kernels::matrices::*;
use ptx_matrix_timing_kernels::multiply::*;
use ptx_matrix_timing_kernels::{CLOCKS, ROUND, WARPS};
use ptx_matrix_timing_kernels::{timed_loads, timed_stores};

const ROUNDS: u32 = 2;

/// Runs a kernel with its arguments other than `clocks`, `out` and `rounds`. Returns `out` and the
/// profile.
macro_rules! run {
    ($kernel:ident $(, $argument:expr)*) => {{
        let (mut clocks, mut out) = ([0; CLOCKS], [u32::MAX; 32 * WARPS]);
        let simulator = Simulator::default().profiled();
        let (to, results) = (&mut clocks[..], &mut out[..]);
        let report = $kernel::launch(&simulator, 1, to, results, ROUNDS $(, $argument)*).check();
        let warps = report.warps as usize;
        assert!(clocks[..2 * warps].chunks(2).all(|clock| clock[1] > clock[0]), "{clocks:?}");
        assert!(clocks[2 * warps..].iter().all(|&clock| clock == 0), "{clocks:?}");
        (out, report.profile.unwrap())
    }};
}

/// How often an instruction was executed in one of the two runs of a kernel's loop.
fn times(profile: &Profile, instruction: &str) -> u64 {
    let same = profile.instructions.iter().filter(|(name, _)| name.starts_with(instruction));
    let times: u64 = same.map(|(_, executed)| executed.warps).sum();
    assert_eq!(times % 2, 0);
    times / 2
}

fn worst_ways(profile: &Profile, instruction: &str) -> u32 {
    let sites = profile.shared.iter().filter(|site| site.instruction.starts_with(instruction));
    sites.map(|site| site.worst_ways).max().unwrap()
}

#[test]
fn loads_follow_their_rows() {
    macro_rules! check {
        ($($latency:ident $throughput:ident $load:ident $ptx:literal $trans:literal;)*) => {$(
            for (stride, ways) in STRIDES {
                let (out, profile) = run!($latency, stride);
                // Each lane is back at its start, because its loads form a cycle.
                for lane in 0..32 {
                    assert_eq!(out[lane], lane as u32 * stride, "{} {stride}", $ptx);
                }
                assert_eq!(times(&profile, $ptx), u64::from(ROUNDS) * ROUND as u64);
                assert_eq!(worst_ways(&profile, $ptx), ways, "{} {stride}", $ptx);
                let (out, profile) = run!($throughput, stride, 0);
                assert_eq!(out, [0; 32 * WARPS]);
                assert_eq!(times(&profile, $ptx), u64::from(ROUNDS) * (ROUND * WARPS) as u64);
                assert_eq!(worst_ways(&profile, $ptx), ways, "{} {stride}", $ptx);
            }
        )*};
    }
    timed_loads!(check);
}

#[test]
fn stores_are_loaded_back() {
    macro_rules! check {
        ($(
            $latency:ident $throughput:ident $store:ident $load:ident
            $ptx:literal $matrices:literal;
        )*) => {$(
            for (stride, ways) in STRIDES {
                let (out, profile) = run!($latency, stride);
                for lane in 0..32 {
                    let all = (0..$matrices).fold(0, |all, i| all ^ (lane + i * 32));
                    assert_eq!(out[lane], all as u32, "{} {stride}", $ptx);
                }
                assert_eq!(times(&profile, $ptx), u64::from(ROUNDS) * ROUND as u64);
                assert_eq!(worst_ways(&profile, $ptx), ways, "{} {stride}", $ptx);
                let (_, profile) = run!($throughput, stride, 0);
                assert_eq!(times(&profile, $ptx), u64::from(ROUNDS) * (ROUND * WARPS) as u64);
                assert_eq!(worst_ways(&profile, $ptx), ways, "{} {stride}", $ptx);
            }
        )*};
    }
    timed_stores!(check);
}

#[test]
fn transposing_twice_changes_nothing() {
    let expected = |i: usize, lane: usize| (i * 32 + lane) as u32;
    let (out, profile) = run!(latency_mov_trans);
    assert!((0..32).all(|lane| out[lane] == expected(0, lane)));
    assert_eq!(times(&profile, "movmatrix"), u64::from(ROUNDS) * ROUND as u64);
    let (out, profile) = run!(time_mov_trans);
    assert!((0..32).all(|lane| out[lane] == (0..ROUND).fold(0, |all, i| all ^ expected(i, lane))));
    assert_eq!(times(&profile, "movmatrix"), u64::from(ROUNDS) * (ROUND * WARPS) as u64);
}

#[test]
fn products_are_as_many_as_they_say() {
    macro_rules! check {
        ($(
            $shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
            $width:ident $registers:tt $needs:ident $version:literal $nature:ident;
        )*) => {$($(
            mma_named! {
                $q $shape $la $lb $d $a $b $c =>
                check ($nature mma_ptx!($q $shape $la $lb $d $a $b $c))
            }
        )*)*};
        (@named $kernel:ident (absent $ptx:expr)) => {};
        (@named $kernel:ident ($nature:ident $ptx:expr)) => {
            let (out, profile) = pastey::paste!(run!([<latency_ $kernel>], 0));
            assert_eq!(out[..32], [0; 32]);
            assert_eq!(times(&profile, $ptx), u64::from(ROUNDS) * PRODUCTS as u64, "{}", $ptx);
            let (out, profile) = pastey::paste!(run!([<time_ $kernel>], 0));
            assert_eq!(out, [0; 32 * WARPS]);
            let count = u64::from(ROUNDS) * (PRODUCTS * WARPS) as u64;
            assert_eq!(times(&profile, $ptx), count, "{}", $ptx);
        };
    }
    mma_forms!(check);
}
