//! Splits a module into its kernels.
//!
//! A kernel's unit is a module with the kernel and everything that it calls and reads. Its names
//! and numbers depend on nothing else, and placeholders are in the place of the kernel's name and
//! of asm. So a unit is the same for every target with the same code, and for kernels that differ
//! only in their asm. It is compiled once.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::asm::Asm;
use anyhow::Result;

use super::references::{self, Symbol};
use super::{Kernel, attributes, shared, statics};

/// A kernel as a module, or kernels that must stay together.
#[derive(Debug)]
pub struct Unit {
    /// Its kernels.
    pub kernels: Vec<String>,
    /// The module, with placeholders.
    pub text: String,
    /// The names of the kernels in the text.
    pub names: Vec<String>,
    asm: Asm,
}

/// The placeholders in a unit's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placeholders {
    ForNamesAndAsm,
    None,
}

impl Unit {
    /// The texts in the places of the placeholders: the kernels' names, then the asm.
    pub fn replacements(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().chain(self.asm.texts()).map(String::as_str)
    }

    /// Fills the placeholders of IR that was made from the text.
    pub fn in_ir(&self, ir: &str) -> String {
        self.named(self.asm.in_ir(ir))
    }

    /// Fills the placeholders of PTX that was made from the text.
    pub fn in_ptx(&self, ptx: &str) -> Result<String> {
        Ok(self.named(self.asm.in_ptx(ptx)?))
    }

    /// Puts the kernels' names back.
    pub fn named(&self, mut text: String) -> String {
        for (placeholder, name) in self.names.iter().zip(&self.kernels) {
            text = text.replace(placeholder, name);
        }
        text
    }
}

/// A module, by its definitions.
#[derive(Default)]
pub struct Module<'a> {
    /// The lines that belong to all kernels: the target, types, and module-level asm.
    frame: Vec<&'a str>,
    /// Named metadata.
    named_metadata: Vec<&'a str>,
    definitions: HashMap<Symbol<'a>, Definition<'a>>,
    kernels: HashMap<&'a str, Symbol<'a>>,
    has_variables: bool,
}

struct Definition<'a> {
    text: &'a str,
    /// The stem of its name in units, before a number. `None` if it keeps its name.
    called: Option<String>,
}

impl Definition<'_> {
    /// Whether it is memory that a kernel can write, and that this module defines.
    fn is_variable(&self) -> bool {
        self.mutable_static().is_some() && !self.text.contains(" = external ")
    }

    fn mutable_static(&self) -> Option<&str> {
        statics::mutable(self.text)
    }
}

