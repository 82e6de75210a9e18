//! Reads a function's body, in the optimiser's output, as blocks of instructions.

use std::collections::HashMap;

use super::{attributes, call};

/// A function that a module defines.
pub struct Function<'a> {
    /// Its name, with any quotes.
    pub name: &'a str,
    pub is_kernel: bool,
    pub blocks: Vec<Block<'a>>,
    /// The blocks' numbers by their labels. The first block may have no label.
    labels: HashMap<&'a str, usize>,
    /// The numbers of values (instructions' results and parameters) by their names.
    pub values: HashMap<&'a str, usize>,
    /// The number of parameters. They are the first values.
    pub parameters: usize,
}

/// Instructions. The last one leads to other blocks, or out of the function.
#[derive(Default)]
pub struct Block<'a> {
    pub instructions: Vec<Instruction<'a>>,
    /// The blocks that may execute next, each once.
    pub successors: Vec<usize>,
}

pub struct Instruction<'a> {
    pub line: &'a str,
    /// The first word of the instruction.
    pub opcode: &'a str,
    pub result: Option<usize>,
    /// The values in the line, except its result.
    pub operands: Vec<usize>,
}

/// The functions that a module defines.
pub fn all(module: &str) -> impl Iterator<Item = Function<'_>> {
    let mut lines = module.lines();
    std::iter::from_fn(move || {
        let signature = lines.by_ref().find(|line| line.starts_with("define "))?;
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
        Some(Function::read(signature, &body))
    })
}

impl<'a> Function<'a> {
    fn read(signature: &'a str, body: &[&'a str]) -> Self {
        let name = attributes::function_name(signature).unwrap_or(signature);
        let behind = signature.split_once(name).map_or("", |(_, behind)| behind);
        let mut values = HashMap::new();
        for parameter in names(behind) {
            let number = values.len();
            values.entry(parameter).or_insert(number);
        }
        let parameters = values.len();
        for line in body.iter().filter(|line| !is_label(line)) {
            if let (Some(result), _) = call::result_and_instruction(line) {
                let number = values.len();
                values.insert(result, number);
            }
        }
        // The first block may have no label.
        let mut labels: HashMap<&'a str, usize> = HashMap::new();
        let mut count = usize::from(body.first().is_some_and(|line| !is_label(line)));
        for line in body.iter().filter(|line| is_label(line)) {
            labels.insert(label(line), count);
            count += 1;
        }
        let mut function = Self {
            name,
            is_kernel: attributes::kernel_name(signature).is_some(),
            blocks: Vec::with_capacity(count),
            labels,
            values,
            parameters,
        };
        for line in body {
            function.add(line);
        }
        function
    }

    fn add(&mut self, line: &'a str) {
        if line.trim().is_empty() || line.trim_start().starts_with([';', '#']) {
            return;
        }
        if is_label(line) || self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let Some(block) = self.blocks.last_mut().filter(|_| !is_label(line)) else { return };
        let (result, instruction) = call::result_and_instruction(line);
        let tail = ["tail ", "musttail ", "notail "]
            .iter()
            .find_map(|word| instruction.strip_prefix(word));
        let instruction = tail.unwrap_or(instruction);
        let opcode = instruction.split(' ').next().unwrap_or_default();
        if line.contains("label %") {
            for target in names(line).filter_map(|name| self.labels.get(&name[1..])) {
                if !block.successors.contains(target) {
                    block.successors.push(*target);
                }
            }
        }
        // A `switch` continues on further lines, with constants and labels.
        let further = line.starts_with("    ") || opcode == "]";
        if !further {
            let operands =
                names(instruction).filter_map(|name| self.values.get(name).copied()).collect();
            let result = result.and_then(|name| self.values.get(name).copied());
            block.instructions.push(Instruction { line, opcode, result, operands });
        }
    }
}

impl<'a> Function<'a> {
    /// The values of a `phi`, each with the block it comes from.
    pub fn incoming<'i>(
        &'i self,
        phi: &Instruction<'a>,
    ) -> impl Iterator<Item = (&'a str, usize)> + 'i {
        let pairs = phi
            .line
            .split("[ ")
            .skip(1)
            .filter_map(|pair| pair.split_once(" ]")?.0.rsplit_once(", %"));
        pairs.map(|(value, label)| (value, self.labels.get(label).copied().unwrap_or(0)))
    }
}

impl Instruction<'_> {
    /// The instruction's metadata of this kind.
    pub fn metadata(&self, kind: &str) -> Option<&str> {
        let (_, behind) = self.line.rsplit_once(&format!(", !{kind} !"))?;
        Some(behind.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default())
    }

    /// The instruction from its opcode on, without metadata and comments.
    pub fn text(&self) -> &str {
        let (_, instruction) = call::result_and_instruction(self.line);
        instruction.split(", !").next().unwrap_or_default()
    }
}

fn is_label(line: &str) -> bool {
    !line.starts_with(' ') && line.contains(':')
}

/// The label in a block's first line.
fn label(line: &str) -> &str {
    let end = line.strip_prefix('"').and_then(|rest| rest.find('"')).map(|at| at + 2);
    &line[..end.or_else(|| line.find(':')).unwrap_or(line.len())]
}

/// The names after a `%`, outside strings: values and labels.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += bytes[at..].iter().position(|byte| matches!(byte, b'"' | b'%'))?;
            let start = at;
            let end = call::name_end(bytes, at + usize::from(bytes[at] == b'%'));
            at = end;
            if bytes[start] == b'%' {
                return Some(&text[start..end]);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_blocks_and_what_they_lead_to() {
        let module = r#"
declare void @other()
define ptx_kernel void @k(ptr noundef %0, i32 range(i32 0, 2) %n) local_unnamed_addr #0 {
  %3 = call i32 asm "mov.u32 $0, %tid.x;", "=r"() #1
  switch i32 %3, label %"a b" [
    i32 0, label %5
    i32 1, label %5
  ]

"a b":                                            ; preds = %2
  %4 = tail call i32 @f(i32 %n), !dbg !7
  br label %5

5:                                                ; preds = %2, %2, %"a b"
  %6 = phi i32 [ %3, %2 ], [ %3, %2 ], [ %4, %"a b" ]
  ret void
}
define internal void @"g h"() {
start:
  br label %start
}
"#;
        let [k, g] = &all(module).collect::<Vec<_>>()[..] else { panic!("not two functions") };
        assert_eq!((k.name, k.is_kernel, k.parameters), ("k", true, 2));
        assert_eq!(
            k.blocks.iter().map(|block| block.successors.clone()).collect::<Vec<_>>(),
            [vec![1, 2], vec![2], vec![]]
        );
        let phi = &k.blocks[2].instructions[0];
        let value = |name| k.values[name];
        assert_eq!((phi.opcode, phi.result), ("phi", Some(value("%6"))));
        assert_eq!(phi.operands, [value("%3"), value("%3"), value("%4")]);
        assert_eq!(k.incoming(phi).collect::<Vec<_>>(), [("%3", 0), ("%3", 0), ("%4", 1)]);
        assert_eq!(k.blocks[0].instructions.len(), 2);
        let call = &k.blocks[1].instructions[0];
        assert_eq!(
            (call.opcode, call.metadata("dbg"), call.text()),
            ("call", Some("7"), "tail call i32 @f(i32 %n)")
        );
        assert_eq!(
            (g.name, g.is_kernel, g.blocks[0].successors.clone()),
            ("\"g h\"", false, vec![0])
        );
    }
}
