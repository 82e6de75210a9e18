use crate::dependency;
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, Result, parse2};

/// Expands `#[derive(SharedLayout)]`. The struct has the layout of a tuple of its fields' types,
/// nested in pairs.
pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = parse2(item)?;
    let krate = dependency::path_of_derive(&item.attrs)?;
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(
            &item.ident,
            "only a struct can be laid out in shared memory",
        ));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(
            &item.ident,
            "a struct laid out in shared memory needs named fields",
        ));
    };
    let names: Vec<_> = fields.named.iter().map(|field| &field.ident).collect();
    let texts: Vec<_> =
        names.iter().flat_map(|name| name.as_ref().map(|name| name.unraw().to_string())).collect();
    let of_fields: Vec<_> = fields.named.iter().map(|field| &field.ty).collect();
    let types = fields
        .named
        .iter()
        .map(|field| &field.ty)
        .rev()
        .fold(quote!(()), |rest, ty| quote!((#ty, #rest)));
    let pattern = names.iter().rev().fold(quote!(()), |rest, name| quote!((#name, #rest)));
    let name = &item.ident;
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    Ok(quote! {
        // SAFETY: the struct's parts are those of a tuple.
        unsafe impl #generics #krate::__private::SharedLayout for #name #arguments #bounds {
            const BYTES: usize = <#types as #krate::__private::SharedLayout>::BYTES;
            const ALIGN: usize = <#types as #krate::__private::SharedLayout>::ALIGN;

            #[inline]
            unsafe fn at(address: u32) -> Self {
                // SAFETY: the caller upholds the requirements; the parts lie as in a tuple of them.
                let #pattern = unsafe { <#types as #krate::__private::SharedLayout>::at(address) };
                Self { #(#names),* }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn name_byte(offset: usize, name: &mut #krate::__private::SharedName) {
                #krate::__private::name_fields(offset, name, &[#(
                    #krate::__private::SharedField::of::<#of_fields>().named(#texts)
                ),*]);
            }
        }
    })
}