impl<'a> Module<'a> {
    /// Reads the text of a module.
    pub fn read(text: &'a str) -> Self {
        let mut module = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let end = if rest.starts_with("define ") { "\n}\n" } else { "\n" };
            let end = rest.find(end).map_or(rest.len(), |at| at + end.len());
            let (piece, after) = rest.split_at(end);
            module.add(piece);
            rest = after;
        }
        module
    }

    fn add(&mut self, text: &'a str) {
        let is_numbered = text
            .strip_prefix('!')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let defines = ["define ", "declare ", "@", "attributes #"]
            .iter()
            .any(|start| text.starts_with(start));
        if defines || is_numbered {
            let Some((_, symbol)) = references::of(text).next() else { return };
            let mut definition = Definition { text, called: None };
            if let Some(kernel) = attributes::kernel_name(text.lines().next().unwrap_or_default()) {
                self.kernels.insert(kernel, symbol);
            } else if definition.is_variable() {
                self.has_variables = true;
            } else if let Symbol::Value(name) = symbol {
                definition.called = called(name, text);
            }
            self.definitions.insert(symbol, definition);
        } else if text.starts_with('!') {
            self.named_metadata.push(text);
        } else if !text.starts_with("source_filename")
            && !text.starts_with(';')
            && !text.trim().is_empty()
        {
            self.frame.push(text);
        }
    }

    /// Groups the kernels that must stay in one module. Kernels may exchange data through a
    /// variable, and module-level asm may be defined only once.
    pub fn groups<'k>(&self, kernels: &'k [Kernel]) -> Vec<Vec<&'k Kernel>> {
        let has_asm = self.frame.iter().any(|line| line.starts_with("module asm"));
        let (grouped, alone): (Vec<_>, Vec<_>) = kernels
            .iter()
            .partition(|kernel| has_asm || self.has_variables && self.reaches_variable(kernel));
        let grouped = Some(grouped).filter(|kernels| !kernels.is_empty());
        grouped.into_iter().chain(alone.into_iter().map(|kernel| vec![kernel])).collect()
    }

    fn reaches_variable(&self, kernel: &Kernel) -> bool {
        self.reached_from(kernel).any(Definition::is_variable)
    }

    /// Returns the mutable statics that kernels reach, declared ones included, each with its
    /// kernels. The search must run before the optimiser, because LLVM splits and renames statics.
    pub fn mutable_statics(&self, kernels: &[Kernel]) -> BTreeMap<&'a str, Vec<String>> {
        let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        if !self.definitions.values().any(|definition| definition.mutable_static().is_some()) {
            return found;
        }
        for kernel in kernels {
            for name in
                self.reached_from(kernel).filter_map(|definition| statics::mutable(definition.text))
            {
                found.entry(name).or_default().push(kernel.name.clone());
            }
        }
        found
    }

    fn reached_from<'m>(&'m self, kernel: &Kernel) -> impl Iterator<Item = &'m Definition<'a>> {
        let mut unit = Writer::new(self);
        unit.refer_to_kernel(kernel, &kernel.name);
        std::iter::from_fn(move || {
            let definition = unit.to_be_written.pop_front()?;
            unit.write(definition.text);
            Some(definition)
        })
    }

    /// Returns the module of these kernels.
    pub fn unit(&self, kernels: &[&Kernel], placeholders: Placeholders) -> Unit {
        let kernel_names = kernels.iter().map(|kernel| kernel.name.clone()).collect::<Vec<_>>();
        let names = match placeholders {
            Placeholders::None => kernel_names.clone(),
            Placeholders::ForNamesAndAsm => {
                (0..kernels.len()).map(|at| format!("ptx_matrix_kernel_{at}_")).collect()
            }
        };
        let mut unit = Writer::new(self);
        unit.suffix = names.first().map_or_else(String::new, |name| format!(".{name}"));
        unit.asm = (placeholders == Placeholders::ForNamesAndAsm).then(Asm::default);
        for text in &self.frame {
            unit.write(text);
        }
        for (kernel, name) in kernels.iter().zip(&names) {
            let metadata = kernel.metadata.as_ref();
            unit.text.extend(metadata.and_then(|metadata| shared::declaration(name, metadata)));
            unit.refer_to_kernel(kernel, name);
        }
        for text in &self.named_metadata {
            unit.write(text);
        }
        while let Some(definition) = unit.to_be_written.pop_front() {
            unit.write(definition.text);
        }
        let asm = unit.asm.unwrap_or_default();
        Unit { kernels: kernel_names, text: unit.text, names, asm }
    }
}

/// The stem of the name in units of a defined function or constant. The whole program is known, so
/// no other module refers to it by its own name, which depends on its compilation. The stem is the
/// path, without types.
fn called(name: &str, definition: &str) -> Option<String> {
    let defines = definition.starts_with("define ")
        || definition.starts_with('@') && !definition.contains(" = external ");
    if !defines {
        return None;
    }
    let name = name.trim_matches('"');
    // The linker appends a number to names that occur in several crates. The name itself may end
    // with digits too.
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let demangled = (0..=digits)
        .find_map(|taken| rustc_demangle::try_demangle(&name[..name.len() - taken]).ok());
    let Some(demangled) = demangled else {
        let first = definition.lines().next().unwrap_or_default();
        let is_own = [" internal ", " private "].iter().any(|word| first.contains(word));
        return Some(if is_own { "local" } else { name }.to_owned());
    };
    let (mut path, mut depth) = (String::new(), 0_usize);
    for character in format!("{demangled:#}").chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && character.is_ascii_alphanumeric() => path.push(character),
            _ if depth == 0 && !path.ends_with('_') => path.push('_'),
            _ => {}
        }
    }
    Some(path)
}

