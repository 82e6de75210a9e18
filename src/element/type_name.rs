//! Names of types in kernel fingerprints.

/// The name of a parameter's type in kernel fingerprints.
///
/// It is a tree, as constants of generic types cannot concatenate strings.
///
/// ```
/// use ptx_matrix::{copy::Im2col, launch::{KernelParam, TypeName}, prelude::*};
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
    /// Several parts, in sequence.
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
