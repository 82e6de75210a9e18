//! Who accessed which element of the slices in global memory that a kernel writes.

use super::context::{fail, with_block};
use super::error::{Agent, Memory, Misuse};
use super::instruction::Traffic;
use super::race::{Access, History};
use super::record::note_element;
use crate::Grid;
use crate::site::Site;
use core::panic::Location;
use std::collections::HashMap;
use std::vec::Vec;

/// The accesses of one block, by the elements' addresses.
#[derive(Default)]
pub(super) struct GlobalAccesses(HashMap<usize, Element>);

struct Element {
    name: &'static str,
    index: usize,
    history: History,
}

/// The accesses of all blocks so far.
#[derive(Default)]
pub(super) struct LaunchAccesses {
    elements: HashMap<usize, Element>,
    /// The blocks that have run, by which accesses here name them.
    blocks: Vec<Grid>,
}

/// A race between two blocks, and the line of the later one.
pub(super) struct BlockRace {
    pub(super) misuse: Misuse,
    pub(super) location: &'static Location<'static>,
}

impl GlobalAccesses {
    fn element(&mut self, address: usize, name: &'static str, index: usize) -> &mut History {
        &mut self.0.entry(address).or_insert(Element { name, index, history: History::default() }).history
    }
}

impl LaunchAccesses {
    /// Adds a block's accesses; returns a race of it with an earlier block: that of the first element, so that it
    /// is the same one every time.
    pub(super) fn add(&mut self, block: Grid, accesses: GlobalAccesses) -> Option<BlockRace> {
        let agent = self.blocks.len();
        self.blocks.push(block);
        let mut races = Vec::new();
        for (address, Element { name, index, history }) in accesses.0 {
            let known = self.elements.entry(address).or_insert(Element { name, index, history: History::default() });
            let memory = || Memory::Global { name, index };
            for read in history.reads() {
                if let Some(earlier) = known.history.read(Access { agent, epoch: 0, ..read }) {
                    races.push((address, "read", memory(), read.location, "write", earlier));
                }
            }
            let Some(write) = history.last_write() else { continue };
            if let Some((earlier, wrote)) = known.history.write(Access { agent, epoch: 0, ..write }, true) {
                let other_access = if wrote { "write" } else { "read" };
                races.push((address, "write", memory(), write.location, other_access, earlier));
            }
        }
        let (_, access, memory, location, other_access, earlier) =
            races.into_iter().min_by_key(|(address, access, ..)| (*address, *access != "write"))?;
        let other = Agent::OtherBlock(self.blocks[earlier.agent]);
        let misuse = Misuse::Race { access, memory, other_access, other_place: earlier.location.into(), other };
        Some(BlockRace { misuse, location })
    }
}

/// Notes that the running lane or warp reads an element.
pub(crate) fn read_global(site: Site, address: usize, bytes: usize, name: &'static str, index: usize) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::GlobalRead, address, bytes);
    note_racing_read(site, address, name, index);
}

/// The same for what is no load of an element: an asynchronous copy.
pub(super) fn note_racing_read(site: Site, address: usize, name: &'static str, index: usize) {
    let raced = with_block(|block| {
        let by = block.access(site);
        let earlier = block.global.borrow_mut().element(address, name, index).read(by)?;
        block.warnings.note(by, race(("read", "write"), Memory::Global { name, index }, by, earlier)).err()
    });
    if let Some(misuse) = raced {
        fail(site, misuse);
    }
}

/// Notes that the running lane or warp writes an element, and whether that changes it.
pub(crate) fn write_global(site: Site, address: usize, bytes: usize, name: &'static str, index: usize, changes: bool) {
    if std::thread::panicking() {
        return;
    }
    note_element(site, Traffic::GlobalWrite, address, bytes);
    let raced = with_block(|block| {
        let by = block.access(site);
        let (earlier, wrote) = block.global.borrow_mut().element(address, name, index).write(by, changes)?;
        let accesses = ("write", if wrote { "write" } else { "read" });
        block.warnings.note(by, race(accesses, Memory::Global { name, index }, by, earlier)).err()
    });
    if let Some(misuse) = raced {
        fail(site, misuse);
    }
}

/// The race of an access with an earlier one, by another thread of the block.
fn race((access, other_access): (&'static str, &'static str), memory: Memory, by: Access, earlier: Access) -> Misuse {
    let other_place = earlier.location.into();
    Misuse::Race { access, memory, other_access, other_place, other: Agent::in_block(by, earlier) }
}