/// Writes definitions in the order of the references to them.
struct Writer<'m, 'a> {
    module: &'m Module<'a>,
    text: String,
    names: HashMap<Symbol<'a>, String>,
    /// The end of the names of functions and constants. It keeps them apart from those of other
    /// units in the same PTX.
    suffix: String,
    /// The asm, if it gets placeholders.
    asm: Option<Asm>,
    to_be_written: VecDeque<&'m Definition<'a>>,
}

impl<'m, 'a> Writer<'m, 'a> {
    fn new(module: &'m Module<'a>) -> Self {
        Self {
            module,
            text: String::new(),
            names: HashMap::new(),
            suffix: String::new(),
            asm: None,
            to_be_written: VecDeque::new(),
        }
    }

    fn refer_to_kernel(&mut self, kernel: &Kernel, name: &str) {
        if let Some(&symbol) = self.module.kernels.get(kernel.name.as_str()) {
            self.names.insert(symbol, name.to_owned());
            self.to_be_written.extend(self.module.definitions.get(&symbol));
        }
    }

    fn write(&mut self, text: &'a str) {
        if self.asm.is_none() {
            return self.write_named(text);
        }
        for line in text.split_inclusive('\n') {
            let asm = self.asm.as_mut().filter(|_| line.starts_with(' '));
            match asm.and_then(|asm| asm.placeholder(line)) {
                None => self.write_named(line),
                Some((place, placeholder)) => {
                    self.write_named(&line[..place.start]);
                    self.text.push_str(&placeholder);
                    self.write_named(&line[place.end..]);
                }
            }
        }
    }

    fn write_named(&mut self, text: &'a str) {
        let mut written = 0;
        for (place, symbol) in references::of(text) {
            self.text.push_str(&text[written..place.start]);
            written = place.end;
            if !self.names.contains_key(&symbol) {
                self.refer_to(symbol);
            }
            self.text.push_str(&self.names[&symbol]);
        }
        self.text.push_str(&text[written..]);
    }

    /// Names a symbol at its first reference. Its number is the count of symbols before it.
    fn refer_to(&mut self, symbol: Symbol<'a>) {
        let number = self.names.len();
        let definition = self.module.definitions.get(&symbol);
        let name = match symbol {
            Symbol::Attributes(_) | Symbol::Metadata(_) => number.to_string(),
            Symbol::Value(name) => {
                match definition.and_then(|definition| definition.called.as_ref()) {
                    Some(called) => format!("{called}.{number}{}", self.suffix),
                    None => name.to_owned(),
                }
            }
        };
        self.names.insert(symbol, name);
        self.to_be_written.extend(definition);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeptCrates, UnknownCalls, prepare};
    use super::*;

    /// The metadata of the first kernel.
    const FIRST: &str = concat!(
        r"\04\00\00\00\80\00\00\00\02\00\00\00\00\00\00\00",
        r"\00\04\00\00\10\00\00\00\00\00\00\00"
    );

