//! Generates a kernel's entry on the device, and its launch functions on the host.

use crate::kernel::Kernel;
use crate::signature::Parameter;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Pat, Type};

/// `let (((), part), part) = ...;`: splits the shared memory at `address` into the shared
/// parameters.
fn shared_parts(kernel: &Kernel, address: TokenStream) -> TokenStream {
    let (krate, shared) = (kernel.krate, kernel.shared());
    let names: Vec<_> = kernel.parameters.iter().filter(|p| p.shared).map(|p| &p.name).collect();
    let pattern = in_order(&names);
    quote! {
        // SAFETY: the kernel's shared memory has the size and alignment that `INFO` says.
        #[allow(clippy::let_unit_value)]
        let #pattern = unsafe { <#shared as #krate::__private::SharedLayout>::at(#address) };
    }
}

/// Names a `#[shared]` parameter for the simulator's reports. A destructured parameter has the
/// names of its parts.
fn shared_field(krate: &TokenStream, pattern: &Pat, ty: &Type) -> TokenStream {
    let field = quote!(#krate::__private::SharedField::of::<#ty>());
    match (pattern, ty) {
        (Pat::Ident(name), _) => {
            let name = name.ident.unraw().to_string();
            quote!(#field.named(#name))
        }
        (Pat::Tuple(patterns), Type::Tuple(types)) if patterns.elems.len() == types.elems.len() => {
            let pairs = patterns.elems.iter().zip(&types.elems);
            let parts = pairs.map(|(pattern, ty)| shared_field(krate, pattern, ty));
            let name_byte = name_byte(krate, parts);
            quote!(#field.named("").with(#name_byte))
        }
        _ => quote!(#field.named("")),
    }
}

/// A closure that names a byte of these fields.
fn name_byte(krate: &TokenStream, fields: impl Iterator<Item = TokenStream>) -> TokenStream {
    quote!(|offset, name| #krate::__private::name_fields(offset, name, &[#(#fields),*]))
}

/// The kernel's function, as `ptx_matrix_kernel`, before a parameter of the same name hides it.
///
/// Refuses a function that needs `unsafe` to be called, such as another one of the kernel's name:
/// the call itself is in an unsafe function, and needs no word.
fn function(kernel: &Kernel) -> TokenStream {
    let Kernel { call, parameters, .. } = kernel;
    let types = parameters.iter().map(|_| quote!(_));
    quote! {
        let ptx_matrix_kernel = #call;
        let _: fn(_, #(#types),*) = ptx_matrix_kernel;
    }
}

/// Generates the PTX entry, and the statics that the builder reads.
pub fn device(kernel: &Kernel) -> TokenStream {
    let Kernel { krate, name, parameters, .. } = kernel;
    let name_text = name.unraw().to_string();
    // The name includes the module path. So two kernels of one name both reach the builder, which
    // reports their places.
    let core = quote!(#krate::__private::core);
    let exported =
        |start: &str| quote!(#core::concat!(#start, #core::module_path!(), "::", #name_text));
    let [entry, metadata, fingerprint] =
        ["", "__ptx_matrix_kernel_", "__ptx_matrix_signature_"].map(exported);
    let symbol = format!("mov.u32 {{0}}, __ptx_matrix_shared_{name_text};");
    let has_shared = parameters.iter().any(|p| p.shared);
    let address = if has_shared {
        quote!({
            let address: u32;
            // SAFETY: the address of a variable in shared memory, which the builder declares.
            unsafe {
                #core::arch::asm!(
                    #symbol, lateout(reg32) address, options(pure, nomem, nostack)
                )
            };
            address
        })
    } else {
        quote!(0)
    };
    let parts = shared_parts(kernel, address);
    let (names, types): (Vec<_>, Vec<_>) = kernel.given().map(|p| (&p.name, &p.ty)).unzip();
    let texts: Vec<_> = kernel.given().map(Parameter::text).collect();
    let (heads, tails): (Vec<_>, Vec<_>) = names
        .iter()
        .map(|name| {
            // The kernel cannot name them: a parameter `a_tail` is another variable.
            let own = |part| Ident::new(&format!("{}_{part}", name.unraw()), Span::mixed_site());
            (own("head"), own("tail"))
        })
        .unzip();
    let arguments = parameters.iter().map(|p| &p.name);
    let begin = kernel
        .is_dependent()
        .then(|| quote!(#krate::__private::begin_dependent(&#name::INFO, #name::ASKS);));
    let end = kernel.is_dependent().then(|| quote!(#krate::__private::end_dependent(#name::ASKS);));
    let block = kernel.block();
    let function = function(kernel);
    quote! {
        #[unsafe(export_name = #metadata)]
        static METADATA: [u32; #krate::__private::metadata_words(#name::PARAMS)] =
            #name::INFO.metadata(#name::PARAMS);

        // The builder writes it into the PTX.
        #[unsafe(export_name = #fingerprint)]
        static FINGERPRINT: [u8; #name::FINGERPRINT.bytes().len()] = #name::FINGERPRINT.bytes();

        #[unsafe(export_name = #entry)]
        #[allow(improper_ctypes_definitions)]
        unsafe extern "ptx-kernel" fn entry(
            #(
                #heads: <#types as #krate::__private::KernelParam>::Head,
                #tails: <#types as #krate::__private::KernelParam>::Tail,
            )*
        ) {
            #begin
            #function
            // SAFETY: a launch checks the block's size, and provides the parameters.
            let ptx_matrix_block = unsafe { #block::enter(#name::INFO.threads as usize) };
            #(
                // SAFETY: as above.
                let #names = unsafe {
                    <#types as #krate::__private::KernelParam>::enter(#heads, #tails, #texts)
                };
            )*
            #parts
            ptx_matrix_kernel(&ptx_matrix_block, #(#arguments),*);
            #end
        }
    }
}

/// Generates the launch functions.
pub fn host(kernel: &Kernel) -> TokenStream {
    let Kernel { krate, parameters, .. } = kernel;
    let (names, types): (Vec<_>, Vec<_>) = kernel.given().map(|p| (&p.name, &p.ty)).unzip();
    let texts: Vec<_> = kernel.given().map(Parameter::text).collect();
    let values = nested(&names);
    let params = nested(&types);
    let parts = shared_parts(kernel, quote!(#krate::__private::SHARED_BASE));
    let arguments = parameters.iter().map(|p| &p.name);
    let shared = parameters.iter().filter(|p| p.shared);
    let name_byte = name_byte(krate, shared.map(|p| shared_field(krate, &p.pattern, &p.ty)));
    let of_cluster = kernel.block();
    let block = kernel
        .bounds
        .cluster
        .as_ref()
        .map(|_| quote!(let ptx_matrix_block = &#of_cluster::simulated(ptx_matrix_block);));
    let function = function(kernel);
    let core = quote!(#krate::__private::core);
    quote! {
        /// Launches the kernel on a device. The kernel's arguments follow the grid, with buffers by
        /// reference.
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        pub fn launch<'h, PtxMatrixDevice: #krate::__private::Device + 'h>(
            device: &PtxMatrixDevice,
            grid: impl #core::convert::Into<#krate::__private::Grid>,
            #(#names: <#types as #krate::__private::KernelParam>::Host<'h, PtxMatrixDevice>,)*
        ) -> #core::result::Result<PtxMatrixDevice::Report, PtxMatrixDevice::Error> {
            let kernel = #krate::__private::KernelEntry::<#params> {
                info: &Self::INFO,
                names: &[#(#texts),*],
                run: Self::ptx_matrix_run,
                name_byte: #name_byte,
            };
            // SAFETY: `INFO`, the function and the types of the parameters are this kernel's.
            unsafe {
                #krate::__private::launch(
                    &kernel, device, #core::convert::Into::into(grid), #values,
                )
            }
        }

        /// Runs the kernel in a simulated block.
        ///
        /// # Safety
        /// The block is of a launch of this kernel.
        #[cfg(not(target_arch = "nvptx64"))]
        unsafe fn ptx_matrix_run(
            ptx_matrix_block: &#krate::__private::Block<'_>,
            ptx_matrix_values: <#params as #krate::__private::KernelParams>::In<'_>,
        ) {
            #function
            #block
            let #values = ptx_matrix_values;
            #parts
            ptx_matrix_kernel(ptx_matrix_block, #(#arguments),*);
        }

        /// Runs the kernel on the simulator. The kernel's arguments follow the grid, with buffers
        /// as slices.
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        pub fn simulate<'h>(
            grid: impl #core::convert::Into<#krate::__private::Grid>,
            #(
                #names: <#types as #krate::__private::KernelParam>::Host<
                    'h,
                    #krate::__private::Simulator,
                >,
            )*
        ) -> #core::result::Result<#krate::__private::Report, #krate::__private::SimError> {
            Self::launch(&#krate::__private::Simulator::default(), grid, #(#names),*)
        }
    }
}

/// Pairs of all before and an item: `(((), a), b)`. As shared memory, each item starts at the end
/// of the one before, at a multiple of its own alignment.
pub fn in_order(items: &[impl ToTokens]) -> TokenStream {
    items.iter().fold(quote!(()), |before, item| quote!((#before, #item)))
}

/// Nested pairs: `(a, (b, ()))`.
pub fn nested(items: &[impl ToTokens]) -> TokenStream {
    items.iter().rev().fold(quote!(()), |rest, item| quote!((#item, #rest)))
}
