//! The tables of `ldmatrix` (PTX ISA 9.7.14.5.15) and `stmatrix` (.16), and `movmatrix` (.17).

use super::{Form, ptx};
use crate::fragment::{
    Arrangement::{Columns, ColumnsOfBytes, Rows, RowsOfBytes, StoredColumnsOfBytes},
    Packed::{Bytes, Fours, Sixes},
};
use crate::target::Requirement;

/// Passes the forms of `ldmatrix` to a macro, one in each row:
///
/// - its function in `raw`, and the instruction as in PTX;
/// - the number of matrices, whether they are transposed, and their elements, as the types of
///   `LdMatrix`;
/// - the registers of a lane, and the layout of a matrix in registers and in shared memory;
/// - the minimum target and PTX version;
/// - its [`Nature`](crate::isa::Nature) on sm_90.
#[doc(hidden)]
#[macro_export]
macro_rules! ldmatrix_forms {
    ($with:ident) => {
        $with! {
            ldmatrix_sync_aligned_m8n8_x1_shared_b16 "ldmatrix.sync.aligned.m8n8.x1.shared.b16"
                X1 NoTrans B16 (r0) [Rows] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n8_x2_shared_b16 "ldmatrix.sync.aligned.m8n8.x2.shared.b16"
                X2 NoTrans B16 (r0 r1) [Rows] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n8_x4_shared_b16 "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
                X4 NoTrans B16 (r0 r1 r2 r3) [Rows] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n8_x1_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16"
                X1 Trans B16 (r0) [Columns] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n8_x2_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
                X2 Trans B16 (r0 r1) [Columns] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n8_x4_trans_shared_b16
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
                X4 Trans B16 (r0 r1 r2 r3) [Columns] sm_75 6.5 native;
            ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b6x16_p32
                "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32"
                X1 NoTrans B6x16P32 (r0) [RowsOfBytes(Sixes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b6x16_p32
                "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32"
                X2 NoTrans B6x16P32 (r0 r1) [RowsOfBytes(Sixes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b6x16_p32
                "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32"
                X4 NoTrans B6x16P32 (r0 r1 r2 r3) [RowsOfBytes(Sixes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m8n16_x1_shared_b8x16_b4x16_p64
                "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64"
                X1 NoTrans B4x16P64 (r0) [RowsOfBytes(Fours)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m8n16_x2_shared_b8x16_b4x16_p64
                "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64"
                X2 NoTrans B4x16P64 (r0 r1) [RowsOfBytes(Fours)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m8n16_x4_shared_b8x16_b4x16_p64
                "ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64"
                X4 NoTrans B4x16P64 (r0 r1 r2 r3) [RowsOfBytes(Fours)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8
                "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"
                X1 Trans B8 (r0 r1) [ColumnsOfBytes(Bytes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8"
                X2 Trans B8 (r0 r1 r2 r3) [ColumnsOfBytes(Bytes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b6x16_p32
                "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32"
                X1 Trans B6x16P32 (r0 r1) [ColumnsOfBytes(Sixes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b6x16_p32
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32"
                X2 Trans B6x16P32 (r0 r1 r2 r3) [ColumnsOfBytes(Sixes)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x1_trans_shared_b8x16_b4x16_p64
                "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64"
                X1 Trans B4x16P64 (r0 r1) [ColumnsOfBytes(Fours)] blackwell 8.6 absent;
            ldmatrix_sync_aligned_m16n16_x2_trans_shared_b8x16_b4x16_p64
                "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64"
                X2 Trans B4x16P64 (r0 r1 r2 r3) [ColumnsOfBytes(Fours)] blackwell 8.6 absent;
        }
    };
}

/// Passes the forms of `stmatrix` to a macro, in the same format.
#[doc(hidden)]
#[macro_export]
macro_rules! stmatrix_forms {
    ($with:ident) => {
        $with! {
            stmatrix_sync_aligned_m8n8_x1_shared_b16 "stmatrix.sync.aligned.m8n8.x1.shared.b16"
                X1 NoTrans B16 (r0) [Rows] sm_90 7.8 native;
            stmatrix_sync_aligned_m8n8_x2_shared_b16 "stmatrix.sync.aligned.m8n8.x2.shared.b16"
                X2 NoTrans B16 (r0 r1) [Rows] sm_90 7.8 native;
            stmatrix_sync_aligned_m8n8_x4_shared_b16 "stmatrix.sync.aligned.m8n8.x4.shared.b16"
                X4 NoTrans B16 (r0 r1 r2 r3) [Rows] sm_90 7.8 native;
            stmatrix_sync_aligned_m8n8_x1_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16"
                X1 Trans B16 (r0) [Columns] sm_90 7.8 native;
            stmatrix_sync_aligned_m8n8_x2_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16"
                X2 Trans B16 (r0 r1) [Columns] sm_90 7.8 native;
            stmatrix_sync_aligned_m8n8_x4_trans_shared_b16
                "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
                X4 Trans B16 (r0 r1 r2 r3) [Columns] sm_90 7.8 native;
            stmatrix_sync_aligned_m16n8_x1_trans_shared_b8
                "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"
                X1 Trans B8 (r0) [StoredColumnsOfBytes] blackwell 8.6 absent;
            stmatrix_sync_aligned_m16n8_x2_trans_shared_b8
                "stmatrix.sync.aligned.m16n8.x2.trans.shared.b8"
                X2 Trans B8 (r0 r1) [StoredColumnsOfBytes] blackwell 8.6 absent;
            stmatrix_sync_aligned_m16n8_x4_trans_shared_b8
                "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8"
                X4 Trans B8 (r0 r1 r2 r3) [StoredColumnsOfBytes] blackwell 8.6 absent;
        }
    };
}

macro_rules! records {
    ([$name:ident $family:literal $loaded:expr] $($raw:ident $ptx:literal $count:ident $trans:ident
        $element:ident ($($r:ident)+) [$($arrangement:tt)+] $needs:ident $version:literal
        $nature:ident;)*) => {
        pub(super) const $name: &[Form] = &[$({
            let registers = [$(stringify!($r)),+].len();
            Form {
                family: $family,
                ptx: $ptx,
                register_bits: 32,
                arrangement: Some($($arrangement)+),
                d: if $loaded { registers } else { 0 },
                a: if $loaded { 0 } else { registers },
                b: 0,
                c: 0,
                scales: 0,
                selectors: 0,
                needs: <ptx::$needs as Requirement>::NEEDS,
                ptx_version: stringify!($version),
                on_sm_90: ptx::$nature,
            }
        }),*];
    };
}
macro_rules! loads {
    ($($row:tt)*) => { records! { [LOADS "ldmatrix" true] $($row)* } };
}
crate::ldmatrix_forms!(loads);
macro_rules! stores {
    ($($row:tt)*) => { records! { [STORES "stmatrix" false] $($row)* } };
}
crate::stmatrix_forms!(stores);

/// `movmatrix`, which has one form.
pub(super) const MOVES: &[Form] = &[Form {
    family: "movmatrix",
    ptx: "movmatrix.sync.aligned.m8n8.trans.b16",
    arrangement: Some(Columns),
    d: 1,
    a: 1,
    needs: <ptx::sm_75 as Requirement>::NEEDS,
    ptx_version: "7.8",
    ..LOADS[0]
}];