    /// Two kernels that share a function; two compilations differ in `hash` and `number`.
    fn two_kernels(hash: &str, number: u32) -> String {
        format!(
            r#"; ModuleID = '{hash}'
target triple = "nvptx64-nvidia-cuda"
@anon.{hash}.3 = private constant [2 x i8] c"@!", align 1
@__ptx_matrix_kernel_first = constant [28 x i8] c"{FIRST}", align 4
define ptx_kernel void @first(ptr %a) #{number} {{
  call void @_RNvC{hash}5crate6helper(ptr %a), !range !{number}
  ret void
}}

define internal void @_RNvC{hash}5crate6helper(ptr %a) #{number} {{
  %b = load i16, ptr @anon.{hash}.3, align 1
  ret void
}}
define ptx_kernel void @second() {{
  ret void
}}
attributes #{number} = {{ nounwind }}
!{number} = !{{i32 0, i32 2}}
!llvm.ident = !{{!0}}
!0 = !{{!"a rustc"}}
"#
        )
    }

    fn units(module: &str) -> Vec<Unit> {
        let prepared =
            prepare(module, &KeptCrates::default(), UnknownCalls::MarkConvergent).unwrap();
        let module = Module::read(&prepared.text);
        let units = module.groups(&prepared.kernels);
        units.iter().map(|kernels| module.unit(kernels, Placeholders::None)).collect()
    }

    #[test]
    fn unit_has_what_its_kernel_needs_and_nothing_of_others() {
        let [first, second] = &units(&two_kernels("s1_", 7))[..] else { panic!("not two units") };
        assert_eq!(
            (&first.kernels[..], &second.kernels[..]),
            (&["first".to_owned()][..], &["second".to_owned()][..])
        );
        for part in [
            "@crate_helper.",
            "private constant",
            "nounwind",
            "!{i32 0, i32 2}",
            "shared_first[1024]",
            "a rustc",
        ] {
            assert!(first.text.contains(part), "no {part} in {}", first.text);
        }
        for part in ["helper", "constant", "nounwind", "i32 2", "first"] {
            assert!(!second.text.contains(part), "{part} in {}", second.text);
        }
    }

    #[test]
    fn names_and_numbers_of_a_compile_make_no_difference() {
        let texts = |hash, number| {
            units(&two_kernels(hash, number)).into_iter().map(|unit| unit.text).collect::<Vec<_>>()
        };
        assert_eq!(texts("s1_", 7), texts("shfYCJJ1zIHR_", 12));
        assert_ne!(texts("s1_", 7)[0], units(&two_kernels("s1_", 7).replace("i16", "i8"))[0].text);
    }

    /// The linker appends a number to a name that ends with digits.
    #[test]
    fn numbers_of_the_linker_make_no_difference() {
        let texts = |name: &str| {
            let module = two_kernels("s1_", 7).replace("6helper", name);
            units(&module).into_iter().map(|unit| unit.text).collect::<Vec<_>>()
        };
        assert!(texts("9exp_f32_2")[0].contains("@crate_exp_f32_2."), "{}", texts("9exp_f32_2")[0]);
        for numbered in ["9exp_f32_25", "9exp_f32_2208"] {
            assert_eq!(texts(numbered), texts("9exp_f32_2"));
        }
    }

    #[test]
    fn kernels_that_share_a_variable_stay_together() {
        let uses = |name: &str| {
            format!(
                "define ptx_kernel void @{name}() {{\n  store i8 1, ptr @COUNT\n  ret void\n}}\n"
            )
        };
        let module = two_kernels("s1_", 7)
            + "@COUNT = internal global i8 0\n"
            + &uses("third")
            + &uses("fourth");
        let units = units(&module);
        let kernels: Vec<_> = units.iter().map(|unit| unit.kernels.join(" ")).collect();
        assert_eq!(kernels, ["third fourth", "first", "second"]);
        assert!(units[0].text.contains("@COUNT = "), "{}", units[0].text);
        // A declared-only symbol, such as shared memory, keeps its name in every unit.
        let declared = module.replace("internal global i8 0", "external global i8");
        assert_eq!(super::tests::units(&declared).len(), 4);
    }

    #[test]
    fn statics_are_known_by_the_kernels_that_reach_them() {
        let table = "@TABLE = internal constant [1 x ptr] [ptr @COUNT]\n@COUNT = internal global \
                     i8 0\n@OTHER = external global i8\n";
        let uses = |name: &str, of: &str| {
            format!(
                "define ptx_kernel void @{name}() {{\n  %1 = load ptr, ptr @{of}\n  ret void\n}}\n"
            )
        };
        let module = two_kernels("s1_", 7)
            + table
            + &uses("third", "TABLE")
            + &uses("fourth", "OTHER")
            + &uses("fifth", "COUNT");
        let prepared =
            prepare(&module, &KeptCrates::default(), UnknownCalls::MarkConvergent).unwrap();
        let found = Module::read(&prepared.text).mutable_statics(&prepared.kernels);
        let found: Vec<_> =
            found.iter().map(|(name, kernels)| format!("{name}: {}", kernels.join(" "))).collect();
        assert_eq!(found, ["COUNT: third fifth", "OTHER: fourth"]);
    }

    #[test]
    fn asm_of_the_module_is_there_once() {
        let module = two_kernels("s1_", 7) + "module asm \".global .u32 x;\"\n";
        let [unit] = &units(&module)[..] else { panic!("not one unit") };
        assert_eq!(unit.text.matches(".global .u32 x;").count(), 1);
    }
}
