//! Reads the output of `ptxas -v`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

use super::in_flight::{first_checks, first_touch, first_touches};
use crate::arch::PtxVersion;

/// ptxas's report about a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Each kernel's resource usage, by kernel name.
    pub usage: BTreeMap<String, Usage>,
    /// Warnings, and remarks on lost performance.
    pub remarks: Vec<String>,
}

/// A kernel's resource usage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    pub registers: u32,
    pub barriers: u32,
    pub shared: u32,
    pub stack: u32,
    pub spill_stores: u32,
    pub spill_loads: u32,
}

/// Reads the output of a successful run on this PTX. A remark about serialised instructions or
/// injected waits is an error. The error names the `wgmma` whose registers are touched, and the
/// place. A remark that `setmaxnreg` is ignored for lack of launch bounds is an error, too.
///
/// In some loops, such as those with a `break`, ptxas remarks nothing and overwrites the registers.
/// So a kernel that touches registers in flight is an error in any case.
pub fn read(output: &str, ptx: &str) -> Result<Report> {
    let mut report = Report::default();
    let mut fatal = Vec::new();
    let mut kernel = None;
    // What each kernel's report has so far: its stack, and its registers.
    let mut seen: BTreeMap<String, [bool; 2]> = BTreeMap::new();
    for line in output.lines() {
        // A remark without a number could be any.
        let is_fatal = |code| FATAL_REMARKS.contains(&code);
        if remark_code(line).map_or(line.contains("Potential Performance Loss"), is_fatal) {
            fatal.push(with_place(line, ptx));
        } else if let Some(ignored) = without_count(line, ptx) {
            fatal.push(ignored);
        } else if remark_code(line).is_some() || line.starts_with("ptxas warning") {
            report.remarks.push(unknown_stack(line).unwrap_or_else(|| line.to_owned()));
        }
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split_once('\'').map(|(name, _)| name.to_owned());
            seen.extend(kernel.clone().map(|name| (name, [false; 2])));
            continue;
        }
        let Some(name) = &kernel else { continue };
        let usage = report.usage.entry(name.clone()).or_default();
        let [has_stack, has_registers] = seen.entry(name.clone()).or_default();
        if line.contains("bytes stack frame") {
            *has_stack = true;
            // A function that the kernel calls has a line of its own. Its spills count as the
            // kernel's.
            usage.stack = usage.stack.max(known(line, "bytes stack frame")?);
            usage.spill_stores += known(line, "bytes spill stores")?;
            usage.spill_loads += known(line, "bytes spill loads")?;
        } else if line.contains("Used ") {
            *has_registers = true;
            // ptxas leaves out the others where they are 0.
            let or_0 = |what| number_before(line, what).unwrap_or(0);
            usage.registers = known(line, "registers")?;
            usage.barriers = or_0("barriers");
            usage.shared = or_0("bytes smem");
            usage.stack = usage.stack.max(or_0("bytes cumulative stack size"));
        }
    }
    for (name, [has_stack, has_registers]) in seen {
        let lacking = if has_stack { "Used .. registers" } else { "bytes stack frame" };
        ensure!(
            has_stack && has_registers,
            "ptxas reports no `{lacking}` of kernel `{name}`, as the versions that were tested do"
        );
    }
    if !fatal.is_empty() {
        bail!("the compiled kernels would be slow:\n{}", fatal.join("\n"));
    }
    let touches: Vec<String> =
        first_touches(ptx).map(|(kernel, touch)| format!("kernel `{kernel}`:\n{touch}")).collect();
    if !touches.is_empty() {
        bail!("the compiled kernels would compute wrong results:\n{}", touches.join("\n"));
    }
    Ok(report)
}

/// Explains ptxas's warning about a stack of unknown size, in terms of the launch.
fn unknown_stack(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("Stack size for entry function '")?;
    let (kernel, rest) = rest.split_once('\'')?;
    rest.contains("cannot be statically determined").then(|| {
        format!(
            "kernel `{kernel}`: the size of its stack is unknown, because it calls itself, or a \
             function by its address; a thread has at most the driver's limit (1024 bytes, unless \
             `cuCtxSetLimit` sets another)"
        )
    })
}

/// The remark with its kernel, and the place that touches registers in flight or checks for a
/// panic.
fn with_place(line: &str, ptx: &str) -> String {
    let named = |(_, rest): (_, &str)| rest.split_once('\'').map(|(kernel, _)| kernel.to_owned());
    let Some(kernel) = line.split_once("function '").and_then(named) else {
        return line.to_owned();
    };
    let remark = format!("kernel `{kernel}`: {line}");
    let touch = first_touch(ptx, &kernel).map(|touch| touch.to_string());
    match touch.or_else(|| first_checks(ptx, &kernel).map(|checks| checks.to_string())) {
        Some(why) => format!("{remark}\n{why}"),
        None => format!("{remark}\n  {WITHOUT_PLACE}"),
    }
}

