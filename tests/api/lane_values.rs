//! Enforces a rule on the crate's source: a value that differs by lane leaves a lane closure only
//! as a `PerLane`. A new function or field that breaks the rule fails here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The safe functions of `raw`, and why none of them returns a lane's value at warp scope. All
/// others are `unsafe`.
const SAFE: &[(&str, Why, &[&str])] = &[
    (
        "approx.rs",
        Why::Computes,
        &[
            "ex2_approx_f32",
            "ex2_approx_ftz_f32",
            "lg2_approx_f32",
            "lg2_approx_ftz_f32",
            "rcp_approx_f32",
            "rcp_approx_ftz_f32",
            "rsqrt_approx_f32",
            "rsqrt_approx_ftz_f32",
            "sqrt_approx_f32",
            "sqrt_approx_ftz_f32",
            "tanh_approx_f32",
            "sin_approx_f32",
            "sin_approx_ftz_f32",
            "cos_approx_f32",
            "cos_approx_ftz_f32",
            "ex2_approx_f16x2",
            "ex2_approx_ftz_bf16x2",
            "tanh_approx_f16x2",
            "tanh_approx_bf16x2",
        ],
    ),
    ("bulk.rs", Why::ReturnsNothing, &["cp_async_bulk_commit_group"]),
    (
        "bulk.rs",
        Why::ReturnsNothing,
        &["cp_async_bulk_wait_group", "cp_async_bulk_wait_group_read"],
    ),
    (
        "cache_policy.rs",
        Why::SameInTheWarp,
        &[
            "createpolicy_fractional_L2_evict_first_b64",
            "createpolicy_fractional_L2_evict_last_b64",
            "createpolicy_fractional_L2_evict_normal_b64",
            "createpolicy_fractional_L2_evict_unchanged_b64",
        ],
    ),
    (
        "cluster.rs",
        Why::ReturnsNothing,
        &["griddepcontrol_wait", "griddepcontrol_launch_dependents"],
    ),
    ("cp_async.rs", Why::ReturnsNothing, &["cp_async_commit_group", "cp_async_wait_group"]),
    (
        "cvt.rs",
        Why::Computes,
        &["cvt_rn_bf16x2_f32", "cvt_rn_f16x2_f32", "cvt_f32_f16", "mov_f32_bf16", "cvt_rn_f16_f32"],
    ),
    (
        "index.rs",
        Why::SameInTheWarp,
        &[
            "block",
            "grid",
            "block_in_cluster",
            "cluster_shape",
            "cluster",
            "clusters",
            "cluster_rank",
            "cluster_size",
            "is_explicit_cluster",
        ],
    ),
    ("mbarrier.rs", Why::Computes, &["mbarrier_pending_count_b64"]),
    (
        "mbarrier.rs",
        Why::ReturnsNothing,
        &[
            "fence_mbarrier_init_release_cluster",
            "fence_proxy_async",
            "fence_proxy_async_shared_cta",
            "fence_proxy_async_global",
        ],
    ),
    (
        "pairs.rs",
        Why::Computes,
        &[
            "add_rn_f16x2",
            "sub_rn_f16x2",
            "mul_rn_f16x2",
            "fma_rn_f16x2",
            "add_rn_bf16x2",
            "sub_rn_bf16x2",
            "mul_rn_bf16x2",
            "fma_rn_bf16x2",
            "prmt_b32",
        ],
    ),
    ("sync.rs", Why::ReturnsNothing, &["trap"]),
    ("wgmma.rs", Why::Computes, &["wgmma_registers"]),
];

/// The reason why a safe function returns no lane's value at warp scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    ReturnsNothing,
    /// The result depends only on its arguments.
    Computes,
    /// All lanes of a warp get the same result.
    SameInTheWarp,
}

/// PTX instructions and functions of `core` through which a lane learns a value that another lane
/// of its warp may not have.
const OF_A_LANE: [&str; 24] = [
    "%tid",
    "_thread_idx",
    "laneid",
    "lanemask",
    "warpid",
    "smid",
    "%clock",
    "globaltimer",
    "%pm",
    "activemask",
    "shfl",
    "vote",
    "match.",
    "elect",
    "redux",
    "test_wait",
    "try_wait",
    "ld.",
    "ldmatrix",
    "atom.",
    "red.",
    "mma.",
    "isspacep",
    "mbarrier.arrive",
];

