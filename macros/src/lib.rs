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
mod shared_layout;
mod signature;
mod sources;
mod substitute;
mod tokens;
mod wgmma;

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

/// Calls `function!` for each form of a row of the tables of `wgmma.mma_async`, and for each place
/// of A.
///
/// The arguments are the values of N, and the row:
/// `[8 16] (f16 [(f16 f16)] 16 plain 2 transpose 0)`.
///
/// A `macro_rules!` would copy the lists of registers and operands at each of its steps, for 2148
/// functions.
#[doc(hidden)]
#[proc_macro]
pub fn wgmma_functions(row: TokenStream) -> TokenStream {
    wgmma::functions(row.into()).unwrap_or_else(|error| error.into_compile_error()).into()
}
