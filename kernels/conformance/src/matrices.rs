//! `ldmatrix`, `stmatrix`, `movmatrix`: one kernel per form, on rows anywhere in a swizzled tile.

use ptx_matrix::fragment::RowAddr;
use ptx_matrix::mma::{
    B4x16P64, B6x16P32, B8, B16, LdMatrix, MovMatrix, NoTrans, StMatrix, Trans, X1, X2, X4,
};
use ptx_matrix::prelude::*;
use ptx_matrix::{ldmatrix_forms, stmatrix_forms};

/// The tile of the loads and stores: 32 rows of eight matrix rows each.
pub type Tile = SharedTile<u16, 32, 64, Swizzle128>;

/// The start of a lane's matrix row in the tile: row `slot / 8`, column `slot % 8 * 8`.
fn slot(tile: Tile, slot: u32) -> RowAddr {
    let slot = slot as usize % 256;
    tile.row((slot / 8, slot % 8 * 8))
}

macro_rules! loads {
    ($($kernel:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(loads! { @$needs $kernel $count $trans $element [[$(stringify!($r)),+].len()] })*
    };
    (@sm_75 $($row:tt)*) => { loads! { @kernel "sm_75" $($row)* } };
    (@blackwell $($row:tt)*) => { loads! { @kernel "sm_100a or sm_120a" $($row)* } };
    (@kernel $target:literal $kernel:ident $count:ident $trans:ident $element:ident
        [$registers:expr]) => {
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile,
            source: Global<u16>,
            slots: Global<u32>,
            out: GlobalMut<u32>,
        ) {
            let warp = block.warp();
            tile.fill(warp, |row, col| source.get(row * 64 + col));
            block.sync();
            let rows = warp.each(|lane| slot(tile, slots.get(lane.id())));
            let registers = LdMatrix::<$count, $trans, $element>::load(warp, rows);
            warp.each(|lane| {
                for (index, register) in lane.get(&registers).into_iter().enumerate() {
                    out.set(lane.id() * $registers + index, register);
                }
            });
        }
    };
}
ldmatrix_forms!(loads);

macro_rules! stores {
    ($($kernel:ident $ptx:literal $count:ident $trans:ident $element:ident ($($r:ident)+)
        $arrangement:tt $needs:ident $version:literal $nature:ident;)*) => {
        $(stores! { @$needs $kernel $count $trans $element [[$(stringify!($r)),+].len()] })*
    };
    (@sm_90 $($row:tt)*) => { stores! { @kernel "sm_90" $($row)* } };
    (@blackwell $($row:tt)*) => { stores! { @kernel "sm_100a or sm_120a" $($row)* } };
    (@kernel $target:literal $kernel:ident $count:ident $trans:ident $element:ident
        [$registers:expr]) => {
        #[kernel(threads = 32, target = $target)]
        pub fn $kernel(
            block: &Block,
            #[shared] tile: Tile,
            slots: Global<u32>,
            source: Global<u32>,
            out: GlobalMut<u16>,
        ) {
            let warp = block.warp();
            tile.fill(warp, |_, _| 0xffff);
            block.sync();
            let rows = warp.each(|lane| slot(tile, slots.get(lane.id())));
            let registers = warp.each(|lane| {
                let mut registers = [0; $registers];
                for (index, register) in registers.iter_mut().enumerate() {
                    *register = source.get(lane.id() * $registers + index);
                }
                registers
            });
            StMatrix::<$count, $trans, $element>::store(warp, rows, registers);
            block.sync();
            tile.for_each(warp, |row, col, value| out.set(row * 64 + col, value));
        }
    };
}
stmatrix_forms!(stores);

#[kernel(threads = 32)]
pub fn movmatrix_sync_aligned_m8n8_trans_b16(
    block: &Block,
    source: Global<u32>,
    out: GlobalMut<u32>,
) {
    let warp = block.warp();
    let matrix = warp.each(|lane| source.get(lane.id()));
    let transposed = MovMatrix::<Trans, B16>::transpose(warp, matrix);
    warp.each(|lane| out.set(lane.id(), lane.get(&transposed)));
}
