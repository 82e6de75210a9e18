//! Loads and stores of shared memory by one lane.

use crate::element::{Moved, Sent};
#[cfg(not(target_arch = "nvptx64"))]
use crate::engine::{self, peer};
use crate::fragment::SwizzleBits;
use crate::lane::Site;
#[cfg(target_arch = "nvptx64")]
use crate::raw;
use bytemuck::Pod;

/// One row for each value: its type, the type of the instruction in `raw`, and the suffix of
/// `raw`'s functions.
macro_rules! moved {
    ($($value:ty as $moved:ty, $named:ident;)*) => {$(
        impl Moved for $value {
            #[inline]
            unsafe fn load_shared(site: Site, address: u32) -> $value {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: guaranteed by the caller.
                return unsafe {
                    let _ = site;
                    pastey::paste!(raw::[<ld_shared_ $named>])(address) as $value
                };
                #[cfg(not(target_arch = "nvptx64"))]
                loaded(|bytes| engine::load_shared(site, address, bytes))
            }

            #[inline]
            unsafe fn store_shared(self, site: Site, address: u32) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let _ = site;
                    pastey::paste!(raw::[<st_shared_ $named>])(address, self as $moved);
                }
                #[cfg(not(target_arch = "nvptx64"))]
                engine::store_shared(site, address, bytemuck::bytes_of(&self));
            }

            #[inline]
            unsafe fn load_cluster(site: Site, address: u32) -> $value {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: guaranteed by the caller.
                return unsafe {
                    let _ = site;
                    pastey::paste!(raw::[<ld_shared_cluster_ $named>])(address) as $value
                };
                #[cfg(not(target_arch = "nvptx64"))]
                loaded(|bytes| peer::load(site, address, bytes))
            }
        }
    )*};
}
moved! {
    u8 as u16, u8;
    u16 as u16, b16;
    u32 as u32, b32;
    u64 as u64, b64;
    [u32; 4] as [u32; 4], v4_b32;
}

impl Moved for u128 {
    #[inline]
    unsafe fn load_shared(site: Site, address: u32) -> u128 {
        // SAFETY: guaranteed by the caller.
        bytemuck::must_cast(unsafe { <[u32; 4]>::load_shared(site, address) })
    }

    #[inline]
    unsafe fn store_shared(self, site: Site, address: u32) {
        // SAFETY: guaranteed by the caller.
        unsafe { bytemuck::must_cast::<u128, [u32; 4]>(self).store_shared(site, address) }
    }

    #[inline]
    unsafe fn load_cluster(site: Site, address: u32) -> u128 {
        // SAFETY: guaranteed by the caller.
        bytemuck::must_cast(unsafe { <[u32; 4]>::load_cluster(site, address) })
    }
}

macro_rules! sent {
    ($($value:ty as $moved:ty, $named:ident;)*) => {$(
        impl Sent for $value {
            #[inline]
            unsafe fn store_cluster(self, site: Site, address: u32) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let _ = site;
                    pastey::paste!(raw::[<st_shared_cluster_ $named>])(address, self as $moved);
                }
                #[cfg(not(target_arch = "nvptx64"))]
                peer::store(site, address, bytemuck::bytes_of(&self));
            }
        }
    )*};
}
sent! {
    u8 as u16, u8;
    u16 as u16, b16;
    u32 as u32, b32;
    u64 as u64, b64;
}

/// Reads a value by a function that fills its bytes.
#[cfg(not(target_arch = "nvptx64"))]
#[inline]
fn loaded<V: Pod>(load: impl FnOnce(&mut [u8])) -> V {
    let mut value = V::zeroed();
    load(bytemuck::bytes_of_mut(&mut value));
    value
}

/// Checks the swizzle of a tile's element that a lane is about to read. `address` and `plain` are
/// its addresses with and without the swizzle.
#[inline]
pub(crate) fn check_swizzle(site: Site, address: u32, plain: u32, swizzle: SwizzleBits) {
    #[cfg(target_arch = "nvptx64")]
    let _ = (site, address, plain, swizzle);
    #[cfg(not(target_arch = "nvptx64"))]
    engine::check_swizzle(site, engine::InTile { address, plain, swizzle });
}

/// Records that a lane is about to write a tile's element.
#[inline]
pub(crate) fn note_written(site: Site, address: u32, plain: u32, swizzle: SwizzleBits) {
    #[cfg(target_arch = "nvptx64")]
    let _ = (site, address, plain, swizzle);
    #[cfg(not(target_arch = "nvptx64"))]
    engine::note_written(site, engine::InTile { address, plain, swizzle });
}

/// Records a tile's element at which a row of `ldmatrix` or `stmatrix` may start.
#[inline]
pub(crate) fn note_row(address: u32, plain: u32, swizzle: SwizzleBits) {
    #[cfg(target_arch = "nvptx64")]
    let _ = (address, plain, swizzle);
    #[cfg(not(target_arch = "nvptx64"))]
    engine::note_row(engine::InTile { address, plain, swizzle });
}

/// Loads two values of 8 bytes (`ld.shared.v2.b64`).
///
/// # Safety
/// The address is that of two such values in shared memory, aligned to 16 bytes.
#[inline]
pub(crate) unsafe fn load_shared_pair<V: Pod>(site: Site, address: u32) -> [V; 2] {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: guaranteed by the caller.
    return unsafe {
        let _ = site;
        bytemuck::cast(raw::ld_shared_v2_b64(address))
    };
    #[cfg(not(target_arch = "nvptx64"))]
    loaded(|bytes| engine::load_shared(site, address, bytes))
}
