//! The fingerprint of a kernel: a line of text that the builder writes into the PTX. The host
//! compares it with the program's own.

use super::{KernelInfo, KernelParam, ParamInfo, TypeName};
use core::marker::PhantomData;

/// The name of a parameter's type, made once for each type.
#[doc(hidden)]
pub const fn type_name<P: KernelParam>() -> &'static str {
    Named::<P>::TEXT
}

struct Named<P>(PhantomData<P>);

impl<P: KernelParam> Named<P> {
    const MADE: &'static Text<MAX_NAME> = &{
        let mut text = Text::new();
        text.name(&P::TYPE);
        text
    };
    const TEXT: &'static str = Self::MADE.as_str();
}

/// The most bytes of the name of a parameter's type, which includes the names and types of a
/// struct's fields.
const MAX_NAME: usize = 4096;

/// Makes the fingerprint of a kernel: fields such as `param a=Global<f16>` and `threads=32`,
/// separated by `; `. `sources` is the part that `#[kernel]` computes from the crate's sources. The
/// module tells kernels of the same name apart, which may be built for different targets.
#[doc(hidden)]
pub const fn fingerprint<const CAPACITY: usize>(
    kernel: &KernelInfo,
    params: &[ParamInfo],
    module: &str,
    sources: &str,
) -> Text<CAPACITY> {
    let mut text = Text::new();
    let mut index = 0;
    while index < params.len() {
        text.push("param ");
        text.push(params[index].name);
        text.push("=");
        text.push(params[index].type_name);
        text.push("; ");
        index += 1;
    }
    text.push("shared=");
    text.number(kernel.shared_bytes as usize);
    text.push(" aligned to ");
    text.number(kernel.shared_align as usize);
    text.push("; threads=");
    text.number(kernel.threads as usize);
    // Defaults are left out.
    if kernel.cluster.blocks() != 1 {
        text.push("; cluster=");
        text.number(kernel.cluster.x as usize);
        text.push("x");
        text.number(kernel.cluster.y as usize);
        text.push("x");
        text.number(kernel.cluster.z as usize);
    }
    if kernel.dependent {
        text.push("; dependent=true");
    }
    text.push("; module=");
    text.push_ascii(module);
    text.push(sources);
    text.push(concat!("; ptx-matrix=", env!("CARGO_PKG_VERSION")));
    text
}

/// The capacity for that text: the parameters, `module` and `sources`, and 170 bytes for the rest.
#[doc(hidden)]
pub const fn fingerprint_len(params: &[ParamInfo], module: &str, sources: &str) -> usize {
    let (mut len, mut index) = (module.len() + sources.len() + 170, 0);
    while index < params.len() {
        len += params[index].name.len() + params[index].type_name.len() + "param =; ".len();
        index += 1;
    }
    len
}

/// A text that is built during constant evaluation. Each step takes the compiler a microsecond, for
/// each of many kernels, so that it uses few steps.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Text<const CAPACITY: usize> {
    /// The text, followed by zeros.
    bytes: [u8; CAPACITY],
    len: usize,
}

impl<const CAPACITY: usize> Text<CAPACITY> {
    const fn new() -> Self {
        Text { bytes: [0; CAPACITY], len: 0 }
    }

    const fn push(&mut self, text: &str) {
        let len = text.len();
        assert!(
            len <= CAPACITY - self.len,
            "the name of a kernel parameter's type is longer than 4096 bytes"
        );
        // SAFETY: the text fits, as checked.
        unsafe {
            (&raw mut self.bytes)
                .cast::<u8>()
                .add(self.len)
                .copy_from_nonoverlapping(text.as_ptr(), len)
        };
        self.len += len;
    }

    /// Appends a path of Rust's modules. PTX is ASCII: other bytes become `?`.
    const fn push_ascii(&mut self, path: &str) {
        let mut index = 0;
        while index < path.len() {
            let byte = path.as_bytes()[index];
            self.bytes[self.len] = if byte.is_ascii() { byte } else { b'?' };
            self.len += 1;
            index += 1;
        }
    }

    const fn number(&mut self, number: usize) {
        if number >= 10 {
            self.number(number / 10);
        }
        self.bytes[self.len] = b'0' + (number % 10) as u8;
        self.len += 1;
    }

    const fn name(&mut self, name: &TypeName) {
        match *name {
            TypeName::Text(text) => self.push(text),
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

    /// Returns the text, followed by zeros.
    pub const fn bytes(&self) -> [u8; CAPACITY] {
        self.bytes
    }

    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        // SAFETY: the bytes before `len` are those of whole strings, and of digits.
        unsafe { core::str::from_utf8_unchecked(self.bytes.split_at(self.len).0) }
    }
}
