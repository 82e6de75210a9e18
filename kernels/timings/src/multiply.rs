//! `mma.sync`: the forms of sm_90, from the table in `src/isa/`.

use super::time;
use core::num::Wrapping;
use core::ops::Add;
use ptx_matrix::element::Width;
use ptx_matrix::forms::{Nature, ptx};
use ptx_matrix::fragment::{Fragment, FragmentShape, Role, RoleA, RoleB, RoleC, Shape};
use ptx_matrix::mma::MmaForm;
use ptx_matrix::prelude::*;
use ptx_matrix::target::{BuildTarget, Supports};
use ptx_matrix::{mma_element, mma_forms, mma_named, mma_shape};

/// `mma` instructions per warp and round.
pub const PRODUCTS: usize = 8;
/// Accumulators of a warp in a throughput kernel: this many consecutive instructions are
/// independent.
const CHAINS: usize = 4;

/// Two kernels per form: `latency_*`, in which a warp accumulates into one accumulator, and
/// `time_*`, in which warps accumulate into several.
macro_rules! kernels {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident
        $width:ident $registers:tt $needs:ident $version:literal $nature:ident;)*) => {$($(
        mma_named! { $q $shape $la $lb $d $a $b $c => kernels ($nature
            [mma_shape!($shape $la $lb $a)] [mma_element!($q $a)] [mma_element!($q $b)] [ptx::$c]
            [ptx::$d] [ptx::$q]) }
    )*)*};
    (@named $kernel:ident (absent $($types:tt)*)) => {};
    (@named $kernel:ident ($nature:ident $($types:tt)*)) => {
        pastey::paste! { kernels! { @kernel 32 1 $nature [<latency_ $kernel>] $($types)* } }
        pastey::paste! { kernels! { @kernel 256 CHAINS $nature [<time_ $kernel>] $($types)* } }
    };
    (@kernel $threads:literal $chains:tt $nature:ident $kernel:ident [$s:ty] [$a:ty] [$b:ty] [$c:ty]
        [$d:ty] [$q:ty]) => {
        #[kernel(threads = $threads, min_blocks = 1, target = "sm_90a")]
        pub fn $kernel(
            block: &Block,
            clocks: GlobalMut<u64>,
            out: GlobalMut<u32>,
            rounds: u32,
            vary: u32,
        ) {
            let changes = matches!(ptx::$nature, Nature::Emulated);
            multiply::<$s, $a, $b, $c, $d, $q, $chains>(
                block, clocks, out, rounds, vary, changes,
            );
        }
    };
}
mma_forms!(kernels);

/// The body of a kernel, with a number of accumulators. If it `changes` the operands, they differ
/// for each instruction.
///
/// On a GPU without the instruction, it is emulated: operations on unchanged operands would be
/// hoisted, and done once. On a GPU with it, the operands need not change, and changing them would
/// take longer than the instruction. There all instructions have the same A, as in a row of a GEMM.
/// (Not for f64 `m16n8k4`, for which ptxas 13.5 fails then.)
#[inline]
fn multiply<S, A: Element, B: Element, C: Element, D: Element, Q, const CHAINS: usize>(
    block: &Block<'_>,
    clocks: GlobalMut<'_, u64>,
    out: GlobalMut<'_, u32>,
    rounds: u32,
    vary: u32,
    changes: bool,
) where
    S: Shape + FragmentShape<RoleA, A::Width> + FragmentShape<RoleB, B::Width>,
    S: FragmentShape<RoleC, C::Width> + FragmentShape<RoleC, D::Width>,
    A::Width: Width<Register: From<u32>>,
    B::Width: Width<Register: From<u32>>,
    C::Width: Width<Register: Into<u64>>,
    D::Width: Width<Register = RegisterOf<C>>,
    Wrapping<RegisterOf<A>>: Add<Output = Wrapping<RegisterOf<A>>>,
    Wrapping<RegisterOf<B>>: Add<Output = Wrapping<RegisterOf<B>>>,
    Mma<S, A, B, C, Q>: MmaForm<
            A = FragmentA<S, A>,
            B = FragmentB<S, B>,
            C = Accumulator<S, C>,
            D = Accumulator<S, D>,
        >,
    BuildTarget: Supports<<Mma<S, A, B, C, Q> as MmaForm>::Needs>,
{
    let has_own = changes || size_of::<C>() == size_of::<f64>() && S::K == 4;
    let of_a = |i: usize| if has_own { i } else { 0 };
    time(block, clocks, |warp, first| {
        let (mut a, mut b) =
            ([FragmentA::<S, A>::zero(); CHAINS], [FragmentB::<S, B>::zero(); CHAINS]);
        for i in 0..CHAINS {
            let by = (i as u32 * vary) << 8;
            (a[i], b[i]) = (changed(warp, a[i], by), changed(warp, b[i], by));
        }
        let mut acc: [Accumulator<S, C>; CHAINS] = Zeroable::zeroed();
        for _ in 0..rounds {
            for _ in 0..PRODUCTS / CHAINS {
                for i in 0..CHAINS {
                    if changes {
                        (a[i], b[i]) = (changed(warp, a[i], vary), changed(warp, b[i], vary));
                    }
                    let result = Mma::<S, A, B, C, Q>::multiply(warp, &a[of_a(i)], &b[i], &acc[i]);
                    acc[i] = reinterpret(warp, &result);
                }
            }
        }
        warp.each(|lane| {
            let mut all = 0;
            for chain in &acc {
                for &register in lane.get(&chain.registers()).as_ref() {
                    let register: u64 = register.into();
                    all ^= register as u32;
                }
            }
            out.set(first + lane.id(), all);
        });
    });
}

/// The register that holds elements.
type RegisterOf<T> = <<T as Element>::Width as Width>::Register;

/// Changes the registers of a fragment by a number that only the host knows.
#[inline]
fn changed<R: Role, S, T>(warp: Warp<'_>, fragment: Fragment<R, S, T>, by: u32) -> Fragment<R, S, T>
where
    S: FragmentShape<R, T::Width>,
    T: Element,
    RegisterOf<T>: From<u32>,
    Wrapping<RegisterOf<T>>: Add<Output = Wrapping<RegisterOf<T>>>,
{
    let mut registers = fragment.registers();
    warp.update(&mut registers, |_, registers| {
        for register in registers.as_mut() {
            *register = (Wrapping(*register) + Wrapping(by.into())).0;
        }
    });
    Fragment::from_registers(registers)
}

/// The first registers of a result, as the next accumulator: the result itself, if the two have one
/// type.
#[inline]
fn reinterpret<S, D: Element, C: Element>(
    warp: Warp<'_>,
    result: &Accumulator<S, D>,
) -> Accumulator<S, C>
where
    S: FragmentShape<RoleC, D::Width> + FragmentShape<RoleC, C::Width>,
    D::Width: Width<Register = RegisterOf<C>>,
{
    let result = result.registers();
    Accumulator::from_registers(warp.each(|lane| {
        let result = lane.get(&result);
        let mut registers: <S as FragmentShape<RoleC, C::Width>>::Registers = Zeroable::zeroed();
        for (register, result) in registers.as_mut().iter_mut().zip(result.as_ref()) {
            *register = *result;
        }
        registers
    }))
}
