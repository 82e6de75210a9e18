//! Reductions by bulk copies, in global memory and in shared memory of other blocks; atomic
//! reductions in global memory.

use super::{Check, upload, with_output};
use crate::data::Rng;
use crate::{bytes, elements};
use bytemuck::Pod;
use half::{bf16, f16};
use ptx_matrix::copy::reduction::Operation;
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::Device;
use ptx_matrix_conformance_kernels::bulk::{self as kernels, REDUCED};
use ptx_matrix_conformance_kernels::{async_stores, atomic_reductions, cluster};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};
use std::cmp::Ordering;
use std::iter::zip;

/// Elements of the output.
const OUTPUT: usize = REDUCED + 512;

type Launch<D, T> = fn(
    &D,
    &<D as Device>::Buffer<T>,
    u32,
    &mut <D as Device>::Buffer<T>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: the source; the output before the reduction; the offset of the reduction in the output, a
/// multiple of 16 bytes.
fn reduction<D: Device + 'static, T: Pod>(
    name: &str,
    needs: Needs,
    draw: fn(&mut Rng) -> T,
    reduce: fn(T, T) -> T,
    launch: Launch<D, T>,
) -> Check<D> {
    Check {
        name: name.into(),
        needs,
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: size_of::<T>(),
        inputs: Box::new(move |rng| {
            let mut draw = |count| (0..count).map(|_| draw(rng)).collect::<Vec<T>>();
            let (source, out) = (bytes(&draw(REDUCED)), bytes(&draw(OUTPUT)));
            let per_unit = 16 / size_of::<T>();
            vec![
                source,
                out,
                bytes(&[(rng.random_range(0..=(OUTPUT - REDUCED) / per_unit) * per_unit) as u32]),
            ]
        }),
        run: Box::new(move |device, inputs| {
            let source = upload::<D, T>(device, &inputs[0])?;
            let mut out = upload::<D, T>(device, &inputs[1])?;
            launch(device, source.borrow(), elements::<u32>(&inputs[2])[0], out.borrow_mut())?;
            Ok(bytes(&device.download(out.borrow())?))
        }),
        reference: Box::new(move |inputs| {
            let (source, mut out) = (elements::<T>(&inputs[0]), elements::<T>(&inputs[1]));
            let to = elements::<u32>(&inputs[2])[0] as usize;
            zip(&mut out[to..], source).for_each(|(out, value)| *out = reduce(*out, value));
            bytes(&out)
        }),
    }
}

/// Input: the values of the threads of all blocks, which reduce a few elements in any order.
fn by_all_blocks<D: Device + 'static>() -> Check<D> {
    use atomic_reductions::SHARED;
    const LAUNCHED: u32 = 96;
    Check {
        name: "red.relaxed.gpu.global of a few elements by all blocks".into(),
        needs: Needs::at_least(75),
        arithmetic: None,
        labels: None,
        rounds: 4,
        element: 4,
        inputs: Box::new(|rng| {
            let values: Vec<u32> = (0..LAUNCHED * 64).map(|_| rng.random()).collect();
            vec![bytes(&values)]
        }),
        run: Box::new(|device, inputs| {
            let values = upload::<D, u32>(device, &inputs[0])?;
            let mut sums = device.upload(&[1u32; SHARED])?;
            let mut largest = device.upload(&[i32::MIN; SHARED])?;
            let mut of_floats = device.upload(&[0.0f32; SHARED])?;
            let outputs = (sums.borrow_mut(), largest.borrow_mut(), of_floats.borrow_mut());
            atomic_reductions::red_by_all_blocks::launch(
                device,
                LAUNCHED,
                values.borrow(),
                outputs.0,
                outputs.1,
                outputs.2,
            )?;
            let outputs = [
                bytes(&device.download(sums.borrow())?),
                bytes(&device.download(largest.borrow())?),
                bytes(&device.download(of_floats.borrow())?),
            ];
            Ok(outputs.concat())
        }),
        reference: Box::new(|inputs| {
            let (mut sums, mut largest) = ([1u32; SHARED], [i32::MIN; SHARED]);
            let mut of_floats = [0.0f32; SHARED];
            for value in elements::<u32>(&inputs[0]) {
                let element = value as usize % SHARED;
                sums[element] = sums[element].wrapping_add(value);
                largest[element] = largest[element].max(value as i32);
                of_floats[element] += (value % 1024) as f32;
            }
            [bytes(&sums), bytes(&largest), bytes(&of_floats)].concat()
        }),
    }
}

