//! Names for the registers of a `wgmma`'s D.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, Result};

struct Arguments {
    n: usize,
    per_8_columns: usize,
    with: Ident,
    rest: TokenStream,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self {
            n: input.parse::<LitInt>()?.base10_parse()?,
            per_8_columns: input.parse::<LitInt>()?.base10_parse()?,
            with: input.parse()?,
            rest: input.parse()?,
        })
    }
}

pub fn expand(arguments: TokenStream) -> Result<TokenStream> {
    let Arguments { n, per_8_columns, with, rest } = syn::parse2(arguments)?;
    let count = n / 8 * per_8_columns;
    let names = (0..count).map(|index| format_ident!("d{index}"));
    let text = (0..count).map(|index| format!("{{{index}}}")).collect::<Vec<_>>().join(", ");
    Ok(quote! { #with! { [#(#names)*] #text #rest } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_register_has_a_name() {
        let expanded = expand(quote!(16 2 body a (b))).unwrap();
        assert_eq!(
            expanded.to_string(),
            quote!(body! { [d0 d1 d2 d3] "{0}, {1}, {2}, {3}" a (b) }).to_string()
        );
        assert!(expand(quote!(body)).is_err());
    }
}
