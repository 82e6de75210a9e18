//! Matrix multiply-accumulate of a warp: `mma.sync` (PTX ISA 9.7.14.5.14).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
        crate::mma_named! {
            $q $shape $la $lb $d $a $b $c => functions (
                $width $registers $needs $q $shape $la $lb $d $a $b $c
            )
        }
    )*)*};
    (@named $name:ident (b32 $($form:tt)*)) => {
        functions! { @registers u32 reg32 $name $($form)* }
    };
    (@named $name:ident (b64 $($form:tt)*)) => {
        functions! { @registers u64 reg64 $name $($form)* }
    };

    // The registers of D, A, B and C, and their operands in the instruction.
    (@registers $word:ident $class:ident $name:ident (2 1 1 2) $($form:tt)*) => {
        functions! {
            @function $word $class $name [d0 d1] [a0] [b0] [c0 c1]
                "{{{d0}, {d1}}}, {{{a0}}}, {{{b0}}}, {{{c0}, {c1}}}" $($form)*
        }
    };
    (@registers $word:ident $class:ident $name:ident (2 2 1 2) $($form:tt)*) => {
        functions! {
            @function $word $class $name [d0 d1] [a0 a1] [b0] [c0 c1]
                "{{{d0}, {d1}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}}}" $($form)*
        }
    };
    (@registers $word:ident $class:ident $name:ident (2 4 2 2) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1] [a0 a1 a2 a3] [b0 b1] [c0 c1]
            "{{{d0}, {d1}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}}}" $($form)* }
    };
    (@registers $word:ident $class:ident $name:ident (4 2 1 4) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3] [a0 a1] [b0] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}}}, {{{c0}, {c1}, {c2}, {c3}}}"
                $($form)* }
    };
    (@registers $word:ident $class:ident $name:ident (4 4 2 4) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3] [a0 a1 a2 a3] [b0 b1] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, \
             {c2}, {c3}}}" $($form)* }
    };
    (@registers $word:ident $class:ident $name:ident (4 8 4 4) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3] [a0 a1 a2 a3 a4 a5 a6 a7]
            [b0 b1 b2 b3] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}, {a4}, {a5}, {a6}, {a7}}}, \
             {{{b0}, {b1}, {b2}, {b3}}}, {{{c0}, {c1}, {c2}, {c3}}}"
            $($form)* }
    };

    (@registers $word:ident $class:ident $name:ident (4 2 2 4) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3] [a0 a1] [b0 b1] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}"
                $($form)* }
    };
    (@registers $word:ident $class:ident $name:ident (8 2 2 4) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3 d4 d5 d6 d7] [a0 a1] [b0 b1]
            [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}, {d4}, {d5}, {d6}, {d7}}}, {{{a0}, {a1}}}, {{{b0}, {b1}}}, \
             {{{c0}, {c1}, {c2}, {c3}}}" $($form)* }
    };
    (@registers $word:ident $class:ident $name:ident (8 2 2 8) $($form:tt)*) => {
        functions! { @function $word $class $name [d0 d1 d2 d3 d4 d5 d6 d7] [a0 a1] [b0 b1]
            [c0 c1 c2 c3 c4 c5 c6 c7]
            "{{{d0}, {d1}, {d2}, {d3}, {d4}, {d5}, {d6}, {d7}}}, {{{a0}, {a1}}}, {{{b0}, {b1}}}, \
             {{{c0}, {c1}, {c2}, {c3}, {c4}, {c5}, {c6}, {c7}}}"
            $($form)* }
    };

    (@function $word:ident $class:ident $name:ident [$($d:ident)+] [$($a:ident)+] [$($b:ident)+]
        [$($c:ident)+] $operands:literal $needs:ident $q:ident $shape:ident $la:ident $lb:ident
        $of_d:ident $of_a:ident $of_b:ident $of_c:ident) => {
        /// Multiplies A and B, and adds C: D = A x B + C.
        ///
        #[doc = concat!(
            "`", crate::mma_ptx!($q $shape $la $lb $of_d $of_a $of_b $of_c),
            " {d..}, {a..}, {b..}, {c..};`: ", stringify!($needs), "."
        )]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(
            [$($a),+]: [$word; functions!(@count $($a)+)],
            [$($b),+]: [$word; functions!(@count $($b)+)],
            [$($c),+]: [$word; functions!(@count $($c)+)],
        ) -> [$word; functions!(@count $($d)+)] {
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $d;)+
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!(
                            crate::mma_ptx!($q $shape $la $lb $of_d $of_a $of_b $of_c), " ",
                            $operands, ";"
                        ),
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
                use crate::{engine::{MmaDescription, description, raw}, isa::ptx};
                description!(FORM: MmaDescription = MmaDescription::dense::<
                    crate::mma_shape!($shape $la $lb $of_a),
                    crate::mma_element!($q $of_a),
                    crate::mma_element!($q $of_b),
                    ptx::$of_c,
                    ptx::$of_d,
                    crate::isa::mma_arithmetic!($shape $of_a $q),
                >());
                raw::multiply(
                    crate::mma_ptx!($q $shape $la $lb $of_d $of_a $of_b $of_c),
                    &FORM,
                    crate::isa::Selectors::default(),
                    &[raw::words(&[$($a),+]), raw::words(&[$($b),+]), raw::words(&[$($c),+])],
                )
            };
        }
    };
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

crate::mma_forms!(functions);
