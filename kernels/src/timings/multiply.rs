//! `mma.sync`: the forms that sm_90 has, made of the table in `src/forms/`.

use super::time;
use core::array::from_fn;
use core::num::Wrapping;
use core::ops::Add;
use ptx_matrix::forms::{Nature, ptx};
use ptx_matrix::*;

/// Products of a warp in one round.
pub const PRODUCTS: usize = 8;
/// Accumulators of a warp where the throughput is measured: so many products in a row do not wait for each other.
const CHAINS: usize = 4;

/// Two kernels a form: its name behind `latency_`, by a warp that multiplies into one accumulator, time after time, and behind `time_`, by
/// warps that multiply into several.
macro_rules! kernels {
    ($($shape:ident $la:ident $lb:ident $q:ident $d:ident [$(($a:ident $b:ident))*] $c:ident $width:ident $registers:tt
        $needs:ident $version:literal $nature:ident;)*) => {$($(
        mma_named! { $q $shape $la $lb $d $a $b $c => kernels ($nature
            [mma_shape!($shape $la $lb $a)] [mma_element!($q $a)] [mma_element!($q $b)] [ptx::$c] [ptx::$q]) }
    )*)*};
    (@named $kernel:ident (absent $($types:tt)*)) => {};
    (@named $kernel:ident ($nature:ident $($types:tt)*)) => {
        kernels! { @kernel 32 1 $nature ${concat(latency_, $kernel)} $($types)* }
        kernels! { @kernel 256 CHAINS $nature ${concat(time_, $kernel)} $($types)* }
    };
    (@kernel $threads:literal $chains:tt $nature:ident $kernel:ident [$s:ty] [$a:ty] [$b:ty] [$c:ty] [$q:ty]) => {
        #[kernel(threads = $threads, min_blocks = 1, target = "sm_90a")]
        pub fn $kernel(block: &Block, clocks: GlobalMut<u64>, out: GlobalMut<u32>, rounds: u32, vary: u32) {
            // Where the GPU has no such instruction, what others make of the factors must not stay the same from one product to the
            // next: that would be done once. Where it has, the factors need not change, and changing them would take longer than the
            // product. There all have the same A, as products in a GEMM's row have. (Not for f64 `m16n8k4`, for which ptxas 13.5
            // fails then.)
            let changes = matches!(ptx::$nature, Nature::Emulated);
            let has_own = changes || size_of::<$c>() == size_of::<f64>() && <$s>::K == 4;
            let of_a = |i: usize| if has_own { i } else { 0 };
            time(block, clocks, |warp, first| {
                let mut a: [_; $chains] = from_fn(|i| changed(warp, FragmentA::<$s, $a>::zero(), (i as u32 * vary) << 8));
                let mut b: [_; $chains] = from_fn(|i| changed(warp, FragmentB::<$s, $b>::zero(), (i as u32 * vary) << 8));
                let mut sums: [Accumulator<$s, $c>; $chains] = Zeroable::zeroed();
                for _ in 0..rounds {
                    for _ in 0..PRODUCTS / $chains {
                        for i in 0..$chains {
                            if changes {
                                (a[i], b[i]) = (changed(warp, a[i], vary), changed(warp, b[i], vary));
                            }
                            let product = Mma::<$s, $a, $b, $c, $q>::multiply(warp, &a[of_a(i)], &b[i], &sums[i]);
                            sums[i] = taken_for(warp, &product);
                        }
                    }
                }
                let registers = sums.map(|sum| sum.registers());
                warp.each(|lane| {
                    let all = registers.iter().flat_map(|registers| lane.get(registers));
                    out.set(first + lane.id(), all.fold(0, |all, register| all ^ register as u32));
                });
            });
        }
    };
}
mma_forms!(kernels);

/// The fragment with other registers, which only the host knows; time after time, with others again.
#[inline(always)]
fn changed<R: Role, S, T>(warp: Warp<'_>, fragment: Fragment<R, S, T>, by: u32) -> Fragment<R, S, T>
where
    S: FragmentShape<R, T::Width>,
    T: Element,
    <T::Width as Width>::Register: From<u32>,
    Wrapping<<T::Width as Width>::Register>: Add<Output = Wrapping<<T::Width as Width>::Register>>,
{
    let mut registers = fragment.registers();
    warp.update(&mut registers, |_, registers| {
        for register in registers.as_mut() {
            *register = (Wrapping(*register) + Wrapping(by.into())).0;
        }
    });
    Fragment::from_registers(registers)
}

/// The first registers of a product, as what is added to the next: where the two are of one type, the product itself.
#[inline(always)]
fn taken_for<S, D, C>(warp: Warp<'_>, product: &Accumulator<S, D>) -> Accumulator<S, C>
where
    S: FragmentShape<RoleC, D::Width> + FragmentShape<RoleC, C::Width>,
    D: Element,
    C: Element<Width: Width<Register = <D::Width as Width>::Register>>,
{
    let product = product.registers();
    Accumulator::from_registers(warp.each(|lane| {
        let product = lane.get(&product);
        let mut registers: <S as FragmentShape<RoleC, C::Width>>::Registers = Zeroable::zeroed();
        for (register, product) in registers.as_mut().iter_mut().zip(product.as_ref()) {
            *register = *product;
        }
        registers
    }))
}
