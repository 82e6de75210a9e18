//! Reads a crate's metadata about its kernels: `#[kernel]` writes one static per kernel.

use anyhow::{Context, Result, bail, ensure};

const PREFIX: &str = "@__ptx_matrix_kernel_";
const FINGERPRINT: &str = "@__ptx_matrix_signature_";
const FORMAT: u32 = 4;
/// The number of leading words that describe the kernel rather than a parameter.
const KERNEL_WORDS: usize = 7;

/// A kernel's launch bounds and needs. `None` leaves the choice to the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelMetadata {
    pub threads: Option<u32>,
    pub min_blocks: Option<u32>,
    pub max_registers: Option<u32>,
    pub shared_bytes: u32,
    pub shared_align: u32,
    /// For each parameter, its size and alignment if it is a grid constant.
    pub grid_constants: Vec<Option<GridConstant>>,
    /// The number of blocks in a cluster along x, y and z.
    pub cluster: Option<[u32; 3]>,
}

/// The size and alignment of a parameter that is passed by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridConstant {
    pub bytes: u32,
    pub align: u32,
}

/// The kernel's name and metadata, if the line is a metadata static.
pub fn read(line: &str) -> Result<Option<(String, KernelMetadata)>> {
    let Some((kernel, value)) = line.strip_prefix(PREFIX).and_then(|rest| rest.split_once(" = "))
    else {
        return Ok(None);
    };
    // An `external` static is only a declaration. The definition counts.
    if value.starts_with("external ") {
        return Ok(None);
    }
    let decoded =
        decode(value).with_context(|| format!("cannot read the metadata of kernel `{kernel}`"))?;
    Ok(Some((kernel.to_owned(), decoded)))
}

/// The kernel's name and fingerprint, if the line is a fingerprint static.
pub fn fingerprint(line: &str) -> Result<Option<(String, String)>> {
    let Some((kernel, value)) =
        line.strip_prefix(FINGERPRINT).and_then(|rest| rest.split_once(" = "))
    else {
        return Ok(None);
    };
    if value.starts_with("external ") {
        return Ok(None);
    }
    // The text is padded with zeros.
    let text = bytes(value)
        .and_then(|bytes| Ok(String::from_utf8(bytes)?.trim_end_matches('\0').to_owned()));
    Ok(Some((
        kernel.to_owned(),
        text.with_context(|| format!("cannot read the fingerprint of kernel `{kernel}`"))?,
    )))
}

fn bytes(value: &str) -> Result<Vec<u8>> {
    let literal = value
        .split_once(" c\"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .context("it is not a byte string")?;
    unescape(literal.0)
}

fn decode(value: &str) -> Result<KernelMetadata> {
    let words = words(&bytes(value)?);
    ensure!(
        words.first() == Some(&FORMAT),
        "the kernel crate and the builder use different versions of ptx-matrix: the crate writes \
         format {}, the builder reads {FORMAT}; use the same version in both",
        words.first().map_or("none".to_owned(), u32::to_string),
    );
    let Some((first, params)) = words.split_first_chunk::<KERNEL_WORDS>() else {
        bail!("it has {} words instead of {KERNEL_WORDS} or more", words.len());
    };
    let &[_, threads, min_blocks, max_registers, shared_bytes, shared_align, cluster] = first;
    let set = |word: u32| (word != 0).then_some(word);
    ensure!(
        shared_bytes == 0 || shared_align.is_power_of_two(),
        "its shared memory is aligned to {shared_align}, which is not a power of two"
    );
    Ok(KernelMetadata {
        threads: set(threads),
        min_blocks: set(min_blocks),
        max_registers: set(max_registers),
        shared_bytes,
        shared_align,
        grid_constants: params.iter().map(|&word| grid_constant(word)).collect::<Result<_>>()?,
        cluster: set(cluster).map(|cluster| [0, 8, 16].map(|byte| cluster >> byte & 0xff)),
    })
}

fn grid_constant(word: u32) -> Result<Option<GridConstant>> {
    let (bytes, align) = (word >> 8, word & 0xff);
    let is_layout = bytes > 0 && align.is_power_of_two();
    ensure!(
        word == 0 || is_layout,
        "a parameter cannot have {bytes} bytes and be aligned to {align}"
    );
    Ok((word != 0).then_some(GridConstant { bytes, align }))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// The bytes of an LLVM string literal, in which `\XX` is a byte in hexadecimal.
fn unescape(literal: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(literal.len());
    let mut rest = literal.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'\\' {
            let hex = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
            let byte = hex.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.with_context(|| format!("cannot parse an escape in `{literal}`"))?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[u32], wrapped: bool) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        // LLVM prints printable bytes as they are, except the quote and the backslash.
        let text: String = bytes
            .iter()
            .map(|&byte| match byte {
                b'"' | b'\\' => format!("\\{byte:02X}"),
                32..127 => char::from(byte).to_string(),
                _ => format!("\\{byte:02X}"),
            })
            .collect();
        let array = format!("[{} x i8] c\"{text}\"", bytes.len());
        let value =
            if wrapped { format!("<{{ [{} x i8] }}> <{{ {array} }}>", bytes.len()) } else { array };
        format!("@__ptx_matrix_kernel_gemm = constant {value}, align 4")
    }

    #[test]
    fn decodes_every_word() {
        // Printable bytes, including a quote (34) and a backslash (92).
        for wrapped in [false, true] {
            let words = [4, 128, 2, 92, 0x2241_5c22, 1024, 0x1_0402, 0, 0x8040, 0, 0x1804];
            let (name, metadata) = read(&line(&words, wrapped)).unwrap().unwrap();
            assert_eq!(name, "gemm");
            let expected = KernelMetadata {
                threads: Some(128),
                min_blocks: Some(2),
                max_registers: Some(92),
                shared_bytes: 0x2241_5c22,
                shared_align: 1024,
                grid_constants: vec![
                    None,
                    Some(GridConstant { bytes: 128, align: 64 }),
                    None,
                    Some(GridConstant { bytes: 24, align: 4 }),
                ],
                cluster: Some([2, 4, 1]),
            };
            assert_eq!(metadata, expected);
        }
    }

    #[test]
    fn zero_is_unset() {
        let (_, metadata) = read(&line(&[4, 32, 0, 0, 0, 0, 0], false)).unwrap().unwrap();
        assert_eq!(
            (metadata.threads, metadata.min_blocks, metadata.max_registers),
            (Some(32), None, None)
        );
        assert_eq!((metadata.cluster, metadata.grid_constants), (None, vec![]));
    }

    #[test]
    fn another_format_is_refused_as_such_even_if_its_length_differs() {
        let error = read(&line(&[1, 128, 0], false)).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("`gemm`") && text.contains("different versions of ptx-matrix"),
            "{text}"
        );
    }

    #[test]
    fn wrong_length_or_alignment_is_refused() {
        assert!(read(&line(&[4, 128, 0, 0], false)).is_err());
        assert!(read(&line(&[4, 128, 0, 0, 64, 12, 0], false)).is_err());
        assert!(read(&line(&[4, 128, 0, 0, 64, 16, 0, 0x1803], false)).is_err());
        assert!(read(&line(&[4, 128, 0, 0, 64, 16, 0, 0x10], false)).is_err());
    }

    #[test]
    fn other_lines_are_none_of_its_business() {
        assert_eq!(read("@__ptx_matrix_shared_gemm = external global i8").unwrap(), None);
        assert_eq!(read("define void @f() {").unwrap(), None);
    }
}
