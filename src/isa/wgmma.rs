//! The tables of `wgmma.mma_async` and `wgmma.mma_async.sp` (PTX ISA 9.7.15.5.2, 9.7.15.6.4), as
//! ptxas 13.5 accepts them (`tests/wgmma.rs` checks this).

/// Passes the forms with a dense A to a macro. The other arguments come first. A row has the forms
/// that differ only in the elements of A and B and in N:
///
/// - the element of D, the elements of A and B (in pairs), and K (the columns of A before
///   compression);
/// - the option (`plain`: none);
/// - the values of N: `eights` are all multiples of 8 up to 256; `sixteens` are those up to 32 and
///   the multiples of 16;
/// - the registers of D in a lane for each 8 columns;
/// - the immediates after the operands: negation (`negate`), negation and transposition
///   (`transpose`), or none (`nothing`);
/// - the number of matrices whose metadata is in one register, from which the selector chooses; 0
///   for a dense A;
/// - the minimum PTX version.
///
/// A is in shared memory, or in four registers of each lane.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_forms {
    ($with:ident $($first:tt)*) => {
        $with! {
            $($first)*
            f16 [(f16 f16)] 16 plain eights 2 transpose 0 8.0;
            f32 [(f16 f16)] 16 plain eights 4 transpose 0 8.0;
            f32 [(bf16 bf16)] 16 plain eights 4 transpose 0 8.0;
            f32 [(tf32 tf32)] 8 plain eights 4 negate 0 8.0;
            f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)] 32 plain eights 2 negate 0 8.0;
            f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)] 32 plain eights 4 negate 0 8.0;
            s32 [(s8 s8) (u8 u8)] 32 plain sixteens 4 nothing 0 8.0;
            s32 [(s8 s8) (u8 u8)] 32 satfinite sixteens 4 nothing 0 8.0;
            s32 [(s8 u8) (u8 s8)] 32 plain sixteens 4 nothing 0 8.4;
            s32 [(s8 u8) (u8 s8)] 32 satfinite sixteens 4 nothing 0 8.4;
            s32 [(b1 b1)] 256 and_popc sixteens 4 nothing 0 8.0;
        }
    };
}

/// Passes the forms with a sparse A to a macro, like `wgmma_forms`.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_sparse_forms {
    ($with:ident $($first:tt)*) => {
        $with! {
            $($first)*
            f16 [(f16 f16)] 32 plain eights 2 transpose 2 8.2;
            f32 [(f16 f16)] 32 plain eights 4 transpose 2 8.2;
            f32 [(bf16 bf16)] 32 plain eights 4 transpose 2 8.2;
            f32 [(tf32 tf32)] 16 plain eights 4 negate 2 8.2;
            f16 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)] 64 plain eights 2 negate 1 8.2;
            f32 [(e4m3 e4m3) (e4m3 e5m2) (e5m2 e4m3) (e5m2 e5m2)] 64 plain eights 4 negate 1 8.2;
            s32 [(s8 s8) (u8 u8)] 64 plain sixteens 4 nothing 1 8.2;
            s32 [(s8 s8) (u8 u8)] 64 satfinite sixteens 4 nothing 1 8.2;
            s32 [(s8 u8) (u8 s8)] 64 plain sixteens 4 nothing 1 8.4;
            s32 [(s8 u8) (u8 s8)] 64 satfinite sixteens 4 nothing 1 8.4;
        }
    };
}

/// Calls a macro for each N of a row of the table: `$with! { @form N $arguments }`. With brackets
/// around its name, calls it once for all: `$with! { [N N ..] $arguments }`.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_columns {
    (eights => $with:tt $arguments:tt) => {
        $crate::wgmma_columns! { $with $arguments
            8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 128
            136 144 152 160 168 176 184 192 200 208 216 224 232 240 248 256
        }
    };
    (sixteens => $with:tt $arguments:tt) => {
        $crate::wgmma_columns! { $with $arguments
            8 16 24 32 48 64 80 96 112 128 144 160 176 192 208 224 240 256
        }
    };
    ([$with:ident] $arguments:tt $($n:tt)*) => { $with! { [$($n)*] $arguments } };
    ($with:ident $arguments:tt $($n:tt)*) => { $($with! { @form $n $arguments })* };
}

/// A form as in PTX.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_ptx {
    ($selectors:tt $n:literal $d:ident $a:ident $b:ident $k:literal $option:ident) => {
        concat!(
            "wgmma.mma_async", $crate::wgmma_ptx!(@sp $selectors), ".sync.aligned.m64n", $n, "k",
            $k,
            ".", stringify!($d), ".", stringify!($a), ".", stringify!($b),
            $crate::wgmma_ptx!(@$option)
        )
    };
    (@sp 0) => { "" };
    (@sp $selectors:tt) => { ".sp" };
    (@plain) => { "" };
    (@satfinite) => { ".satfinite" };
    (@and_popc) => { ".and.popc" };
}

/// The type that selects the simulator's arithmetic of a form: its option, or `WarpGroupFp8` for
/// fp8.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_arithmetic {
    (e4m3 plain) => {
        $crate::isa::WarpGroupFp8
    };
    (e5m2 plain) => {
        $crate::isa::WarpGroupFp8
    };
    ($a:ident $option:ident) => {
        $crate::isa::ptx::$option
    };
}

/// The shape of `mma` with the same fragments, from the selectors and the elements of A. Its A is a
/// warp's part of the form's A (its stored elements, if sparse). Its D is a warp's part of 8
/// columns of D.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_shape {
    (0 tf32) => {
        $crate::fragment::M16N8K8
    };
    (0 f16) => {
        $crate::fragment::M16N8K16
    };
    (0 bf16) => {
        $crate::fragment::M16N8K16
    };
    (0 b1) => {
        $crate::fragment::M16N8K256
    };
    (0 $bits8:ident) => {
        $crate::fragment::M16N8K32
    };
    ($selectors:tt tf32) => {
        $crate::fragment::M16N8K16
    };
    ($selectors:tt f16) => {
        $crate::fragment::M16N8K32
    };
    ($selectors:tt bf16) => {
        $crate::fragment::M16N8K32
    };
    ($selectors:tt $bits8:ident) => {
        $crate::fragment::M16N8K64
    };
}

/// Passes the function name of a form to a macro, before other arguments. The name is PTX's with
/// `_` for `.`.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_named {
    (0 $($form:tt)*) => {
        $crate::wgmma_named! { @form wgmma_mma_async_sync_aligned_m64n $($form)* }
    };
    (
        @form $begin:ident $n:literal $d:ident $a:ident $b:ident $k:literal plain
            => $with:ident $arguments:tt
    ) => {
        $crate::__private::paste! { $with! { @named [<$begin $n k $k _ $d _ $a _ $b>] $arguments } }
    };
    (
        @form $begin:ident $n:literal $d:ident $a:ident $b:ident $k:literal $option:ident
            => $with:ident $arguments:tt
    ) => {
        $crate::__private::paste! { $with! {
            @named [<$begin $n k $k _ $d _ $a _ $b _ $option>] $arguments
        } }
    };
    ($selectors:literal $($form:tt)*) => {
        $crate::wgmma_named! { @form wgmma_mma_async_sp_sync_aligned_m64n $($form)* }
    };
}

/// The type in which a tile stores the elements of a form, by their name in the table. Bits are in
/// words.
#[doc(hidden)]
#[macro_export]
macro_rules! wgmma_stored {
    (b1) => {
        u32
    };
    ($element:ident) => {
        $crate::isa::ptx::$element
    };
}
