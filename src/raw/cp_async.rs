//! Asynchronous copies from global to shared memory: `cp.async` (PTX ISA 9.7.9.25.3). sm_80, PTX
//! 7.0.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::raw as sim;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row for each form: the function that copies all bytes, the function that copies some and
/// fills the rest with zeros, PTX, and the bytes.
macro_rules! forms {
    ($($copy:ident $copy_some:ident $ptx:literal $bytes:literal;)*) => {$(
        /// Copies bytes from global to shared memory, asynchronously.
        ///
        #[doc = concat!("`", $ptx, " [to], [from], ", $bytes, ";`")]
        ///
        /// # Safety
        #[doc = concat!(
            "From now until a wait for it, `to` is the address of ", $bytes,
            " bytes in shared memory that nobody"
        )]
        /// else accesses, and as many bytes of global memory at `from` are valid. Both addresses
        /// are multiples of that size.
        #[inline]
        #[track_caller]
        pub unsafe fn $copy(to: u32, from: *const u8) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], ", $bytes, ";"),
                    to = in(reg32) to, from = in(reg64) from, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                sim::copy::<$bytes>(concat!($ptx, " ", $bytes), to, from, $bytes);
            }
        }

        /// Copies `some` bytes from global to shared memory, asynchronously, and fills the rest
        /// with zeros.
        ///
        #[doc = concat!(
            "`", $ptx, " [to], [from], ", $bytes,
            ", some;`: what is beyond `some` bytes becomes zero."
        )]
        ///
        /// # Safety
        /// As above. But only `some` bytes of global memory must be valid.
        #[inline]
        #[track_caller]
        pub unsafe fn $copy_some(to: u32, from: *const u8, some: u32) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!($ptx, " [{to}], [{from}], ", $bytes, ", {some};"),
                    to = in(reg32) to, from = in(reg64) from, some = in(reg32) some,
                    options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                sim::copy::<$bytes>(concat!($ptx, " ", $bytes), to, from, some as usize);
            }
        }
    )*};
}

forms! {
    cp_async_ca_shared_global_4 cp_async_ca_shared_global_4_src "cp.async.ca.shared.global" 4;
    cp_async_ca_shared_global_8 cp_async_ca_shared_global_8_src "cp.async.ca.shared.global" 8;
    cp_async_cg_shared_global_16 cp_async_cg_shared_global_16_src "cp.async.cg.shared.global" 16;
}

/// Closes the thread's current group: all its copies since the last group.
///
/// PTX: `cp.async.commit_group;`
#[inline]
#[track_caller]
pub fn cp_async_commit_group() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it touches no memory of the program.
    unsafe {
        asm!("cp.async.commit_group;", options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::commit_copies();
}

/// Waits until at most the thread's `N` newest groups are in flight.
///
/// PTX: `cp.async.wait_group N;`
#[inline]
#[track_caller]
pub fn cp_async_wait_group<const N: u32>() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: it only waits.
    unsafe {
        asm!("cp.async.wait_group {n};", n = const N, options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    sim::wait_for_copies(N as usize);
}
