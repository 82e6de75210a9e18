//! Parses the arguments of `#[kernel(..)]`.

use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{
    AngleBracketedGenericArguments, Attribute, Error, Expr, ExprLit, Ident, Lit, LitBool, LitInt,
    LitStr, Path, Result, Token, parenthesized,
};

/// The arguments of `#[kernel(..)]`.
pub struct Arguments {
    pub bounds: Bounds,
    /// The rows of `instances(..)`, if given.
    pub instances: Option<Vec<Instance>>,
    /// The path of ptx-matrix, if the manifest does not give it.
    pub krate: Option<Path>,
}

/// A kernel's launch bounds. A row of `instances(..)` has its own.
#[derive(Clone, Default)]
pub struct Bounds {
    pub threads: Option<Expr>,
    pub min_blocks: Option<Expr>,
    pub max_registers: Option<Expr>,
    /// The number of blocks in a cluster, along each dimension.
    pub cluster: Option<Vec<Expr>>,
    /// Programmatic dependent launch (PDL): blocks may reach their SMs before the preceding kernel
    /// has ended.
    pub dependent: Option<bool>,
    /// The kernel is in builds for any of these targets; in all builds, if the list is empty.
    pub targets: Option<Vec<LitStr>>,
}

/// `name(bounds) = <arguments>`: one kernel of a generic function.
pub struct Instance {
    /// Its doc attributes.
    pub docs: Vec<Attribute>,
    pub name: Ident,
    pub bounds: Bounds,
    pub arguments: AngleBracketedGenericArguments,
}

/// The targets that a kernel may require. `rustc` sets each as a `target_feature`, in builds for it
/// and for newer targets.
const TARGETS: [&str; 11] = [
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120",
    "sm_120a",
];

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut arguments = Arguments { bounds: Bounds::default(), instances: None, krate: None };
        while !input.is_empty() {
            let name = input.call(Ident::parse_any)?;
            let repeated = match name.to_string().as_str() {
                "instances" => arguments.instances.replace(instances(&name, input)?).is_some(),
                "crate" => {
                    input.parse::<Token![=]>()?;
                    arguments.krate.replace(crate_path(input)?).is_some()
                }
                _ => arguments.bounds.parse(&name, input)?,
            };
            refuse_repeated(&name, repeated)?;
            comma(input)?;
        }
        Ok(arguments)
    }
}

impl Bounds {
    /// Parses the value of `name`. Returns whether `name` occurred before.
    fn parse(&mut self, name: &Ident, input: ParseStream) -> Result<bool> {
        let text = name.to_string();
        if !["threads", "min_blocks", "max_registers", "cluster", "dependent", "target"]
            .contains(&text.as_str())
        {
            let message = "expected `threads`, `min_blocks`, `max_registers`, `cluster`, \
                `dependent`, `target`, `instances` or `crate`";
            return Err(Error::new_spanned(name, message));
        }
        input.parse::<Token![=]>()?;
        Ok(match text.as_str() {
            "threads" => self.threads.replace(number(input.parse()?, block_size)?).is_some(),
            "min_blocks" => {
                let blocks = number(input.parse()?, |literal| within(literal, 1..=32, "blocks"))?;
                self.min_blocks.replace(blocks).is_some()
            }
            "max_registers" => {
                let registers =
                    number(input.parse()?, |literal| within(literal, 1..=255, "registers"))?;
                self.max_registers.replace(registers).is_some()
            }
            "cluster" => self.cluster.replace(cluster_size(input.parse()?)?).is_some(),
            "dependent" => self.dependent.replace(input.parse::<LitBool>()?.value).is_some(),
            _ => self.targets.replace(known_targets(&target_names(input)?)?).is_some(),
        })
    }

    /// The targets; an empty list means all.
    pub fn targets(&self) -> &[LitStr] {
        self.targets.as_deref().unwrap_or_default()
    }

    /// The bounds of a row. The kernel's bounds fill in the missing ones.
    pub fn or(&self, kernel: &Bounds) -> Bounds {
        let of = self.clone();
        Bounds {
            threads: of.threads.or_else(|| kernel.threads.clone()),
            min_blocks: of.min_blocks.or_else(|| kernel.min_blocks.clone()),
            max_registers: of.max_registers.or_else(|| kernel.max_registers.clone()),
            cluster: of.cluster.or_else(|| kernel.cluster.clone()),
            dependent: of.dependent.or(kernel.dependent),
            targets: of.targets.or_else(|| kernel.targets.clone()),
        }
    }
}

impl Parse for Instance {
    fn parse(input: ParseStream) -> Result<Self> {
        let docs = input.call(Attribute::parse_outer)?;
        if let Some(attribute) = docs.iter().find(|attribute| !attribute.path().is_ident("doc")) {
            let message =
                "an instance has documentation only: what else it needs stands on the function";
            return Err(Error::new_spanned(attribute, message));
        }
        let name: Ident = input.parse()?;
        let mut bounds = Bounds::default();
        if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            while !content.is_empty() {
                let argument = content.call(Ident::parse_any)?;
                if argument == "instances" || argument == "crate" {
                    let message =
                        format!("`{argument}` is one of the whole kernel, and not of an instance");
                    return Err(Error::new_spanned(argument, message));
                }
                let repeated = bounds.parse(&argument, &content)?;
                refuse_repeated(&argument, repeated)?;
                comma(&content)?;
            }
        }
        if !input.peek(Token![=]) {
            let message = format!(
                "an instance is a name and its generic arguments: `{name} = <Tile128, 64>`"
            );
            return Err(Error::new_spanned(name, message));
        }
        input.parse::<Token![=]>()?;
        Ok(Instance { docs, name, bounds, arguments: input.parse()? })
    }
}

