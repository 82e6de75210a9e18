//! The same bytes as another type, in code whose branches for other sizes are dead.

use bytemuck::Pod;

/// The same bytes. Unlike `bytemuck::cast` it leaves no branch, which would change the order of
/// blocks in the machine code; unlike `bytemuck::must_cast` it compiles where it is never called.
///
/// # Safety
/// The types have the same size.
#[inline(always)]
pub(crate) const unsafe fn cast<A: Pod, B: Pod>(value: A) -> B {
    #[repr(C)]
    union Bytes<A: Copy, B: Copy> {
        from: A,
        to: B,
    }
    // SAFETY: by the caller, all bytes of `to` are bytes of `from`; any bytes are a `B`.
    unsafe { Bytes { from: value }.to }
}