type ClusterLaunch<D, T> = for<'d> fn(
    &'d D,
    u32,
    [&'d <D as Device>::Buffer<T>; 2],
    u32,
    &'d mut <D as Device>::Buffer<T>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Blocks of a cluster, and blocks of a launch.
const IN_CLUSTER: usize = 4;
const BLOCKS: usize = 3 * IN_CLUSTER;

/// Input:
/// - `per_block` operands of each block, which other blocks receive;
/// - `per_block` values of each block, to be reduced;
/// - the number of blocks, at most `most`, that reduce each value.
fn in_cluster<D: Device + 'static, T: Pod>(
    name: &str,
    per_block: usize,
    most: u32,
    draw: fn(&mut Rng) -> T,
    reduce: fn(T, T) -> T,
    launch: ClusterLaunch<D, T>,
) -> Check<D> {
    let elements_of_all = BLOCKS * per_block;
    Check {
        name: name.into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: size_of::<T>(),
        inputs: Box::new(move |rng| {
            let mut draw = || bytes(&(0..elements_of_all).map(|_| draw(rng)).collect::<Vec<T>>());
            let (by, before) = (draw(), draw());
            vec![by, before, bytes(&[rng.random_range(1..=most)])]
        }),
        run: Box::new(move |device, inputs| {
            let (by, before) =
                (upload::<D, T>(device, &inputs[0])?, upload::<D, T>(device, &inputs[1])?);
            let [count] = elements::<u32>(&inputs[2])[..] else { panic!("one number") };
            with_output::<D, T>(device, elements_of_all, |out| {
                launch(device, BLOCKS as u32, [by.borrow(), before.borrow()], count, out)
            })
        }),
        reference: Box::new(move |inputs| {
            let (by, mut out) = (elements::<T>(&inputs[0]), elements::<T>(&inputs[1]));
            let count = elements::<u32>(&inputs[2])[0] as usize;
            for (index, out) in out.iter_mut().enumerate() {
                let (block, element) = (index / per_block, index % per_block);
                for before in 1..=count {
                    let from = block / IN_CLUSTER * IN_CLUSTER
                        + (block + IN_CLUSTER - before) % IN_CLUSTER;
                    *out = reduce(*out, by[from * per_block + element]);
                }
            }
            bytes(&out)
        }),
    }
}

/// Draws integers; some are small, some near the maximum.
pub(super) fn integer(rng: &mut Rng) -> u64 {
    match rng.random_range(0..4) {
        0 => rng.random_range(0..4),
        1 => u64::MAX - rng.random_range(0..4),
        _ => rng.random(),
    }
}

/// Draws the bits of a floating-point number. One in four is a zero or a subnormal number, one in
/// four an infinity or a NaN, quiet or signalling. The others have near exponents.
pub(super) fn float(rng: &mut Rng, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let largest = (1 << exponent_bits) - 1;
    let exponent = match rng.random_range(0..4) {
        0 => 0,
        1 => largest,
        _ => largest / 2 - rng.random_range(0..4),
    };
    let fraction = match rng.random_range(0..4) {
        0 => 0,
        1 => 1,
        _ => rng.random_range(0..1 << fraction_bits),
    };
    u64::from(rng.random::<bool>()) << (exponent_bits + fraction_bits)
        | exponent << fraction_bits
        | fraction
}

pub(super) fn any_f16(rng: &mut Rng) -> f16 {
    f16::from_bits(float(rng, 5, 10) as u16)
}

pub(super) fn any_bf16(rng: &mut Rng) -> bf16 {
    bf16::from_bits(float(rng, 8, 7) as u16)
}

/// A number rounded to f16, or the NaN that all NaNs become. An f32 is precise enough for a sum of
/// two f16 to be rounded again. (`f16::from_f64` ignores the last 32 bits.)
pub(super) fn rounded_f16(value: f32) -> f16 {
    if value.is_nan() { f16::from_bits(0x7fff) } else { f16::from_f32(value) }
}

pub(super) fn rounded_bf16(value: f32) -> bf16 {
    if value.is_nan() { bf16::from_bits(0x7fff) } else { bf16::from_f32(value) }
}

/// A subnormal number becomes a zero of its sign.
pub(super) fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
}

pub(super) fn sum_f32(m: f32, v: f32) -> f32 {
    let sum = m + v;
    if sum.is_nan() { f32::from_bits(0x7fff_ffff) } else { sum }
}