/// The remark that `setmaxnreg` has no effect, with the kernels whose launch bounds do not set the
/// registers of a thread, and the remedy. `None` if it is about a function that a kernel calls.
fn without_count(line: &str, ptx: &str) -> Option<String> {
    if !line.contains("'setmaxnreg' ignored; unable to determine register count") {
        return None;
    }
    let kernels = ptx.split(".entry ").skip(1).filter_map(|kernel| kernel.split("\n}").next());
    let named = kernels.filter(|kernel| {
        kernel.contains("setmaxnreg.")
            && ![".minnctapersm", ".maxnreg"].iter().any(|bound| kernel.contains(bound))
    });
    let named: Vec<String> = named
        .filter_map(|kernel| Some(format!("kernel `{}`: ", kernel.split_once('(')?.0)))
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "{}{line}\n  `#[kernel(min_blocks = 1, ..)]` or `max_registers = N` sets how many \
             registers a thread has at first, which `give_registers` and `take_registers` change",
            named.concat()
        )
    })
}

/// The remedy if no instruction touches registers in flight: ptxas moves some there itself.
const WITHOUT_PLACE: &str = "make all accumulators, zeros too, before the first `wgmma` that stays \
                             in flight, or let the first k-slice `multiply` in place of \
                             `accumulate`; end each iteration of a loop with a wait for all groups";

/// The remarks that `wgmma` was serialised or a wait injected: the intended overlap is lost.
const FATAL_REMARKS: std::ops::RangeInclusive<u32> = 7510..=7519;

fn remark_code(line: &str) -> Option<u32> {
    let (_, rest) = line.split_once("(C")?;
    rest.split_once(')')?.0.parse().ok()
}

fn number_before(line: &str, what: &str) -> Option<u32> {
    let (before, _) = line.split_once(what)?;
    before.split_whitespace().next_back()?.parse().ok()
}

/// A number that every report has. Without it, a kernel that spills would pass as one that does
/// not.
fn known(line: &str, what: &str) -> Result<u32> {
    number_before(line, what).with_context(|| {
        format!("ptxas reports no `{what}` here, as the versions that were tested do: {line}")
    })
}

