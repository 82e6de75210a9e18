//! Compares the fingerprint of a PTX's kernel with that of the program's kernel of the same name.

/// Returns the differences between two fingerprints, in words. The list is empty if both kernels
/// have the same parameters, launch bounds and sources.
pub(crate) fn differences(ptx: &str, program: &str) -> Vec<String> {
    if ptx == program {
        return Vec::new();
    }
    let (ptx, program) = (Fields::read(ptx), Fields::read(program));
    let mut differences = params(&ptx.params, &program.params);
    for (key, what, unsaid) in LAUNCH {
        let (theirs, ours) = (ptx.get(key, unsaid), program.get(key, unsaid));
        if theirs != ours {
            differences.push(format!("{what} {theirs} in the PTX and {ours} in this program"));
        }
    }
    let other_sources = sources(&ptx, &program);
    if other_sources.is_empty() && !differences.is_empty() {
        differences.push(
            "both were built from the same sources, in which a type or a constant depends on the \
             target or a feature"
                .to_owned(),
        );
    }
    differences.extend(other_sources);
    differences
}

/// The crates whose sources differ.
fn sources(ptx: &Fields, program: &Fields) -> Vec<String> {
    let mut differences = Vec::new();
    let of_crate = |name: &str, used: &str| {
        format!(
            "the PTX and this program were built from different sources of crate `{name}`{used}: \
             build both again"
        )
    };
    let (theirs, ours) = (ptx.get("crate", "unknown"), program.get("crate", "unknown"));
    if ptx.get("sources", "none") != program.get("sources", "none") {
        differences.push(if theirs == ours {
            of_crate(ours, "")
        } else {
            format!(
                "the kernel of the PTX is from crate `{theirs}`, and this program's from crate \
                 `{ours}`"
            )
        });
    }
    // A published crate has no path dependencies, although it has the same dependencies.
    let used = format!(", which `{ours}` depends on");
    let dependencies = program
        .others
        .iter()
        .filter_map(|(key, hash)| Some((key, key.strip_prefix("sources of ")?, hash)));
    let others = dependencies.filter(|(key, _, hash)| ptx.get(key, hash) != **hash);
    differences.extend(others.map(|(_, name, _)| of_crate(name, &used)));
    differences
}

/// The launch properties besides the parameters: key, description, and the value that a fingerprint
/// without the key implies.
const LAUNCH: [(&str, &str, &str); 6] = [
    ("shared", "its bytes of shared memory are", "unknown"),
    ("threads", "its threads are", "unknown"),
    ("cluster", "its clusters are", "1x1x1"),
    ("dependent", "`dependent` is", "false"),
    ("module", "its module is", "unknown"),
    ("ptx-matrix", "the version of ptx-matrix is", "unknown"),
];

fn params(ptx: &[(&str, &str)], program: &[(&str, &str)]) -> Vec<String> {
    if ptx.len() != program.len() {
        let listed = |params: &[(&str, &str)]| {
            params.iter().map(|(_, ty)| format!("`{ty}`")).collect::<Vec<_>>().join(", ")
        };
        let (theirs, ours) = (listed(ptx), listed(program));
        return vec![format!(
            "it takes {} parameters in the PTX ({theirs}) and {} in this program ({ours})",
            ptx.len(),
            program.len()
        )];
    }
    let mut differences = Vec::new();
    for (number, ((_, theirs), (name, ours))) in (1..).zip(ptx.iter().zip(program)) {
        if theirs != ours {
            let difference = format!(
                "parameter {number} (`{name}`) is `{theirs}` in the PTX and `{ours}` in this \
                 program"
            );
            differences.push(difference);
        }
    }
    differences
}

/// A fingerprint's fields.
struct Fields<'a> {
    params: Vec<(&'a str, &'a str)>,
    others: Vec<(&'a str, &'a str)>,
}

