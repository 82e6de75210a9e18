//! Names of shared memory: the parameter, field, part and element that an address is in.
//!
//! [`SharedLayout`] knows where its parts lie. `#[kernel]` hands the simulator one function, which
//! names a byte of the kernel's shared memory; it is called when a report is printed, and never
//! before.

use crate::engine::{SHARED_BASE, warps::block::blocks};
use crate::lane::Grid;
use std::format;
use std::string::String;

/// The name of a byte of shared memory, while it is put together: `tiles[2] row 5, column 8`.
#[derive(Debug, Default)]
pub struct SharedName {
    path: String,
    within: String,
}

impl SharedName {
    /// Appends a field, or a parameter.
    pub fn field(&mut self, name: &str) {
        if !self.path.is_empty() && !name.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    /// Appends the index of a part of an array or ring.
    pub fn part(&mut self, index: usize) {
        self.path.push_str(&format!("[{index}]"));
    }

    /// The byte is this one of an element of a tile.
    pub fn element(&mut self, row: usize, col: usize, byte: usize) {
        let byte = if byte > 0 { format!(", byte {byte}") } else { String::new() };
        self.within = format!(" row {row}, column {col}{byte}");
    }

    /// The byte is this one of the part.
    pub fn byte(&mut self, index: usize) {
        self.within = format!(" byte {index}");
    }

    fn text(self) -> Option<String> {
        (!self.path.is_empty()).then(|| self.path + &self.within)
    }
}

/// Names the byte so many bytes behind the start of some shared memory.
pub type NameByte = fn(usize, &mut SharedName);

/// A field of a struct or tuple in shared memory, or a `#[shared]` parameter.
pub struct SharedField {
    name: Option<&'static str>,
    bytes: usize,
    align: usize,
    name_byte: NameByte,
}

impl SharedField {
    /// A field of so many bytes, whose bytes `name_byte` names.
    pub(crate) fn new(bytes: usize, align: usize, name_byte: NameByte) -> Self {
        SharedField { name: None, bytes, align, name_byte }
    }

    /// The same, of this name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        SharedField { name: Some(name), ..self }
    }

    /// The same, whose bytes this function names.
    #[must_use]
    pub fn with(self, name_byte: NameByte) -> Self {
        SharedField { name_byte, ..self }
    }
}

/// Names a byte of fields that lie behind each other.
pub fn name_fields(offset: usize, name: &mut SharedName, fields: &[SharedField]) {
    let mut end: usize = 0;
    for (index, field) in fields.iter().enumerate() {
        let start = end.next_multiple_of(field.align);
        end = start + field.bytes;
        if (start..end).contains(&offset) {
            match field.name {
                Some(of_field) => name.field(of_field),
                None => name.field(&format!("{index}")),
            }
            return (field.name_byte)(offset - start, name);
        }
    }
}

/// What the shared memory of a cluster's blocks is called.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    name_byte: NameByte,
    /// Bytes of each block's memory.
    bytes: usize,
    /// The first block of the cluster, and how many there are along each dimension.
    cluster: (Grid, Grid),
}

/// Two findings are the same whatever their names are.
impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Names {
    pub(crate) fn new(name_byte: NameByte, bytes: u32, first: Grid, cluster: Grid) -> Self {
        Names { name_byte, bytes: bytes as usize, cluster: (first, cluster) }
    }

    /// The name of the byte at an address, as seen from a block; nothing where there is none.
    fn name(&self, address: u32, seen_from: Option<Grid>) -> Option<String> {
        let (rank, local) = (address >> RANK_SHIFT, address & ((1 << RANK_SHIFT) - 1));
        let offset = local.checked_sub(SHARED_BASE).map(|offset| offset as usize);
        let mut name = SharedName::default();
        (self.name_byte)(offset.filter(|&offset| offset < self.bytes)?, &mut name);
        let text = name.text()?;
        let of_rank =
            |rank: u32| blocks(self.cluster.0, self.cluster.1).get(rank as usize).copied();
        match rank.checked_sub(1).and_then(of_rank).filter(|&block| Some(block) != seen_from) {
            Some(block) => Some(format!("`{text}` of block {block}")),
            None => Some(format!("`{text}`")),
        }
    }
}

/// The bits of an address behind those of the block: in the `.shared::cluster` window, the memory
/// of rank 0 starts at `1 << RANK_SHIFT`. Below that is the executing block's own.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The names that a report can use: none, where a misuse is printed by itself.
#[derive(Clone, Copy)]
pub(super) struct Namer {
    pub(super) names: Option<Names>,
    pub(super) block: Option<Grid>,
}

impl Namer {
    pub(super) const NONE: Self = Namer { names: None, block: None };

    /// The byte at an address.
    pub(super) fn at(&self, address: u32) -> String {
        let name = self.names.and_then(|names| names.name(address, self.block));
        name.unwrap_or_else(|| format!("shared address {address:#x}"))
    }

    /// The mbarrier at an address.
    pub(super) fn barrier(&self, address: u32) -> String {
        let name = self.names.and_then(|names| names.name(address, self.block));
        name.unwrap_or_else(|| format!("the mbarrier at shared address {address:#x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{SharedRing, SharedTile, Swizzle128};
    use crate::sync::BarrierMemory;
    use std::string::ToString;

    type Tile = SharedTile<u16, 8, 64, Swizzle128>;

    fn name_byte(offset: usize, name: &mut SharedName) {
        let fields = [
            SharedField::of::<[Tile; 2]>().named("tiles"),
            SharedField::of::<SharedRing<BarrierMemory, 3>>().named("full"),
            SharedField::of::<(BarrierMemory, SharedTile<u32, 1, 4>)>().named("pair"),
        ];
        name_fields(offset, name, &fields);
    }

    fn named(offset: u32) -> String {
        let one = Grid { x: 1, y: 1, z: 1 };
        let names = Names::new(name_byte, 1 << 20, Grid { x: 4, y: 0, z: 0 }, Grid { x: 2, ..one });
        let block = Some(Grid { x: 4, y: 0, z: 0 });
        Namer { names: Some(names), block }.at(SHARED_BASE + offset)
    }

    #[test]
    fn a_byte_is_named_by_parameter_part_and_element() {
        assert_eq!(named(0), "`tiles[0] row 0, column 0`");
        assert_eq!(named(1024 + Tile::offset(5, 9)), "`tiles[1] row 5, column 9`");
        assert_eq!(named(1024 + Tile::offset(5, 9) + 1), "`tiles[1] row 5, column 9, byte 1`");
        assert_eq!(named(2048 + 16), "`full[2]`");
        // The pair is aligned as its tile is.
        assert_eq!(named(2048 + 32), "`pair.0`");
        assert_eq!(named(2048 + 48 + 8), "`pair.1 row 0, column 2`");
        assert_eq!(named(4096), "shared address 0x1400".to_string());
    }

    #[test]
    fn memory_of_another_block_says_which() {
        assert_eq!(named(2048 | 2 << RANK_SHIFT), "`full[0]` of block (5, 0, 0)");
        assert_eq!(named(2048 | 1 << RANK_SHIFT), "`full[0]`");
    }
}
