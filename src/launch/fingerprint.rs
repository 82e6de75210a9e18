//! The fingerprint of a kernel: a line of text that the builder writes into the PTX, and that the
//! host compares with the program's own.

use super::KernelInfo;

/// The name of a parameter's type in fingerprints: a tree, as constants of generic types cannot
/// join strings.
///
/// ```
/// use ptx_matrix::{launch::{KernelParam, TypeName}, *};
/// assert_eq!(<GlobalMut<bf16> as KernelParam>::TYPE.to_string(), "GlobalMut<bf16>");
///
/// type Map<'k> = TensorMap<'k, SharedTile<u8, 16, 64, Swizzle64>, 3, Im2col>;
/// let name = "TensorMap<SharedTile<u8, 16, 64, Swizzle64, RowMajor>, 3, Im2col>";
/// assert_eq!(<Map as KernelParam>::TYPE.to_string(), name);
/// # assert_eq!(TypeName::Number(120).to_string(), "120");
/// ```
#[derive(Debug, Clone, Copy)]
pub enum TypeName {
    /// A piece of text.
    Text(&'static str),
    /// A number, in decimal.
    Number(usize),
    /// Several parts, one behind the other.
    Parts(&'static [TypeName]),
}

impl core::fmt::Display for TypeName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            TypeName::Text(text) => f.write_str(text),
            TypeName::Number(number) => write!(f, "{number}"),
            TypeName::Parts(parts) => parts.iter().try_for_each(|part| part.fmt(f)),
        }
    }
}

/// The facts that a fingerprint consists of, as `#[kernel]` knows them.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Fingerprint<'a> {
    /// The launch bounds and the shared memory.
    pub kernel: &'a KernelInfo,
    /// Each parameter's name and type.
    pub params: &'a [(&'a str, TypeName)],
    /// The crate of the kernel.
    pub crate_name: &'a str,
    /// The hash of the crate's sources.
    pub sources: &'a str,
    /// The crates that it depends on by path, and the hashes of their sources.
    pub dependencies: &'a [(&'a str, &'a str)],
}

impl Fingerprint<'_> {
    /// The bytes of the text.
    pub const fn text_len(&self) -> usize {
        self.write::<0>().len
    }

    /// The text; `LEN` is [`text_len`](Self::text_len). All of it is ASCII.
    pub const fn bytes<const LEN: usize>(&self) -> [u8; LEN] {
        self.write::<LEN>().bytes
    }

    /// `param a=Global<f16>; threads=32; ..`: fields with `; ` between them.
    const fn write<const LEN: usize>(&self) -> Writer<LEN> {
        let mut writer = Writer { bytes: [0; LEN], len: 0 };
        let mut index = 0;
        while index < self.params.len() {
            let (name, ty) = self.params[index];
            writer.text("param ");
            writer.text(name);
            writer.text("=");
            writer.name(&ty);
            writer.text("; ");
            index += 1;
        }
        let KernelInfo { threads, shared_bytes, shared_align, cluster, early, .. } = *self.kernel;
        writer.text("shared=");
        writer.number(shared_bytes as usize);
        writer.text(" aligned to ");
        writer.number(shared_align as usize);
        writer.text("; threads=");
        writer.number(threads as usize);
        // What most kernels do not say is left out.
        if cluster.blocks() > 1 {
            writer.text("; cluster=");
            writer.number(cluster.x as usize);
            writer.text("x");
            writer.number(cluster.y as usize);
            writer.text("x");
            writer.number(cluster.z as usize);
        }
        writer.text(if early { "; early=true; crate=" } else { "; crate=" });
        writer.text(self.crate_name);
        writer.text("; sources=");
        writer.text(self.sources);
        index = 0;
        while index < self.dependencies.len() {
            let (name, sources) = self.dependencies[index];
            writer.text("; sources of ");
            writer.text(name);
            writer.text("=");
            writer.text(sources);
            index += 1;
        }
        writer.text(concat!("; ptx-matrix=", env!("CARGO_PKG_VERSION")));
        writer
    }
}

/// Writes text to an array, and counts what no longer fits.
struct Writer<const LEN: usize> {
    bytes: [u8; LEN],
    len: usize,
}

impl<const LEN: usize> Writer<LEN> {
    const fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        let mut index = 0;
        while index < text.len() {
            if self.len < LEN {
                // A PTX has ASCII only.
                self.bytes[self.len] = if text[index].is_ascii() { text[index] } else { b'?' };
            }
            self.len += 1;
            index += 1;
        }
    }

    const fn number(&mut self, number: usize) {
        if number >= 10 {
            self.number(number / 10);
        }
        const DIGITS: &str = "0123456789";
        self.text(DIGITS.split_at(number % 10).1.split_at(1).0);
    }

    const fn name(&mut self, name: &TypeName) {
        match *name {
            TypeName::Text(text) => self.text(text),
            TypeName::Number(number) => self.number(number),
            TypeName::Parts(parts) => {
                let mut index = 0;
                while index < parts.len() {
                    self.name(&parts[index]);
                    index += 1;
                }
            }
        }
    }
}
