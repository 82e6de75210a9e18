//! Expands `#[derive(KernelArgs)]`: a struct as one kernel parameter.
//!
//! A struct without a lifetime is plain data, with the same bytes on both sides. A struct with a
//! lifetime contains memory. The kernel parameter then is another struct, with each field in its
//! stored form, and the host's struct contains buffers.

use crate::dependency;
use crate::kernel::ascii;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericParam, Index, Lifetime, Member,
    Result, Type, Visibility, parse_quote, parse2,
};

pub fn expand(item: TokenStream) -> Result<TokenStream> {
    let item: DeriveInput = parse2(item)?;
    let krate = dependency::path_of_derive(&item.attrs)?;
    let message = match &item.data {
        Data::Struct(data) if data.fields.is_empty() => {
            "a struct of kernel arguments needs a field: PTX has no parameter without bytes"
        }
        Data::Struct(data) => {
            let mut lifetimes = item.generics.lifetimes();
            return match (lifetimes.next(), lifetimes.next()) {
                (None, _) => plain(&item, &data.fields, &krate),
                (Some(of), None) => with_memory(&item, &data.fields, &of.lifetime, &krate),
                (_, Some(other)) => {
                    let message = "a struct of kernel arguments has at most one lifetime, during \
                                   which the kernel runs";
                    Err(Error::new_spanned(other, message))
                }
            };
        }
        Data::Enum(_) => {
            "kernel arguments are a struct: an enum does not have a value for every number, so \
             pass a number or a `bool`"
        }
        Data::Union(_) => {
            "kernel arguments are a struct: nothing can check the contents of a union"
        }
    };
    Err(Error::new_spanned(&item.ident, message))
}

/// Expands a struct that is passed as its bytes.
fn plain(item: &DeriveInput, fields: &Fields, krate: &TokenStream) -> Result<TokenStream> {
    check_repr(item)?;
    let name = &item.ident;
    let core = quote!(#krate::__private::core);
    let (members, types): (Vec<Member>, Vec<&Type>) = fields.iter().enumerate().map(member).unzip();
    let texts = members.iter().map(text);
    let type_name = type_name(name, texts, types.iter(), &quote!(Self), krate);
    let mut generics = item.generics.clone();
    if generics.type_params().next().is_some() {
        let clause = generics.make_where_clause();
        clause.predicates.extend(
            types.iter().map(|ty| -> syn::WherePredicate {
                parse_quote!(#ty: #krate::__private::KernelData)
            }),
        );
    }
    let (of_impl, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: it is `repr(C)`, and its fields are `KernelData`. `values` writes each at its
        // offset.
        unsafe impl #of_impl #krate::__private::KernelData for #name #arguments #bounds {}

        // SAFETY: `values` appends the bytes of the struct itself.
        unsafe impl #of_impl #krate::__private::KernelField for #name #arguments #bounds {
            type Stored = Self;

            #[inline]
            unsafe fn load<'ptx_matrix>(
                stored: &'static Self,
                _: &'static str,
            ) -> Self::In<'ptx_matrix> {
                *stored
            }
        }

        // SAFETY: one parameter: the struct's bytes. The builder makes `Head` point to them.
        unsafe impl #of_impl #krate::__private::KernelParam for #name #arguments #bounds {
            type In<'ptx_matrix> = Self;
            type Head = &'static Self;
            type Tail = ();
            const BY_VALUE: #core::option::Option<#krate::__private::ByValue> =
                #core::option::Option::Some(#krate::__private::ByValue::of::<Self>());
            const IS_MEMORY: bool = false;
            const TYPE: #krate::__private::TypeName = #type_name;

            #[inline]
            unsafe fn enter<'ptx_matrix>(
                head: Self::Head,
                _: (),
                _: &'static str,
            ) -> Self::In<'ptx_matrix> {
                *head
            }

            #[cfg(not(target_arch = "nvptx64"))]
            type Host<'ptx_matrix, PtxMatrixDevice: #krate::__private::Device + 'ptx_matrix> = Self;

            #[cfg(not(target_arch = "nvptx64"))]
            fn bind<'ptx_matrix, PtxMatrixDevice: #krate::__private::Device + 'ptx_matrix>(
                _: &PtxMatrixDevice,
                host: Self::Host<'ptx_matrix, PtxMatrixDevice>,
                _: &'static str,
            ) -> Self::In<'ptx_matrix> {
                host
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn values(bound: Self::In<'_>, into: &mut #krate::__private::Params) {
                // Another macro may have added fields since: they would stay unwritten.
                let Self { #(#members: _,)* } = bound;
                into.push_struct(#core::mem::size_of::<Self>(), |fields| {
                    #(
                        let offset = #core::mem::offset_of!(Self, #members);
                        fields.put_data::<#types>(offset, bound.#members);
                    )*
                });
            }
        }
    })
}