/// Returns the PTX version to raise to, if a too low version is the only error.
pub fn needed_version(output: &str) -> Option<PtxVersion> {
    let errors = output.lines().filter(|line| line.contains("error   :"));
    let needs = errors.map(|line| {
        let (_, rest) = line.split_once("requires PTX ISA .version ")?;
        rest.split_whitespace().next()?.parse::<PtxVersion>().ok()
    });
    needs.collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Returns the errors of a failed run, each with the line of PTX or the kernel that it is about.
pub fn errors(output: &str, ptx: &str) -> String {
    let mut shown = Vec::new();
    for line in output.lines().filter(|line| !line.contains("info    :")) {
        shown.push(line.to_owned());
        let number = line
            .split_once(", line ")
            .and_then(|(_, rest)| rest.split(';').next()?.trim().parse::<usize>().ok());
        if let Some(number) = number
            && let Some(source) = ptx.lines().nth(number.wrapping_sub(1))
        {
            shown.push(format!("  {number:>6} | {}", source.trim()));
        }
        shown.extend(unresolved(line, ptx));
    }
    shown.join("\n").trim_end().to_owned()
}

/// Explains ptxas's error about a function that is declared, but not defined.
fn unresolved(line: &str, ptx: &str) -> Option<String> {
    let (_, rest) = line.split_once("Unresolved extern function '")?;
    let (function, _) = rest.split_once('\'')?;
    let mut lines = ptx.lines();
    let call = lines.position(|line| {
        let words: Vec<_> = line.split([' ', '\t', ',', ';']).collect();
        words.iter().any(|word| word.starts_with("call")) && words.contains(&function)
    })?;
    let before = ptx.lines().take(call).collect::<Vec<_>>();
    let entry = before.iter().rev().find_map(|line| line.split_once(".entry "))?;
    let kernel = entry.1.trim_end_matches('(').trim();
    Some(format!("kernel `{kernel}` calls `{function}`, which is in none of the crates"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    64 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Function properties for helper
    16 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 80 bytes cumulative stack size, \
1024 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 13.140 ms
ptxas info    : Compiling entry function 'copy' for 'sm_90a'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
";

    #[test]
    fn reads_each_kernel() {
        let report = read(OUTPUT, "").unwrap();
        let gemm = Usage {
            registers: 168,
            barriers: 2,
            shared: 1024,
            stack: 80,
            spill_stores: 12,
            spill_loads: 16,
        };
        let copy = Usage { registers: 14, ..Usage::default() };
        let usage = BTreeMap::from([("gemm".to_owned(), gemm), ("copy".to_owned(), copy)]);
        assert_eq!(report, Report { usage, remarks: Vec::new() });
    }

    #[test]
    fn report_in_other_words_is_an_error() {
        for word in ["bytes spill stores", "bytes spill loads", "registers"] {
            let error = read(&OUTPUT.replace(word, "things"), "").unwrap_err().to_string();
            assert!(error.starts_with(&format!("ptxas reports no `{word}` here")), "{error}");
        }
        for word in ["bytes stack frame", "Used "] {
            let error = read(&OUTPUT.replace(word, "things"), "").unwrap_err().to_string();
            assert!(error.starts_with(&format!("ptxas reports no `{word}")), "{error}");
        }
        let remark = "ptxas info    : Potential Performance Loss: wgmma is serialized\n";
        assert!(read(&format!("{remark}{OUTPUT}"), "").is_err());
    }

    #[test]
    fn serialised_wgmma_is_error_and_other_remarks_are_kept() {
        let with = |code| {
            let loss = "Potential Performance Loss: wgmma.mma_async instructions are serialized \
                        due to ...";
            read(&format!("ptxas info    : ({code}) {loss}\n{OUTPUT}"), "")
        };
        assert!(with("C7510").unwrap_err().to_string().contains("serialized"));
        assert!(with("C7519").is_err());
        let read_in_flight = "ptxas info    : (C7514) Potential Performance Loss: wgmma.mma_async \
                              instructions are serialized due to \
            non wgmma instructions reading accumulator registers of  a wgmma between start and \
            end of the pipeline stage in the \
            function 'reader' in line 0\n";
        let refused = read(read_in_flight, "").unwrap_err().to_string();
        assert!(refused.contains("kernel `reader`: ptxas info    : (C7514)"), "{refused}");
        assert!(refused.contains("make all accumulators, zeros too, before"), "{refused}");
        assert!(with("C7508").unwrap().remarks[0].contains("(C7508)"));
        assert_eq!(with("C7520").unwrap().usage.len(), 2);
    }

    #[test]
    fn ignored_setmaxnreg_is_error_and_its_kernel_is_named() {
        let ignored = "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; \
                       unable to determine register count at entry.\n";
        let body = "\n{\nsetmaxnreg.dec.sync.aligned.u32 40;\nret;\n}\n";
        let ptx = format!(
            ".visible .entry plain()\n{{\nret;\n}}\n.visible .entry bounded()\n.maxntid 384\n\
             .minnctapersm 1{body}.visible .entry unbounded()\n.maxntid 384{body}"
        );
        let refused = read(&format!("{ignored}{OUTPUT}"), &ptx).unwrap_err().to_string();
        assert!(
            refused.contains("slow:\nkernel `unbounded`: ptxas info    : (C7508)"),
            "{refused}"
        );
        assert!(refused.contains("`#[kernel(min_blocks = 1, ..)]`"), "{refused}");
        let called = format!(
            ".visible .entry takes()\n{{\nmov.b64 %rd1, setmaxnreg_dec;\nret;\n}}\n\
             .func setmaxnreg_dec(){body}"
        );
        assert_eq!(read(&format!("{ignored}{OUTPUT}"), &called).unwrap().remarks.len(), 1);
    }

    #[test]
    fn stack_of_unknown_size_is_told_by_its_kernel() {
        let warning = "ptxas warning : Stack size for entry function 'deep' cannot be statically \
                       determined\n";
        let report = read(&format!("{warning}{OUTPUT}"), "").unwrap();
        assert!(
            report.remarks[0].starts_with("kernel `deep`: the size of its stack is unknown"),
            "{:?}",
            report.remarks
        );
    }

    #[test]
    fn raises_the_version_only_if_that_is_all_that_is_wrong() {
        let version = "ptxas a.ptx, line 7; error   : Feature '.sp::ordered_metadata' requires \
                       PTX ISA .version 8.5 or later\n\
            ptxas a.ptx, line 9; error   : Feature 'mma with FP8' requires PTX ISA .version 8.7 \
            or later\n\
            ptxas fatal   : Ptx assembly aborted due to errors\n";
        assert_eq!(needed_version(version), Some("8.7".parse().unwrap()));
        let target =
            "ptxas a.ptx, line 8; error   : Feature 'stmatrix' requires .target sm_90 or higher\n";
        assert_eq!(needed_version(&format!("{version}{target}")), None);
        assert_eq!(needed_version("ptxas fatal   : out of memory\n"), None);
    }

    #[test]
    fn errors_name_the_line_or_the_kernel_that_they_are_about() {
        let shown = errors(
            "ptxas a.ptx, line 1; info    : Advisory: other words\n\
             ptxas a.ptx, line 2; error   : Unknown symbol\nptxas fatal   : aborted\n",
            "one\n\ttwo;\nthree\n",
        );
        assert_eq!(
            shown,
            "ptxas a.ptx, line 2; error   : Unknown symbol\n       2 | two;\nptxas fatal   : \
             aborted"
        );
        let fatal = "ptxas fatal   : Unresolved extern function 'powf'\n";
        let ptx = ".extern .func (.param .b32 r) powf\n.visible .entry first(\n)\n\
                   .visible .entry second(\n)\n\tcall.uni (retval0), powf, (param0);\n";
        assert_eq!(
            errors(fatal, ptx),
            format!("{fatal}kernel `second` calls `powf`, which is in none of the crates")
        );
    }
}
