//! Rows of A and D in groups of different sizes, each with a B of its own. Where they end is read from memory: what found that out was a
//! kernel too.

#[cfg(not(target_arch = "nvptx64"))]
use super::epilogue::Output;
#[cfg(not(target_arch = "nvptx64"))]
use super::{Buffers, Kernel, LaunchError, Numbers};
#[cfg(not(target_arch = "nvptx64"))]
use ptx_matrix::launch::Device;
use ptx_matrix::*;

/// The groups.
#[derive(Clone, Copy)]
pub struct Groups<'k> {
    /// The row behind the last of each, where the next begins.
    pub ends: Global<'k, u32>,
    /// Rows of the matrices.
    pub rows: u32,
}

/// A group of rows.
#[derive(Clone, Copy)]
pub struct Group {
    /// The so many'th.
    pub index: u32,
    /// Its first row.
    pub first: u32,
    /// The row behind its last.
    pub end: u32,
}

/// The group that a block is at, and how many tiles those before it have.
#[derive(Clone, Copy)]
pub struct Place {
    /// That group.
    pub group: Group,
    /// Tiles before it.
    pub before: u32,
}

impl Place {
    /// Where all begin.
    pub const FIRST: Self = Place { group: Group { index: 0, first: 0, end: 0 }, before: 0 };
}

impl Groups<'_> {
    /// The group that a tile is of, where each has as many as `tiles` of its rows; sought from a place on, which is not behind it. None,
    /// if there is no such tile.
    ///
    /// An end before the one before it, or behind the matrix, is taken for that: whatever the ends are, groups do not overlap.
    #[inline(always)]
    pub fn find(&self, warp: Warp<'_>, from: Place, tile: u32, tiles: impl Fn(u32) -> u32) -> Option<Place> {
        let (Group { mut index, mut first, .. }, mut before) = (from.group, from.before);
        let mut end = first;
        while (index as usize) < self.ends.len() {
            end = self.ends.get(index as usize).min(self.rows).max(first);
            let tiles = tiles(end - first);
            if tile - before < tiles {
                break;
            }
            before += tiles;
            first = end;
            index += 1;
        }
        // What follows is multiplied by whole warpgroups: the assembler has to see that all lanes have the answer.
        let [index, first, end, before] = [index, first, end, before].map(|number| warp.uniform(number));
        ((index as usize) < self.ends.len()).then_some(Place { group: Group { index, first, end }, before })
    }
}

/// A kernel that multiplies rows in groups, for the host.
#[cfg(not(target_arch = "nvptx64"))]
pub trait OfGroups<I: Element, O: Output> {
    /// What is known of it.
    const KERNEL: Kernel;

    /// Launches it. The numbers are those of all rows as one product, whose B's lie as those of a batch; `ends` are where the groups of rows
    /// end, and how many they are.
    fn launch<D: Device>(
        device: &D,
        buffers: Buffers<'_, D, I, O>,
        ends: (&D::Buffer<u32>, u32),
        numbers: &Numbers<O::Sum>,
    ) -> Result<D::Report, LaunchError<D::Error>>;
}
