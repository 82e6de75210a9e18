//! The forms of `wgmma.mma_async.sp`, as the table has them.

use super::{Subtracts, WgmmaSparse, WgmmaSparseForm};
use crate::forms::ptx;
use crate::site::Site;
use crate::{PerLane, SelectorsBelow};

/// The implementation of each form with a sparse A.
macro_rules! implementations {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt $behind:ident $selectors:tt
        $version:literal;)*) => {$($(
        implementations! { @subtracts $behind $d $a $b $option }
        crate::wgmma_columns! { $columns $per => implementations ($d $a $b $k $option $per $behind $selectors) }
    )*)*};
    (@subtracts nothing $($form:tt)*) => {};
    (@subtracts $behind:ident $d:ident $a:ident $b:ident $option:ident) => {
        impl<const N: usize, Target> Subtracts for WgmmaSparse<N, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {}
    };
    (@form $n:literal $r:tt ($d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $behind:ident $selectors:tt)) => {
        crate::wgmma_named! {
            $selectors $n $d $a $b $k $option => implementations ($behind [$n / 8 * $per] $selectors $n $d $a $b $k $option)
        }
    };
    (@named $name:ident (nothing $($form:tt)*)) => {
        implementations! { @one ${concat($name, _ss)} ${concat($name, _rs)} [] [] [false false false] $($form)* }
    };
    (@named $name:ident (negate $($form:tt)*)) => {
        implementations! { @one ${concat($name, _ss)} ${concat($name, _rs)}
            [NEGATE, false] [NEGATE, false] [NEGATE false false] $($form)* }
    };
    (@named $name:ident (transpose $($form:tt)*)) => {
        implementations! { @one ${concat($name, _ss)} ${concat($name, _rs)}
            [NEGATE, false, TRANS_A, TRANS_B] [NEGATE, false, TRANS_B] [NEGATE TRANS_A TRANS_B] $($form)* }
    };
    (@one $ss:ident $rs:ident [$($shared:tt)*] [$($registers:tt)*] [$negate:tt $trans_a:tt $trans_b:tt] [$count:expr]
        $selectors:tt $n:literal $d:ident $a:ident $b:ident $k:literal $option:ident) => {
        impl<Target> WgmmaSparseForm for WgmmaSparse<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {
            type Registers = [u32; $count];
            type Shape = crate::wgmma_shape!($selectors $a);
            type Selectors = SelectorsBelow<$selectors>;
            const PTX: &'static str = crate::wgmma_ptx!($selectors $n $d $a $b $k $option);

            #[inline(always)]
            unsafe fn shared<const SELECTOR: u32, const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool>(
                site: Site,
                d: PerLane<Self::Registers>,
                a: u64,
                b: u64,
                metadata: PerLane<u32>,
                adds: bool,
            ) -> PerLane<Self::Registers> {
                #[cfg(target_arch = "nvptx64")]
                return {
                    let _ = site;
                    let (d, metadata) = (d.own(), metadata.own());
                    // SAFETY: the caller's.
                    PerLane::from_own(unsafe { crate::raw::$ss::<SELECTOR, $($shared)*>(d, a, b, metadata, adds) })
                };
                #[cfg(not(target_arch = "nvptx64"))]
                return {
                    let a = crate::sim::wgmma::A::Shared { descriptor: a, transposed: $trans_a };
                    implementations!(@simulated SELECTOR site d a b metadata adds [$negate $trans_b] $n $d $a $b $option)
                };
            }

            #[inline(always)]
            unsafe fn registers<const SELECTOR: u32, const NEGATE: bool, const TRANS_B: bool>(
                site: Site,
                d: PerLane<Self::Registers>,
                a: PerLane<[u32; 4]>,
                b: u64,
                metadata: PerLane<u32>,
                adds: bool,
            ) -> PerLane<Self::Registers> {
                #[cfg(target_arch = "nvptx64")]
                return {
                    let _ = site;
                    let (d, a, metadata) = (d.own(), a.own(), metadata.own());
                    // SAFETY: the caller's.
                    PerLane::from_own(unsafe { crate::raw::$rs::<SELECTOR, $($registers)*>(d, a, b, metadata, adds) })
                };
                #[cfg(not(target_arch = "nvptx64"))]
                return {
                    let a = crate::sim::wgmma::A::Registers(a);
                    implementations!(@simulated SELECTOR site d a b metadata adds [$negate $trans_b] $n $d $a $b $option)
                };
            }
        }
    };
    (@simulated $selector:ident $site:ident $sums:ident $left:ident $right:ident $metadata:ident $adds:ident
        [$negate:tt $trans_b:tt] $n:literal $d:ident $a:ident $b:ident $option:ident) => {{
        let operation = crate::sim::wgmma::Operation {
            form: Self::PTX,
            n: $n,
            b: $right,
            transposes_b: $trans_b,
            accumulates: $adds,
            negates: ($negate, false),
            selector: $selector,
        };
        let operands = crate::sim::wgmma::Operands { operation, a: $left, metadata: $metadata };
        crate::sim::wgmma::multiply_sparse::<
            Self::Shape, ptx::$a, ptx::$b, ptx::$d, crate::wgmma_arithmetic!($a $option), _,
        >($site, operands, $sums)
    }};
}
crate::wgmma_sparse_forms!(implementations);