/// The sum. An operand that is a NaN stays as it is.
pub(super) fn sum_f64(m: f64, v: f64) -> f64 {
    match (m.is_nan(), v.is_nan()) {
        (_, true) => v,
        (true, _) => m,
        _ if m.is_infinite() && m == -v => f64::from_bits(0xfff8 << 48),
        _ => m + v,
    }
}

/// A NaN becomes quiet.
pub(super) fn quiet(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(value.to_bits() | 1 << 51) } else { value }
}

/// The minimum or maximum, `wanted` being the order of value and memory that takes the value. A
/// number replaces a NaN.
fn extreme(m: f32, v: f32, wanted: Ordering) -> f32 {
    if m.is_nan() || !v.is_nan() && v.total_cmp(&m) == wanted { v } else { m }
}

/// The checks of reductions, without and with a cache policy. A row has the form, its operation,
/// its kernel, the element type, a generator, and the reduction of `m` by `v`.
macro_rules! reductions {
    ($device:ident; $($form:literal $operation:ident $kernel:ident $element:ty: $draw:expr,
        |$m:ident, $v:ident| $reduced:expr;)*) => {
        vec![$(
            reduction::<$device, $element>(
                concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.", $form),
                Needs::at_least(90), $draw, |$m, $v| $reduced,
                |d, s, t, o| {
                    kernels::$kernel::launch(d, 1, Operation::$operation as u32, 0, s, t, o)
                }),
            reduction::<$device, $element>(
                concat!("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.",
                    $form),
                Needs::at_least(90), $draw, |$m, $v| $reduced,
                |d, s, t, o| {
                    kernels::$kernel::launch(d, 1, Operation::$operation as u32, 1, s, t, o)
                }),
        )*]
    };
}

/// The checks of atomic reductions, in global and in shared memory. A row has the form, its
/// operation, its kernels, the element type, and the oldest GPU. Then come a generator, and the
/// reduction of `m` by `v`. If it differs in shared memory, that one follows.
macro_rules! atomic_reductions {
    ($device:ident; $($form:literal $operation:ident $kernel:ident $shared:ident $element:ty,
        $sm:literal: $draw:expr, |$m:ident, $v:ident| $reduced:expr
        $(, shared $of_shared:expr)?;)*) => {
        vec![$(
            reduction::<$device, $element>(
                concat!("red.relaxed.gpu.global.", $form), Needs::at_least($sm), $draw,
                |$m, $v| $reduced,
                |d, s, t, o| {
                    atomic_reductions::$kernel::launch(d, 1, Operation::$operation as u32, s, t, o)
                }),
            reduction::<$device, $element>(
                concat!("red.relaxed.cta.shared.", $form), Needs::at_least($sm), $draw,
                |$m, $v| atomic_reductions!(@first $($of_shared,)? $reduced),
                |d, s, t, o| {
                    atomic_reductions::$shared::launch(d, 1, Operation::$operation as u32, s, t, o)
                }),
        )*]
    };
    (@first $first:expr $(, $other:expr)*) => { $first };
}

