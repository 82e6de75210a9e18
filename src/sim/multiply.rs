//! What `mma` does, on all 32 lanes at once.

use super::arithmetic::{AccumulatorFloat, Float, multiply_accumulate};
use super::operands::{check_operand, remember_result};
use super::record::note_collective;
use crate::fragment::{FragmentShape, RoleA, RoleB, RoleC, Shape};
use crate::site::Site;
use crate::{Accumulator, FragmentA, FragmentB};

/// `acc += a x b`, by an instruction at this line.
pub(crate) fn multiply<S, A: Float, B: Float, C: AccumulatorFloat>(
    site: Site,
    form: &'static str,
    acc: &mut Accumulator<S, C>,
    a: &FragmentA<S, A>,
    b: &FragmentB<S, B>,
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width> + FragmentShape<RoleC, C::Width>,
{
    note_collective(site, form);
    check_operand(site, a);
    check_operand(site, b);
    check_operand(site, acc);
    multiply_accumulate(acc, a, b);
    remember_result(site, acc);
}
