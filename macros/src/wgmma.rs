//! The functions of `raw` for the forms of `wgmma.mma_async`.

use proc_macro2::TokenStream;
use std::fmt::Display;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, LitInt, Result, bracketed, parenthesized};

/// Forms that differ only in the elements of A and B and in N: a row of the tables in
/// `src/isa/wgmma.rs`.
struct Row {
    columns: Vec<usize>,
    d: Ident,
    elements: Vec<(Ident, Ident)>,
    k: usize,
    option: Ident,
    /// Registers of D for each 8 columns.
    per_8_columns: usize,
    immediates: Ident,
    selectors: usize,
}

impl Parse for Row {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let number = |input: ParseStream<'_>| input.parse::<LitInt>()?.base10_parse::<usize>();
        let (list, row, pairs);
        bracketed!(list in input);
        let mut columns = Vec::new();
        while !list.is_empty() {
            columns.push(number(&list)?);
        }
        parenthesized!(row in input);
        let d = row.parse()?;
        bracketed!(pairs in row);
        let mut elements = Vec::new();
        while !pairs.is_empty() {
            let pair;
            parenthesized!(pair in pairs);
            elements.push((pair.parse()?, pair.parse()?));
        }
        Ok(Self {
            columns,
            d,
            elements,
            k: number(&row)?,
            option: row.parse()?,
            per_8_columns: number(&row)?,
            immediates: row.parse()?,
            selectors: number(&row)?,
        })
    }
}

/// An operand in a function's parts.
struct Operand {
    parameter: &'static str,
    /// Its operands of `asm!`.
    operands: &'static str,
    /// These in the template of `asm!`.
    template: &'static str,
    doc: &'static str,
}

/// The end of the function's name, and A.
const PLACES_OF_A: [(&str, Operand); 2] = [
    (
        "ss",
        Operand {
            parameter: "a: u64",
            operands: "a = in(reg64) a,",
            template: "{a}",
            doc: "a-desc",
        },
    ),
    (
        "rs",
        Operand {
            parameter: "[a0, a1, a2, a3]: [u32; 4]",
            operands: "a0 = in(reg32) a0, a1 = in(reg32) a1, a2 = in(reg32) a2, a3 = in(reg32) a3,",
            template: "{{{a0}, {a1}, {a2}, {a3}}}",
            doc: "{a..}",
        },
    ),
];

const METADATA: Operand = Operand {
    parameter: "metadata: u32,",
    operands: "metadata = in(reg32) metadata, selector = const SELECTOR,",
    template: ", {metadata}, {selector}",
    doc: ", metadata, selector",
};

const NO_METADATA: Operand = Operand { parameter: "", operands: "", template: "", doc: "" };

