/// The address of a matrix row for `ldmatrix` and `stmatrix`: eight 16-bit elements in shared
/// memory, 16-byte aligned.
///
/// A tile makes it ([`SharedTile::row`](crate::memory::SharedTile::row)), in bounds and aligned.
#[derive(Clone, Copy)]
pub struct RowAddr(u32);

impl RowAddr {
    /// Bytes of a row.
    pub const BYTES: u32 = 16;

    /// Makes the address of a row from an address in the `.shared` window.
    ///
    /// # Safety
    /// The 16 bytes from `address` belong to the block's shared memory, and `address` is a multiple
    /// of 16. The simulator checks both.
    #[inline]
    pub const unsafe fn from_address(address: u32) -> Self {
        RowAddr(address)
    }

    /// The address in the `.shared` window.
    #[inline]
    pub const fn address(self) -> u32 {
        self.0
    }
}