/// Expands a struct that contains memory.
fn with_memory(
    item: &DeriveInput,
    fields: &Fields,
    lifetime: &Lifetime,
    krate: &TokenStream,
) -> Result<TokenStream> {
    let Fields::Named(named) = fields else {
        let message = "a struct of kernel arguments that has memory needs named fields";
        return Err(Error::new_spanned(&item.ident, message));
    };
    let (name, visibility) = (&item.ident, &item.vis);
    let core = quote!(#krate::__private::core);
    let fields: Vec<&Field> = named.named.iter().collect();
    let names: Vec<&Ident> = fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let texts: Vec<String> = names.iter().map(|name| name.unraw().to_string()).collect();
    let types: Vec<&Type> = fields.iter().map(|field| &field.ty).collect();
    // The stored types have no lifetime.
    let stored: Vec<TokenStream> =
        types.iter().map(|ty| with_static(quote!(#ty), lifetime)).collect();
    let docs: Vec<Vec<&Attribute>> = fields.iter().map(|field| docs(&field.attrs)).collect();
    let visibilities: Vec<&Visibility> = fields.iter().map(|field| &field.vis).collect();

    let mut generics = item.generics.clone();
    generics.params.iter_mut().for_each(without_default);
    let (of_impl, arguments, bounds) = generics.split_for_impl();
    let in_kernel = with_lifetime(quote!(#arguments), lifetime, "ptx_matrix");

    let mut of_stored = generics.clone();
    of_stored.params = generics
        .params
        .iter()
        .filter(|of| !matches!(of, GenericParam::Lifetime(_)))
        .cloned()
        .collect();
    let (stored_impl, stored_arguments, _) = of_stored.split_for_impl();
    let stored_bounds = with_static(quote!(#bounds), lifetime);
    let layout = quote!(PtxMatrixStored #stored_arguments);
    let type_name = type_name(name, texts.iter().cloned(), &stored, &layout, krate);

    let host = format_ident!("{name}Host");
    let host_doc = format!(
        "What the host hands over for [`{name}`], to a kernel on a device: buffers by reference."
    );
    let mut of_host = generics.clone();
    of_host.params.push(parse_quote!(PtxMatrixDevice: #krate::__private::Device + #lifetime));
    let (host_impl, host_arguments, host_bounds) = of_host.split_for_impl();
    let at_host = with_lifetime(quote!(#host_arguments), lifetime, "ptx_matrix");
    let param = quote!(#krate::__private::KernelParam);
    Ok(quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #host_doc]
        #[allow(dead_code)]
        #visibility struct #host #host_impl #host_bounds {
            #(
                #(#docs)*
                #visibilities #names: <#types as #param>::Host<#lifetime, PtxMatrixDevice>,
            )*
        }

        const _: () = {
            /// The struct's layout in the `.param` space.
            #[repr(C)]
            pub struct PtxMatrixStored #stored_impl #stored_bounds {
                #(#names: <#stored as #krate::__private::KernelField>::Stored,)*
            }

            impl #stored_impl #core::clone::Clone for #layout #stored_bounds {
                #[inline]
                fn clone(&self) -> Self {
                    *self
                }
            }

            impl #stored_impl #core::marker::Copy for #layout #stored_bounds {}

            // SAFETY: one parameter: `PtxMatrixStored`. The builder makes `Head` point to it.
            // `values` writes each field at its offset.
            unsafe impl #of_impl #param for #name #arguments #bounds {
                type In<'ptx_matrix> = #name #in_kernel;
                type Head = &'static #layout;
                type Tail = ();
                const BY_VALUE: #core::option::Option<#krate::__private::ByValue> =
                    #core::option::Option::Some(
                        #krate::__private::ByValue::of::<#layout>(),
                    );
                const IS_MEMORY: bool = false #(|| <#stored as #param>::IS_MEMORY)*;
                const IS_EARLY: bool = #krate::__private::any_early(&[
                    #((<#stored as #param>::IS_MEMORY, <#stored as #param>::IS_EARLY)),*
                ]);
                const TYPE: #krate::__private::TypeName = #type_name;

                #[inline]
                unsafe fn enter<'ptx_matrix>(
                    head: Self::Head,
                    _: (),
                    _: &'static str,
                ) -> Self::In<'ptx_matrix> {
                    #name {
                        #(
                            // SAFETY: the caller upholds the requirements of each field.
                            #names: unsafe {
                                <#stored as #krate::__private::KernelField>::load(
                                    &head.#names,
                                    #texts,
                                )
                            },
                        )*
                    }
                }

                #[cfg(not(target_arch = "nvptx64"))]
                type Host<'ptx_matrix, PtxMatrixDevice: #krate::__private::Device + 'ptx_matrix> =
                    #host #at_host;

                #[cfg(not(target_arch = "nvptx64"))]
                fn bind<'ptx_matrix, PtxMatrixDevice: #krate::__private::Device + 'ptx_matrix>(
                    device: &PtxMatrixDevice,
                    host: Self::Host<'ptx_matrix, PtxMatrixDevice>,
                    _: &'static str,
                ) -> Self::In<'ptx_matrix> {
                    #name { #(#names: <#stored as #param>::bind(device, host.#names, #texts),)* }
                }

                #[cfg(not(target_arch = "nvptx64"))]
                fn values(bound: Self::In<'_>, into: &mut #krate::__private::Params) {
                    let bytes = #core::mem::size_of::<#layout>();
                    into.push_struct(bytes, |fields| {
                        #(
                            let offset = #core::mem::offset_of!(#layout, #names);
                            fields.put::<#stored>(offset, bound.#names);
                        )*
                    });
                }
            }

            // SAFETY: `values` appends the bytes of `PtxMatrixStored`.
            unsafe impl #of_impl #krate::__private::KernelField for #name #arguments #bounds {
                type Stored = #layout;

                #[inline]
                unsafe fn load<'ptx_matrix>(
                    stored: &'static Self::Stored,
                    name: &'static str,
                ) -> Self::In<'ptx_matrix> {
                    // SAFETY: the caller upholds the requirements.
                    unsafe { <Self as #param>::enter(stored, (), name) }
                }
            }
        };
    })
}

