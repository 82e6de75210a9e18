//! `mma` and `mma.sp`: the bodies of the functions that `mma/` generates from its tables.
//!
//! On the host, each form calls a function without generic parameters, with a static description of
//! the form. Both are compiled here and not in each crate with kernels. The macros take the form's
//! types in brackets.

/// `d = a x b + c`: the function of `raw`, the form's name, its types, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply {
    (
        $name:ident $form:expr, $types:tt, $site:ident,
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
        $name:ident $form:expr, [$($types:tt)*], $site:ident,
        ($a:ident: $of_a:ty, $b:ident: $of_b:ty, $c:ident: $of_c:ty) -> $of_d:ty
    ) => {{
        use crate::engine::{MmaDescription, description};
        fn simulated(site: Site, form: &'static str, a: &$of_a, b: &$of_b, c: &$of_c) -> $of_d {
            description!(FORM: MmaDescription = MmaDescription::dense::<$($types)*>());
            <$of_d>::from_words(&FORM.multiply(site, form, [a.words(), b.words(), c.words()]))
        }
        simulated($site, $form, $a, $b, $c)
    }};
}

/// `acc += a x b` with a sparse A: the function of `raw` with its selector, the form's name, its
/// types, and the operands.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply_sparse {
    (
        $name:ident $selector:ident $form:expr, $types:tt, $site:ident,
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
        $name:ident $selector:ident $form:expr, [$($types:tt)*], $site:ident,
        $acc:ident: $of_acc:ty, $a:ident: $of_a:ty, $b:ident: $of_b:ty, $metadata:ident
    ) => {{
        use crate::engine::{MmaDescription, description};
        fn simulated(
            site: Site,
            form: &'static str,
            selector: u32,
            acc: &mut $of_acc,
            a: &$of_a,
            b: &$of_b,
            metadata: PerLane<u32>,
        ) {
            description!(FORM: MmaDescription = MmaDescription::sparse::<$($types)*>());
            let matrices = [a.words(), b.words(), acc.words()];
            let d = FORM.multiply_sparse(site, form, matrices, metadata, selector);
            *acc = <$of_acc>::from_words(&d);
        }
        simulated($site, $form, $selector, $acc, $a, $b, $metadata);
    }};
}

/// `acc += (a x its scales) x (b x its scales)`: the function of `raw` with its selectors, the
/// form's name, its types, and the operands. For a sparse A, also its metadata.
#[cfg(target_arch = "nvptx64")]
macro_rules! multiply_scaled {
    ($name:ident [$($selector:ident)*] $form:expr, $types:tt, $site:ident, $acc:ident: $of_acc:ty,
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
    ($name:ident [$($selector:ident)*] $form:expr, $types:tt, $site:ident, $acc:ident: $of_acc:ty,
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
    ($name:ident $selectors:tt $form:expr, $types:tt, $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $scales_a:ident: $of_scales_a:ty), $operand_b:tt) => {
        multiply_scaled! {
            @simulated scaled crate::lane::PerLane::splat(0), $selectors $form, $types, $site,
            $acc: $of_acc, ($a: $of_a, $scales_a: $of_scales_a), $operand_b
        }
    };
    ($name:ident $selectors:tt $form:expr, $types:tt, $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $metadata:ident, $scales_a:ident: $of_scales_a:ty),
        $operand_b:tt) => {
        multiply_scaled! {
            @simulated sparse_scaled $metadata, $selectors $form, $types, $site,
            $acc: $of_acc, ($a: $of_a, $scales_a: $of_scales_a), $operand_b
        }
    };
    (@simulated $kind:ident $metadata:expr,
        [$byte_a:ident $thread_a:ident $byte_b:ident $thread_b:ident] $form:expr, [$($types:tt)*],
        $site:ident, $acc:ident: $of_acc:ty,
        ($a:ident: $of_a:ty, $scales_a:ident: $of_scales_a:ty),
        ($b:ident: $of_b:ty, $scales_b:ident: $of_scales_b:ty)) => {{
        use crate::{
            engine::{MmaDescription, description}, fragment::Selected, isa::Selectors,
            lane::PerLane,
        };
        fn simulated(
            site: Site,
            form: &'static str,
            acc: &mut $of_acc,
            (a, metadata, scales_a): (&$of_a, PerLane<u32>, &$of_scales_a),
            (b, scales_b): (&$of_b, &$of_scales_b),
            selectors: Selectors,
        ) {
            description!(FORM: MmaDescription = MmaDescription::$kind::<$($types)*>());
            let matrices = [a.words(), b.words(), acc.words()];
            let of_lanes = [metadata, scales_a.registers(), scales_b.registers()];
            let d = FORM.multiply_scaled(site, form, matrices, of_lanes, selectors);
            *acc = <$of_acc>::from_words(&d);
        }
        let selectors = Selectors {
            metadata: 0,
            scales_a: Selected { byte: $byte_a.into(), thread: $thread_a.into() },
            scales_b: Selected { byte: $byte_b.into(), thread: $thread_b.into() },
        };
        simulated(
            $site, $form, $acc, ($a, $metadata, $scales_a), ($b, $scales_b), selectors,
        );
    }};
}

pub(crate) use {multiply, multiply_scaled, multiply_sparse};
