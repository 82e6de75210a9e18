//! The registers of a block, as `setmaxnreg` has them change hands.
//!
//! How many a thread has when a kernel begins, the assembler decides; here it is as many as the kernel's bounds allow, which a kernel with
//! `setmaxnreg` gets.

use crate::PerLane;
use crate::launch::KernelInfo;
use crate::sim::findings::Misuse;
use crate::sim::record::note_collective;
use crate::sim::warps::block::{Waiting, WarpOfBlock};
use crate::sim::warps::context::{fail, with_block};
use crate::sim::warps::lanes::collective;
use crate::site::Site;
use std::vec;
use std::vec::Vec;

/// Registers of a multiprocessor.
const ALL: u32 = 65_536;
/// The most of a thread at its beginning: 255, of which whole eights are given.
const MOST: u32 = 248;

/// The registers of a block: for each lane of a warp, as all lanes of a warp have the same.
pub(in crate::sim) struct RegisterPool {
    held: Vec<u32>,
    free: u32,
}

impl RegisterPool {
    pub(in crate::sim) fn new(kernel: &KernelInfo) -> Self {
        let fitting = ALL / (kernel.threads * kernel.min_blocks.max(1)) / 8 * 8;
        let bound = if kernel.max_registers == 0 { MOST } else { kernel.max_registers / 8 * 8 };
        RegisterPool { held: vec![fitting.min(bound); kernel.threads as usize / 32], free: 0 }
    }

    /// Whether a warp can have so many.
    pub(in crate::sim) fn has(&self, warp: usize, count: u32) -> bool {
        count <= self.held[warp] + self.free
    }

    /// Registers that nobody holds.
    pub(in crate::sim) fn free(&self) -> u32 {
        self.free
    }

    fn set(&mut self, warp: usize, count: u32) {
        self.free = self.free + self.held[warp] - count;
        self.held[warp] = count;
    }
}

/// The running warp is to have so many registers: it waits until there are.
pub(crate) fn set(warp: WarpOfBlock<'_>, site: Site, form: &'static str, count: u32) {
    if std::thread::panicking() {
        return;
    }
    note_collective(site, form);
    let held = with_block(|block| block.registers.borrow().held[warp.warp()]);
    if if form.contains(".dec.") { count > held } else { count < held } {
        fail(site, Misuse::RegisterCount { form, count, held });
    }
    while !with_block(|block| block.registers.borrow().has(warp.warp(), count)) {
        warp.suspend(Waiting::Registers { warp: warp.warp(), count, location: site.location });
        if std::thread::panicking() {
            return;
        }
    }
    with_block(|block| block.registers.borrow_mut().set(warp.warp(), count));
}

/// The same, by a raw function.
#[track_caller]
pub(crate) fn set_in_lane(form: &'static str, count: u32) {
    collective(Site::here(), form, (), move |warp, site, _| {
        set(warp, site, form, count);
        PerLane::splat(())
    });
}
