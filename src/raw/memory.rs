//! Loads and stores of shared memory by one lane (PTX ISA 9.7.9.8 `ld`, 9.7.9.11 `st`).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row for each width: load, store, value type, register class, PTX type, and the type in
/// memory.
macro_rules! forms {
    ($($load:ident $store:ident $value:ty, $class:ident, $ptx:literal, $element:ty;)*) => {$(
        /// Loads a value from shared memory.
        ///
        #[doc = concat!("`ld.shared.", $ptx, " value, [address];`")]
        ///
        /// # Safety
        /// `address` is the address of a readable, aligned value of this width in shared memory.
        #[inline]
        #[track_caller]
        pub unsafe fn $load(address: u32) -> $value {
            #[cfg(target_arch = "nvptx64")]
            return {
                let value;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(concat!("ld.shared.", $ptx, " {value}, [{address}];"),
                        value = lateout($class) value, address = in(reg32) address,
                        options(nostack, readonly));
                }
                value
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return crate::engine::raw::load_element::<$element>(address).into();
        }

        /// Stores a value to shared memory.
        ///
        #[doc = concat!("`st.shared.", $ptx, " [address], value;`")]
        ///
        /// # Safety
        /// `address` is the address of a writable, aligned value of this width in shared memory.
        #[inline]
        #[track_caller]
        pub unsafe fn $store(address: u32, value: $value) {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the caller upholds the function's contract.
            unsafe {
                asm!(concat!("st.shared.", $ptx, " [{address}], {value};"),
                    address = in(reg32) address, value = in($class) value, options(nostack));
            }
            #[cfg(not(target_arch = "nvptx64"))]
            crate::engine::raw::store_element(address, value as $element);
        }
    )*};
}

forms! {
    // PTX has no 8-bit registers: bytes are loaded into and stored from 16-bit registers.
    ld_shared_u8 st_shared_u8 u16, reg16, "u8", u8;
    ld_shared_b16 st_shared_b16 u16, reg16, "b16", u16;
    ld_shared_b32 st_shared_b32 u32, reg32, "b32", u32;
    ld_shared_b64 st_shared_b64 u64, reg64, "b64", u64;
}

/// Loads four 32-bit registers from shared memory: `ld.shared.v4.b32 {r0, r1, r2, r3}, [address];`.
///
/// # Safety
/// `address` is the address of 16 readable bytes in shared memory, 16-byte aligned.
#[inline]
#[track_caller]
pub unsafe fn ld_shared_v4_b32(address: u32) -> [u32; 4] {
    #[cfg(target_arch = "nvptx64")]
    return {
        let (r0, r1, r2, r3);
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!("ld.shared.v4.b32 {{{r0}, {r1}, {r2}, {r3}}}, [{address}];",
                r0 = lateout(reg32) r0, r1 = lateout(reg32) r1, r2 = lateout(reg32) r2,
                r3 = lateout(reg32) r3,
                address = in(reg32) address, options(nostack, readonly));
        }
        [r0, r1, r2, r3]
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::load_element(address)
}

/// Loads two 64-bit registers from shared memory: `ld.shared.v2.b64 {r0, r1}, [address];`.
///
/// # Safety
/// `address` is the address of 16 readable bytes in shared memory, 16-byte aligned.
#[inline]
#[track_caller]
pub unsafe fn ld_shared_v2_b64(address: u32) -> [u64; 2] {
    #[cfg(target_arch = "nvptx64")]
    return {
        let (r0, r1);
        // SAFETY: the caller upholds the function's contract.
        unsafe {
            asm!("ld.shared.v2.b64 {{{r0}, {r1}}}, [{address}];",
                r0 = lateout(reg64) r0, r1 = lateout(reg64) r1, address = in(reg32) address,
                options(nostack, readonly));
        }
        [r0, r1]
    };
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::load_element(address)
}

/// Stores four 32-bit registers to shared memory: `st.shared.v4.b32 [address], {r0, r1, r2, r3};`.
///
/// # Safety
/// `address` is the address of 16 writable bytes in shared memory, 16-byte aligned.
#[inline]
#[track_caller]
pub unsafe fn st_shared_v4_b32(address: u32, [r0, r1, r2, r3]: [u32; 4]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller upholds the function's contract.
    unsafe {
        asm!("st.shared.v4.b32 [{address}], {{{r0}, {r1}, {r2}, {r3}}};",
            address = in(reg32) address, r0 = in(reg32) r0, r1 = in(reg32) r1, r2 = in(reg32) r2,
            r3 = in(reg32) r3,
            options(nostack));
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::engine::raw::store_element(address, [r0, r1, r2, r3]);
}
