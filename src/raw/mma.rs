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

#[cfg(test)]
mod tests {
    use super::mma_forms;
    use crate::forms::ptx;
    use crate::*;
    use std::vec;
    use std::vec::Vec;

    /// Any bits, NaNs among them.
    fn random<T: Element>(random: &mut fastrand::Rng, len: usize) -> Vec<T> {
        let bytes: Vec<u8> = (0..len * size_of::<T>()).map(|_| random.u8(..)).collect();
        bytemuck::pod_collect_to_vec(&bytes)
    }

    fn bits<T: Element>(elements: &[T]) -> &[u8] {
        bytemuck::cast_slice(elements)
    }

    /// For each form, a kernel that runs the typed instruction and the raw one, and a test that they return the same.
    macro_rules! same {
        ($($shape:ident $d:ident $a:ident $b:ident $c:ident $width:ident $registers:tt $sm:literal;)*) => {$(
            #[kernel(threads = 32)]
            fn ${concat(both_, $shape, _, $d, _, $a, _, $b)}(
                block: &Block,
                a: Global<ptx::$a>,
                b: Global<ptx::$b>,
                c: Global<ptx::$c>,
                typed: GlobalMut<ptx::$d>,
                raw: GlobalMut<ptx::$d>,
            ) {
                type S = ptx::$shape;
                let warp = block.warp();
                let a = FragmentA::<S, ptx::$a>::from_fn(warp, |row, k| a.get(row * S::K + k));
                let b = FragmentB::<S, ptx::$b>::from_fn(warp, |k, col| b.get(k * S::N + col));
                let c = Accumulator::<S, ptx::$c>::from_fn(warp, |row, col| c.get(row * S::N + col));
                let mut sum = c;
                Mma::<S, ptx::$a, ptx::$b, ptx::$c>::accumulate(warp, &mut sum, &a, &b);
                sum.for_each(warp, |row, col, value| typed.set(row * S::N + col, value));
                let (a, b, c) = (a.registers(), b.registers(), c.registers());
                let sum = warp.each(|lane| {
                    let (a, b, c) = (lane.get(&a), lane.get(&b), lane.get(&c));
                    // SAFETY: all lanes come here.
                    unsafe { super::${concat(mma_sync_aligned_, $shape, _row_col_, $d, _, $a, _, $b, _, $c)}(a, b, c) }
                });
                Accumulator::<S, ptx::$d>::from_registers(sum)
                    .for_each(warp, |row, col, value| raw.set(row * S::N + col, value));
            }

            #[test]
            fn ${concat(raw_is_typed_, $shape, _, $d, _, $a, _, $b)}() {
                type S = ptx::$shape;
                let mut source = fastrand::Rng::with_seed(1);
                for _ in 0..10 {
                    let (a, b) = (random::<ptx::$a>(&mut source, S::M * S::K), random::<ptx::$b>(&mut source, S::K * S::N));
                    let c = random::<ptx::$c>(&mut source, S::M * S::N);
                    let zero = <ptx::$d as Zeroable>::zeroed();
                    let (mut typed, mut raw) = (vec![zero; S::M * S::N], vec![zero; S::M * S::N]);
                    ${concat(both_, $shape, _, $d, _, $a, _, $b)}::simulate(1, &a, &b, &c, &mut typed, &mut raw).check();
                    assert_eq!(bits(&typed), bits(&raw));
                    assert!(bits(&typed).iter().any(|&byte| byte != 0));
                }
            }
        )*};
    }
    mma_forms!(same);
}
