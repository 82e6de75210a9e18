//! Implements the forms of `wgmma.mma_async.sp`, from the table.

use super::{Subtracts, WgmmaSparse, WgmmaSparseForm};
use crate::isa::ptx;
use crate::lane::{PerLane, Site};
use crate::machine::wgmma::{Form, multiply_registers, multiply_shared};
use crate::mma::SelectorsBelow;

/// The instructions of a form.
macro_rules! how {
    (@named $name:ident (nothing)) => {
        pastey::paste! { how! { @one [<$name _ss>] [<$name _rs>] [] [] } }
    };
    (@named $name:ident (negate)) => {
        pastey::paste! { how! { @one [<$name _ss>] [<$name _rs>] [NEGATE, false] [NEGATE, false] } }
    };
    (@named $name:ident (transpose)) => {
        pastey::paste! { how! {
            @one [<$name _ss>] [<$name _rs>] [NEGATE, false, TRANS_A, TRANS_B]
                [NEGATE, false, TRANS_B]
        } }
    };
    (@one $ss:ident $rs:ident [$($shared:tt)*] [$($registers:tt)*]) => {
        #[inline(always)]
        unsafe fn shared<
            const SELECTOR: u32, const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool
        >(
            site: Site,
            d: PerLane<Self::Registers>,
            a: u64,
            b: u64,
            metadata: PerLane<u32>,
            adds: bool,
        ) -> PerLane<Self::Registers> {
            multiply_shared! {
                [$ss::<SELECTOR, $($shared)*>] Self::SIMULATED, site, d, (a, TRANS_A), (b, TRANS_B),
                [metadata] SELECTOR, adds, NEGATE
            }
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
            multiply_registers! {
                [$rs::<SELECTOR, $($registers)*>] Self::SIMULATED, site, d, a, (b, TRANS_B),
                [metadata] SELECTOR, adds, NEGATE
            }
        }
    };
    (
        $selectors:tt $n:literal $d:ident $a:ident $b:ident $k:literal $option:ident $behind:ident
    ) => {
        const SIMULATED: Form = Form::of(
            crate::wgmma_ptx!($selectors "N" $d $a $b $k $option), Self::PTX, $n
        );
        crate::wgmma_named! { $selectors $n $d $a $b $k $option => how ($behind) }
    };
}

/// Implements each form with a sparse A.
macro_rules! implementations {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident $selectors:tt $version:literal;)*) => {$($(
        implementations! { @subtracts $behind $d $a $b $option }
        crate::wgmma_columns! {
            $columns $per => implementations ($d $a $b $k $option $per $behind $selectors)
        }
    )*)*};
    (@subtracts nothing $($form:tt)*) => {};
    (@subtracts $behind:ident $d:ident $a:ident $b:ident $option:ident) => {
        impl<const N: usize, Target> Subtracts
            for WgmmaSparse<N, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {}
    };
    (
        @form $n:literal $r:tt (
            $d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $behind:ident $selectors:tt
        )
    ) => {
        impl<Target> WgmmaSparseForm
            for WgmmaSparse<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target>
        {
            type Registers = [u32; $n / 8 * $per];
            type Shape = crate::wgmma_shape!($selectors $a);
            type Selectors = SelectorsBelow<$selectors>;
            const PTX: &'static str = crate::wgmma_ptx!($selectors $n $d $a $b $k $option);
            how! { $selectors $n $d $a $b $k $option $behind }
        }
    };
}
crate::wgmma_sparse_forms!(implementations);