/// Fields that exist only on the device and are no `PerLane`. All lanes of a warp have the same
/// value in them.
const SAME_IN_THE_WARP: [(&str, &str); 2] = [
    ("machine/scope.rs", "threads: usize"),
    ("machine/map_ref.rs", "words: *const TensorMapWords"),
];

/// Traits that a type with a `PerLane` may implement. None of them returns, prints or compares its
/// value.
const ALLOWED: [&str; 4] = ["Clone", "Copy", "Zeroable", "LaneCapture"];

fn source() -> PathBuf {
    // The path is relative to the folder of this file, and independent of the current folder.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file!());
    let file = if file.exists() { file } else { file!().into() };
    file.ancestors().nth(3).unwrap().join("src")
}

/// The files of a folder and its subfolders, except for the simulator, by path and without
/// comments.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if name != "sim" && name != "engine" {
                    folders.push(path);
                }
            } else {
                let text = fs::read_to_string(path).unwrap();
                let code = text.lines().map(|line| line.split("//").next().unwrap().trim_end());
                files.insert(name, code.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    files
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines of the item that starts here. It ends at the next line with at most the same
/// indentation, because rustfmt has formatted the code.
fn item<'t>(lines: &[&'t str], first: usize) -> Vec<&'t str> {
    let at = indent(lines[first]);
    let last = (first + 1..lines.len()).find(|&line| {
        let text = lines[line].trim_start();
        !text.is_empty()
            && indent(lines[line]) <= at
            && !text.starts_with(['{', ')', '#'])
            && text != "where"
            || indent(lines[line]) == at && text.starts_with('}')
    });
    lines[first..=last.unwrap_or(lines.len() - 1)].to_vec()
}

/// The safe functions of a file: their names and their text. The text includes the table rows that
/// a macro makes them of.
fn safe_functions(text: &str) -> Vec<(Vec<String>, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut of_macro = None;
    for (number, line) in lines.iter().enumerate() {
        if indent(line) == 0 && !line.is_empty() {
            of_macro = line
                .strip_prefix("macro_rules! ")
                .map(|line| line.trim_end_matches(" {"))
                .or_else(|| {
                    // The other rules of the macro.
                    of_macro.filter(|_| line.starts_with([' ', ')']))
                });
        }
        let code = line.trim_start();
        let Some(name) = code.strip_prefix("pub fn ").or(code.strip_prefix("pub const fn ")) else {
            continue;
        };
        let mut body = item(&lines, number).join("\n");
        let name = name.split(['(', '<']).next().unwrap();
        if name != "$name" {
            found.push((vec![name.to_owned()], body));
            continue;
        }
        let of_macro = of_macro.unwrap_or_else(|| panic!("no macro around {line}"));
        let mut names = Vec::new();
        for (start, _) in
            lines.iter().enumerate().filter(|(_, line)| **line == format!("{of_macro}! {{"))
        {
            let rows = item(&lines, start);
            names.extend(rows.iter().filter(|row| indent(row) == 4).map(|row| {
                let row = row.trim_start();
                row.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_owned()
            }));
            body.push_str(&rows.join("\n"));
        }
        assert!(!names.is_empty(), "no rows of {of_macro}");
        found.push((names, body));
    }
    found
}

#[test]
fn safe_raw_functions_do_not_depend_on_the_lane() {
    let mut found = BTreeSet::new();
    for (file, text) in files(&source().join("raw")) {
        for (names, body) in safe_functions(&text) {
            for of_a_lane in OF_A_LANE {
                assert!(
                    !body.contains(of_a_lane),
                    "{file}: {names:?} is safe, and has `{of_a_lane}`:\n{body}"
                );
            }
            let returns = body.split('{').next().unwrap().contains("-> ");
            for name in names {
                let (_, why, _) = SAFE
                    .iter()
                    .find(|(of, _, known)| *of == file && known.contains(&&*name))
                    .unwrap_or_else(|| {
                        panic!("{file}: `{name}` is safe: why? (`SAFE`; else make it `unsafe`)")
                    });
                let never = body.contains("-> !");
                assert_eq!(
                    returns && !never,
                    *why != Why::ReturnsNothing,
                    "{file}: {name}: {why:?}"
                );
                found.insert((file.clone(), name));
            }
        }
    }
    let known: BTreeSet<_> = SAFE
        .iter()
        .flat_map(|(file, _, names)| {
            names.iter().map(|name| ((*file).to_owned(), (*name).to_owned()))
        })
        .collect();
    assert_eq!(found, known);
}

