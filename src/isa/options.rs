//! The options of `mma` and `mma.sp`, as types.

use crate::lane::Sealed;

macro_rules! options {
    ($($(#[$doc:meta])* $option:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $option;
        impl Sealed for $option {}
    )*};
}
options! {
    /// An [`Mma`](crate::mma::Mma) without options.
    Plain;
    /// `.satfinite`: sums are saturated to 32 bits.
    SatFinite;
    /// `.rn`: each step of the chain is rounded to nearest, ties to even. This is also the default.
    Rn;
    /// `.rz`: each step of the chain is rounded toward zero.
    Rz;
    /// `.rm`: each step of the chain is rounded down.
    Rm;
    /// `.rp`: each step of the chain is rounded up.
    Rp;
    /// `.xor.popc`: an element of D is C plus the number of ones in the XOR of A's row and B's
    /// column.
    XorPopc;
    /// `.and.popc`: an element of D is C plus the number of ones in the AND of A's row and B's
    /// column.
    AndPopc;
    /// `.kind::f8f6f4`: elements of 8, 6 and 4 bits, one in each byte, in any combination.
    F8F6F4;
    /// C is f16 and D is f32.
    Widen;
}

/// `::ordered_metadata`: the metadata names the parts of a chunk in ascending order.
#[derive(Debug, Clone, Copy)]
pub struct Ordered;
impl Sealed for Ordered {}

/// `mma.sp` without `::ordered_metadata`: the metadata names the parts of a chunk in the order of
/// A's registers.
#[derive(Debug, Clone, Copy)]
pub struct AnyOrder;
impl Sealed for AnyOrder {}

/// Replaces `Plain` for `M8N8K4Quad`, whose arithmetic differs from that of the same elements in
/// other shapes.
pub struct Quad;

/// Replaces `Plain` for fp8 in `wgmma`, whose arithmetic differs from `mma`'s.
pub struct WarpGroupFp8;
