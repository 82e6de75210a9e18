//! `mma.sync` (PTX ISA 9.7.14.5.14): the `m16n8k8` and `m16n8k16` forms of f16 and bf16.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
#[cfg(not(target_arch = "nvptx64"))]
use {
    crate::sim::raw as sim,
    crate::{M16N8K8, M16N8K16, bf16, f16},
};

/// One row a form: the function, the registers of D, A, B and C, its PTX, its least target; its shape, and
/// the elements of A, B and C, which the simulator computes with.
macro_rules! forms {
    ($($name:ident($($d:ident),+; $($a:ident),+; $($b:ident),+; $($c:ident),+) $ptx:literal $operands:literal $target:literal
        $shape:ident $of_a:ident $of_b:ident $of_c:ident;)*) => {$(
        #[doc = concat!("`", $ptx, " {d..}, {a..}, {b..}, {c..};`: ", $target, ".")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn $name(
            [$($a),+]: [u32; forms!(@count $($a)+)],
            [$($b),+]: [u32; forms!(@count $($b)+)],
            [$($c),+]: [u32; forms!(@count $($c)+)],
        ) -> [u32; forms!(@count $($d)+)] {
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $d;)+
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!($ptx, " ", $operands, ";"),
                        $($d = lateout(reg32) $d,)+
                        $($a = in(reg32) $a,)+
                        $($b = in(reg32) $b,)+
                        $($c = in(reg32) $c,)+
                        options(nostack, nomem)
                    );
                }
                [$($d),+]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return sim::multiply_registers::<$shape, $of_a, $of_b, $of_c>($ptx, [$($a),+], [$($b),+], [$($c),+]);
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

forms! {
    mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(d0, d1; a0, a1; b0; c0, c1)
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16"
        "{{{d0}, {d1}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}}}"
        "sm_75" M16N8K8 f16 f16 f16;
    mma_sync_aligned_m16n8k8_row_col_f32_f16_f16_f32(d0, d1, d2, d3; a0, a1; b0; c0, c1, c2, c3)
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
        "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}, {c2}, {c3}}}"
        "sm_75" M16N8K8 f16 f16 f32;
    mma_sync_aligned_m16n8k8_row_col_f32_bf16_bf16_f32(d0, d1, d2, d3; a0, a1; b0; c0, c1, c2, c3)
        "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32"
        "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}, {c2}, {c3}}}"
        "sm_80" M16N8K8 bf16 bf16 f32;
    mma_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16(d0, d1; a0, a1, a2, a3; b0, b1; c0, c1)
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
        "{{{d0}, {d1}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}}}"
        "sm_80" M16N8K16 f16 f16 f16;
    mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32(d0, d1, d2, d3; a0, a1, a2, a3; b0, b1; c0, c1, c2, c3)
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}"
        "sm_80" M16N8K16 f16 f16 f32;
    mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32(d0, d1, d2, d3; a0, a1, a2, a3; b0, b1; c0, c1, c2, c3)
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
        "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}"
        "sm_80" M16N8K16 bf16 bf16 f32;
}
