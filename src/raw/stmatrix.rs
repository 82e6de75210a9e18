//! Matrix stores to shared memory: `stmatrix` (PTX ISA 9.7.14.5.16). `.b16`: sm_90, PTX 7.8. `.b8`:
//! sm_100a, sm_100f and the like, PTX 8.6.

#[cfg(not(target_arch = "nvptx64"))]
use crate::fragment::Arrangement::*;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The function of each form.
macro_rules! functions {
    ($($name:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        [$($arrangement:tt)+] $needs:ident $version:literal $nature:ident;)*) => {$(
        /// Stores matrices from registers to shared memory.
        ///
        #[doc = concat!("`", $ptx, " [address], {r..};`")]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged. In every lane whose address the form reads,
        /// `address` is the address of 16 writable bytes in shared memory, 16-byte aligned.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(address: u32, [$($r),+]: [u32; functions!(@count $($r)+)]) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(
                    concat!($ptx, " [{address}], {{", functions!(@list $($r)+), "}};"),
                    address = in(reg32) address,
                    $($r = in(reg32) $r,)+
                    options(nostack)
                );
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::engine::raw::store_matrices($ptx, $($arrangement)+, address, [$($r),+]);
        }
    )*};
    (@count $($r:ident)+) => { 0 $(+ { stringify!($r); 1 })+ };
    (@list $first:ident $($r:ident)*) => {
        concat!("{", stringify!($first), "}" $(, ", {", stringify!($r), "}")*)
    };
}

crate::stmatrix_forms!(functions);
