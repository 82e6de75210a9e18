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
    /// `.satfinite`: sums beyond the ends of 32 bits become those ends.
    SatFinite;
    /// `.rn`: each step of the chain is rounded to the nearest, ties to even, as without it.
    Rn;
    /// `.rz`: each step of the chain is rounded toward zero.
    Rz;
    /// `.rm`: each step of the chain is rounded down.
    Rm;
    /// `.rp`: each step of the chain is rounded up.
    Rp;
    /// `.xor.popc`: an element of D is the number of bits that are in one of A's row and B's column, plus C.
    XorPopc;
    /// `.and.popc`: an element of D is the number of bits that are in both A's row and B's column, plus C.
    AndPopc;
    /// `.kind::f8f6f4`: elements of 8, 6 and 4 bits, a byte each, in any mix.
    F8F6F4;
    /// C is f16, and D f32.
    Widen;
}

/// `::ordered_metadata`: of a chunk, the part that comes first in the row is named first.
#[derive(Debug, Clone, Copy)]
pub struct Ordered;
impl Sealed for Ordered {}

/// `mma.sp`, without `::ordered_metadata`: of a chunk, the parts are named in the order in which
/// they lie in A's registers.
#[derive(Debug, Clone, Copy)]
pub struct AnyOrder;
impl Sealed for AnyOrder {}

/// In place of `Plain`, that of `M8N8K4Quad`, which computes otherwise than the same elements in
/// other shapes.
pub struct Quad;

/// In place of `Plain`, that of fp8 in `wgmma`, which computes otherwise than `mma`.
pub struct WarpGroupFp8;
