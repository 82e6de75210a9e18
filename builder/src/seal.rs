//! Appends lines to the PTX that identify its kernels to a program. They hold the fingerprints that
//! `#[kernel]` wrote, and hashes of the text and its machine code. `host/src/ptx/seal.rs` reads
//! them.
//!
//! The lines are comments, and the last step of a build writes them. The assembler does not see
//! them, so unchanged code is not assembled again for a new fingerprint.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::ir::Kernel;
use crate::stamp;

/// The first of the lines.
const HEAD: &str = "// ptx-matrix fingerprints 1\n";

/// Appends the lines of `kernels` to a PTX, and replaces earlier ones.
pub fn write(ptx: &Path, cubin: &Path, kernels: &[Kernel]) -> Result<()> {
    let text =
        std::fs::read_to_string(ptx).with_context(|| format!("cannot read {}", ptx.display()))?;
    let code = std::fs::read(cubin).with_context(|| format!("cannot read {}", cubin.display()))?;
    let sealed = sealed(&text, &code, kernels);
    if sealed != text {
        std::fs::write(ptx, sealed).with_context(|| format!("cannot write {}", ptx.display()))?;
    }
    Ok(())
}

fn sealed(text: &str, cubin: &[u8], kernels: &[Kernel]) -> String {
    let body = text.rfind(HEAD).map_or(text, |start| &text[..start]);
    let mut sealed = body.trim_end().to_owned() + "\n\n" + HEAD;
    for kernel in kernels {
        if let Some(fingerprint) = &kernel.fingerprint {
            sealed.push_str(&format!("// kernel {}: {fingerprint}\n", kernel.name));
        }
    }
    sealed.push_str(&format!("// cubin {}\n", stamp::hexadecimal(Sha256::digest(cubin))));
    let lines = sealed
        .lines()
        .fold(Sha256::new(), |hasher, line| hasher.chain_update(line).chain_update("\n"));
    sealed + &format!("// text {}\n", stamp::hexadecimal(lines.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(fingerprint: Option<&str>) -> Kernel {
        Kernel { name: "k".to_owned(), metadata: None, fingerprint: fingerprint.map(str::to_owned) }
    }

    #[test]
    fn other_lines_take_the_place_of_those_that_are_there() {
        let text = ".target sm_90\n.entry k() { ret; }\n";
        let one = sealed(text, b"code", &[kernel(Some("threads=32"))]);
        assert!(
            one.starts_with(text) && one.contains("\n// kernel k: threads=32\n// cubin "),
            "{one}"
        );
        let other = sealed(&one, b"code", &[kernel(Some("threads=64"))]);
        assert_eq!(other, sealed(text, b"code", &[kernel(Some("threads=64"))]));
        assert_eq!(sealed(&other, b"code", &[kernel(Some("threads=32"))]), one);
        assert_ne!(sealed(text, b"other", &[kernel(Some("threads=32"))]), one);
        assert!(!sealed(text, b"code", &[kernel(None)]).contains("// kernel"));
    }
}