/// The structs of a file: the attributes of each, and its text.
fn structs(text: &str) -> Vec<(String, String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let code = code
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ");
        let Some(name) = code
            .strip_prefix("struct ")
            .or(code.strip_prefix("enum "))
            .or(code.strip_prefix("union "))
        else {
            continue;
        };
        let name =
            name.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap();
        let attributes = lines[..number].iter().rev().take_while(|line| {
            let line = line.trim_start();
            line.starts_with('#') || line.starts_with(']') || line.ends_with(',')
        });
        let attributes: Vec<&str> = attributes.copied().collect();
        let body =
            if line.ends_with(';') { (*line).to_owned() } else { item(&lines, number).join("\n") };
        found.push((name.to_owned(), attributes.join("\n"), body));
    }
    found
}

#[test]
fn device_only_fields_are_per_lane() {
    let mut found = BTreeSet::new();
    for (file, text) in files(&source()) {
        for (name, _, body) in structs(&text) {
            let mut lines =
                body.lines().map(str::trim).skip_while(|line| !line.starts_with("#[cfg"));
            while let Some(line) = lines.next() {
                // `PerLane` itself is on one line.
                if line != "#[cfg(target_arch = \"nvptx64\")]" {
                    continue;
                }
                let field = lines.by_ref().find(|line| !line.starts_with('#')).unwrap();
                let field = field
                    .trim_end_matches(',')
                    .trim_start_matches("pub(crate) ")
                    .trim_start_matches("pub ");
                let (_, of) = field.split_once(": ").unwrap();
                found.insert(format!("{file}: {field}"));
                assert!(
                    of.starts_with("PerLane<") || SAME_IN_THE_WARP.contains(&(&file, field)),
                    "{file}: `{name}` has on the device only `{field}`: may lanes of a warp have \
                     different ones?"
                );
            }
        }
    }
    // The search finds known fields.
    assert!(
        found.contains("machine/scope.rs: threads: usize")
            && found.contains("machine/mbarrier.rs: is_over: PerLane<bool>")
    );
}

#[test]
fn per_lane_types_are_not_printed_or_compared() {
    let files = files(&source());
    // Types that hold a `PerLane`, directly or through other types.
    let mut holders = BTreeSet::from(["PerLane".to_owned()]);
    loop {
        let before = holders.len();
        for (name, _, body) in files.values().flat_map(|text| structs(text)) {
            // A type does not hold the types in a `PhantomData`, or in the signature of a function
            // pointer.
            let fields = body.lines().filter(|line| !line.contains("PhantomData"));
            let words =
                fields.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
            if words.skip(2).any(|word| holders.contains(word)) {
                holders.insert(name);
            }
        }
        if holders.len() == before {
            break;
        }
    }
    for known in [
        "Fragment",
        "InFlight",
        "GroupAccumulator",
        "BarrierToken",
        "RowValues",
        "TileReader",
        "Scales",
        "Metadata",
    ] {
        assert!(holders.contains(known), "{known} is one of them: {holders:?}");
    }
    for (file, text) in &files {
        for (name, attributes, _) in
            structs(text).into_iter().filter(|(name, ..)| holders.contains(name))
        {
            for line in attributes.lines().filter(|line| line.contains("derive(")) {
                let traits = line.split("derive(").nth(1).unwrap().split(')').next().unwrap();
                for of in traits.split(", ").map(|path| path.rsplit("::").next().unwrap()) {
                    assert!(ALLOWED.contains(&of), "{file}: `{name}` derives `{of}`");
                }
            }
        }
        for line in text.lines().filter(|line| line.contains("impl") && line.contains(" for ")) {
            let (of, name) = line.rsplit_once(" for ").unwrap();
            let name = name.split(['<', ' ']).next().unwrap();
            let of = of
                .rsplit(' ')
                .next()
                .unwrap()
                .split('<')
                .next()
                .unwrap()
                .rsplit("::")
                .next()
                .unwrap();
            // A handwritten implementation that does not print the result.
            let is_known = (name, of) == ("BarrierToken", "Debug");
            if holders.contains(name) {
                assert!(ALLOWED.contains(&of) || is_known, "{file}: `{name}` implements `{of}`");
            }
        }
    }
}
