//! The elements of a form, and its arithmetic. A table has a row for each family; the forms of a
//! family differ only in N.
//!
//! An element is a code in the low bits of a `u32`. So the other code is compiled once, and not for
//! each row.

use crate::data::{Element, Kind, Place, Rng};
use crate::reference::Operand;
use bytemuck::Pod;
use ptx_matrix::forms::ptx;
use ptx_matrix::sim::Arch;
use ptx_matrix::{wgmma_arithmetic, wgmma_forms, wgmma_ptx, wgmma_sparse_forms};

/// Draws a number of elements.
type Draw = fn(&mut Rng, usize, Place) -> Vec<u32>;

/// A family of forms.
pub(super) struct Family {
    /// The name of its forms, with `N` for the number of columns.
    name: &'static str,
    /// Draws elements of A, of B and of D.
    pub(super) draw: [Draw; 3],
    /// The reference: `(row of A, column of B, element of D)` to the new element of D.
    pub(super) dot: fn(&[u32], &[u32], u32) -> u32,
}

macro_rules! families {
    ([$name:ident] $($d:ident [$(($a:ident $b:ident))*] $k:literal $option:ident $columns:ident
        $per:tt $behind:ident $selectors:tt $version:literal;)*) => {
        const $name: &[Family] = &[$($(Family {
            name: wgmma_ptx!($selectors "N" $d $a $b $k $option),
            draw: [draw::<ptx::$a>, draw::<ptx::$b>, draw::<ptx::$d>],
            dot: dot::<ptx::$a, ptx::$b, ptx::$d, wgmma_arithmetic!($a $option)>,
        }),*),*];
    };
}
wgmma_forms!(families[DENSE]);
wgmma_sparse_forms!(families[SPARSE]);

pub(super) fn find(name: &str) -> &'static Family {
    DENSE
        .iter()
        .chain(SPARSE)
        .find(|family| family.name == name)
        .expect("every form is of a family")
}

/// Draws normally distributed numbers, whose sums are rounded, or integers of the whole range,
/// whose sums wrap around or saturate.
fn draw<T: Element>(rng: &mut Rng, count: usize, place: Place) -> Vec<u32> {
    let kind = if T::KINDS.contains(&Kind::Normal) { Kind::Normal } else { Kind::Wrapping };
    (0..count).map(|_| code(T::draw(rng, kind, place))).collect()
}

fn dot<A: Operand<B, R, O, D = R>, B: Element, R: Element, O>(a: &[u32], b: &[u32], c: u32) -> u32 {
    let (a, b): (Vec<A>, Vec<B>) =
        (a.iter().copied().map(element).collect(), b.iter().copied().map(element).collect());
    code(A::dot(Arch::SM_90, &a, &b, element(c)))
}

fn code<T: Pod>(element: T) -> u32 {
    let mut code = [0; 4];
    code[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&element));
    u32::from_le_bytes(code)
}

fn element<T: Pod>(code: u32) -> T {
    bytemuck::pod_read_unaligned(&code.to_le_bytes()[..size_of::<T>()])
}
