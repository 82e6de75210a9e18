//! The layout of a kernel's shared memory.

use super::{Order, SharedTile, Swizzle};
use crate::element::Element;
use crate::machine::{SharedField, SharedName, name_fields};

/// A kernel's shared memory, or a part of it.
///
/// A part is a [`SharedTile`], a ring, an array or a tuple of parts, or a struct of parts with
/// `#[derive(SharedLayout)]`. Parts follow each other in the order of their declaration, each at a
/// multiple of its alignment. A kernel takes its shared memory as parameters marked `#[shared]`.
/// Parts are handles: a copy of a handle copies no memory.
///
/// ```
/// use ptx_matrix::prelude::*;
///
/// #[derive(SharedLayout)]
/// struct Operands {
///     a: SharedTile<bf16, 64, 32, Swizzle64>,
///     b: SharedTile<bf16, 32, 64, Swizzle128>,
/// }
///
/// #[kernel(threads = 128)]
/// fn product(
///     block: &Block,
///     #[shared] operands: Operands,
///     #[shared] sums: [SharedTile<f32, 16, 16>; 2],
/// ) {
///     operands.a.fill(block, |_, _| bf16::ONE);
///     operands.b.fill(block, |_, _| bf16::ONE);
///     sums[1].fill(block, |_, _| 0.0);
/// }
///
/// product::simulate(1).unwrap();
/// assert_eq!(product::INFO.shared_bytes, 64 * 32 * 2 + 32 * 64 * 2 + 2 * 16 * 16 * 4);
/// ```
///
/// # Safety
/// Parts made by [`at`](Self::at) are within `BYTES` bytes of the address. They are aligned if the
/// address is a multiple of `ALIGN`.
pub unsafe trait SharedLayout: Sized {
    /// The size in bytes.
    const BYTES: usize;
    /// The alignment in bytes, a power of two.
    const ALIGN: usize;

    /// Makes the part that starts at `address` in the `.shared` window.
    ///
    /// # Safety
    /// `BYTES` bytes from `address` belong to the block's shared memory, and `address` is a
    /// multiple of `ALIGN`.
    unsafe fn at(address: u32) -> Self;

    /// Names the byte at `offset` of such a part, for the simulator's reports.
    #[doc(hidden)]
    fn name_byte(offset: usize, name: &mut SharedName) {
        name.byte(offset);
    }
}

/// The offset of a part of alignment `align`, if the parts before it end at `end`.
#[doc(hidden)]
pub const fn align_up(end: usize, align: usize) -> usize {
    end.next_multiple_of(align)
}

// SAFETY: the tile's own size and alignment.
unsafe impl<T: Element, const ROWS: usize, const COLS: usize, S: Swizzle, O: Order> SharedLayout
    for SharedTile<T, ROWS, COLS, S, O>
{
    const BYTES: usize = Self::TILE_BYTES;
    const ALIGN: usize = S::ALIGN;

    #[inline]
    unsafe fn at(address: u32) -> Self {
        // SAFETY: the caller upholds the conditions.
        unsafe { SharedTile::from_address(address) }
    }

    fn name_byte(offset: usize, name: &mut SharedName) {
        let mut elements = (0..ROWS).flat_map(|row| (0..COLS).map(move |col| (row, col)));
        let holds = |&(row, col): &(usize, usize)| {
            let start = Self::offset(row, col) as usize;
            (start..start + size_of::<T>()).contains(&offset)
        };
        match elements.find(holds) {
            Some((row, col)) => name.element(row, col, offset - Self::offset(row, col) as usize),
            None => name.byte(offset),
        }
    }
}

// SAFETY: parts are one stride apart, a multiple of their alignment.
unsafe impl<P: SharedLayout, const N: usize> SharedLayout for [P; N] {
    const BYTES: usize = if N == 0 { 0 } else { align_up(P::BYTES, P::ALIGN) * (N - 1) + P::BYTES };
    const ALIGN: usize = P::ALIGN;

    #[inline]
    unsafe fn at(address: u32) -> Self {
        // SAFETY: part `i` starts at a multiple of the stride, within this array's bytes.
        core::array::from_fn(|i| unsafe {
            P::at(address + (i * align_up(P::BYTES, P::ALIGN)) as u32)
        })
    }

    fn name_byte(offset: usize, name: &mut SharedName) {
        let stride = align_up(P::BYTES, P::ALIGN);
        name.part(offset / stride);
        P::name_byte(offset % stride, name);
    }
}

// SAFETY: there are no parts.
unsafe impl SharedLayout for () {
    const BYTES: usize = 0;
    const ALIGN: usize = 1;

    #[inline]
    unsafe fn at(_: u32) -> Self {}
}

/// A tuple is its first part, followed by the tuple of the others.
macro_rules! tuples {
    ($($first:ident $($rest:ident)*;)*) => {$(
        // SAFETY: each part starts at the end of the preceding one, rounded up to its alignment.
        unsafe impl<$first: SharedLayout, $($rest: SharedLayout),*> SharedLayout
            for ($first, $($rest,)*)
        {
            const BYTES: usize = {
                let end = $first::BYTES;
                $(let end = align_up(end, $rest::ALIGN) + $rest::BYTES;)*
                end
            };
            const ALIGN: usize = {
                let align = $first::ALIGN;
                $(let align = if $rest::ALIGN > align { $rest::ALIGN } else { align };)*
                align
            };

            #[inline]
            #[allow(
                unused_assignments,
                unused_mut,
                unused_variables,
                reason = "the last part's end is not read",
            )]
            unsafe fn at(address: u32) -> Self {
                let mut end = $first::BYTES;
                // SAFETY: each part is within this tuple's bytes, at a multiple of its alignment.
                unsafe {
                    (
                        $first::at(address),
                        $({
                            let start = align_up(end, $rest::ALIGN);
                            end = start + $rest::BYTES;
                            $rest::at(address + start as u32)
                        },)*
                    )
                }
            }

            fn name_byte(offset: usize, name: &mut SharedName) {
                name_fields(
                    offset, name, &[SharedField::of::<$first>(), $(SharedField::of::<$rest>()),*]
                );
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
}

impl SharedField {
    /// A field of this type, named by its index.
    pub fn of<P: SharedLayout>() -> Self {
        Self::new(P::BYTES, P::ALIGN, P::name_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Swizzle128, Unswizzled};
    use half::bf16;

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        type Small = SharedTile<bf16, 3, 8, Unswizzled>;
        type Big = SharedTile<bf16, 8, 64, Swizzle128>;
        type Parts = (Small, Big, [Small; 3]);
        assert_eq!(Small::BYTES, 48);
        assert_eq!(Parts::ALIGN, 1024);
        assert_eq!(Parts::BYTES, 1024 + 1024 + 3 * 48);
        // SAFETY: the test uses the handles' addresses alone.
        let (small, big, array) = unsafe { Parts::at(1024) };
        assert_eq!(
            (small.address(), big.address(), array[2].address()),
            (1024, 2048, 3072 + 2 * 48)
        );
    }
}
