//! Matrix multiply-accumulate of a warp with a structured sparse A: `mma.sp` and
//! `mma.sp::ordered_metadata` (PTX ISA 9.7.14.6.3).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    ([$order:ident] $($shape:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $registers:tt $selectors:literal $needs:ident $version:literal $nature:ident;)*) => {$($(
        crate::mma_sparse_named! {
            $order $q $shape $d $a $b $c => functions (
                $registers $selectors $needs $order $q $shape $d $a $b $c
            )
        }
    )*)*};

    // The registers of D, A, B and C, and their operands in the instruction.
    (@named $name:ident ((4 2 2 4) $($form:tt)*)) => {
        functions! { @function $name [d0 d1 d2 d3] [a0 a1] [b0 b1] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}}"
                $($form)* }
    };
    (@named $name:ident ((4 4 4 4) $($form:tt)*)) => {
        functions! { @function $name [d0 d1 d2 d3] [a0 a1 a2 a3] [b0 b1 b2 b3] [c0 c1 c2 c3]
            "{{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}, {b2}, {b3}}}, \
             {{{c0}, {c1}, {c2}, {c3}}}" $($form)* }
    };
    (@named $name:ident ((2 2 2 2) $($form:tt)*)) => {
        functions! {
            @function $name [d0 d1] [a0 a1] [b0 b1] [c0 c1]
                "{{{d0}, {d1}}}, {{{a0}, {a1}}}, {{{b0}, {b1}}}, {{{c0}, {c1}}}" $($form)*
        }
    };
    (@named $name:ident ((2 4 4 2) $($form:tt)*)) => {
        functions! { @function $name [d0 d1] [a0 a1 a2 a3] [b0 b1 b2 b3] [c0 c1]
            "{{{d0}, {d1}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}, {b2}, {b3}}}, {{{c0}, {c1}}}"
                $($form)* }
    };

    (@function $name:ident [$($d:ident)+] [$($a:ident)+] [$($b:ident)+] [$($c:ident)+]
        $operands:literal $selectors:literal $needs:ident $order:ident $q:ident $shape:ident
        $of_d:ident $of_a:ident $of_b:ident $of_c:ident) => {
        /// Multiplies a structured sparse A and B, and adds C: D = A x B + C.
        ///
        #[doc = concat!(
            "`", crate::mma_sparse_ptx!($order $q $shape $of_d $of_a $of_b $of_c),
            " {d..}, {a..}, {b..}, {c..}, metadata, SELECTOR;`: ",
            stringify!($needs), "; selectors below ", $selectors, "."
        )]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline]
        #[track_caller]
        pub unsafe fn $name<const SELECTOR: u32>(
            [$($a),+]: [u32; functions!(@count $($a)+)],
            [$($b),+]: [u32; functions!(@count $($b)+)],
            [$($c),+]: [u32; functions!(@count $($c)+)],
            metadata: u32,
        ) -> [u32; functions!(@count $($d)+)] {
            const {
                assert!(
                    SELECTOR < $selectors,
                    concat!("the selector of this form is below ", $selectors)
                )
            };
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $d;)+
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!(
                            crate::mma_sparse_ptx!($order $q $shape $of_d $of_a $of_b $of_c), " ",
                            $operands, ", {metadata}, {selector};"
                        ),
                        $($d = lateout(reg32) $d,)+
                        $($a = in(reg32) $a,)+
                        $($b = in(reg32) $b,)+
                        $($c = in(reg32) $c,)+
                        metadata = in(reg32) metadata,
                        selector = const SELECTOR,
                        options(nostack, nomem)
                    );
                }
                [$($d),+]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return {
                use crate::{engine::{MmaDescription, description, raw}, isa::{Selectors, ptx}};
                description!(FORM: MmaDescription = MmaDescription::sparse::<
                    ptx::$shape, crate::mma_element!($q $of_a), crate::mma_element!($q $of_b),
                    ptx::$of_c, ptx::$q, ptx::$order,
                >());
                raw::multiply(
                    crate::mma_sparse_ptx!($order $q $shape $of_d $of_a $of_b $of_c),
                    &FORM,
                    Selectors { metadata: SELECTOR, ..Selectors::default() },
                    &[&[$($a),+], &[$($b),+], &[$($c),+], &[metadata]],
                )
            };
        }
    };
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
}

crate::mma_sparse_forms!(functions any);
crate::mma_sparse_forms!(functions ordered);
crate::mma_sparse_ordered_forms!(functions ordered);
