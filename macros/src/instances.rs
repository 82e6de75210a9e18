//! Generates the table of a generic function's instances.

use crate::arguments::Instance;
use crate::kernel::Kernel;
use crate::signature;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Error, Ident, Result};

/// Checks that each instance has a name of its own, which is legal in PTX.
pub fn check_names(function: &Ident, instances: &[Instance]) -> Result<()> {
    for (index, Instance { name, .. }) in instances.iter().enumerate() {
        signature::check_name(name)?;
        if name == function {
            let message = format!(
                "`{name}` is the name of the function, and of the table of its instances: give \
                 this instance another name"
            );
            return Err(Error::new_spanned(name, message));
        }
        if instances[..index].iter().any(|other| other.name == *name) {
            let message = format!(
                "two instances are named `{name}`, and the PTX can have only one entry of that \
                 name: rename one"
            );
            return Err(Error::new_spanned(name, message));
        }
    }
    Ok(())
}

/// Generates the type of the function's name, with the descriptions of its instances. It also
/// launches them by index, unless their parameter types `depend` on the instance.
pub fn table(function: &Ident, kernels: &[Kernel], depend: bool) -> TokenStream {
    let Some(first) = kernels.first() else { return TokenStream::new() };
    let (krate, visibility, cfgs) = (first.krate, first.visibility, first.cfgs);
    let names: Vec<&Ident> = kernels.iter().map(|kernel| &kernel.name).collect();
    let count = names.len();
    let text = function.unraw().to_string();
    let doc = format!("The instances of the kernel `{text}`, in order.");
    let launch = (!depend).then(|| by_index(first, &names, &text));
    quote! {
        #(#cfgs)*
        #[doc = #doc]
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(non_camel_case_types, dead_code)]
        #visibility enum #function {}

        #(#cfgs)*
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(dead_code)]
        impl #function {
            /// The descriptions of the instances.
            pub const INSTANCES: [#krate::__private::KernelInfo; #count] = [#(#names::INFO),*];

            #launch
        }
    }
}

fn by_index(kernel: &Kernel, instances: &[&Ident], text: &str) -> TokenStream {
    let krate = kernel.krate;
    let core = quote!(#krate::__private::core);
    let (names, types): (Vec<_>, Vec<_>) = kernel.given().map(|p| (&p.name, &p.ty)).unzip();
    let count = instances.len();
    let arms = instances
        .iter()
        .enumerate()
        .map(|(index, instance)| quote!(#index => #instance::launch(device, grid, #(#names),*),));
    let message = format!("the kernel `{text}` has {count} instances, and none has index {{}}");
    quote! {
        /// Launches an instance on a device, by its index in `INSTANCES`.
        ///
        /// # Panics
        /// There is no such instance.
        #[allow(clippy::too_many_arguments)]
        pub fn launch<'h, PtxMatrixDevice: #krate::__private::Device + 'h>(
            instance: usize,
            device: &PtxMatrixDevice,
            grid: impl #core::convert::Into<#krate::__private::Grid>,
            #(#names: <#types as #krate::__private::KernelParam>::Host<'h, PtxMatrixDevice>,)*
        ) -> #core::result::Result<PtxMatrixDevice::Report, PtxMatrixDevice::Error> {
            match instance {
                #(#arms)*
                _ => #core::panic!(#message, instance),
            }
        }

        /// Runs an instance on the simulator, by its index in `INSTANCES`.
        ///
        /// # Panics
        /// There is no such instance.
        #[allow(clippy::too_many_arguments)]
        pub fn simulate<'h>(
            instance: usize,
            grid: impl #core::convert::Into<#krate::__private::Grid>,
            #(
                #names: <#types as #krate::__private::KernelParam>::Host<
                    'h,
                    #krate::__private::Simulator,
                >,
            )*
        ) -> #core::result::Result<#krate::__private::Report, #krate::__private::SimError> {
            Self::launch(instance, &#krate::__private::Simulator::default(), grid, #(#names),*)
        }
    }
}
