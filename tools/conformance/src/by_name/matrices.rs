//! The matrices of a form, and the reference for the result.

use super::families::Family;
use crate::checks::metadata;
use crate::data::{Place, Rng};
use crate::reference::Granularity;
use ptx_matrix::forms::{WgmmaForm, WgmmaMatrices, WgmmaOptions};
use ptx_matrix::lane::LANES;
use rand::SeedableRng;

/// Rows of A and D, of all four warps, and of one warp.
pub(super) const ROWS: usize = 64;
const ROWS_OF_WARP: usize = 16;

/// Draws the matrices of a form from a seed.
pub(super) fn draw(seed: u64, form: &WgmmaForm, family: &Family) -> WgmmaMatrices {
    let rng = &mut Rng::seed_from_u64(seed.wrapping_add(form.n as u64));
    let [a, b, c] = family.draw;
    let a = a(rng, ROWS * form.kept(), Place::Operand);
    let b = b(rng, form.k * form.n, Place::Operand);
    let c = c(rng, ROWS * form.n, Place::Accumulator);
    let words = if form.selectors > 0 { ROWS / ROWS_OF_WARP * LANES } else { 0 };
    WgmmaMatrices {
        a,
        b,
        c,
        metadata: (0..words).map(|_| metadata(rng, granularity(form).codes(false))).collect(),
    }
}

/// The reference for elements of D.
pub(super) fn reference<'a>(
    matrices: &'a WgmmaMatrices,
    form: &'a WgmmaForm,
    family: &'a Family,
    (options, adds): (WgmmaOptions, bool),
) -> impl Fn(usize, usize) -> u32 + 'a {
    let WgmmaMatrices { a, b, c, metadata } = matrices;
    let sign = |negated| if negated { 1 << (form.element_bits() - 1) } else { 0 };
    let (sign_a, sign_b) = (sign(options.negates_a), sign(options.negates_b));
    let rows_of_b = |row: usize| match form.selectors {
        0 => (0..form.k).collect(),
        _ => {
            let words = &metadata[row / ROWS_OF_WARP * LANES..][..LANES];
            granularity(form).rows_of_b(
                (words, options.selector as usize),
                row % ROWS_OF_WARP,
                form.k,
            )
        }
    };
    let rows_of_b: Vec<Vec<usize>> = (0..ROWS).map(rows_of_b).collect();
    move |row, col| {
        let of_a = a[row * form.kept()..][..form.kept()].iter().map(|code| code ^ sign_a);
        let of_b = rows_of_b[row].iter().map(|row| b[row * form.n + col] ^ sign_b);
        let sum = if adds { c[row * form.n + col] } else { 0 };
        (family.dot)(&of_a.collect::<Vec<u32>>(), &of_b.collect::<Vec<u32>>(), sum)
    }
}

fn granularity(form: &WgmmaForm) -> Granularity {
    Granularity::of(form.element_bits())
}