/// The same within clusters. A row has the form, its operation, its kernels (for a bulk copy and
/// for registers) and the element type. Then come the largest number of blocks that reduce an
/// element, a generator, and the reduction of `m` by `v`. The number of blocks is 1 if the result
/// depends on their order.
macro_rules! in_clusters {
    ($device:ident; $($form:literal $operation:ident $kernel:ident $of_registers:ident $element:ty,
        $most:literal: $draw:expr, |$m:ident, $v:ident| $reduced:expr;)*) => {
        vec![$(
            in_cluster::<$device, $element>(
                concat!("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx\
                    ::bytes.", $form),
                cluster::REDUCED, $most, $draw, |$m, $v| $reduced,
                |device, grid, [by, before], count, out| {
                    let operation = Operation::$operation as u32;
                    cluster::$kernel::launch(device, grid, operation, by, before, count, out)
                }),
            in_cluster::<$device, $element>(
                concat!("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes\
                    .", $form),
                async_stores::REDUCED, $most, $draw, |$m, $v| $reduced,
                |device, grid, [by, before], count, out| {
                    let operation = Operation::$operation as u32;
                    async_stores::$of_registers::launch(
                        device, grid, operation, by, before, count, out,
                    )
                }),
        )*]
    };
}

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    let in_clusters = in_clusters! { D;
        "add.u32" Add cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m.wrapping_add(v);
        "add.s32" Add cluster_bulk_s32 cluster_reduce_s32 i32, 4: |rng| integer(rng) as i32,
            |m, v| m.wrapping_add(v);
        "add.u64" Add cluster_bulk_u64 cluster_reduce_u64 u64, 4: integer, |m, v| m.wrapping_add(v);
        "min.u32" Min cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m.min(v);
        "min.s32" Min cluster_bulk_s32 cluster_reduce_s32 i32, 4: |rng| integer(rng) as i32,
            |m, v| m.min(v);
        "max.u32" Max cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m.max(v);
        "max.s32" Max cluster_bulk_s32 cluster_reduce_s32 i32, 4: |rng| integer(rng) as i32,
            |m, v| m.max(v);
        "inc.u32" Inc cluster_bulk_u32 cluster_reduce_u32 u32, 1: |rng| integer(rng) as u32,
            |m, v| if m >= v { 0 } else { m + 1 };
        "dec.u32" Dec cluster_bulk_u32 cluster_reduce_u32 u32, 1: |rng| integer(rng) as u32,
            |m, v| if m == 0 || m > v { v } else { m - 1 };
        "and.b32" And cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m & v;
        "or.b32" Or cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m | v;
        "xor.b32" Xor cluster_bulk_u32 cluster_reduce_u32 u32, 4: |rng| integer(rng) as u32,
            |m, v| m ^ v;
    };
    let in_global = reductions! { D;
        "add.u32" Add bulk_u32 u32: |rng| integer(rng) as u32,
            |m, v| m.wrapping_add(v);
        "add.s32" Add bulk_s32 i32: |rng| integer(rng) as i32,
            |m, v| m.wrapping_add(v);
        "add.u64" Add bulk_u64 u64: integer, |m, v| m.wrapping_add(v);
        "add.noftz.f16" Add bulk_f16 f16: any_f16,
            |m, v| rounded_f16(m.to_f32() + v.to_f32());
        "add.noftz.bf16" Add bulk_bf16 bf16: any_bf16,
            |m, v| rounded_bf16(m.to_f32() + v.to_f32());
        "add.f32" Add bulk_f32 f32:
            |rng| f32::from_bits(float(rng, 8, 23) as u32), |m, v| sum_f32(m, v);
        "add.f64" Add bulk_f64 f64: |rng| f64::from_bits(float(rng, 11, 52)),
            |m, v| sum_f64(m, v);
        "min.u32" Min bulk_u32 u32: |rng| integer(rng) as u32, |m, v| m.min(v);
        "min.s32" Min bulk_s32 i32: |rng| integer(rng) as i32, |m, v| m.min(v);
        "min.u64" Min bulk_u64 u64: integer, |m, v| m.min(v);
        "min.s64" Min bulk_s64 i64: |rng| integer(rng) as i64, |m, v| m.min(v);
        "min.f16" Min bulk_f16 f16: any_f16,
            |m, v| rounded_f16(extreme(m.to_f32(), v.to_f32(), Ordering::Less));
        "min.bf16" Min bulk_bf16 bf16: any_bf16,
            |m, v| rounded_bf16(extreme(m.to_f32(), v.to_f32(), Ordering::Less));
        "max.u32" Max bulk_u32 u32: |rng| integer(rng) as u32, |m, v| m.max(v);
        "max.s32" Max bulk_s32 i32: |rng| integer(rng) as i32, |m, v| m.max(v);
        "max.u64" Max bulk_u64 u64: integer, |m, v| m.max(v);
        "max.s64" Max bulk_s64 i64: |rng| integer(rng) as i64, |m, v| m.max(v);
        "max.f16" Max bulk_f16 f16: any_f16,
            |m, v| rounded_f16(extreme(m.to_f32(), v.to_f32(), Ordering::Greater));
        "max.bf16" Max bulk_bf16 bf16: any_bf16,
            |m, v| rounded_bf16(extreme(m.to_f32(), v.to_f32(), Ordering::Greater));
        "inc.u32" Inc bulk_u32 u32: |rng| integer(rng) as u32,
            |m, v| if m >= v { 0 } else { m + 1 };
        "dec.u32" Dec bulk_u32 u32: |rng| integer(rng) as u32,
            |m, v| if m == 0 || m > v { v } else { m - 1 };
        "and.b32" And bulk_u32 u32: |rng| integer(rng) as u32, |m, v| m & v;
        "and.b64" And bulk_u64 u64: integer, |m, v| m & v;
        "or.b32" Or bulk_u32 u32: |rng| integer(rng) as u32, |m, v| m | v;
        "or.b64" Or bulk_u64 u64: integer, |m, v| m | v;
        "xor.b32" Xor bulk_u32 u32: |rng| integer(rng) as u32, |m, v| m ^ v;
        "xor.b64" Xor bulk_u64 u64: integer, |m, v| m ^ v;
    };
    let atomic = atomic_reductions! { D;
        "add.u32" Add red_u32 red_shared_u32 u32, 75:
            |rng| integer(rng) as u32, |m, v| m.wrapping_add(v);
        "add.s32" Add red_s32 red_shared_s32 i32, 75:
            |rng| integer(rng) as i32, |m, v| m.wrapping_add(v);
        "add.u64" Add red_u64 red_shared_u64 u64, 75: integer, |m, v| m.wrapping_add(v);
        "add.f32" Add red_f32 red_shared_f32 f32, 75:
            |rng| f32::from_bits(float(rng, 8, 23) as u32),
            |m, v| flushed(sum_f32(flushed(m), flushed(v))), shared sum_f32(m, v);
        "add.f64" Add red_f64 red_shared_f64 f64, 75: |rng| f64::from_bits(float(rng, 11, 52)),
            |m, v| sum_f64(m, v), shared quiet(sum_f64(v, m));
        "add.noftz.f16" Add red_f16 red_shared_f16 f16, 75: any_f16,
            |m, v| rounded_f16(m.to_f32() + v.to_f32());
        "add.noftz.bf16" Add red_bf16 red_shared_bf16 bf16, 90: any_bf16,
            |m, v| rounded_bf16(m.to_f32() + v.to_f32());
        "min.u32" Min red_u32 red_shared_u32 u32, 75:
            |rng| integer(rng) as u32, |m, v| m.min(v);
        "min.s32" Min red_s32 red_shared_s32 i32, 75:
            |rng| integer(rng) as i32, |m, v| m.min(v);
        "min.u64" Min red_u64 red_shared_u64 u64, 75: integer, |m, v| m.min(v);
        "min.s64" Min red_s64 red_shared_s64 i64, 75:
            |rng| integer(rng) as i64, |m, v| m.min(v);
        "max.u32" Max red_u32 red_shared_u32 u32, 75:
            |rng| integer(rng) as u32, |m, v| m.max(v);
        "max.s32" Max red_s32 red_shared_s32 i32, 75:
            |rng| integer(rng) as i32, |m, v| m.max(v);
        "max.u64" Max red_u64 red_shared_u64 u64, 75: integer, |m, v| m.max(v);
        "max.s64" Max red_s64 red_shared_s64 i64, 75:
            |rng| integer(rng) as i64, |m, v| m.max(v);
        "inc.u32" Inc red_u32 red_shared_u32 u32, 75: |rng| integer(rng) as u32,
            |m, v| if m >= v { 0 } else { m + 1 };
        "dec.u32" Dec red_u32 red_shared_u32 u32, 75: |rng| integer(rng) as u32,
            |m, v| if m == 0 || m > v { v } else { m - 1 };
        "and.b32" And red_u32 red_shared_u32 u32, 75: |rng| integer(rng) as u32, |m, v| m & v;
        "and.b64" And red_u64 red_shared_u64 u64, 75: integer, |m, v| m & v;
        "or.b32" Or red_u32 red_shared_u32 u32, 75: |rng| integer(rng) as u32, |m, v| m | v;
        "or.b64" Or red_u64 red_shared_u64 u64, 75: integer, |m, v| m | v;
        "xor.b32" Xor red_u32 red_shared_u32 u32, 75: |rng| integer(rng) as u32, |m, v| m ^ v;
        "xor.b64" Xor red_u64 red_shared_u64 u64, 75: integer, |m, v| m ^ v;
    };
    let of_s64 = in_cluster::<D, u64>(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s64",
        32,
        1,
        integer,
        |m, v| m.wrapping_add(v),
        |device, grid, [by, before], _, out| {
            async_stores::cluster_reduce_add_s64::launch(device, grid, by, before, out)
        },
    );
    in_global
        .into_iter()
        .chain(in_clusters)
        .chain([of_s64])
        .chain(atomic)
        .chain([by_all_blocks()])
        .collect()
}
