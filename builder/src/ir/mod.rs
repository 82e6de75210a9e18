//! Edits the LLVM IR, as text, between rustc and the optimiser.

pub mod arithmetic;
pub mod asm;
mod attributes;
mod call;
mod convergent;
pub mod copies;
mod flow;
mod function;
mod lanes;
mod line_info;
mod metadata;
mod names;
pub mod operations;
mod parameters;
pub mod place;
pub mod portable;
mod references;
mod scan;
mod shared;
mod statics;
mod unit;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use convergent::Marker;
pub use metadata::KernelMetadata;
pub use names::KeptCrates;
pub use shared::STATIC_SHARED_LIMIT;
pub use unit::{Module, Placeholders, Unit};

/// A module that is ready for the optimiser, and its kernels.
#[derive(Debug)]
pub struct Prepared {
    pub text: String,
    pub kernels: Vec<Kernel>,
}

/// A kernel, and the metadata from its crate. Raw `extern "ptx-kernel"` functions have no metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    pub name: String,
    pub metadata: Option<KernelMetadata>,
    /// The line that identifies the kernel to a program; see [`seal`](crate::seal).
    pub fingerprint: Option<String>,
}

/// Whether inline asm, and calls of unknown functions, become `convergent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownCalls {
    MarkConvergent,
    LeaveAsTheyAre,
}

/// The unmangled name of the function that the line calls. Nothing calls a kernel, but a kernel may
/// share its name with a function that the compiler calls, such as `fmodf`.
fn unmangled_callee(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("call ")?;
    let (_, rest) = rest.split_once('@')?;
    let (name, _) = rest.split_once('(')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.starts_with("_R") && !name.starts_with("_ZN") && name.chars().all(is_name))
        .then_some(name)
}

