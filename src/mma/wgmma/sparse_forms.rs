//! Implements the forms of `wgmma.mma_async.sp`, from the table.

use super::{Subtracts, WgmmaSparse, WgmmaSparseForm};
use crate::isa::ptx;
use crate::machine::wgmma::{Form, sparse_instructions};
use crate::mma::SelectorsBelow;

/// Implements each form with a sparse A.
macro_rules! implementations {
    ($($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident $per:tt
        $immediates:ident $selectors:tt $version:literal;)*) => {$($(
        implementations! { @subtracts $immediates $d $a $b $option }
        crate::wgmma_columns! {
            $columns => implementations ($d $a $b $k $option $per $immediates $selectors)
        }
    )*)*};
    (@subtracts nothing $($form:tt)*) => {};
    (@subtracts $immediates:ident $d:ident $a:ident $b:ident $option:ident) => {
        impl<const N: usize, Target> Subtracts
            for WgmmaSparse<N, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target> {}
    };
    (
        @form $n:literal (
            $d:ident $a:ident $b:ident $k:literal $option:ident $per:tt $immediates:ident
                $selectors:tt
        )
    ) => {
        impl<Target> WgmmaSparseForm
            for WgmmaSparse<$n, ptx::$a, ptx::$b, ptx::$d, ptx::$option, Target>
        {
            type Registers = [u32; $n / 8 * $per];
            type Shape = crate::wgmma_shape!($selectors $a);
            type Selectors = SelectorsBelow<$selectors>;
            const PTX: &'static str = crate::wgmma_ptx!($selectors $n $d $a $b $k $option);
            const SIMULATED: Form = Form::of(
                crate::wgmma_ptx!($selectors "N" $d $a $b $k $option), Self::PTX, $n
            );
            sparse_instructions! { $selectors ($n $d $a $b $k $option) $immediates }
        }
    };
}
crate::wgmma_sparse_forms!(implementations);