/// Parses `instances(name = <..>, ..)`.
fn instances(name: &Ident, input: ParseStream) -> Result<Vec<Instance>> {
    if !input.peek(syn::token::Paren) {
        return Err(Error::new_spanned(
            name,
            "instances are a list: `instances(gemm_128 = <Tile128>)`",
        ));
    }
    let content;
    parenthesized!(content in input);
    let instances: Vec<Instance> =
        content.parse_terminated(Instance::parse, Token![,])?.into_iter().collect();
    if instances.is_empty() {
        let message =
            "a generic kernel without instances is no kernel: `instances(gemm_128 = <Tile128>)`";
        return Err(Error::new_spanned(name, message));
    }
    Ok(instances)
}

/// Parses `crate = px`, or `crate = "px"`.
pub fn crate_path(input: ParseStream) -> Result<Path> {
    if input.peek(LitStr) {
        input.parse::<LitStr>()?.parse_with(Path::parse_mod_style)
    } else {
        input.call(Path::parse_mod_style)
    }
}

fn refuse_repeated(name: &Ident, repeated: bool) -> Result<()> {
    if repeated {
        Err(Error::new_spanned(name, format!("`{name}` is given twice")))
    } else {
        Ok(())
    }
}

fn comma(input: ParseStream) -> Result<()> {
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(())
}

/// Checks a number. The compiler evaluates a constant expression later.
fn number(expression: Expr, check: impl Fn(&LitInt) -> Result<u32>) -> Result<Expr> {
    match ungrouped(&expression) {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => drop(check(literal)?),
        Expr::Lit(_) | Expr::Tuple(_) | Expr::Array(_) => {
            return Err(Error::new_spanned(expression, "expected a number, or a constant"));
        }
        _ => {}
    }
    Ok(expression)
}

fn block_size(literal: &LitInt) -> Result<u32> {
    let threads: u32 = literal.base10_parse()?;
    if threads == 0 || threads > 1024 || !threads.is_multiple_of(32) {
        let message = format!(
            "a block has whole warps: a multiple of 32 threads from 32 to 1024, not {threads}"
        );
        return Err(Error::new_spanned(literal, message));
    }
    Ok(threads)
}

/// The maximum number of blocks in a cluster on every GPU with clusters.
const MAX_CLUSTER: u32 = 8;

/// Parses a cluster size: `2`, or the blocks along each dimension, `(2, 2)` or `(2, 2, 2)`.
fn cluster_size(size: Expr) -> Result<Vec<Expr>> {
    let dimensions: Vec<Expr> = match ungrouped(&size) {
        Expr::Tuple(tuple) if (1..=3).contains(&tuple.elems.len()) => {
            tuple.elems.iter().cloned().collect()
        }
        other => vec![other.clone()],
    };
    let mut blocks = 1;
    for dimension in &dimensions {
        match ungrouped(dimension) {
            Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
                blocks *= within(literal, 1..=MAX_CLUSTER, "blocks")?
            }
            Expr::Lit(_) | Expr::Tuple(_) | Expr::Array(_) => {
                let message =
                    "the blocks of a cluster: a number, or one for each dimension: `(2, 2)`";
                return Err(Error::new_spanned(dimension, message));
            }
            _ => {}
        }
    }
    if blocks > MAX_CLUSTER {
        return Err(Error::new_spanned(
            size,
            format!("a cluster has at most {MAX_CLUSTER} blocks, not {blocks}"),
        ));
    }
    Ok(dimensions)
}

/// The expression inside the invisible group around a macro's fragment.
fn ungrouped(of: &Expr) -> &Expr {
    match of {
        Expr::Group(group) => ungrouped(&group.expr),
        Expr::Paren(paren) => ungrouped(&paren.expr),
        other => other,
    }
}

fn within(literal: &LitInt, range: std::ops::RangeInclusive<u32>, what: &str) -> Result<u32> {
    let number = literal.base10_parse()?;
    if !range.contains(&number) {
        let message = format!("from {} to {} {what}, not {number}", range.start(), range.end());
        return Err(Error::new_spanned(literal, message));
    }
    Ok(number)
}

/// The text of `target = ".."`.
fn target_names(input: ParseStream) -> Result<LitStr> {
    let value: Expr = input.parse()?;
    match ungrouped(&value) {
        Expr::Lit(ExprLit { lit: Lit::Str(names), .. }) => Ok(names.clone()),
        other => {
            let other = quote!(#other);
            let message = "a target decides what is compiled, before constants have values: write \
                it as text, `target = \"sm_90\"`, for the whole kernel or for an instance";
            Err(Error::new_spanned(other, message))
        }
    }
}

/// Parses the targets `"sm_90"`, or several, `"sm_100a or sm_120a"`.
fn known_targets(names: &LitStr) -> Result<Vec<LitStr>> {
    let value = names.value();
    let known = value.split(" or ").map(|name| {
        if !TARGETS.contains(&name) {
            let message = format!("`{name}` is no target; there are: {}", TARGETS.join(", "));
            return Err(Error::new_spanned(names, message));
        }
        Ok(LitStr::new(name, names.span()))
    });
    known.collect()
}
