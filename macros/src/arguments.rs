use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitInt, LitStr, Result, Token};

/// What `#[kernel(..)]` is given.
pub struct Arguments {
    pub threads: u32,
    pub min_blocks: u32,
    pub max_registers: u32,
    /// The kernel is in builds for any of these; for all, if there are none.
    pub targets: Vec<LitStr>,
}

/// The targets that a kernel may need: those that `rustc` sets `target_feature` for, in builds for them and for newer ones.
const TARGETS: [&str; 11] =
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120", "sm_120a"];

impl Parse for Arguments {
    fn parse(input: ParseStream) -> Result<Self> {
        let (mut threads, mut min_blocks, mut max_registers, mut targets) = (None, None, None, None);
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let repeated = match name.to_string().as_str() {
                "threads" => threads.replace(block_size(&input.parse()?)?).is_some(),
                "min_blocks" => min_blocks.replace(within(&input.parse()?, 1..=32, "blocks")?).is_some(),
                "max_registers" => max_registers.replace(within(&input.parse()?, 1..=255, "registers")?).is_some(),
                "target" => targets.replace(known_targets(&input.parse()?)?).is_some(),
                _ => {
                    let message = "expected `threads`, `min_blocks`, `max_registers` or `target`";
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
