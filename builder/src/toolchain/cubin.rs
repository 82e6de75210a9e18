//! The symbols of a cubin, which is an ELF file of 64 bits.

use anyhow::{Context, Result};

/// The symbol table's type among those of sections, and a function's among those of symbols.
const SYMTAB: u64 = 2;
const FUNC: u64 = 2;

/// The functions of a cubin: their indices in its symbol table, and their names.
pub fn functions(cubin: &[u8]) -> Result<Vec<(usize, String)>> {
    read_functions(cubin).context("a cubin without a symbol table that can be read")
}

fn read_functions(cubin: &[u8]) -> Option<Vec<(usize, String)>> {
    let headers = cubin.get(number(cubin, 0x28, 8)? as usize..)?;
    let section = |index: u64| Some(Section(headers.get(index as usize * 64..)?));
    let table = (0..number(cubin, 0x3c, 2)?).filter_map(section).find(|section| section.kind() == Some(SYMTAB))?;
    let names = section(table.link()?)?.content(cubin)?;
    let symbols = table.content(cubin)?.chunks_exact(24).enumerate();
    let functions = symbols.filter(|(_, symbol)| u64::from(symbol[4] & 0xf) == FUNC);
    functions
        .map(|(index, symbol)| {
            let name = names.get(number(symbol, 0, 4)? as usize..)?.split(|&byte| byte == 0).next()?;
            Some((index, String::from_utf8_lossy(name).into_owned()))
        })
        .collect()
}

/// A section's header, and what comes behind it.
struct Section<'a>(&'a [u8]);

impl Section<'_> {
    fn kind(&self) -> Option<u64> {
        number(self.0, 4, 4)
    }

    /// The section that belongs to this one: a symbol table's has the names.
    fn link(&self) -> Option<u64> {
        number(self.0, 0x28, 4)
    }

    fn content<'file>(&self, file: &'file [u8]) -> Option<&'file [u8]> {
        file.get(number(self.0, 0x18, 8)? as usize..)?.get(..number(self.0, 0x20, 8)? as usize)
    }
}

/// The number in so many bytes from a place on.
fn number(bytes: &[u8], place: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(place..)?.get(..count)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
