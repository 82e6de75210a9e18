//! The table of `ldmatrix` (PTX ISA 9.7.14.5.15), `stmatrix` (.16) and `movmatrix` (.17).

use super::{Form, Nature, Needs};

const fn form(
    ptx: &'static str,
    d: usize,
    a: usize,
    needs: Needs,
    ptx_version: &'static str,
    on_sm_90: Nature,
) -> Form {
    let family = match ptx.as_bytes()[0] {
        b'l' => "ldmatrix",
        b's' => "stmatrix",
        _ => "movmatrix",
    };
    Form { family, ptx, register_bits: 32, d, a, b: 0, c: 0, scales: 0, selectors: 0, needs, ptx_version, on_sm_90 }
}

const SM_75: Needs = Needs::at_least(75);
const SM_90: Needs = Needs::at_least(90);
const BLACKWELL: Needs = Needs { sm: 100, specific: true, arch: false, only: false };

use Nature::{Absent, Native};

/// The instruction; registers loaded, and stored; the target and the PTX version from which on there is the form; what becomes
/// of it on sm_90.
#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    form("ldmatrix.sync.aligned.m8n8.x1.shared.b16",                      1, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n8.x2.shared.b16",                      2, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n8.x4.shared.b16",                      4, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16",                1, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",                2, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",                4, 0, SM_75, "6.5", Native),
    form("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32",         1, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32",         2, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b6x16_p32",         4, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64",         1, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b4x16_p64",         2, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64",         4, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",               2, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8",               4, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b6x16_p32",  2, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b6x16_p32",  4, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64",  2, 0, BLACKWELL, "8.6", Absent),
    form("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64",  4, 0, BLACKWELL, "8.6", Absent),
    form("stmatrix.sync.aligned.m8n8.x1.shared.b16",                      0, 1, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m8n8.x2.shared.b16",                      0, 2, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m8n8.x4.shared.b16",                      0, 4, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",                0, 1, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16",                0, 2, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16",                0, 4, SM_90, "7.8", Native),
    form("stmatrix.sync.aligned.m16n8.x1.trans.shared.b8",                0, 1, BLACKWELL, "8.6", Absent),
    form("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8",                0, 2, BLACKWELL, "8.6", Absent),
    form("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8",                0, 4, BLACKWELL, "8.6", Absent),
    form("movmatrix.sync.aligned.m8n8.trans.b16",                         1, 1, SM_75, "7.8", Native),
];
