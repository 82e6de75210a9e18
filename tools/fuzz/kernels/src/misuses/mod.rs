//! Small kernels with one misuse each. The parameter `mended` corrects it, in most kernels by a
//! missing line.
//!
//! All have the same parameters: `a`, whose elements are their index; `d`, which they write; and
//! `nothing`, which is unwritten.

pub mod convergence;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_80"))]
pub mod copies;
pub mod lanes;
pub mod memory;
pub mod warps;

use ptx_matrix::fragment::RowAddr;
use ptx_matrix::mma::{B16, LdMatrix, NoTrans, X4};
use ptx_matrix::prelude::*;

/// Elements of each buffer.
pub const BUFFER: usize = 1024;

/// A row of numbers.
type Row = SharedTile<u32, 1, 64>;
/// The tile of an `ldmatrix.x4`.
type Matrix = SharedTile<u16, 16, 16>;

/// The row addresses of the four matrices of a tile.
fn rows(warp: Warp<'_>, tile: Matrix) -> PerLane<RowAddr> {
    warp.each(|lane| tile.row((lane.id() % 16, lane.id() / 16 * 8)))
}

/// Loads the tile, and stores each lane's registers to `d`.
#[inline]
fn load(warp: Warp<'_>, tile: Matrix, d: GlobalMut<u32>) {
    let registers = LdMatrix::<X4, NoTrans, B16>::load(warp, rows(warp, tile));
    leave(
        warp,
        d,
        warp.each(|lane| lane.get(&registers).iter().fold(0, |sum, register| sum ^ register)),
    );
}

/// Stores a number of each lane to the lane's own element.
#[inline]
fn leave(warp: Warp<'_>, d: GlobalMut<u32>, numbers: PerLane<u32>) {
    let first = warp.index() * LANES;
    warp.each(|lane| d.set(first + lane.id(), lane.get(&numbers)));
}

/// Declares kernels with the common parameters.
macro_rules! misuses {
    ($($(#[$doc:meta])* $kernel:ident($threads:literal, $target:literal, $mended:ident,
        $block:ident,
        $shared:ident: $layout:ty, $a:ident, $d:ident, $nothing:ident) $body:block)*) => {$(
        $(#[$doc])*
        #[ptx_matrix::kernel(threads = $threads, target = $target)]
        pub fn $kernel(
            $block: &ptx_matrix::scope::Block,
            #[shared] $shared: $layout,
            $a: ptx_matrix::memory::Global<u32>,
            $d: ptx_matrix::memory::GlobalMut<u32>,
            $nothing: ptx_matrix::memory::Global<u32>,
            mended: u32,
        ) {
            let $mended = mended != 0;
            $body
        }
    )*};
}
use misuses;
