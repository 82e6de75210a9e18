//! A PTX kernel for each form: one warp executes it once.

use super::Selectors;
use crate::fragment::Selected;
use crate::isa::Form;
use std::format;
use std::string::String;
use std::vec::Vec;

/// Bytes of shared memory of the kernels of `ldmatrix` and `stmatrix`.
pub const IMAGE_BYTES: usize = 4096;

/// A register operand of a form, in each lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operand {
    /// `a`, `b`, `c`, `metadata`, `scales_a` or `scales_b`.
    pub name: &'static str,
    /// Number of registers.
    pub registers: usize,
    /// The register's name in the kernel's text.
    register: &'static str,
}

impl Form {
    /// The register operands, in the order of the instruction.
    pub fn operands(&self) -> Vec<Operand> {
        let (metadata, scales) = (usize::from(self.selectors > 0), usize::from(self.scales > 0));
        let all = [
            ("a", "%a", self.a),
            ("b", "%b", self.b),
            ("c", "%c", self.c),
            ("metadata", "%e", metadata),
            ("scales_a", "%u", scales),
            ("scales_b", "%v", scales),
        ];
        let operands = all.map(|(name, register, registers)| Operand { name, registers, register });
        operands.into_iter().filter(|operand| operand.registers > 0).collect()
    }

    /// Whether it accesses shared memory: `ldmatrix` or `stmatrix`.
    pub fn has_image(&self) -> bool {
        matches!(self.family, "ldmatrix" | "stmatrix")
    }

    /// Bytes of the input of its [`kernel`](Form::kernel).
    pub fn input_bytes(&self) -> usize {
        let registers: usize = self.operands().iter().map(|operand| operand.registers).sum();
        self.image_bytes()
            + 32 * (usize::from(self.has_image()) + registers) * self.register_bits / 8
    }

    /// Bytes of the output of its [`kernel`](Form::kernel).
    pub fn output_bytes(&self) -> usize {
        32 * self.d * self.register_bits / 8 + self.image_bytes()
    }

    fn image_bytes(&self) -> usize {
        if self.has_image() { IMAGE_BYTES } else { 0 }
    }

    /// A kernel of one warp that executes the form once: `.entry NAME(.param .u64 in, .param .u64
    /// out)`.
    ///
    /// Input and output are ordered by lane. The operands of a lane in `mma` are A, B, C, metadata,
    /// scales of A, scales of B.
    ///
    /// - `mma` and `movmatrix` have as input the operands of lane 0, lane 1, and so on. The output
    ///   is the results in the same order.
    /// - `ldmatrix` and `stmatrix` have as input the contents of shared memory ([`IMAGE_BYTES`]);
    ///   then for each lane the offset of its row in shared memory (one word) and its operands. The
    ///   output is the results of each lane, and then the contents of shared memory.
    pub fn kernel(&self, name: &str, selectors: &Selectors) -> String {
        let (word, bytes) = if self.register_bits == 64 { ("b64", 8) } else { ("b32", 4) };
        let shared = self.has_image();
        let operands = self.operands();
        let of_lane = (self.input_bytes() - self.image_bytes()) / 32;

        let mut text = format!(".visible .entry {name}(.param .u64 in, .param .u64 out) {{\n");
        let mut push = |line: &str| {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        };
        push(
            ".reg .b64 %in, %out, %from, %to; .reg .b32 %lane, %at, %row, %word; .reg .pred %more;",
        );
        push(&format!(
            ".reg .{word} %d<{}>, %a<{}>, %b<{}>, %c<{}>, %e<1>, %u<1>, %v<1>;",
            self.d + 1,
            self.a + 1,
            self.b + 1,
            self.c + 1
        ));
        push("ld.param.u64 %in, [in]; ld.param.u64 %out, [out];");
        push("cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out; mov.u32 %lane, %tid.x;");
        if shared {
            push(&format!(".shared .align 16 .b8 image[{IMAGE_BYTES}];"));
            push("shl.b32 %at, %lane, 2;");
            push(&format!(
                "{name}_fill: cvt.u64.u32 %from, %at; add.u64 %from, %in, %from; ld.global.b32 \
                 %word, [%from];"
            ));
            push(
                "mov.u32 %row, image; add.u32 %row, %row, %at; st.shared.b32 [%row], %word; \
                 add.u32 %at, %at, 128;",
            );
            push(&format!(
                "setp.lt.u32 %more, %at, {IMAGE_BYTES}; @%more bra {name}_fill; bar.sync 0;"
            ));
        }
        push(&format!("mul.wide.u32 %from, %lane, {of_lane}; add.u64 %from, %from, %in;"));
        push(&format!("mul.wide.u32 %to, %lane, {}; add.u64 %to, %to, %out;", self.d * bytes));
        let mut offset = self.image_bytes();
        if shared {
            push(&format!(
                "ld.global.b32 %at, [%from+{offset}]; mov.u32 %row, image; add.u32 %row, %row, %at;"
            ));
            offset += bytes;
        }
        for Operand { register, registers, .. } in operands {
            for number in 0..registers {
                push(&format!("ld.global.{word} {register}{number}, [%from+{offset}];"));
                offset += bytes;
            }
        }
        push(&format!("{} {};", self.ptx, self.operand_list(selectors)));
        for register in 0..self.d {
            push(&format!("st.global.{word} [%to+{}], %d{register};", register * bytes));
        }
        if shared {
            push("bar.sync 0; shl.b32 %at, %lane, 2;");
            push(&format!(
                "{name}_keep: cvt.u64.u32 %to, %at; add.u64 %to, %out, %to; mov.u32 %row, image;"
            ));
            push("add.u32 %row, %row, %at; ld.shared.b32 %word, [%row];");
            push(&format!(
                "st.global.b32 [%to+{}], %word; add.u32 %at, %at, 128;",
                32 * self.d * bytes
            ));
            push(&format!("setp.lt.u32 %more, %at, {IMAGE_BYTES}; @%more bra {name}_keep;"));
        }
        push("ret;");
        text.push_str("}\n");
        text
    }

    /// The operands of the instruction in that kernel, as text.
    fn operand_list(&self, selectors: &Selectors) -> String {
        let list = |operand: &str, count: usize| {
            let registers: Vec<String> =
                (0..count).map(|register| format!("%{operand}{register}")).collect();
            format!("{{{}}}", registers.join(", "))
        };
        match self.family {
            "ldmatrix" => format!("{}, [%row]", list("d", self.d)),
            "stmatrix" => format!("[%row], {}", list("a", self.a)),
            "movmatrix" => String::from("%d0, %a0"),
            _ => {
                let mut operands =
                    [list("d", self.d), list("a", self.a), list("b", self.b), list("c", self.c)]
                        .join(", ");
                let Selectors { metadata, scales_a, scales_b } = selectors;
                if self.selectors > 0 {
                    operands += &format!(", %e0, {metadata}");
                }
                if self.scales > 0 {
                    let select = |register, of: &Selected| {
                        format!(", {{{register}}}, {{{}, {}}}", of.byte, of.thread)
                    };
                    operands += &(select("%u0", scales_a) + &select("%v0", scales_b));
                }
                operands
            }
        }
    }

    /// The name of the form's function in [`raw`](crate::raw), and of its kernels.
    pub fn name(&self) -> String {
        self.ptx
            .replace("::", "_")
            .replace('.', "_")
            .replace("1X", "1x")
            .replace("2X", "2x")
            .replace("4X", "4x")
    }
}
