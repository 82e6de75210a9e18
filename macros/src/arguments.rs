use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, ExprLit, Ident, Lit, LitBool, LitInt, LitStr, Result, Token};

/// What `#[kernel(..)]` is given.
pub struct Arguments {
    pub threads: u32,
    pub min_blocks: u32,
    pub max_registers: u32,
    /// Blocks of a cluster along x, y and z, if it is said.
    pub cluster: Option<[u32; 3]>,
    /// Blocks come to their multiprocessors before the kernel ahead has ended.
    pub early: bool,
    /// The kernel is in builds for any of these; for all, if there are none.
    pub targets: Vec<LitStr>,
}

/// The targets that a kernel may need: those that `rustc` sets `target_feature` for, in builds for them and for newer ones.
const TARGETS: [&str; 11] =
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"];

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut threads, mut min_blocks, mut max_registers) = (None, None, None);
        let (mut cluster, mut early, mut targets) = (None, None, None);
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let repeated = match name.to_string().as_str() {
                "threads" => threads.replace(block_size(&input.parse()?)?).is_some(),
                "min_blocks" => min_blocks.replace(within(&input.parse()?, 1..=32, "blocks")?).is_some(),
                "max_registers" => max_registers.replace(within(&input.parse()?, 1..=255, "registers")?).is_some(),
                "cluster" => cluster.replace(cluster_size(&input.parse()?)?).is_some(),
                "early" => early.replace(input.parse::<LitBool>()?.value).is_some(),
                "target" => targets.replace(known_targets(&input.parse()?)?).is_some(),
                _ => {
                    let message = "expected `threads`, `min_blocks`, `max_registers`, `cluster`, `early` or `target`";
                    return Err(Error::new_spanned(name, message));
                }
            };
            if repeated {
                return Err(Error::new_spanned(&name, format!("`{name}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let message = "say how many threads a block has: `#[kernel(threads = 128)]`";
        Ok(Arguments {
            threads: threads.ok_or_else(|| Error::new(Span::call_site(), message))?,
            min_blocks: min_blocks.unwrap_or(0),
            max_registers: max_registers.unwrap_or(0),
            cluster,
            early: early.unwrap_or(false),
            targets: targets.unwrap_or_default(),
        })
    }
}

fn block_size(literal: &LitInt) -> Result<u32> {
    let threads: u32 = literal.base10_parse()?;
    if threads == 0 || threads > 1024 || !threads.is_multiple_of(32) {
        let message = format!("a block has whole warps: a multiple of 32 threads from 32 to 1024, not {threads}");
        return Err(Error::new_spanned(literal, message));
    }
    Ok(threads)
}

/// The most blocks that a cluster can have on every GPU that has clusters.
const MAX_CLUSTER: u32 = 8;

/// `2`, or the blocks along each dimension: `(2, 2)`, `(2, 2, 2)`.
fn cluster_size(size: &Expr) -> Result<[u32; 3]> {
    let number = |of: &Expr| match ungrouped(of) {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => within(literal, 1..=MAX_CLUSTER, "blocks"),
        other => {
            Err(Error::new_spanned(other, "the blocks of a cluster: a number, or one for each dimension: `(2, 2)`"))
        }
    };
    let mut dimensions = [1; 3];
    match ungrouped(size) {
        Expr::Tuple(tuple) if (1..=3).contains(&tuple.elems.len()) => {
            for (dimension, of) in dimensions.iter_mut().zip(&tuple.elems) {
                *dimension = number(of)?;
            }
        }
        other => dimensions[0] = number(other)?,
    }
    let blocks: u32 = dimensions.iter().product();
    if blocks > MAX_CLUSTER {
        return Err(Error::new_spanned(size, format!("a cluster has at most {MAX_CLUSTER} blocks, not {blocks}")));
    }
    Ok(dimensions)
}

/// The expression that a macro's fragment stands for.
fn ungrouped(of: &Expr) -> &Expr {
    match of {
        Expr::Group(group) => ungrouped(&group.expr),
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

/// `"sm_90"`, or several: `"sm_100a or sm_120a"`.
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
