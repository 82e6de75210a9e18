//! Implements the forms of `wgmma.mma_async` with a dense A, from the table.

use super::{Subtracts, Wgmma, WgmmaForm};
use crate::isa::ptx;
use crate::lane::{PerLane, Site};
use crate::machine::wgmma::{Form, multiply_registers, multiply_shared};

/// The instructions of a form.
macro_rules! how {
    (0 $n:literal $d:ident $a:ident $b:ident $k:literal $option:ident $behind:ident) => {
        const SIMULATED: Form = Form::of(
            crate::wgmma_ptx!(0 "N" $d $a $b $k $option), Self::PTX, $n
        );
        crate::wgmma_named! { 0 $n $d $a $b $k $option => how ($behind) }
    };
    (@named $name:ident (nothing)) => {
        pastey::paste! { how! { @one [<$name _ss>] [<$name _rs>] [] [] } }
    };
    (@named $name:ident (negate)) => {
        pastey::paste! { how! {
            @one [<$name _ss>] [<$name _rs>] [::<NEGATE, false>] [::<NEGATE, false>]
        } }
    };
    (@named $name:ident (transpose)) => {
        pastey::paste! { how! { @one [<$name _ss>] [<$name _rs>]
            [::<NEGATE, false, TRANS_A, TRANS_B>] [::<NEGATE, false, TRANS_B>] } }
    };
    (@one $ss:ident $rs:ident [$($shared:tt)*] [$($registers:tt)*]) => {
        #[inline(always)]
        unsafe fn shared<const NEGATE: bool, const TRANS_A: bool, const TRANS_B: bool>(
            site: Site,
            d: PerLane<Self::Registers>,
            a: u64,
            b: u64,
            adds: bool,
        ) -> PerLane<Self::Registers> {
            multiply_shared! {
                [$ss $($shared)*] Self::SIMULATED, site, d, (a, TRANS_A), (b, TRANS_B), [] 0, adds,
                NEGATE
            }
        }

        #[inline(always)]
        unsafe fn registers<const NEGATE: bool, const TRANS_B: bool>(
            site: Site,
            d: PerLane<Self::Registers>,
            a: PerLane<[u32; 4]>,
            b: u64,
            adds: bool,
        ) -> PerLane<Self::Registers> {
            multiply_registers! {
                [$rs $($registers)*] Self::SIMULATED, site, d, a, (b, TRANS_B), [] 0, adds, NEGATE
            }
        }
    };
}

/// Implements each form with a dense A.
macro_rules! implementations {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $behind:ident 0 $version:literal;)*) => {$($(
        implementations! { @subtracts $behind $d $a $b $option }
        crate::wgmma_columns! {
            $columns $per => implementations ($d $a $b $k $option $per $behind)
        }
    )*)*};
    (@subtracts nothing $($form:tt)*) => {};
    (@subtracts $behind:ident $d:ident $a:ident $b:ident $option:ident) => {
        impl<const N: usize, Target> Subtracts
            for Wgmma<N, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {}
    };
    (
        @form $n:literal $r:tt (
            $d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $behind:ident
        )
    ) => {
        impl<Target> WgmmaForm for Wgmma<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {
            type Registers = [u32; $n / 8 * $per];
            type Shape = crate::wgmma_shape!(0 $a);
            const PTX: &'static str = crate::wgmma_ptx!(0 $n $d $a $b $k $option);
            how! { 0 $n $d $a $b $k $option $behind }
        }
    };
}
crate::wgmma_forms!(implementations);