impl<'a> Fields<'a> {
    fn read(fingerprint: &'a str) -> Self {
        let fields = fingerprint.split("; ").filter_map(|field| field.split_once('='));
        let (params, others): (Vec<_>, Vec<_>) =
            fields.partition(|(key, _)| key.starts_with("param "));
        Fields {
            params: params.into_iter().map(|(key, ty)| (&key["param ".len()..], ty)).collect(),
            others,
        }
    }

    fn get(&self, key: &str, unsaid: &'a str) -> &'a str {
        self.others.iter().find(|(name, _)| *name == key).map_or(unsaid, |(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "param a=Global<f32>; param n=u32; shared=1024 aligned to 128; \
                          threads=64; \
        crate=kernels; sources=0123456789abcdef; ptx-matrix=0.1.0";

    fn with(changes: &[(&str, &str)]) -> String {
        changes.iter().fold(KERNEL.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    fn of(changes: &[(&str, &str)]) -> String {
        let differences = differences(&with(changes), KERNEL);
        differences[0].clone()
    }

    #[test]
    fn equal_fingerprints_have_no_differences() {
        assert!(differences(KERNEL, KERNEL).is_empty());
        assert!(
            differences(&with(&[("param a=", "param b=")]), KERNEL).is_empty(),
            "names are for the reader"
        );
    }

    #[test]
    fn each_difference_is_named() {
        let cases: [(&[(&str, &str)], &str); 8] = [
            (
                &[("Global<f32>", "GlobalMut<f32>")],
                "parameter 1 (`a`) is `GlobalMut<f32>` and `Global<f32>`",
            ),
            (&[("n=u32", "n=u64")], "parameter 2 (`n`) is `u64` and `u32`"),
            (
                &[("param n=u32; ", "")],
                "it takes 1 parameters (`Global<f32>`) and 2 (`Global<f32>`, `u32`)",
            ),
            (
                &[("to 128", "to 1024")],
                "its bytes of shared memory are 1024 aligned to 1024 and 1024 aligned to 128",
            ),
            (&[("threads=64", "threads=32")], "its threads are 32 and 64"),
            (&[("; crate", "; cluster=2x1x1; crate")], "its clusters are 2x1x1 and 1x1x1"),
            (&[("; crate", "; dependent=true; crate")], "`dependent` is true and false"),
            (&[("=0.1.0", "=0.2.0")], "the version of ptx-matrix is 0.2.0 and 0.1.0"),
        ];
        for (changes, expected) in cases {
            let said = of(changes).replace(" in the PTX", "").replace(" in this program", "");
            assert_eq!(said, expected);
            assert!(differences(&with(changes), KERNEL)[1].starts_with(
                "both were built from the same \
                    sources"
            ));
        }
        assert_eq!(
            of(&[("=0123", "=1123")]),
            "the PTX and this program were built from different sources of crate `kernels`: build \
             both again"
        );
        assert_eq!(
            of(&[("n=u32", "n=u64")]),
            "parameter 2 (`n`) is `u64` in the PTX and `u32` in this program"
        );
        let of_two = [("=0123", "=1123"), ("crate=kernels", "crate=others")];
        assert_eq!(
            of(&of_two),
            "the kernel of the PTX is from crate `others`, and this program's from crate `kernels`"
        );
    }

    #[test]
    fn dependencies_by_path_are_compared_where_both_have_them() {
        let with = |sources| KERNEL.to_owned() + "; sources of helper=" + sources;
        assert!(
            differences(&with("1"), KERNEL).is_empty()
                && differences(KERNEL, &with("1")).is_empty()
        );
        assert_eq!(
            differences(&with("1"), &with("2")),
            ["the PTX and this program were built from different sources of crate `helper`, \
                 which `kernels` depends on: build both again"]
        );
    }

    #[test]
    fn unknown_fingerprint_differs_in_each_field() {
        let said = differences("", KERNEL).join("; ");
        for part in ["it takes 0 parameters", "its threads are unknown", "is from crate `unknown`"]
        {
            assert!(said.contains(part), "{said}");
        }
    }
}
