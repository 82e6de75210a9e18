//! Checks the signature of a `#[kernel]` function.

use crate::arguments::Bounds;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{
    Attribute, Error, FnArg, GenericParam, Ident, ItemFn, Meta, Pat, PatType, Result, ReturnType,
    Safety, Signature, Type,
};

/// A parameter after the block.
#[derive(Clone)]
pub struct Parameter {
    pub name: Ident,
    pub ty: Type,
    pub shared: bool,
    /// The parameter as it was written.
    pub pattern: Pat,
}

impl Parameter {
    /// The parameter's name in the source.
    pub fn text(&self) -> String {
        self.name.unraw().to_string()
    }
}

/// Refuses functions that cannot be kernels.
pub fn check(function: &ItemFn, has_instances: bool) -> Result<()> {
    let signature = &function.sig;
    check_name(&signature.ident)?;
    check_attributes(&function.attrs)?;
    check_qualifiers(signature)?;
    check_generics(signature, has_instances)?;
    if !matches!(signature.output, ReturnType::Default) {
        return Err(Error::new_spanned(
            &signature.output,
            "a kernel returns nothing: let it write its results to a `GlobalMut`",
        ));
    }
    let block = "a kernel's first parameter is its block: `block: &Block`";
    for (index, input) in signature.inputs.iter().enumerate() {
        match input {
            FnArg::Receiver(receiver) => {
                let message = "a kernel is a free function and takes no `self`: move it out of \
                               the `impl`, and pass its data as parameters";
                return Err(Error::new_spanned(receiver, message));
            }
            FnArg::Typed(input) if index == 0 && block_name(&input.ty).is_none() => {
                return Err(Error::new_spanned(input, block));
            }
            FnArg::Typed(input) => check_type(input)?,
        }
    }
    if signature.inputs.is_empty() {
        Err(Error::new_spanned(&signature.ident, block))
    } else {
        Ok(())
    }
}

fn check_qualifiers(signature: &Signature) -> Result<()> {
    let (qualifier, message) = if let Some(qualifier) = &signature.constness {
        (
            qualifier.to_token_stream(),
            "a kernel runs on a device, and never in a constant: remove `const`",
        )
    } else if let Some(qualifier) = &signature.asyncness {
        let message = "a kernel cannot be `async`: it waits with barriers and groups, and a \
                       launch waits for it";
        (qualifier.to_token_stream(), message)
    } else if let Safety::Unsafe(qualifier) = &signature.safety {
        let message = "a kernel is launched by safe code, so it cannot be an `unsafe fn`: write \
            `unsafe` blocks in it";
        (qualifier.to_token_stream(), message)
    } else if let Some(qualifier) = &signature.abi {
        (qualifier.to_token_stream(), "#[kernel] makes the entry, with its ABI: remove `extern`")
    } else {
        return Ok(());
    };
    Err(Error::new_spanned(qualifier, message))
}

fn check_generics(signature: &Signature, has_instances: bool) -> Result<()> {
    let generics = &signature.generics;
    let parameter = generics.params.iter().find(|of| !matches!(of, GenericParam::Lifetime(_)));
    let name = signature.ident.unraw();
    match parameter {
        Some(parameter) if !has_instances => {
            let message = format!(
                "a generic kernel lists its instances, each an entry in the PTX: \
                 `#[kernel(.., instances({name}_a = <..>, {name}_b = <..>))]`"
            );
            return Err(Error::new_spanned(parameter, message));
        }
        None if has_instances => {
            let message =
                format!("`{name}` has no generic parameters, so it cannot have instances");
            return Err(Error::new_spanned(&signature.ident, message));
        }
        _ => {}
    }
    for parameter in &generics.params {
        let default = match parameter {
            GenericParam::Type(of) => of.default.as_ref().map(|(_, ty)| ty.to_token_stream()),
            GenericParam::Const(of) => {
                of.default.as_ref().map(|(_, value)| value.to_token_stream())
            }
            GenericParam::Lifetime(_) => None,
        };
        if let Some(default) = default {
            let message = "a function's generic parameters have no defaults: name the argument in \
                           each instance";
            return Err(Error::new_spanned(default, message));
        }
    }
    match &generics.where_clause {
        Some(clause) if !has_instances => {
            let message =
                "a kernel without instances has no generic parameters: remove the `where` clause";
            Err(Error::new_spanned(clause, message))
        }
        _ => Ok(()),
    }
}

fn check_type(input: &PatType) -> Result<()> {
    let ty = &input.ty;
    if let Some(word) = word(quote!(#ty), "impl") {
        let message = "a kernel's parameter cannot have an `impl` type: write a type parameter, \
                       and list the instances";
        return Err(Error::new(word, message));
    }
    if let Some(word) = word(quote!(#ty), "Self") {
        let message = "a kernel is a free function and has no `Self`: move it out of the `impl`, \
                       and name the type";
        return Err(Error::new(word, message));
    }
    Ok(())
}

/// The position of a word in tokens.
fn word(tokens: TokenStream, wanted: &str) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(name) if name == wanted => Some(name.span()),
        TokenTree::Group(group) => word(group.stream(), wanted),
        _ => None,
    })
}

