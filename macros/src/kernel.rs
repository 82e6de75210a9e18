//! Expands `#[kernel]`: the unchanged function, and for each of its kernels an entry and launch
//! functions.

use crate::arguments::{Arguments, Bounds, Instance};
use crate::dependency;
use crate::entry;
use crate::instances;
use crate::place;
use crate::signature::{self, Parameter};
use crate::sources::{self, OfKernel};
use crate::substitute::Substitution;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use std::path::PathBuf;
use syn::ext::IdentExt;
use syn::{Attribute, Error, Expr, Ident, ItemFn, LitStr, Result, Type, Visibility, parse2};

/// One kernel: a function, or an instance of a generic one.
pub struct Kernel<'a> {
    /// The path of ptx-matrix.
    pub krate: &'a TokenStream,
    pub name: Ident,
    /// The function to call, with its generic arguments.
    pub call: TokenStream,
    pub parameters: Vec<Parameter>,
    pub bounds: Bounds,
    pub visibility: &'a Visibility,
    /// The `cfg`s of the function.
    pub cfgs: &'a [Attribute],
    docs: &'a [Attribute],
    /// The fingerprint's fields about sources.
    sources: &'a str,
}

/// Expands the kernel `function`, which begins in this line of `file`.
pub fn expand(
    arguments: TokenStream,
    function: TokenStream,
    file: Option<PathBuf>,
    line: usize,
) -> Result<TokenStream> {
    let Arguments { bounds, instances, krate } = parse2(arguments)?;
    let mut function: ItemFn = parse2(function)?;
    signature::check(&function, instances.is_some())?;
    if let Some(block) = file.as_ref().and_then(|file| place::block_around(file, line)) {
        let message = format!("a kernel is a free function: move it out of the `{block}`");
        return Err(Error::new(Span::call_site(), message));
    }
    let parameters = signature::take_parameters(&mut function)?;
    let function = function;
    let krate = &dependency::path(krate.as_ref());
    let cfgs: Vec<Attribute> =
        function.attrs.iter().filter(|of| of.path().is_ident("cfg")).cloned().collect();
    let OfKernel { crate_name, hash, dependencies, new_files } = sources::of_kernel(file);
    let mut sources = format!("; crate={}; sources={hash}", ascii(&crate_name));
    for (name, hash) in dependencies {
        sources += &format!("; sources of {}={hash}", ascii(&name));
    }

    let name = &function.sig.ident;
    let kernel = |name: &Ident, docs, bounds: &Bounds, of: &Substitution| {
        let (function_name, turbofish) = (&function.sig.ident, of.turbofish());
        Ok::<_, Error>(Kernel {
            krate,
            name: name.clone(),
            call: quote!(#function_name #turbofish),
            parameters: parameters
                .iter()
                .map(|of_one| substituted(of_one, of))
                .collect::<Result<_>>()?,
            bounds: constant(bounds, of)?,
            visibility: &function.vis,
            cfgs: &cfgs,
            docs,
            sources: &sources,
        })
    };
    let mut kernels = Vec::new();
    let mut table = None;
    match &instances {
        None => {
            signature::check_block(&function, &bounds, None)?;
            kernels.push(kernel(
                name,
                &[],
                &bounds,
                &Substitution::of_lifetimes(&function.sig.generics),
            )?);
        }
        Some(instances) => {
            instances::check_names(name, instances)?;
            let mut depends = false;
            for Instance { docs, name, bounds: own, arguments } in instances {
                let bounds = own.or(&bounds);
                signature::check_block(&function, &bounds, Some(name))?;
                let of = Substitution::new(&function.sig.generics, name, arguments)?;
                depends |= parameters
                    .iter()
                    .any(|parameter| !parameter.shared && of.concerns(&parameter.ty));
                kernels.push(kernel(name, docs, &bounds, &of)?);
            }
            table = Some(instances::table(name, &kernels, depends));
        }
    }
    let targets: Vec<&[LitStr]> = kernels.iter().map(|kernel| kernel.bounds.targets()).collect();
    // If all instances need newer targets, the function may not compile for others.
    let of_any = if targets.iter().any(|of| of.is_empty()) { Vec::new() } else { targets.concat() };
    let built = built(&of_any);
    let kernels = kernels.iter().map(Kernel::tokens).collect::<Result<Vec<_>>>()?;
    // These make cargo compile the crate again when a source changes, even one of another target.
    let watched: Vec<&str> = new_files.iter().filter_map(|file| file.to_str()).collect();
    let watched = (!watched.is_empty()).then(|| {
        let include_bytes = quote!(#krate::__private::core::include_bytes!);
        quote!(const _: &[&[u8]] = &[#(#include_bytes(#watched)),*];)
    });
    Ok(quote! {
        #built
        // Inlined into its entry. On the host it is compiled once, with its own crate's options.
        #[cfg_attr(target_arch = "nvptx64", inline)]
        // A kernel may have any number of parameters.
        #[allow(clippy::too_many_arguments)]
        #function

        #(#kernels)*

        #table

        #watched
    })
}

/// The `cfg` for items of these targets. `None` for all.
fn built(targets: &[LitStr]) -> Option<TokenStream> {
    (!targets.is_empty())
        .then(|| quote!(#[cfg(any(not(target_arch = "nvptx64"), #(target_feature = #targets),*))]))
}

/// An instance's parameter, without generic parameters.
fn substituted(parameter: &Parameter, of: &Substitution) -> Result<Parameter> {
    Ok(Parameter { ty: parse2(of.in_type(&parameter.ty)?)?, ..parameter.clone() })
}

/// An instance's bounds, without generic parameters.
fn constant(bounds: &Bounds, of: &Substitution) -> Result<Bounds> {
    let expression = |of_one: &Expr| parse2::<Expr>(of.in_expression(of_one)?);
    let optional = |of_one: &Option<Expr>| of_one.as_ref().map(expression).transpose();
    Ok(Bounds {
        threads: optional(&bounds.threads)?,
        min_blocks: optional(&bounds.min_blocks)?,
        max_registers: optional(&bounds.max_registers)?,
        cluster: bounds
            .cluster
            .as_ref()
            .map(|of| of.iter().map(expression).collect::<Result<_>>())
            .transpose()?,
        dependent: bounds.dependent,
        targets: bounds.targets.clone(),
    })
}

/// The tokens with the span `place`, where the compiler then reports errors.
fn at(place: Span, tokens: &TokenStream) -> TokenStream {
    let placed = tokens.clone().into_iter().map(|mut token| {
        token.set_span(token.span().located_at(place));
        token
    });
    placed.collect()
}

/// A name for PTX, which is ASCII.
pub fn ascii(name: &str) -> String {
    name.chars().map(|character| if character.is_ascii() { character } else { '?' }).collect()
}

impl Kernel<'_> {
    /// The parameters that a launch passes.
    pub fn given(&self) -> impl DoubleEndedIterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| !parameter.shared)
    }

    /// The type of its shared memory: a nested pair, whose parts lie one after the other.
    pub fn shared(&self) -> TokenStream {
        let shared = self.parameters.iter().filter(|parameter| parameter.shared);
        entry::in_order(&shared.map(|parameter| &parameter.ty).collect::<Vec<_>>())
    }

    /// Whether the kernel uses programmatic dependent launch (PDL).
    pub fn is_dependent(&self) -> bool {
        self.bounds.dependent.unwrap_or(false)
    }

    /// The type of its blocks.
    pub fn block(&self) -> TokenStream {
        let Kernel { krate, name, .. } = self;
        match self.bounds.cluster {
            Some(_) => quote!(#krate::__private::ClusterBlock::<{ #name::BLOCKS }>),
            None => quote!(#krate::__private::Block),
        }
    }

    fn tokens(&self) -> Result<TokenStream> {
        let Kernel { krate, name, visibility, cfgs, docs, sources, .. } = self;
        let built = built(self.bounds.targets());
        let name_text = name.unraw().to_string();
        let type_doc = format!("How the kernel `{name_text}` is launched.");
        let bounds = self.bounds()?;
        let types: Vec<&Type> = self.given().map(|parameter| &parameter.ty).collect();
        let texts: Vec<String> = self.given().map(|parameter| ascii(&parameter.text())).collect();
        let blocks = self.bounds.cluster.as_ref().map(|_| {
            quote! {
                /// The number of blocks in a cluster.
                const BLOCKS: usize = Self::BOUNDS.cluster.blocks() as usize;
            }
        });
        let (host, device) = (entry::host(self), entry::device(self));
        let begins = if docs.is_empty() { quote!() } else { quote!(#[doc = ""]) };
        Ok(quote! {
            // A type beside the function, with the same name. Unlike a module, it sees the names
            // that the function sees, even inside another function.
            #built
            #(#cfgs)*
            #(#docs)*
            #begins
            #[doc = #type_doc]
            #[allow(non_camel_case_types)]
            #visibility enum #name {}

            #built
            #(#cfgs)*
            impl #name {
                const BOUNDS: #krate::__private::KernelInfo = #bounds;

                const PARAMS: &'static [#krate::__private::ParamInfo] =
                    &[#(#krate::__private::ParamInfo::of::<#types>(#texts)),*];

                #blocks

                const FINGERPRINT: #krate::__private::Text<
                    {
                        #krate::__private::fingerprint_len(
                            #name::PARAMS, #krate::__private::core::module_path!(), #sources,
                        )
                    }
                > = #krate::__private::fingerprint(
                    &Self::BOUNDS, Self::PARAMS, #krate::__private::core::module_path!(), #sources,
                );

                /// The kernel's description.
                #[cfg(target_arch = "nvptx64")]
                pub const INFO: #krate::__private::KernelInfo = Self::BOUNDS;
                /// The kernel's description.
                #[cfg(not(target_arch = "nvptx64"))]
                pub const INFO: #krate::__private::KernelInfo =
                    Self::BOUNDS.with_fingerprint(&Self::FINGERPRINT);

                #[doc(hidden)]
                const ASKS: bool = #krate::__private::asks(&Self::BOUNDS, Self::PARAMS);

                #host
            }

            #built
            #(#cfgs)*
            const _: bool = #name::ASKS;

            #built
            #(#cfgs)*
            #[cfg(target_arch = "nvptx64")]
            const _: () = { #device };
        })
    }

    /// The description without a fingerprint. Errors in its constants point to the kernel's name.
    fn bounds(&self) -> Result<TokenStream> {
        let Kernel { krate, name, .. } = self;
        let Some(threads) = &self.bounds.threads else {
            let message = "say how many threads a block has: `#[kernel(threads = 128)]`";
            return Err(Error::new(Span::call_site(), message));
        };
        // `as u32` would drop bits of a longer number.
        let number = |of: &Expr| quote!((#of) as i128);
        let or_zero = |of: &Option<Expr>| of.as_ref().map_or(quote!(0), number);
        let (min_blocks, max_registers) =
            (or_zero(&self.bounds.min_blocks), or_zero(&self.bounds.max_registers));
        let mut cluster = [quote!(1), quote!(1), quote!(1)];
        for (dimension, of) in cluster.iter_mut().zip(self.bounds.cluster.iter().flatten()) {
            *dimension = number(of);
        }
        let threads = number(threads);
        let (name_text, shared, dependent) =
            (name.unraw().to_string(), self.shared(), self.is_dependent());
        let targets = self.bounds.targets();
        let place = Span::mixed_site().located_at(name.span());
        let krate = at(place, krate);
        Ok(quote_spanned! {place=>
            #krate::__private::KernelInfo::new::<#shared>(#name_text, #krate::__private::Bounds {
                threads: #threads,
                min_blocks: #min_blocks,
                max_registers: #max_registers,
                cluster: [#(#cluster),*],
                dependent: #dependent,
                targets: &[#(#targets),*],
            })
        })
    }
}
