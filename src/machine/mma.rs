//! `mma` and `mma.sp`: the bodies of the functions that `mma/` generates from its tables.
//!
//! On the host, each form calls a function without generic parameters. It is compiled here and not
//! in each crate with kernels.

/// `d = a x b + c`: the function of `raw`, the form's name, its arithmetic, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply {
    (
        $name:ident $form:expr, $arithmetic:tt, $site:ident,
        ($a:ident: $of_a:ty, $b:ident: $of_b:ty, $c:ident: $of_c:ty) -> $of_d:ty
    ) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        let d = unsafe {
            crate::raw::$name($a.registers().own(), $b.registers().own(), $c.registers().own())
        };
        <$of_d>::from_registers(crate::lane::PerLane::from_own(d))
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! multiply {
    (
        $name:ident $form:expr, [$($arithmetic:tt)*], $site:ident,
        ($a:ident: $of_a:ty, $b:ident: $of_b:ty, $c:ident: $of_c:ty) -> $of_d:ty
    ) => {{
        fn simulated(site: Site, form: &'static str, a: &$of_a, b: &$of_b, c: &$of_c) -> $of_d {
            crate::engine::multiply::<
                _, _, _, _, _, crate::isa::mma_arithmetic!($($arithmetic)*)
            >(site, form, a, b, c)
        }
        simulated($site, $form, $a, $b, $c)
    }};
}

/// `acc += a x b` with a sparse A: the function of `raw` with its selector.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply_sparse {
    (
        $name:ident $selector:ident $form:expr, [$q:ty, $order:ty], $site:ident,
        $acc:ident: $of_acc:ty, $a:ident: $of_a:ty, $b:ident: $of_b:ty, $metadata:ident
    ) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        let d = unsafe {
            crate::raw::$name::<$selector>(
                $a.registers().own(),
                $b.registers().own(),
                $acc.registers().own(),
                $metadata.own(),
            )
        };
        *$acc = <$of_acc>::from_registers(PerLane::from_own(d));
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! multiply_sparse {
    (
        $name:ident $selector:ident $form:expr, [$q:ty, $order:ty], $site:ident,
        $acc:ident: $of_acc:ty, $a:ident: $of_a:ty, $b:ident: $of_b:ty, $metadata:ident
    ) => {{
        fn simulated(
            site: Site,
            form: &'static str,
            selector: usize,
            acc: &mut $of_acc,
            a: &$of_a,
            b: &$of_b,
            metadata: &PerLane<u32>,
        ) {
            crate::engine::multiply_sparse::<_, _, _, _, $q, $order>(
                site, form, selector, acc, a, b, metadata,
            );
        }
        simulated($site, $form, $selector as usize, $acc, $a, $b, &$metadata);
    }};
}

/// `acc += (a x its scales) x (b x its scales)`: the function of `raw` with its selectors. For a
/// sparse A, also its metadata.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply_scaled {
    ($name:ident [$($selector:ident)*] $form:expr, $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $scales_a:ident: $of_scales_a:ty),
        ($b:ident: $of_b:ty, $scales_b:ident: $of_scales_b:ty)) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        let d = unsafe {
            crate::raw::$name::<$($selector),*>(
                $a.registers().own(),
                $b.registers().own(),
                $acc.registers().own(),
                $scales_a.registers().own(),
                $scales_b.registers().own(),
            )
        };
        *$acc = <$of_acc>::from_registers(crate::lane::PerLane::from_own(d));
    }};
    ($name:ident [$($selector:ident)*] $form:expr, $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $metadata:ident, $scales_a:ident: $of_scales_a:ty),
        ($b:ident: $of_b:ty, $scales_b:ident: $of_scales_b:ty)) => {{
        let _ = $site;
        // SAFETY: guaranteed by the caller.
        let d = unsafe {
            crate::raw::$name::<$($selector),*>(
                $a.registers().own(),
                $b.registers().own(),
                $acc.registers().own(),
                $metadata.own(),
                $scales_a.registers().own(),
                $scales_b.registers().own(),
            )
        };
        *$acc = <$of_acc>::from_registers(crate::lane::PerLane::from_own(d));
    }};
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! multiply_scaled {
    ($name:ident [$byte_a:ident $thread_a:ident $byte_b:ident $thread_b:ident] $form:expr,
        $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $scales_a:ident: $of_scales_a:ty),
        ($b:ident: $of_b:ty, $scales_b:ident: $of_scales_b:ty)) => {{
        use crate::fragment::Selected;
        fn simulated(
            site: Site,
            form: &'static str,
            acc: &mut $of_acc,
            a: (&$of_a, &$of_scales_a, Selected),
            b: (&$of_b, &$of_scales_b, Selected),
        ) {
            *acc = crate::engine::multiply_scaled(site, form, a, b, acc);
        }
        let select_a = Selected { byte: $byte_a.into(), thread: $thread_a.into() };
        let select_b = Selected { byte: $byte_b.into(), thread: $thread_b.into() };
        simulated($site, $form, $acc, ($a, $scales_a, select_a), ($b, $scales_b, select_b));
    }};
    ($name:ident [$byte_a:ident $thread_a:ident $byte_b:ident $thread_b:ident] $form:expr,
        $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $metadata:ident, $scales_a:ident: $of_scales_a:ty),
        ($b:ident: $of_b:ty, $scales_b:ident: $of_scales_b:ty)) => {{
        use crate::fragment::Selected;
        fn simulated(
            site: Site,
            form: &'static str,
            acc: &mut $of_acc,
            a: (&$of_a, &PerLane<u32>, &$of_scales_a, Selected),
            b: (&$of_b, &$of_scales_b, Selected),
        ) {
            crate::engine::multiply_sparse_scaled(site, form, acc, a, b);
        }
        let select_a = Selected { byte: $byte_a.into(), thread: $thread_a.into() };
        let select_b = Selected { byte: $byte_b.into(), thread: $thread_b.into() };
        simulated(
            $site,
            $form,
            $acc,
            ($a, &$metadata, $scales_a, select_a),
            ($b, $scales_b, select_b),
        );
    }};
}

pub(crate) use {multiply, multiply_scaled, multiply_sparse};