fn check_attributes(attributes: &[Attribute]) -> Result<()> {
    for attribute in attributes {
        let inner = match &attribute.meta {
            Meta::List(list) if attribute.path().is_ident("unsafe") => list.tokens.clone(),
            meta => meta.path().to_token_stream(),
        };
        let name = inner.into_iter().next().map(|name| name.to_string()).unwrap_or_default();
        let message = match name.as_str() {
            "no_mangle" | "export_name" => {
                "the PTX entry has the kernel's name already: remove this attribute"
            }
            "inline" => "a kernel is inlined into its entry: remove this attribute",
            "target_feature" => {
                "a kernel's features are those of its target, `#[kernel(.., target = \"sm_90\")]`: \
                 remove this attribute"
            }
            "test" | "bench" => {
                "a kernel is no test: write a test that calls the kernel's `simulate`, and remove \
                 this attribute"
            }
            _ => continue,
        };
        return Err(Error::new_spanned(attribute, message));
    }
    Ok(())
}

/// `Block` or `ClusterBlock`, from `&Block` or `&ClusterBlock`.
fn block_name(ty: &Type) -> Option<Ident> {
    let Type::Reference(reference) = ty else { return None };
    let Type::Path(path) = &*reference.elem else { return None };
    let name = path.path.segments.last().map(|segment| segment.ident.clone())?;
    (reference.mutability.is_none() && (name == "Block" || name == "ClusterBlock")).then_some(name)
}

/// Checks that a kernel with a cluster's block has clusters. An error points to `place`, or else to
/// the block's type.
pub fn check_block(function: &ItemFn, bounds: &Bounds, place: Option<&Ident>) -> Result<()> {
    let Some(FnArg::Typed(first)) = function.sig.inputs.first() else { return Ok(()) };
    if bounds.cluster.is_some() || block_name(&first.ty).is_none_or(|name| name != "ClusterBlock") {
        return Ok(());
    }
    let message =
        "a `ClusterBlock` needs a kernel with clusters: write `#[kernel(.., cluster = 2)]`";
    Err(match place {
        Some(instance) => Error::new_spanned(instance, message),
        None => Error::new_spanned(&first.ty, message),
    })
}

/// Checks a kernel's name, which goes into the PTX unchanged.
pub fn check_name(name: &Ident) -> Result<()> {
    let text = name.unraw().to_string();
    let message = if !text.is_ascii() {
        format!(
            "a kernel's name goes into the PTX, whose names have ASCII letters, digits and `_` \
             only: rename `{text}`"
        )
    } else if RESERVED.contains(&text.as_str()) || text.starts_with("__ptx_matrix_") {
        format!(
            "`{text}` has another meaning in PTX or for the builder: give the kernel another name"
        )
    } else {
        return Ok(());
    };
    Err(Error::new_spanned(name, message))
}

/// Names that a kernel cannot have: a constant of the assembler, and functions that the compiler
/// calls by itself. (The builder finds other functions that are called.)
const RESERVED: [&str; 7] = ["WARP_SZ", "memcpy", "memmove", "memset", "memcmp", "bcmp", "strlen"];

/// Takes the parameters after the block, and removes `#[shared]` from them.
pub fn take_parameters(function: &mut ItemFn) -> Result<Vec<Parameter>> {
    let mut parameters = Vec::new();
    for (index, input) in function.sig.inputs.iter_mut().enumerate().skip(1) {
        let FnArg::Typed(input) = input else { unreachable!("`self` was refused") };
        if let Some(cfg) = input.attrs.iter().find(|attribute| attribute.path().is_ident("cfg")) {
            let message =
                "a kernel's parameters are the same in every build: put the `cfg` on the kernel";
            return Err(Error::new_spanned(cfg, message));
        }
        let (attributes, pattern) = (input.attrs.len(), (*input.pat).clone());
        input.attrs.retain(|attribute| !attribute.path().is_ident("shared"));
        let shared = input.attrs.len() < attributes;
        let mut name = match &*input.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            _ if shared => format_ident!("shared_{index}"),
            Pat::Wild(_) => format_ident!("parameter_{index}"),
            pattern => {
                let message = "a kernel's parameter needs a plain name, which launches and \
                               reports use: destructure it in the body";
                return Err(Error::new_spanned(pattern, message));
            }
        };
        // The name is hygienic in the launch functions, so a parameter may be called `grid`, or as
        // the kernel.
        name.set_span(Span::mixed_site().located_at(name.span()));
        parameters.push(Parameter { name, ty: (*input.ty).clone(), shared, pattern });
    }
    Ok(parameters)
}
