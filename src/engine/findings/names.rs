//! Names of places in shared memory: parameter, field, part and element.
//!
//! [`SharedLayout`] knows the places of its parts. `#[kernel]` passes the simulator one function
//! that names a byte of the kernel's shared memory. The simulator calls it only to print a report.

use super::misuse::{Memory, Misuse};
use crate::engine::{SHARED_BASE, warps::block::blocks};
use crate::lane::Grid;
use std::format;
use std::string::String;

/// The name of a byte of shared memory under construction: `tiles[2] row 5, column 8`.
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

    /// Appends the index of an array's or ring's member.
    pub fn part(&mut self, index: usize) {
        self.path.push_str(&format!("[{index}]"));
    }

    /// Appends the byte's place in a tile: the element, and the byte within it.
    pub fn element(&mut self, row: usize, col: usize, byte: usize) {
        let byte = if byte > 0 { format!(", byte {byte}") } else { String::new() };
        self.within = format!(" row {row}, column {col}{byte}");
    }

    /// Appends the byte's offset in its part.
    pub fn byte(&mut self, index: usize) {
        self.within = format!(" byte {index}");
    }

    fn text(mut self, extent: Extent) -> Option<String> {
        match extent {
            Extent::Byte => self.path.push_str(&self.within),
            Extent::Tile => {}
            // The last index is that of the ring's first member.
            Extent::Ring => self.path.truncate(self.path.rfind('[').unwrap_or(self.path.len())),
        }
        (!self.path.is_empty()).then_some(self.path)
    }
}

/// What starts at an address.
#[derive(Clone, Copy)]
enum Extent {
    Byte,
    Tile,
    Ring,
}

/// Names the byte at this offset in some shared memory.
pub type NameByte = fn(usize, &mut SharedName);

/// A field of a struct or tuple in shared memory, or a `#[shared]` parameter.
pub struct SharedField {
    name: Option<&'static str>,
    bytes: usize,
    align: usize,
    name_byte: NameByte,
}

impl SharedField {
    /// A field of `bytes` bytes. `name_byte` names its bytes.
    pub(crate) fn new(bytes: usize, align: usize, name_byte: NameByte) -> Self {
        SharedField { name: None, bytes, align, name_byte }
    }

    /// The same field with a name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        SharedField { name: Some(name), ..self }
    }

    /// The same field with another function that names its bytes.
    #[must_use]
    pub fn with(self, name_byte: NameByte) -> Self {
        SharedField { name_byte, ..self }
    }
}

/// Names a byte of consecutive fields.
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

/// The names of a cluster's shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    name_byte: NameByte,
    /// Bytes of shared memory of each block.
    bytes: usize,
    /// The first block of the cluster.
    first: Grid,
    /// The number of the cluster's blocks along each dimension.
    cluster: Grid,
}

/// Equal for all names, so that findings compare without them.
impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Names {
    pub(crate) fn new(name_byte: NameByte, bytes: u32, first: Grid, cluster: Grid) -> Self {
        Names { name_byte, bytes: bytes as usize, first, cluster }
    }

    /// The name of the byte at an address, for a report about a block. `None` if there is no such
    /// byte.
    fn name(&self, address: u32, seen_from: Option<Grid>) -> Option<String> {
        self.name_of(address, seen_from, Extent::Byte)
    }

    /// The same for what starts at the address.
    fn name_of(&self, address: u32, seen_from: Option<Grid>, of: Extent) -> Option<String> {
        let (rank, local) = split_address(address);
        let offset = local.checked_sub(SHARED_BASE).map(|offset| offset as usize);
        let mut name = SharedName::default();
        (self.name_byte)(offset.filter(|&offset| offset < self.bytes)?, &mut name);
        let text = name.text(of)?;
        let of_rank = |rank: usize| blocks(self.first, self.cluster).get(rank).copied();
        match rank.and_then(of_rank).filter(|&block| Some(block) != seen_from) {
            Some(block) => Some(format!("`{text}` of block {block}")),
            None => Some(format!("`{text}`")),
        }
    }
}

/// The position of the rank in a `.shared::cluster` address. The memory of rank 0 starts at `1 <<
/// RANK_SHIFT`; lower addresses are the executing block's own.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The `.shared::cluster` address of a place in the block of this rank.
pub(crate) fn address_of(rank: usize, address: u32) -> u32 {
    if split_address(address).0.is_none() {
        (rank as u32 + 1) << RANK_SHIFT | address
    } else {
        address
    }
}

/// The rank of the block in a `.shared::cluster` address, and the address in that block. There is
/// no rank in an address of the executing block.
pub(crate) fn split_address(address: u32) -> (Option<usize>, u32) {
    let rank = (address >> RANK_SHIFT).checked_sub(1).map(|rank| rank as usize);
    (rank, address & ((1 << RANK_SHIFT) - 1))
}

impl Misuse {
    /// The same misuse for shared memory of block `rank`, reported by a warp of block `actor`.
    ///
    /// Addresses of another block become `.shared::cluster` addresses, which include the rank.
    #[must_use]
    pub(crate) fn in_memory_of(mut self, rank: usize, actor: usize) -> Self {
        let address = match &mut self {
            Misuse::RowMisaligned { address }
            | Misuse::SharedOutOfBounds { address, .. }
            | Misuse::SharedUnwritten { address, .. }
            | Misuse::Race { memory: Memory::Shared { address }, .. }
            | Misuse::CopyInFlight { address, .. }
            | Misuse::CopySourceInFlight { address, .. }
            | Misuse::PhaseMayEnd { address, .. }
            | Misuse::BarrierInFlight { address, .. }
            | Misuse::BarrierMemory { address, .. }
            | Misuse::ProxyFence { memory: Memory::Shared { address }, .. }
            | Misuse::Barrier { address, .. }
            | Misuse::SharedMisaligned { address, .. } => address,
            _ => return self,
        };
        if rank != actor {
            *address = address_of(rank, *address);
        }
        self
    }
}

/// The names for a report; none if a misuse is printed alone.
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

    /// The tile at an address.
    pub(super) fn tile(&self, address: u32) -> String {
        let name = self.names.and_then(|names| names.name_of(address, self.block, Extent::Tile));
        name.unwrap_or_else(|| format!("the tile at shared address {address:#x}"))
    }

    /// The ring at an address.
    pub(super) fn ring(&self, address: u32) -> String {
        let name = self.names.and_then(|names| names.name_of(address, self.block, Extent::Ring));
        name.unwrap_or_else(|| format!("the ring at shared address {address:#x}"))
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
    fn byte_is_named_by_parameter_part_and_element() {
        assert_eq!(named(0), "`tiles[0] row 0, column 0`");
        assert_eq!(named(1024 + Tile::offset(5, 9)), "`tiles[1] row 5, column 9`");
        assert_eq!(named(1024 + Tile::offset(5, 9) + 1), "`tiles[1] row 5, column 9, byte 1`");
        assert_eq!(named(2048 + 16), "`full[2]`");
        // The pair has the alignment of its tile.
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
