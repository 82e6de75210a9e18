//! `cp.async`, and the computation of its source addresses.

#[cfg(not(target_arch = "nvptx64"))]
use crate::engine;
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use crate::raw;

/// One row for each size: the function, the functions of `raw`, and the form.
macro_rules! copies {
    ($($bytes:literal $name:ident $copy:ident $copy_some:ident $form:literal;)*) => {$(
        /// Starts a copy. With `some`, only that many source bytes are read; the rest become zeros.
        ///
        /// # Safety
        /// Both addresses are aligned. The destination is in shared memory. The `some` source bytes
        /// (or all) are readable, and no thread writes them.
        #[inline]
        pub(crate) unsafe fn $name(site: Site, to: u32, from: *const u8, some: Option<u32>) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: guaranteed by the caller.
            unsafe {
                let _ = site;
                match some {
                    None => raw::$copy(to, from),
                    Some(some) => raw::$copy_some(to, from, some),
                }
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let some = some.map_or($bytes, |some| some as usize);
                let mut bytes = [0; $bytes];
                // SAFETY: guaranteed by the caller.
                bytes[..some].copy_from_slice(unsafe { core::slice::from_raw_parts(from, some) });
                engine::start_copy(site, $form, to, &bytes, some);
            }
        }
    )*};
}
copies! {
    4 copy_4 cp_async_ca_shared_global_4 cp_async_ca_shared_global_4_src
        "cp.async.ca.shared.global 4";
    8 copy_8 cp_async_ca_shared_global_8 cp_async_ca_shared_global_8_src
        "cp.async.ca.shared.global 8";
    16 copy_16 cp_async_cg_shared_global_16 cp_async_cg_shared_global_16_src
        "cp.async.cg.shared.global 16";
}

/// Commits a group of the copies that each lane has started.
#[inline]
pub(crate) fn commit_copies(site: Site) {
    #[cfg(target_arch = "nvptx64")]
    {
        let _ = site;
        raw::cp_async_commit_group();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::commit_copies(site);
}

/// Waits until at most the `N` newest groups of each lane are in flight.
#[inline]
pub(crate) fn wait_for_copies<const N: u32>(site: Site) {
    #[cfg(target_arch = "nvptx64")]
    {
        let _ = site;
        raw::cp_async_wait_group::<N>();
    }
    #[cfg(not(target_arch = "nvptx64"))]
    engine::wait_for_copies(site, N as usize);
}

/// The address `count` times `pitch` elements after `start`.
///
/// `asm!` keeps the computation here. Otherwise the compiler would keep the address in two
/// registers across the loop, and its increment in two more.
#[inline]
pub(crate) fn further<T>(start: *const T, count: u32, pitch: u32) -> *const T {
    #[cfg(target_arch = "nvptx64")]
    return {
        let address: u64;
        // SAFETY: it only computes a number. A row has less than 2^32 bytes, which was checked when
        // the reader was made.
        unsafe {
            core::arch::asm!("mad.wide.u32 {address}, {count}, {bytes}, {start};",
                address = lateout(reg64) address,
                count = in(reg32) count, bytes = in(reg32) pitch * size_of::<T>() as u32,
                start = in(reg64) start,
                options(nomem, nostack));
        }
        core::ptr::with_exposed_provenance(address as usize)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    start.wrapping_add(count as usize * pitch as usize)
}

/// The address of an element after `start`.
#[inline]
pub(crate) fn element<T>(start: *const T, index: u32) -> *const T {
    #[cfg(target_arch = "nvptx64")]
    return {
        let address: u64;
        // The compiler would keep each thread's 64-bit offsets in registers instead of widening the
        // 32-bit ones here. SAFETY: it only computes a number.
        unsafe {
            core::arch::asm!("mad.wide.u32 {address}, {index}, {size}, {start};",
                address = lateout(reg64) address,
                index = in(reg32) index, size = const size_of::<T>(), start = in(reg64) start,
                options(nomem, nostack));
        }
        core::ptr::with_exposed_provenance(address as usize)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    start.wrapping_add(index as usize)
}
