//! Replaces a generic function's parameters with an instance's arguments.
//!
//! The replacement works on tokens. The resulting types and expressions have no generic parameters.
//! So they can stand where Rust allows none: in the signature of a PTX entry, and in an array's
//! length.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{
    AngleBracketedGenericArguments, Error, GenericArgument, GenericParam, Generics, Path,
    PathArguments, Result, TypeParamBound, WherePredicate,
};

/// The arguments for a function's generic parameters.
pub struct Substitution {
    parameters: Vec<Parameter>,
    lifetimes: Vec<Ident>,
}

struct Parameter {
    name: Ident,
    argument: TokenStream,
    /// The bounds of a type parameter. It may name their items as `C::Item`.
    traits: Vec<Path>,
}

/// The kind of tokens that are replaced.
#[derive(Clone, Copy, PartialEq)]
enum In {
    Type,
    Expression,
}

impl Substitution {
    /// Replaces only the lifetimes, for a function without instances.
    pub fn of_lifetimes(generics: &Generics) -> Self {
        let lifetimes = generics.lifetimes().map(|of| of.lifetime.ident.clone()).collect();
        Substitution { parameters: Vec::new(), lifetimes }
    }

    /// Replaces the parameters with the arguments of the instance `name`.
    pub fn new(
        generics: &Generics,
        name: &Ident,
        arguments: &AngleBracketedGenericArguments,
    ) -> Result<Self> {
        let wanted: Vec<&GenericParam> =
            generics.params.iter().filter(|of| !matches!(of, GenericParam::Lifetime(_))).collect();
        if wanted.len() != arguments.args.len() {
            let names: Vec<String> =
                wanted.iter().map(|of| parameter_name(of).to_string()).collect();
            let message = format!(
                "`{name}` has {} generic arguments; the function takes {}: `<{}>`",
                arguments.args.len(),
                wanted.len(),
                names.join(", "),
            );
            return Err(Error::new_spanned(arguments, message));
        }
        let mut made = Substitution::of_lifetimes(generics);
        for (of, argument) in wanted.into_iter().zip(&arguments.args) {
            let name = parameter_name(of).clone();
            let is_const = matches!(of, GenericParam::Const(_));
            let argument = match argument {
                GenericArgument::Type(ty) if is_const => quote!({ #ty }),
                GenericArgument::Type(ty) => quote!(#ty),
                GenericArgument::Const(value) if is_const => quote!(#value),
                _ => {
                    let message =
                        format!("`{name}` takes a {}", if is_const { "constant" } else { "type" });
                    return Err(Error::new_spanned(argument, message));
                }
            };
            let traits = if is_const { Vec::new() } else { traits(generics, of) };
            made.parameters.push(Parameter { name, argument, traits });
        }
        Ok(made)
    }

    /// The arguments for a call: `::<Tile128, 64>`. Empty without arguments.
    pub fn turbofish(&self) -> TokenStream {
        let arguments = self.parameters.iter().map(|of| &of.argument);
        if self.parameters.is_empty() { TokenStream::new() } else { quote!(::<#(#arguments),*>) }
    }

    /// Whether the tokens name a generic parameter.
    pub fn concerns(&self, tokens: impl ToTokens) -> bool {
        tokens.into_token_stream().into_iter().any(|token| match token {
            TokenTree::Ident(name) => self.parameters.iter().any(|of| of.name == name),
            TokenTree::Group(group) => self.concerns(group.stream()),
            _ => false,
        })
    }

    /// Replaces the parameters in a type.
    pub fn in_type(&self, ty: impl ToTokens) -> Result<TokenStream> {
        self.replaced(ty.into_token_stream(), In::Type)
    }

    /// Replaces the parameters in an expression.
    pub fn in_expression(&self, expression: impl ToTokens) -> Result<TokenStream> {
        self.replaced(expression.into_token_stream(), In::Expression)
    }

    fn replaced(&self, tokens: TokenStream, place: In) -> Result<TokenStream> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut made = TokenStream::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => {
                    let mut inner =
                        Group::new(group.delimiter(), self.replaced(group.stream(), place)?);
                    inner.set_span(group.span());
                    made.extend([TokenTree::Group(inner)]);
                }
                TokenTree::Ident(name) => {
                    let before = &tokens[..at - 1];
                    if is_punct(before.last(), '\'') && self.lifetimes.contains(name) {
                        made.extend([TokenTree::Ident(Ident::new("static", name.span()))]);
                        continue;
                    }
                    let parameter = self.parameters.iter().find(|of| of.name == *name);
                    let Some(parameter) = parameter.filter(|_| starts_a_path(before)) else {
                        made.extend([token.clone()]);
                        continue;
                    };
                    let item = path_item(&tokens[at..]);
                    let replaced = match item {
                        Some(item) => {
                            self.item(parameter, name, item, path_item(&tokens[at + 3..]), place)?
                        }
                        None => parameter.argument.clone(),
                    };
                    made.extend(replaced);
                    at += if item.is_some() { 3 } else { 0 };
                }
                _ => made.extend([token.clone()]),
            }
        }
        Ok(made)
    }

    /// Replaces `C::Item`, an item of one of `C`'s traits.
    fn item(
        &self,
        parameter: &Parameter,
        name: &Ident,
        item: &Ident,
        behind: Option<&Ident>,
        place: In,
    ) -> Result<TokenStream> {
        let argument = &parameter.argument;
        // Constants and functions: the type's own path leads to each.
        if place == In::Expression && !is_type_name(item) {
            return Ok(quote!(<#argument>::#item));
        }
        if let Some(behind) = behind {
            let message = format!(
                "#[kernel] cannot tell which trait has `{behind}`: write `<{name}::{item} as \
                 Trait>::{behind}`"
            );
            return Err(Error::new(behind.span(), message));
        }
        match &parameter.traits[..] {
            [of] => {
                let of = self.replaced(quote!(#of), In::Type)?;
                Ok(quote!(<#argument as #of>::#item))
            }
            _ => {
                let message = format!(
                    "#[kernel] cannot tell which trait has `{item}`: write `<{name} as \
                     Trait>::{item}`"
                );
                Err(Error::new(item.span(), message))
            }
        }
    }
}

fn parameter_name(of: &GenericParam) -> &Ident {
    match of {
        GenericParam::Lifetime(of) => &of.lifetime.ident,
        GenericParam::Type(of) => &of.ident,
        GenericParam::Const(of) => &of.ident,
    }
}

/// The trait bounds of a type parameter, from its declaration and the `where` clause.
fn traits(generics: &Generics, of: &GenericParam) -> Vec<Path> {
    let GenericParam::Type(of) = of else { return Vec::new() };
    let predicates = generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let behind = predicates.filter_map(|predicate| match predicate {
        WherePredicate::Type(predicate) => {
            let ty = &predicate.bounded_ty;
            (of.ident == quote!(#ty).to_string()).then_some(&predicate.bounds)
        }
        _ => None,
    });
    let bounds = of.bounds.iter().chain(behind.flatten());
    let paths = bounds.filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) if bound.maybe.is_none() => {
            Some(without_items(bound.path.clone()))
        }
        _ => None,
    });
    paths.collect()
}

/// Turns `Config<N, Out = f32>` into `Config<N>`.
fn without_items(mut path: Path) -> Path {
    if let Some(PathArguments::AngleBracketed(arguments)) =
        path.segments.last_mut().map(|last| &mut last.arguments)
    {
        let args = std::mem::take(&mut arguments.args);
        let is_argument = |of: &GenericArgument| {
            matches!(
                of,
                GenericArgument::Lifetime(_) | GenericArgument::Type(_) | GenericArgument::Const(_)
            )
        };
        arguments.args = args.into_iter().filter(is_argument).collect();
        if arguments.args.is_empty() {
            path.segments
                .last_mut()
                .into_iter()
                .for_each(|last| last.arguments = PathArguments::None);
        }
    }
    path
}

/// Whether a name after these tokens begins a path: it is no path's later segment, field or
/// lifetime.
fn starts_a_path(before: &[TokenTree]) -> bool {
    !is_punct(before.last(), '.') && !is_punct(before.last(), '\'') && !ends_with_colons(before)
}

fn ends_with_colons(before: &[TokenTree]) -> bool {
    let [.., first, second] = before else { return false };
    is_punct(Some(first), ':') && is_punct(Some(second), ':')
}

/// The name after `::`.
fn path_item(behind: &[TokenTree]) -> Option<&Ident> {
    match behind {
        [first, second, TokenTree::Ident(item), ..]
            if is_punct(Some(first), ':') && is_punct(Some(second), ':') =>
        {
            Some(item)
        }
        _ => None,
    }
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(mark)) if mark.as_char() == character)
}

/// Whether a name is written like a type's.
fn is_type_name(name: &Ident) -> bool {
    let name = name.unraw().to_string();
    name.starts_with(char::is_uppercase) && name.chars().any(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::{ItemFn, parse_quote};

    fn substitution(function: ItemFn, arguments: AngleBracketedGenericArguments) -> Substitution {
        Substitution::new(&function.sig.generics, &function.sig.ident, &arguments).unwrap()
    }

    fn same(made: Result<TokenStream>, expected: TokenStream) {
        let [made, expected] = [made.unwrap(), expected].map(|of| of.to_string().replace(' ', ""));
        assert_eq!(made, expected);
    }

    #[test]
    fn types_and_constants_replace_parameters() {
        let function = parse_quote!(
            fn gemm<'k, C: Config<N>, const N: usize, const M: usize>() {}
        );
        let of = substitution(function, parse_quote!(<tiles::Wide<2>, 64, { A + 1 }>));
        same(of.in_type(quote!(Global<'k, C, N>)), quote!(Global<'static, tiles::Wide<2>, 64>));
        same(of.in_type(quote!(C::Args)), quote!(<tiles::Wide<2> as Config<64>>::Args));
        same(of.in_type(quote!(<C as Base>::Args)), quote!(<tiles::Wide<2> as Base>::Args));
        same(of.in_type(quote!([f32; M])), quote!([f32; { A + 1 }]));
        same(of.in_type(quote!(inner::C)), quote!(inner::C));
        same(of.in_expression(quote!(C::THREADS * 2)), quote!(<tiles::Wide<2>>::THREADS * 2));
        same(of.in_expression(quote!(x.N + N)), quote!(x.N + 64));
        same(
            of.in_expression(quote!(size_of::<C::Args>())),
            quote!(size_of::<<tiles::Wide<2> as Config<64>>::Args>()),
        );
        assert_eq!(
            of.turbofish().to_string(),
            quote!(::<tiles::Wide<2>, 64, { A + 1 }>).to_string()
        );
        assert!(of.concerns(quote!((f32, [u8; N]))) && !of.concerns(quote!(Global<f32>)));
    }

    #[test]
    fn ambiguous_associated_item_is_refused_with_the_remedy() {
        let function = parse_quote!(
            fn gemm<C: Config + Copy, D>()
            where
                D: Config<Out = u8> + ?Sized,
            {
            }
        );
        let of = substitution(function, parse_quote!(<Wide, Narrow>));
        let error = of.in_type(quote!(C::Args)).unwrap_err().to_string();
        assert_eq!(
            error,
            "#[kernel] cannot tell which trait has `Args`: write `<C as Trait>::Args`"
        );
        let error = of.in_type(quote!(D::Args::Element)).unwrap_err().to_string();
        assert!(error.ends_with("write `<D::Args as Trait>::Element`"), "{error}");
        same(
            of.in_type(quote!(<D::Args as Matrix>::Element)),
            quote!(<<Narrow as Config>::Args as Matrix>::Element),
        );
    }

    #[test]
    fn arguments_must_match_the_parameters() {
        let function: ItemFn = parse_quote!(
            fn gemm<C: Config, const N: usize>() {}
        );
        let made = |arguments| {
            let made = Substitution::new(&function.sig.generics, &parse_quote!(wide), &arguments);
            made.map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(made(parse_quote!(<Wide, SIZE>)), Ok(()));
        let error = made(parse_quote!(<Wide>)).unwrap_err();
        assert_eq!(error, "`wide` has 1 generic arguments; the function takes 2: `<C, N>`");
        assert_eq!(made(parse_quote!(<64, 64>)).unwrap_err(), "`C` takes a type");
        assert_eq!(made(parse_quote!(<Wide, 'static>)).unwrap_err(), "`N` takes a constant");
    }
}
