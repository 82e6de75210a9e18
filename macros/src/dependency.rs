//! Finds the path of ptx-matrix in the compiled crate, whose manifest may rename it.

use crate::arguments::crate_path;
use crate::manifest;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use std::path::PathBuf;
use std::sync::LazyLock;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Error, Ident, Path, Result, Token};

/// The name in the manifest.
static NAME: LazyLock<String> = LazyLock::new(|| {
    let name = "ptx_matrix".to_owned();
    // Inside the package, the name is `extern crate self`, or the dependency of its tests and
    // examples.
    if std::env::var("CARGO_PKG_NAME").is_ok_and(|package| package == "ptx-matrix") {
        return name;
    }
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    folder.and_then(|folder| manifest::name_of_dependency(&folder, "ptx-matrix")).unwrap_or(name)
});

/// Returns the path of ptx-matrix: `given`, or the manifest's name for it.
pub fn path(given: Option<&Path>) -> TokenStream {
    match given {
        // A single name is that of a dependency.
        Some(path) => match path.get_ident() {
            Some(name) if name != "crate" && name != "self" => quote!(::#name),
            _ => path.to_token_stream(),
        },
        None => {
            let name = Ident::new(&NAME, Span::call_site());
            quote!(::#name)
        }
    }
}

/// Returns the path for a derive, which may have `#[ptx_matrix(crate = px)]` beside it.
pub fn path_of_derive(attributes: &[Attribute]) -> Result<TokenStream> {
    let mut given = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("ptx_matrix")) {
        given = Some(attribute.parse_args_with(|input: ParseStream| {
            let name = input.call(Ident::parse_any)?;
            if name != "crate" {
                return Err(Error::new_spanned(name, "expected `crate = path`"));
            }
            input.parse::<Token![=]>()?;
            crate_path(input)
        })?);
    }
    Ok(path(given.as_ref()))
}
