//! What `mma` does, on all 32 lanes at once.

use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::sim::arithmetic::operands::{check_operand, remember_result};
use crate::sim::arithmetic::{Product, multiply_accumulate};
use crate::sim::record::note_collective;
use crate::site::Site;
use crate::{Accumulator, Element, FragmentA, FragmentB};

/// `acc += a x b`, by an instruction at this line.
pub(crate) fn multiply<S, A, B, C>(
    site: Site,
    form: &'static str,
    acc: &mut Accumulator<S, C>,
    a: &FragmentA<S, A>,
    b: &FragmentB<S, B>,
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width> + FragmentShape<RoleC, C::Width>,
    A: Element + Product<B, C>,
    B: Element,
    C: Element,
{
    note_collective(site, form);
    check_operand(site, a);
    check_operand(site, b);
    check_operand(site, acc);
    multiply_accumulate(acc, a, b);
    remember_result(site, acc);
}
