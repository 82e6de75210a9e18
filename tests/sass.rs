//! The machine code of the kernels that time instructions. They have the timed instructions, in the
//! expected number. If the GPU has the instruction, they have no other instructions of this kind.

use ptx_matrix::forms::{Nature, ptx};
use ptx_matrix::{mma_forms, mma_named};
use ptx_matrix_build::{Arch, Builder, Toolchain};
use ptx_matrix_timing_kernels::ROUND;
use ptx_matrix_timing_kernels::multiply::PRODUCTS;
use ptx_matrix_timing_kernels::{timed_loads, timed_stores};
use std::collections::HashMap;
use std::path::Path;

/// The disassembly for sm_90a of the timed kernels only; that of all kernels would be nine times as
/// long.
fn kernels() -> HashMap<String, String> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/timings"));
    let artifact = Builder::new(folder).archs([Arch::SM_90A]).build().unwrap().remove(0);
    let toolchain = Toolchain::find(folder, &Toolchain::store().unwrap()).unwrap();
    let times = |kernel: &str| kernel.starts_with("latency_") || kernel.starts_with("time_");
    let code = toolchain.disassemble_some(&artifact.cubin, times).unwrap();
    code.expect("nvdisasm, which CUDA toolkits have beside ptxas")
}

/// The number of instructions with these names in a kernel's code.
fn count(code: &str, names: &[&str]) -> usize {
    let words = code.lines().flat_map(str::split_whitespace);
    words.filter(|word| names.iter().any(|name| word.split('.').next() == Some(name))).count()
}

const OPCODES: [&str; 4] = ["HMMA", "IMMA", "DMMA", "BMMA"];

#[test]
fn timed_instructions_occur_in_sass_as_often_as_stated() {
    let kernels = kernels();
    let check = |kernel: &str, names: &[&str], expected: usize| {
        assert_eq!(count(&kernels[kernel], names), expected, "{kernel}: {names:?}");
    };
    // Each kernel has its instructions twice: to fill the instruction cache, and for the timing.
    macro_rules! loads {
        ($($latency:ident $throughput:ident $load:ident $ptx:literal $trans:literal;)*) => {
            for kernel in [$(stringify!($latency), stringify!($throughput)),*] {
                check(kernel, &["LDSM"], 2 * ROUND);
            }
        };
    }
    timed_loads!(loads);
    macro_rules! stores {
        ($($latency:ident $throughput:ident $store:ident $load:ident $ptx:literal
            $matrices:literal;)*) => {$(
            check(stringify!($latency), &["STSM"], 2 * ROUND);
            check(stringify!($latency), &["LDSM"], 2 * ROUND);
            check(stringify!($throughput), &["STSM"], 2 * ROUND);
        )*};
    }
    timed_stores!(stores);
    for kernel in ["latency_mov_trans", "time_mov_trans"] {
        check(kernel, &["MOVM"], 2 * ROUND);
    }
    macro_rules! mmas {
        ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
            $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
            mma_named! { $q $shape $la $lb $d $a $b $c => mmas ($nature) }
        )*)*};
        (@named $kernel:ident (absent)) => {};
        (@named $kernel:ident ($nature:ident)) => {
            let forms = pastey::paste!(
                [stringify!([<latency_ $kernel>]), stringify!([<time_ $kernel>])]
            );
            for kernel in forms {
                let mmas = count(&kernels[kernel], &OPCODES);
                match ptx::$nature {
                    Nature::Native => assert_eq!(mmas, 2 * PRODUCTS, "{kernel}"),
                    // Emulation: a function that ptxas generates, or the same number of
                    // instructions for each `mma`.
                    _ => {
                        let is_called = count(&kernels[kernel], &["CALL"]) >= 2 * PRODUCTS;
                        assert!(
                            is_called || mmas > 0 && mmas % (2 * PRODUCTS) == 0,
                            "{kernel}: {mmas}"
                        );
                    }
                }
            }
        };
    }
    mma_forms!(mmas);
}
