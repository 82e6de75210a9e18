//! A PTX kernel for each form of `wgmma`: one warpgroup executes it once.

use super::wgmma_form::FILLED;
use super::{WgmmaForm, WgmmaOptions};
use std::format;
use std::string::String;
use std::vec::Vec;

impl WgmmaForm {
    /// A kernel of 128 threads that executes the form once: `.entry NAME(.param .u64 in, .param
    /// .u64 out, .param .u32 adds)`.
    ///
    /// [`memory`](Self::memory) has the format of input and output. Both are aligned to 16 bytes.
    /// The instruction accumulates unless `adds` is 0.
    ///
    /// # Panics
    /// If the form does not take the options.
    pub fn kernel(&self, name: &str, options: &WgmmaOptions) -> String {
        let memory = self.memory(options);
        let mut text = format!(
            ".visible .entry {name}(.param .u64 in, .param .u64 out, .param .u32 adds) .reqntid \
             128 {{\n  \
             .reg .b64 %in, %out, %from, %to, %a, %b, %start; .reg .b32 %thread, %at, %row, \
             %word<4>, %d<{}>, %a<4>, %kept;\n  \
             .reg .pred %more, %add; .shared .align 1024 .b8 image[{}];\n",
            self.d,
            memory.shared_bytes(),
        );
        let mut push = |line: &str| {
            text.push_str("  ");
            text.push_str(line);
            text.push('\n');
        };
        push(
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %at, [adds]; \
             setp.ne.u32 %add, %at, 0;",
        );
        push(
            "cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out; mov.u32 %thread, %tid.x;",
        );
        // Unrolled, it would take longer to assemble than to run.
        push(&format!("shl.b32 %at, %thread, 4; {name}_fill: .pragma \"nounroll\";"));
        push("cvt.u64.u32 %from, %at; add.u64 %from, %in, %from;");
        push(
            "ld.global.v4.b32 {%word0, %word1, %word2, %word3}, [%from]; mov.u32 %row, image; \
             add.u32 %row, %row, %at;",
        );
        push(&format!(
            "st.shared.v4.b32 [%row], {{%word0, %word1, %word2, %word3}}; add.u32 %at, %at, \
             {FILLED};"
        ));
        push(&format!(
            "setp.lt.u32 %more, %at, {}; @%more bra {name}_fill;",
            memory.shared_bytes()
        ));
        push("fence.proxy.async; bar.sync 0;");

        let d = registers("%d", self.d);
        let vector = if self.d.is_multiple_of(4) { 4 } else { 2 };
        let bytes = self.d * 4;
        push(&format!("mul.wide.u32 %from, %thread, {bytes}; add.u64 %from, %from, %in;"));
        for (piece, registers) in d.chunks(vector).enumerate() {
            let from = memory.registers_of_d(0) + piece * vector * 4;
            push(&format!("ld.global.v{vector}.b32 {{{}}}, [%from+{from}];", registers.join(", ")));
        }
        if options.a_in_registers {
            push("mul.wide.u32 %from, %thread, 16; add.u64 %from, %from, %in;");
            push(&format!(
                "ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%from+{}];",
                memory.registers_of_a(0)
            ));
        }
        if self.selectors > 0 {
            push("mul.wide.u32 %from, %thread, 4; add.u64 %from, %from, %in;");
            push(&format!("ld.global.b32 %kept, [%from+{}];", memory.metadata(0)));
        }
        // The descriptors are for matrices at address 0. The address in shared memory is added to
        // them.
        push("mov.u32 %at, image; bfe.u32 %at, %at, 4, 14; cvt.u64.u32 %start, %at;");
        let (a, b) = memory.descriptors();
        push(&format!("add.u64 %b, %start, {b:#x};"));
        if let Some(a) = a {
            push(&format!("add.u64 %a, %start, {a:#x};"));
        }
        push("wgmma.fence.sync.aligned;");
        push(&format!("{} {{{}}}, {};", self.ptx, d.join(", "), self.operands_behind(options)));
        push("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;");
        push(&format!("mul.wide.u32 %to, %thread, {bytes}; add.u64 %to, %to, %out;"));
        for (piece, registers) in d.chunks(vector).enumerate() {
            push(&format!(
                "st.global.v{vector}.b32 [%to+{}], {{{}}};",
                piece * vector * 4,
                registers.join(", ")
            ));
        }
        push("ret;");
        text.push_str("}\n");
        text
    }

    /// The operands after D.
    fn operands_behind(&self, options: &WgmmaOptions) -> String {
        let mut operands = String::from(if options.a_in_registers {
            "{%a0, %a1, %a2, %a3}, %b"
        } else {
            "%a, %b"
        });
        if self.selectors > 0 {
            operands += &format!(", %kept, {}", options.selector);
        }
        operands += ", %add";
        if self.negates {
            let sign = |negates| if negates { -1 } else { 1 };
            operands += &format!(", {}, {}", sign(options.negates_a), sign(options.negates_b));
        }
        if self.transposes {
            if !options.a_in_registers {
                operands += &format!(", {}", u8::from(options.transposes_a));
            }
            operands += &format!(", {}", u8::from(options.transposes_b));
        }
        operands
    }
}

/// The names of `count` registers.
fn registers(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{name}{number}")).collect()
}