/// An immediate after the operands: a `const` parameter, its name in the template of `asm!`, and
/// its value there.
type Immediate = (&'static str, &'static str, &'static str);

const NEGATE_A: Immediate = ("NEGATE_A", "na", "sign(NEGATE_A)");
const NEGATE_B: Immediate = ("NEGATE_B", "nb", "sign(NEGATE_B)");
const TRANS_A: Immediate = ("TRANS_A", "ta", "TRANS_A as i32");
const TRANS_B: Immediate = ("TRANS_B", "tb", "TRANS_B as i32");

/// Calls `function!` for each form and place of A.
///
/// The calls are text, which the compiler reads faster than tokens one by one.
pub fn functions(row: TokenStream) -> Result<TokenStream> {
    let row: Row = syn::parse2(row)?;
    let mut calls = String::new();
    for (a, b) in &row.elements {
        for &n in &row.columns {
            for (suffix, operand) in &PLACES_OF_A {
                let (family, ptx) = (row.ptx(a, b, "N")?, row.ptx(a, b, n)?);
                calls += &row.call(&family, &ptx, n, suffix, operand)?;
            }
        }
    }
    Ok(calls.parse()?)
}

impl Row {
    /// The instruction, as `wgmma_ptx!` writes it. `Form::of` refuses another text, and the typed
    /// layer calls the functions by the name that follows from it.
    fn ptx(&self, a: &Ident, b: &Ident, n: impl Display) -> Result<String> {
        let Self { d, k, option, selectors, .. } = self;
        let sparse = if *selectors > 0 { ".sp" } else { "" };
        let option = match option.to_string().as_str() {
            "plain" => "",
            "satfinite" => ".satfinite",
            "and_popc" => ".and.popc",
            _ => return Err(Error::new_spanned(option, "expected an option of `wgmma`")),
        };
        Ok(format!("wgmma.mma_async{sparse}.sync.aligned.m64n{n}k{k}.{d}.{a}.{b}{option}"))
    }

    fn immediates(&self, suffix: &str) -> Result<Vec<Immediate>> {
        Ok(match self.immediates.to_string().as_str() {
            "nothing" => vec![],
            "negate" => vec![NEGATE_A, NEGATE_B],
            // A in registers is never transposed.
            "transpose" if suffix == "rs" => vec![NEGATE_A, NEGATE_B, TRANS_B],
            "transpose" => vec![NEGATE_A, NEGATE_B, TRANS_A, TRANS_B],
            _ => return Err(Error::new_spanned(&self.immediates, "expected immediates")),
        })
    }

    /// The call for one function.
    fn call(&self, family: &str, ptx: &str, n: usize, suffix: &str, a: &Operand) -> Result<String> {
        let (name, selectors) = (ptx.replace('.', "_"), self.selectors);
        let words = n / 8 * self.per_8_columns;
        let registers: String = (0..words).map(|index| format!("d{index} ")).collect();
        let d: Vec<String> = (0..words).map(|index| format!("{{{index}}}")).collect();
        let d = d.join(", ");
        let metadata = if selectors > 0 { METADATA } else { NO_METADATA };
        let immediates = self.immediates(suffix)?;
        let mut generics = String::from(if selectors > 0 { "const SELECTOR: u32, " } else { "" });
        let (mut operands, mut template) = (String::new(), String::new());
        for (parameter, name, value) in &immediates {
            generics += &format!("const {parameter}: bool, ");
            operands += &format!("{name} = const {value}, ");
            template += &format!(", {{{name}}}");
        }
        let [negates_a, negates_b, transposes_a, transposes_b] =
            [NEGATE_A, NEGATE_B, TRANS_A, TRANS_B]
                .map(|one| if immediates.contains(&one) { one.0 } else { "false" });
        let simulated_a = match suffix {
            "ss" => format!("sim::A::Shared {{ descriptor: a, transposed: {transposes_a} }}"),
            _ => "sim::A::Registers([a0, a1, a2, a3])".to_owned(),
        };
        let simulated_metadata = if selectors > 0 { "metadata, SELECTOR" } else { "0, 0" };
        // In a template, `{{` is a brace of PTX.
        let template = format!(
            "{{{{.reg .pred p; setp.ne.b32 p, {{scale_d}}, 0; \
             {ptx} {{{{{d}}}}}, {}, {{b}}{}, p{template};}}}}",
            a.template, metadata.template,
        );
        let doc =
            format!("`{ptx} {{d..}}, {}, b-desc{}, scale-d ..;`: sm_90a.", a.doc, metadata.doc);
        Ok(format!(
            "function! {{ {name}_{suffix} {doc:?} [{generics}] {words} [{registers}]
                [{}, b: u64, {} scale_d: bool]
                {template:?}
                [{} b = in(reg64) b, {} scale_d = in(reg32) scale_d as u32, {operands}]
                ({family:?} {ptx:?} {n} {selectors})
                [b, {transposes_b}, scale_d, {negates_a}, {negates_b}, {simulated_metadata},
                    {simulated_a}]
            }}",
            a.parameter, metadata.parameter, a.operands, metadata.operands,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    /// The calls for `row`, whose N is 8, without spaces.
    fn calls(row: TokenStream) -> Vec<String> {
        let calls = functions(quote!([8] #row)).unwrap().to_string();
        let calls = calls.split("function !").skip(1);
        calls.map(|call| call.chars().filter(|letter| !letter.is_whitespace()).collect()).collect()
    }

    #[test]
    fn each_register_has_a_name_and_a_place_in_the_template() {
        let calls = calls(quote!((f16 [(f16 f16)] 16 plain 2 transpose 0)));
        let [shared, registers] = calls.as_slice() else { panic!("{calls:?}") };
        for call in [shared, registers] {
            assert!(call.contains("2[d0d1]"), "{call}");
            assert!(call.contains(".m64n8k16.f16.f16.f16{{{0},{1}}},"), "{call}");
        }
        assert!(shared.contains("_f16_ss") && shared.contains("{na},{nb},{ta},{tb};"), "{shared}");
        assert!(registers.contains("_rs") && registers.contains("{na},{nb},{tb};"), "{registers}");
    }

    #[test]
    fn a_sparse_form_has_metadata_and_a_selector() {
        let calls = calls(quote!((s32 [(s8 u8)] 64 satfinite 4 nothing 1)));
        assert!(
            calls[0].contains("wgmma_mma_async_sp_sync_aligned_m64n8k64_s32_s8_u8_satfinite_ss")
        );
        assert!(calls[0].contains("{b},{metadata},{selector},p;"), "{}", calls[0]);
        assert!(calls[0].contains("[constSELECTOR:u32,]4[d0d1d2d3]"), "{}", calls[0]);
    }

    #[test]
    fn refuses_other_rows() {
        for row in [
            quote!(f16),
            quote!((f16 [(f16 f16)] 16 rounded 2 transpose 0)),
            quote!((f16 [(f16 f16)] 16 plain 2 inverted 0)),
        ] {
            assert!(functions(quote!([8] #row)).is_err());
        }
    }
}
