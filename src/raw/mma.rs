//! `mma.sync` (PTX ISA 9.7.14.5.14).

use crate::forms::mma_forms;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    ($($shape:ident $d:ident $a:ident $b:ident $c:ident $width:ident $registers:tt $sm:literal;)*) => {$(
        functions! { @width $width $registers $sm $shape $d $a $b $c }
    )*};
    (@width b32 $($form:tt)*) => { functions! { @registers u32 reg32 $($form)* } };
    (@width b64 $($form:tt)*) => { functions! { @registers u64 reg64 $($form)* } };

    // The registers of D, A, B and C, and how they stand in the instruction.
    (@registers $word:ident $class:ident (2 1 1 2) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1] [a0] [b0] [c0 c1] "{{{d0}, {d1}}}, {{{a0}}}, {{{b0}}}, {{{c0}, {c1}}}" $($form)* }
    };
    (@registers $word:ident $class:ident (2 2 1 2) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1] [a0 a1] [b0] [c0 c1] "{{{d0}, {d1}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}}}" $($form)* }
    };
    (@registers $word:ident $class:ident (2 4 2 2) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1] [a0 a1 a2 a3] [b0 b1] [c0 c1]
            "{{{d0}, {d1}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}}}" $($form)* }
    };
    (@registers $word:ident $class:ident (4 2 1 4) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1 d2 d3] [a0 a1] [b0] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}, {c2}, {c3}}}" $($form)* }
    };
    (@registers $word:ident $class:ident (4 4 2 4) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1 d2 d3] [a0 a1 a2 a3] [b0 b1] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}" $($form)* }
    };
    (@registers $word:ident $class:ident (4 8 4 4) $($form:tt)*) => {
        functions! { @function $word $class [d0 d1 d2 d3] [a0 a1 a2 a3 a4 a5 a6 a7] [b0 b1 b2 b3] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}}}, {{{b0}, {b1}, {b2}, {b3}}}, {{{c0}, {c1}, {c2}, {c3}}}"
            $($form)* }
    };

    (@function $word:ident $class:ident [$($d:ident)+] [$($a:ident)+] [$($b:ident)+] [$($c:ident)+] $operands:literal
        $sm:literal $shape:ident $of_d:ident $of_a:ident $of_b:ident $of_c:ident) => {
        #[doc = concat!("`", functions!(@ptx $shape $of_d $of_a $of_b $of_c), " {d..}, {a..}, {b..}, {c..};`: sm_", $sm, ".")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline(always)]
        #[track_caller]
        pub unsafe fn ${concat(mma_sync_aligned_, $shape, _row_col_, $of_d, _, $of_a, _, $of_b, _, $of_c)}(
            [$($a),+]: [$word; functions!(@count $($a)+)],
            [$($b),+]: [$word; functions!(@count $($b)+)],
            [$($c),+]: [$word; functions!(@count $($c)+)],
        ) -> [$word; functions!(@count $($d)+)] {
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $d;)+
                // SAFETY: the caller's.
                unsafe {
                    asm!(
                        concat!(functions!(@ptx $shape $of_d $of_a $of_b $of_c), " ", $operands, ";"),
                        $($d = lateout($class) $d,)+
                        $($a = in($class) $a,)+
                        $($b = in($class) $b,)+
                        $($c = in($class) $c,)+
                        options(nostack, nomem)
                    );
                }
                [$($d),+]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                use crate::forms::ptx;
                let form = functions!(@ptx $shape $of_d $of_a $of_b $of_c);
                crate::sim::raw::multiply_registers::<ptx::$shape, ptx::$of_a, ptx::$of_b, ptx::$of_c>(
                    form, [$($a),+], [$($b),+], [$($c),+],
                )
            };
        }
    };
    (@ptx $shape:ident $d:ident $a:ident $b:ident $c:ident) => {
        concat!("mma.sync.aligned.", stringify!($shape), ".row.col.", stringify!($d), ".", stringify!($a), ".", stringify!($b), ".", stringify!($c))
    };
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

mma_forms!(functions);
