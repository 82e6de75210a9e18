//! `ldmatrix`, `stmatrix`, `movmatrix`: one form a kernel, on rows anywhere in a swizzled tile.

use ptx_matrix::*;

/// The tile that rows are loaded from and stored to: 32 rows of eight matrix rows each.
pub type Tile = SharedTile<u16, 32, 64, Swizzle128>;

/// Where in the tile a lane's matrix row starts: row `slot / 8`, column `slot % 8 * 8`.
fn slot(tile: Tile, slot: u32) -> RowAddr {
    let slot = slot as usize % 256;
    tile.row((slot / 8, slot % 8 * 8))
}

/// Hands the kernels of `ldmatrix` to a macro, a row each: its name, the form `LdMatrix<N, Tr, E>`, its registers, and the
/// targets that have it.
#[macro_export]
macro_rules! ldmatrix_kernels {
    ($with:ident) => {
        $with! {
            ldmatrix_sync_aligned_m8n8_x1_shared_b16 X1 NoTrans B16 1 "sm_75";
            ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16 X1 Trans B16 1 "sm_75";
            ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b6x16_p32 X1 NoTrans B6x16P32 1 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b4x16_p64 X1 NoTrans B4x16P64 1 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m8n8_x2_shared_b16 X2 NoTrans B16 2 "sm_75";
            ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16 X2 Trans B16 2 "sm_75";
            ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b6x16_p32 X2 NoTrans B6x16P32 2 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b4x16_p64 X2 NoTrans B4x16P64 2 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m8n8_x4_shared_b16 X4 NoTrans B16 4 "sm_75";
            ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16 X4 Trans B16 4 "sm_75";
            ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b6x16_p32 X4 NoTrans B6x16P32 4 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b4x16_p64 X4 NoTrans B4x16P64 4 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8 X1 Trans B8 2 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b6x16_p32 X1 Trans B6x16P32 2 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b4x16_p64 X1 Trans B4x16P64 2 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8 X2 Trans B8 4 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b6x16_p32 X2 Trans B6x16P32 4 "sm_100a or sm_120a";
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b4x16_p64 X2 Trans B4x16P64 4 "sm_100a or sm_120a";
        }
    };
}

/// The same of `stmatrix`.
#[macro_export]
macro_rules! stmatrix_kernels {
    ($with:ident) => {
        $with! {
            stmatrix_sync_aligned_m8n8_x1_shared_b16 X1 NoTrans B16 1 "sm_90";
            stmatrix_sync_aligned_m8n8_x1_trans_shared_b16 X1 Trans B16 1 "sm_90";
            stmatrix_sync_aligned_m16n8_x1_trans_shared_b8 X1 Trans B8 1 "sm_100a or sm_120a";
            stmatrix_sync_aligned_m8n8_x2_shared_b16 X2 NoTrans B16 2 "sm_90";
            stmatrix_sync_aligned_m8n8_x2_trans_shared_b16 X2 Trans B16 2 "sm_90";
            stmatrix_sync_aligned_m16n8_x2_trans_shared_b8 X2 Trans B8 2 "sm_100a or sm_120a";
            stmatrix_sync_aligned_m8n8_x4_shared_b16 X4 NoTrans B16 4 "sm_90";
            stmatrix_sync_aligned_m8n8_x4_trans_shared_b16 X4 Trans B16 4 "sm_90";
            stmatrix_sync_aligned_m16n8_x4_trans_shared_b8 X4 Trans B8 4 "sm_100a or sm_120a";
        }
    };
}

macro_rules! loads {
    ($($kernel:ident $count:ident $trans:ident $element:ident $registers:literal $target:literal;)*) => {$(
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
    )*};
}
ldmatrix_kernels!(loads);

macro_rules! stores {
    ($($kernel:ident $count:ident $trans:ident $element:ident $registers:literal $target:literal;)*) => {$(
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
    )*};
}
stmatrix_kernels!(stores);

#[kernel(threads = 32)]
pub fn movmatrix_sync_aligned_m8n8_trans_b16(block: &Block, source: Global<u32>, out: GlobalMut<u32>) {
    let warp = block.warp();
    let matrix = warp.each(|lane| source.get(lane.id()));
    let transposed = MovMatrix::<Trans, B16>::transpose(warp, matrix);
    warp.each(|lane| out.set(lane.id(), lane.get(&transposed)));
}