/// The type's name in fingerprints: its fields in order, with their types, and its layout.
fn type_name<T: ToTokens>(
    name: &Ident,
    fields: impl Iterator<Item = String>,
    types: impl IntoIterator<Item = T>,
    stored: &TokenStream,
    krate: &TokenStream,
) -> TokenStream {
    let of = quote!(#krate::__private::TypeName);
    let core = quote!(#krate::__private::core);
    let parts = fields.zip(types).enumerate().map(|(index, (field, ty))| {
        let start = format!("{}{}: ", if index == 0 { "" } else { ", " }, ascii(&field));
        quote!(#of::Text(#start), <#ty as #krate::__private::KernelParam>::TYPE)
    });
    let start = format!("{} {{", ascii(&name.unraw().to_string()));
    quote! {
        #of::Parts(&[
            #of::Text(#start),
            #(#parts,)*
            #of::Text("} of "),
            #of::Number(#core::mem::size_of::<#stored>()),
            #of::Text(" bytes aligned to "),
            #of::Number(#core::mem::align_of::<#stored>()),
        ])
    }
}

fn member((index, field): (usize, &Field)) -> (Member, &Type) {
    let unnamed = || Member::Unnamed(Index::from(index));
    (field.ident.clone().map_or_else(unnamed, Member::Named), &field.ty)
}

fn text(member: &Member) -> String {
    match member {
        Member::Named(name) => name.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn docs(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect()
}

fn without_default(parameter: &mut GenericParam) {
    match parameter {
        GenericParam::Type(of) => of.default = None,
        GenericParam::Const(of) => of.default = None,
        GenericParam::Lifetime(_) => {}
    }
}

/// Checks the struct's `repr`: plain data needs C's layout, which is the same on both sides.
fn check_repr(item: &DeriveInput) -> Result<()> {
    let mut says_so = false;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("packed") {
                let message = "the fields of kernel arguments are aligned: remove `packed`";
                return Err(Error::new_spanned(&meta.path, message));
            }
            says_so |= meta.path.is_ident("C") || meta.path.is_ident("transparent");
            // Skip the number of `align(16)`.
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<TokenStream>()?;
            }
            Ok(())
        })?;
    }
    if says_so {
        return Ok(());
    }
    let message = "host and device give this struct the same layout only if it is `#[repr(C)]`";
    Err(Error::new_spanned(&item.ident, message))
}

fn with_static(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
    with_lifetime(tokens, lifetime, "static")
}

/// Replaces a lifetime in the tokens.
fn with_lifetime(tokens: TokenStream, lifetime: &Lifetime, other: &str) -> TokenStream {
    let mut is_lifetime = false;
    let replaced = tokens.into_iter().map(|token| {
        let was_quote = std::mem::replace(
            &mut is_lifetime,
            matches!(&token, TokenTree::Punct(mark) if mark.as_char() == '\''),
        );
        match token {
            TokenTree::Ident(name) if was_quote && name == lifetime.ident => {
                TokenTree::Ident(Ident::new(other, name.span()))
            }
            TokenTree::Group(group) => {
                let inner = with_lifetime(group.stream(), lifetime, other);
                let mut made = proc_macro2::Group::new(group.delimiter(), inner);
                made.set_span(group.span());
                TokenTree::Group(made)
            }
            other => other,
        }
    });
    replaced.collect()
}
