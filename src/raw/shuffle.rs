//! Exchange of registers between the lanes of a warp: `shfl.sync` (PTX ISA 9.7.9.6). sm_75, PTX
//! 6.0.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// One row for each mode: the function, the function that also returns a predicate, the mode in PTX
/// and in `Mode`, and the source lane.
macro_rules! shuffles {
    ($($name:ident $with_predicate:ident $ptx:literal $mode:ident, $whose:literal;)*) => {$(
        /// Returns the value of another lane.
        ///
        #[doc = concat!(
            "`shfl.sync.", $ptx, ".b32 d, a, b, c, 0xffffffff;`: the `a` of lane ", $whose, "."
        )]
        ///
        /// Bits 0 to 4 of `c` are the last lane of a segment (for `up`, the first). Bits 8 to 12
        /// mask the bits of the lane number that select the segment. If the source lane is outside
        /// of the segment, the value is the lane's own.
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline]
        #[track_caller]
        pub unsafe fn $name(a: u32, b: u32, c: u32) -> u32 {
            #[cfg(target_arch = "nvptx64")]
            return {
                let d;
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        concat!("shfl.sync.", $ptx, ".b32 {d}, {a}, {b}, {c}, 0xffffffff;"),
                        d = lateout(reg32) d,
                        a = in(reg32) a,
                        b = in(reg32) b,
                        c = in(reg32) c,
                        options(nostack, nomem)
                    );
                }
                d
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return crate::engine::raw::shuffle(
                concat!("shfl.sync.", $ptx, ".b32"), crate::engine::Mode::$mode, (a, b, c)
            ).0;
        }

        /// Returns the value of another lane, and whether that lane is in the segment.
        ///
        #[doc = concat!(
            "`shfl.sync.", $ptx,
            ".b32 d|p, a, b, c, 0xffffffff;`: likewise, and whether that lane is within the \
             segment."
        )]
        ///
        /// # Safety
        /// All lanes of the warp execute it, converged.
        #[inline]
        #[track_caller]
        pub unsafe fn $with_predicate(a: u32, b: u32, c: u32) -> (u32, bool) {
            #[cfg(target_arch = "nvptx64")]
            return {
                let (d, p): (u32, u32);
                // SAFETY: the caller upholds the function's contract.
                unsafe {
                    asm!(
                        "{{",
                        ".reg .pred p;",
                        concat!("shfl.sync.", $ptx, ".b32 {d}|p, {a}, {b}, {c}, 0xffffffff;"),
                        "selp.u32 {p}, 1, 0, p;",
                        "}}",
                        d = out(reg32) d,
                        p = lateout(reg32) p,
                        a = in(reg32) a,
                        b = in(reg32) b,
                        c = in(reg32) c,
                        options(nostack, nomem)
                    );
                }
                (d, p != 0)
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return crate::engine::raw::shuffle(
                concat!("shfl.sync.", $ptx, ".b32"), crate::engine::Mode::$mode, (a, b, c)
            );
        }
    )*};
}
shuffles! {
    shfl_sync_up_b32 shfl_sync_up_b32_p "up" Up, "`lane - b`";
    shfl_sync_down_b32 shfl_sync_down_b32_p "down" Down, "`lane + b`";
    shfl_sync_bfly_b32 shfl_sync_bfly_b32_p "bfly" Butterfly, "`lane ^ b`";
    shfl_sync_idx_b32 shfl_sync_idx_b32_p "idx" Index, "`b`, of its segment";
}
