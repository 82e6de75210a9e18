//! Implements the forms of `wgmma.mma_async`, from the table.

use super::{Subtracts, Wgmma, WgmmaForm};
use crate::isa::ptx;
use crate::machine::wgmma::{Form, dense_instructions};

/// Implements each form with a dense A.
macro_rules! implementations {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $immediates:ident 0 $version:literal;)*) => {$($(
        implementations! { @subtracts $immediates $d $a $b $option }
        crate::wgmma_columns! {
            $columns => implementations ($d $a $b $k $option $per $immediates)
        }
    )*)*};
    (@subtracts nothing $($form:tt)*) => {};
    (@subtracts $immediates:ident $d:ident $a:ident $b:ident $option:ident) => {
        impl<const N: usize, Target> Subtracts
            for Wgmma<N, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {}
    };
    (
        @form $n:literal (
            $d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $immediates:ident
        )
    ) => {
        impl<Target> WgmmaForm
            for Wgmma<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target>
        {
            type Registers = [u32; $n / 8 * $per];
            type Shape = crate::wgmma_shape!(0 $a);
            const PTX: &'static str = crate::wgmma_ptx!(0 $n $d $a $b $k $option);
            const SIMULATED: Form = Form::of(
                crate::wgmma_ptx!(0 "N" $d $a $b $k $option), Self::PTX, $n
            );
            dense_instructions! { ($n $d $a $b $k $option) $immediates }
        }
    };
}
crate::wgmma_forms!(implementations);
