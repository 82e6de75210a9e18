//! Matrix loads from shared memory: `ldmatrix` (PTX ISA 9.7.14.5.15). `.b16`: sm_75, PTX 6.5. The
//! others: sm_100a, sm_100f and the like, PTX 8.6.

#[cfg(not(target_arch = "nvptx64"))]
use crate::fragment::{Arrangement::*, Packed::*};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        [$($arrangement:tt)+] $needs:ident $version:literal $nature:ident;)*) => {$(
        /// Loads matrices from shared memory into registers.
        ///
        #[doc = concat!("`", $ptx, " {r..}, [address];`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane whose address the form reads
        /// (on sm_75: in every lane), `address` is the address of 16 readable bytes in shared
        /// memory, 16-byte aligned.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32) -> [u32; functions!(@count $($r)+)] {
            #[cfg(target_arch = "nvptx64")]
            return {
                $(let $r;)+
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!($ptx, " {{", functions!(@list $($r)+), "}}, [{address}];"),
                        $($r = lateout(reg32) $r,)+
                        address = in(reg32) address,
                        options(nostack, readonly)
                    );
                }
                [$($r),+]
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return crate::engine::raw::load_matrices($ptx, $($arrangement)+, address);
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
    (@list $first:ident $($r:ident)*) => {
        concat!("{", stringify!($first), "}" $(, ", {", stringify!($r), "}")*)
    };
}

crate::ldmatrix_forms!(functions);
