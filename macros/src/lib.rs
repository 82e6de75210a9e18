//! The macros of `ptx-matrix`. Its documentation describes them.

mod arguments;
mod dependency;
mod entry;
#[cfg(test)]
mod files;
mod instances;
mod kernel;
mod kernel_args;
mod manifest;
mod place;
mod registers;
mod shared_layout;
mod signature;
mod sources;
mod substitute;
mod tokens;

use proc_macro::TokenStream;

// Their documentation is on the re-exports in `ptx-matrix`, where examples can use the crate.

#[allow(missing_docs)]
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let place = proc_macro::Span::call_site();
    kernel::expand(arguments.into(), function.into(), place.local_file(), place.line())
        .unwrap_or_else(|error| error.into_compile_error())
        .into()
}

/// Lays out a struct of shared-memory parts: each follows the one before it, aligned as its type
/// needs.
#[proc_macro_derive(SharedLayout, attributes(ptx_matrix))]
pub fn shared_layout(item: TokenStream) -> TokenStream {
    shared_layout::expand(item.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}

#[allow(missing_docs)]
#[proc_macro_derive(KernelArgs, attributes(ptx_matrix))]
pub fn kernel_args(item: TokenStream) -> TokenStream {
    kernel_args::expand(item.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// Calls a macro with names for the registers of a `wgmma`'s D, and their text for `asm!`.
///
/// The first two arguments are N, and the registers for each 8 columns: `registers! { 8 4 body x }`
/// is `body! { [d0 d1 d2 d3] "{0}, {1}, {2}, {3}" x }`.
///
/// A `macro_rules!` would copy the list at each of its steps, for 2148 functions.
#[doc(hidden)]
#[proc_macro]
pub fn registers(arguments: TokenStream) -> TokenStream {
    registers::expand(arguments.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}
