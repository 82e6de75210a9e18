//! `ldmatrix`, `stmatrix`, `movmatrix`: one form a kernel, on rows anywhere in a swizzled tile.

use ptx_matrix::target::{AtLeast, BuildTarget, Supports};
use ptx_matrix::*;

/// The tile that rows are loaded from and stored to: 32 rows of eight matrix rows each.
pub type Tile = SharedTile<u16, 32, 64, Swizzle128>;

/// Where in the tile a lane's matrix row starts: row `slot / 8`, column `slot % 8 * 8`.
fn slot(tile: Tile, slot: u32) -> RowAddr {
    let slot = slot as usize % 256;
    tile.row((slot / 8, slot % 8 * 8))
}

#[inline(always)]
fn load<N: Count, Tr: Transposition>(
    block: &Block,
    tile: Tile,
    source: Global<u16>,
    slots: Global<u32>,
    out: GlobalMut<u32>,
) {
    let warp = block.warp();
    tile.fill(warp, |row, col| source.get(row * 64 + col));
    block.sync();
    let rows = warp.each(|lane| slot(tile, slots.get(lane.id())));
    let registers = LdMatrix::<N, Tr, B16>::load(warp, rows);
    warp.each(|lane| {
        let registers = lane.get(&registers);
        for (index, register) in registers.as_ref().iter().enumerate() {
            out.set(lane.id() * N::Registers::COUNT + index, *register);
        }
    });
}

#[inline(always)]
fn store<N: Count, Tr: Transposition, Target: Supports<AtLeast<90>>>(
    block: &Block,
    tile: Tile,
    slots: Global<u32>,
    source: Global<u32>,
    out: GlobalMut<u16>,
) {
    let warp = block.warp();
    tile.fill(warp, |_, _| 0xffff);
    block.sync();
    let rows = warp.each(|lane| slot(tile, slots.get(lane.id())));
    let registers = warp.each(|lane| {
        let mut registers: N::Registers = Zeroable::zeroed();
        for (index, register) in registers.as_mut().iter_mut().enumerate() {
            *register = source.get(lane.id() * N::Registers::COUNT + index);
        }
        registers
    });
    StMatrix::<N, Tr, B16, Target>::store(warp, rows, registers);
    block.sync();
    tile.for_each(warp, |row, col, value| out.set(row * 64 + col, value));
}

/// One row a form of `ldmatrix`.
macro_rules! loads {
    ($($kernel:ident $count:ident $trans:ident;)*) => {$(
        #[kernel(threads = 32)]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile,
            source: Global<u16>,
            slots: Global<u32>,
            out: GlobalMut<u32>,
        ) {
            load::<$count, $trans>(block, tile, source, slots, out);
        }
    )*};
}
loads! {
    ldmatrix_x1 X1 NoTrans;
    ldmatrix_x2 X2 NoTrans;
    ldmatrix_x4 X4 NoTrans;
    ldmatrix_x1_trans X1 Trans;
    ldmatrix_x2_trans X2 Trans;
    ldmatrix_x4_trans X4 Trans;
}

/// One row a form of `stmatrix`.
macro_rules! stores {
    ($($kernel:ident $count:ident $trans:ident;)*) => {$(
        #[kernel(threads = 32, target = "sm_90")]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile,
            slots: Global<u32>,
            source: Global<u32>,
            out: GlobalMut<u16>,
        ) {
            store::<$count, $trans, BuildTarget>(block, tile, slots, source, out);
        }
    )*};
}
stores! {
    stmatrix_x1 X1 NoTrans;
    stmatrix_x2 X2 NoTrans;
    stmatrix_x4 X4 NoTrans;
    stmatrix_x1_trans X1 Trans;
    stmatrix_x2_trans X2 Trans;
    stmatrix_x4_trans X4 Trans;
}

#[kernel(threads = 32)]
pub fn movmatrix_trans(block: &Block, source: Global<u32>, out: GlobalMut<u32>) {
    let warp = block.warp();
    let matrix = warp.each(|lane| source.get(lane.id()));
    let transposed = MovMatrix::<Trans, B16>::transpose(warp, matrix);
    warp.each(|lane| out.set(lane.id(), lane.get(&transposed)));
}
