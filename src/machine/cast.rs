//! Conversion between types of the same size, in code whose branches for other sizes are dead.

use bytemuck::Pod;

/// Reinterprets the bytes as another type.
///
/// Unlike `bytemuck::cast` it leaves no branch, which would change the order of basic blocks in the
/// machine code. Unlike `bytemuck::must_cast` it compiles for types of different sizes if it is
/// never called.
///
/// # Safety
/// The types have the same size.
#[inline]
pub(crate) const unsafe fn cast<A: Pod, B: Pod>(value: A) -> B {
    #[repr(C)]
    union Bytes<A: Copy, B: Copy> {
        from: A,
        to: B,
    }
    // SAFETY: the caller guarantees that all bytes of `to` are bytes of `from`. Any bytes are a
    // valid `B`.
    unsafe { Bytes { from: value }.to }
}