/// Prepares the linked IR of a whole kernel crate for the optimiser. Keeps the kernels of some
/// crates.
pub fn prepare(ir: &str, crates: &KeptCrates, unknown_calls: UnknownCalls) -> Result<Prepared> {
    let ir = &*names::without_paths(ir, crates)?;
    let mut metadata: BTreeMap<String, KernelMetadata> = BTreeMap::new();
    let mut fingerprints: BTreeMap<String, String> = BTreeMap::new();
    for line in ir.lines() {
        fingerprints.extend(metadata::fingerprint(line)?);
        if let Some((kernel, decoded)) = metadata::read(line)? {
            metadata.insert(kernel, decoded);
        }
    }

    let mut text = String::with_capacity(ir.len() + ir.len() / 16);
    let mut kernels = Vec::new();
    let mut called = BTreeSet::new();
    let marker = (unknown_calls == UnknownCalls::MarkConvergent).then(|| Marker::of(ir));
    for line in ir.lines() {
        called.extend(unmangled_callee(line));
        if let Some(name) = attributes::kernel_name(line) {
            let metadata = metadata.remove(name);
            let line = parameters::with_grid_constants(line, metadata.as_ref())?;
            text.push_str(&attributes::with_launch_bounds(&line, metadata.as_ref())?);
            kernels.push(Kernel {
                name: name.to_owned(),
                metadata,
                fingerprint: fingerprints.remove(name),
            });
        } else if metadata::fingerprint(line)?.is_some() {
            // The fingerprint is no part of the code: a new fingerprint does not change the machine
            // code.
            continue;
        } else if line.starts_with("attributes #") {
            text.push_str(&attributes::inlined(&attributes::without_target(line)));
        } else if let Some(unit) = line_info::directives_only(line) {
            text.push_str(&unit);
        } else if let Some(marker) = &marker
            && let Some(marked) = marker.marked(line)?
        {
            text.push_str(&marked);
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    if let Some(kernel) = metadata.keys().next() {
        bail!("the crate has metadata for a kernel `{kernel}`, but no kernel of that name");
    }
    if let Some(kernel) = kernels.iter().find(|kernel| called.contains(kernel.name.as_str())) {
        bail!(
            "kernel `{}` has the same name as a function that compiled code calls: a kernel's \
             name goes into the PTX unchanged, so rename the kernel",
            kernel.name
        );
    }
    Ok(Prepared { text, kernels })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = concat!(
        r##"
@__ptx_matrix_kernel_tile = constant [28 x i8] c"\04\00\00\00\80\00\00\00\02\00\00\00"##,
        r##"\00\00\00\00\00\04\00\00\10\00\00\00\00\00\00\00", align 4
define ptx_kernel void @tile(ptr noundef %p) unnamed_addr #0 {
  call void asm sideeffect alignstack "stmatrix.sync.aligned.m8n8.x1.shared.b16 [${0}], {${1}};""##,
        r##", "r,r,~{memory}"(i32 %a, i32 %b), !srcloc !7
  ret void
}
define ptx_kernel void @raw() unnamed_addr #0 {
  ret void
}
attributes #0 = { convergent nounwind "target-cpu"="sm_90a" }
"##
    );

    #[test]
    fn prepares_a_whole_module() {
        let Prepared { text, kernels } =
            prepare(MODULE, &KeptCrates::default(), UnknownCalls::MarkConvergent).unwrap();
        assert!(text.contains(r#"(i32 %a, i32 %b) convergent"#), "{text}");
        assert!(text.contains(r#"#0 "nvvm.maxntid"="128,1,1" "nvvm.minctasm"="2" {"#), "{text}");
        assert!(text.contains("attributes #0 = { alwaysinline convergent nounwind }"), "{text}");
        let names: Vec<_> =
            kernels.iter().map(|k| (k.name.as_str(), k.metadata.is_some())).collect();
        assert_eq!(names, [("tile", true), ("raw", false)]);
    }

    #[test]
    fn fingerprint_is_kernels_and_no_part_of_code() {
        let line = "@__ptx_matrix_signature_tile = constant [16 x i8] c\"threads=128; \
                    x\\00\\00\", align 1\n";
        let without =
            prepare(MODULE, &KeptCrates::default(), UnknownCalls::MarkConvergent).unwrap();
        let with = prepare(
            &format!("{line}{MODULE}"),
            &KeptCrates::default(),
            UnknownCalls::MarkConvergent,
        )
        .unwrap();
        assert_eq!(with.text, without.text);
        let fingerprints: Vec<_> =
            with.kernels.iter().map(|kernel| kernel.fingerprint.as_deref()).collect();
        assert_eq!(fingerprints, [Some("threads=128; x"), None]);
    }

    #[test]
    fn plain_compile_is_left_unmarked() {
        let Prepared { text, .. } =
            prepare(MODULE, &KeptCrates::default(), UnknownCalls::LeaveAsTheyAre).unwrap();
        assert!(!text.contains(") convergent"), "{text}");
    }

    #[test]
    fn kernel_of_name_of_called_function_is_error() {
        let calls = "define float @f(float %a) {\n  %b = tail call float @tile(float %a, float \
                     %a) #3\n  ret float %b\n}\n";
        let error = prepare(
            &format!("{MODULE}{calls}"),
            &KeptCrates::default(),
            UnknownCalls::MarkConvergent,
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.starts_with(
                "kernel `tile` has the same name as a function that compiled code \
                 calls"
            ),
            "{error}"
        );
        let others = calls.replace("@tile(", "@tiled(");
        assert!(
            prepare(
                &format!("{MODULE}{others}"),
                &KeptCrates::default(),
                UnknownCalls::MarkConvergent
            )
            .is_ok()
        );
    }

    #[test]
    fn metadata_without_its_kernel_is_an_error() {
        let orphan = MODULE.replace("@tile(", "@other(");
        let error = prepare(&orphan, &KeptCrates::default(), UnknownCalls::MarkConvergent)
            .unwrap_err()
            .to_string();
        assert!(error.contains("`tile`"), "{error}");
    }
}
