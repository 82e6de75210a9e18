//! Errors about kernels that compile, but that the builder refuses.

use crate::arch::Arch;

/// Error: the builder refuses kernels.
#[derive(Debug, thiserror::Error)]
#[error("{}", lines(.refusals))]
pub struct Refused {
    /// The target of the refused build.
    pub arch: Arch,
    pub refusals: Vec<Refusal>,
}

/// The reason why some kernels are refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kernels: Vec<String>,
    /// The reason, which follows "kernel `name`: ".
    pub reason: String,
    /// The place in the source, if known.
    pub place: Option<String>,
}

impl Refused {
    /// Returns the kernels whose refusals have no known place in the source.
    pub fn without_place(&self) -> Vec<String> {
        let unknown = self.refusals.iter().filter(|refusal| refusal.place.is_none());
        unknown.flat_map(|refusal| refusal.kernels.iter().cloned()).collect()
    }
}

fn lines(refusals: &[Refusal]) -> String {
    let line = |Refusal { kernels, reason, place }: &Refusal| {
        let names = kernels.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let kernels = if kernels.len() == 1 { "kernel" } else { "kernels" };
        let place = place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}{kernels} {names}: {reason}")
    };
    refusals.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_kernels_and_places() {
        let refusal = |kernels: &[&str], place: Option<&str>| Refusal {
            kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
            reason: "no.".into(),
            place: place.map(str::to_owned),
        };
        let refusals = vec![refusal(&["a"], Some("src/lib.rs:3")), refusal(&["b", "c"], None)];
        let refused = Refused { arch: Arch::SM_80, refusals };
        assert_eq!(refused.to_string(), "src/lib.rs:3: kernel `a`: no.\nkernels `b`, `c`: no.");
        assert_eq!(refused.without_place(), ["b", "c"]);
    }
}
