//! Matrix multiply-accumulate of a warp with block scaling: `mma.sync` (PTX ISA 9.7.14.5.14).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    (
        $(
            $shape:ident $kind:ident $vec:literal $scale:ident [$(($a:ident $b:ident))*]
                $needs:ident $version:literal;
        )*
    ) => {$($(
        crate::mma_scaled_named! {
            $shape $kind $vec $scale $a $b => functions ($needs $shape $kind $vec $scale $a $b)
        }
    )*)*};
    (
        @named $name:ident (
            $needs:ident $shape:ident $kind:ident $vec:literal $scale:ident $a:ident $b:ident
        )
    ) => {
        /// Multiplies block-scaled A and B, and adds C: D = (A x scales) x (B x scales) + C.
        ///
        #[doc = concat!(
            "`", crate::mma_scaled_ptx!($shape $kind $vec $scale $a $b),
            " {d..}, {a..}, {b..}, {c..}, {scales_a}, {BYTE_A, THREAD_A}, {scales_b}, {BYTE_B, \
             THREAD_B};`: ",
            stringify!($needs), "."
        )]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. The selectors exist: see
        /// [`Select`](crate::mma::Select).
        #[inline]
        #[track_caller]
        pub unsafe fn $name<
            const BYTE_A: u16,
            const THREAD_A: u16,
            const BYTE_B: u16,
            const THREAD_B: u16,
        >(
            [a0, a1, a2, a3]: [u32; 4],
            [b0, b1]: [u32; 2],
            [c0, c1, c2, c3]: [u32; 4],
            scales_a: u32,
            scales_b: u32,
        ) -> [u32; 4] {
            const {
                assert!(
                    BYTE_A.is_multiple_of($vec)
                        && BYTE_B.is_multiple_of($vec)
                        && BYTE_A < 4
                        && BYTE_B < 4,
                    "a selector's byte is below 4, and a multiple of the number of scales"
                );
                assert!(THREAD_A < 2, "the selector's thread is 0 or 1 for the scales of A");
                assert!(THREAD_B < 4, "the selector's thread is below 4 for the scales of B");
            };
            #[cfg(target_arch = "nvptx64")]
            return {
                let (d0, d1, d2, d3);
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!(
                            crate::mma_scaled_ptx!($shape $kind $vec $scale $a $b),
                            " {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, \
                             {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}, \
                             {{{scales_a}}}, {{{byte_a}, {thread_a}}}, {{{scales_b}}}, {{{byte_b}, \
                             {thread_b}}};"
                        ),
                        d0 = lateout(reg32) d0, d1 = lateout(reg32) d1, d2 = lateout(reg32) d2,
                        d3 = lateout(reg32) d3,
                        a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,
                        b0 = in(reg32) b0, b1 = in(reg32) b1,
                        c0 = in(reg32) c0, c1 = in(reg32) c1, c2 = in(reg32) c2, c3 = in(reg32) c3,
                        scales_a = in(reg32) scales_a, scales_b = in(reg32) scales_b,
                        byte_a = const BYTE_A, thread_a = const THREAD_A, byte_b = const BYTE_B,
                        thread_b = const THREAD_B,
                        options(nostack, nomem)
                    );
                }
                [d0, d1, d2, d3]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                use crate::engine::{MmaDescription, description, raw};
                use crate::{fragment::Selected, isa::Selectors};
                description!(FORM: MmaDescription = MmaDescription::scaled::<
                    crate::isa::ptx::$shape,
                    crate::mma_element!($kind $a),
                    crate::mma_element!($kind $b),
                    crate::mma_kind!($kind $vec $scale),
                >());
                raw::multiply(
                    crate::mma_scaled_ptx!($shape $kind $vec $scale $a $b),
                    &FORM,
                    Selectors {
                        metadata: 0,
                        scales_a: Selected { byte: BYTE_A.into(), thread: THREAD_A.into() },
                        scales_b: Selected { byte: BYTE_B.into(), thread: THREAD_B.into() },
                    },
                    &[
                        &[a0, a1, a2, a3], &[b0, b1], &[c0, c1, c2, c3], &[scales_a],
                        &[scales_b],
                    ],
                )
            };
        }
    };
}

crate::mma_scaled_forms!(functions);
