//! The steps of random pipelines, and their encoding for the kernel.

use ptx_matrix_fuzz_kernels::pipeline::{
    A_SLOTS, B_SLOTS, BARRIERS, BOX_ROWS, BOX_SLOTS, COLS, K, M, N, ROW_ROWS, ROW_SLOTS, WARPS,
    WORDS, form, operand, step,
};
use std::fmt;

/// The types of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    Row,
    Box,
    A,
    B,
}

impl Shape {
    pub const ALL: [Shape; 4] = [Shape::Row, Shape::Box, Shape::A, Shape::B];

    /// The number of tiles of the type in a block.
    pub const fn slots(self) -> usize {
        match self {
            Shape::Row => ROW_SLOTS,
            Shape::Box => BOX_SLOTS,
            Shape::A => A_SLOTS,
            Shape::B => B_SLOTS,
        }
    }

    pub const fn elements(self) -> usize {
        match self {
            Shape::Row => ROW_ROWS * COLS,
            Shape::Box => BOX_ROWS * COLS,
            Shape::A => M * K,
            Shape::B => N * K,
        }
    }

    pub const fn bytes(self) -> u32 {
        let element = if matches!(self, Shape::Row | Shape::Box) { 4 } else { 2 };
        (self.elements() * element) as u32
    }

    /// The number of tiles of the type in global memory.
    pub const fn sources(self) -> usize {
        match self {
            Shape::Row => 8,
            Shape::Box => 6,
            Shape::A | Shape::B => 4,
        }
    }
}

/// A tile in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    pub shape: Shape,
    pub slot: usize,
}

/// The lanes that arrive, and the writes that the arrival makes known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrives {
    Elected,
    Each,
    /// The elected lane; no write becomes known to other blocks.
    HavingRead,
}

/// A step of a warp. Barriers, slots and ranks are indices. `ranks` has a bit for each block; 0 is
/// the executing block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    WarpSync,
    GroupSync,
    BlockSync,
    ClusterSync,
    /// A proxy fence.
    Fence,
    /// `phase` is the number of the phase plus one: 0 is the phase before the first.
    Wait {
        barrier: usize,
        phase: u32,
        cluster: bool,
    },
    Arrive {
        barrier: usize,
        ranks: u32,
        times: u32,
        by: Arrives,
    },
    Expect {
        barrier: usize,
        bytes: u32,
        in_two: bool,
    },
    ArriveToken {
        barrier: usize,
    },
    WaitToken,
    Fill {
        tile: Tile,
        seed: u32,
    },
    Read {
        tile: Tile,
    },
    Load {
        tile: Tile,
        from: usize,
        barrier: usize,
        ranks: u32,
    },
    Store {
        tile: Tile,
        to: usize,
    },
    Commit,
    WaitStores {
        newest: u32,
        written: bool,
    },
    CopyAsync {
        slot: usize,
        from: usize,
    },
    ArriveWhenCopied {
        barrier: usize,
    },
    SetPeer {
        slot: usize,
        seed: u32,
        rank: usize,
    },
    Send {
        slot: usize,
        seed: u32,
        barrier: usize,
        rank: usize,
    },
    CopyToPeer {
        slot: usize,
        to: usize,
        barrier: usize,
        rank: usize,
    },
    Multiply {
        a: usize,
        b: usize,
    },
    WaitWgmmas {
        newest: u32,
    },
    TakeAccumulators {
        newest: u32,
        to: usize,
    },
}

/// A step, with its channel and its round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub step: Step,
    pub channel: usize,
    pub round: usize,
}

/// A program for one cluster. The steps of warp `w` in the block of rank `r` are `warps[r * WARPS +
/// w]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub blocks: usize,
    pub warps: Vec<Vec<Entry>>,
}

impl Program {
    pub fn new(blocks: usize) -> Self {
        Program { blocks, warps: vec![Vec::new(); blocks * WARPS] }
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.warps.iter().map(Vec::len).sum()
    }

    /// The program with the entries that pass.
    pub fn filtered(&self, keep: impl Fn(&Entry) -> bool) -> Program {
        let warps = self
            .warps
            .iter()
            .map(|steps| steps.iter().copied().filter(|entry| keep(entry)).collect());
        Program { blocks: self.blocks, warps: warps.collect() }
    }

    /// Encodes the program for the kernel.
    pub fn script(&self) -> Vec<u32> {
        let mut script = vec![0; self.warps.len()];
        for (warp, steps) in self.warps.iter().enumerate() {
            script[warp] = script.len() as u32;
            steps.iter().for_each(|entry| script.extend(words(entry.step)));
            script.extend([step::END; WORDS]);
        }
        script
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "a cluster of {}, {BARRIERS} barriers of each count", self.blocks)?;
        for (warp, steps) in self.warps.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
            writeln!(f, "block {}, warp {}:", warp / WARPS, warp % WARPS)?;
            for Entry { step, channel, round } in steps {
                writeln!(f, "  {channel}.{round:<3} {step:?}")?;
            }
        }
        Ok(())
    }
}

fn form_of(shape: Shape) -> u32 {
    match shape {
        Shape::Row => form::ROW,
        Shape::Box => form::BOX,
        Shape::A => form::A,
        Shape::B => form::B,
    }
}

fn words(of: Step) -> [u32; WORDS] {
    use operand::{BARRIER, COUNT, FORM, OTHER, RANKS, SEED, SLOT};
    let with = |kind: u32, operands: &[(usize, u32)]| {
        let mut words = [0; WORDS];
        words[0] = kind;
        operands.iter().for_each(|&(operand, value)| words[operand] = value);
        words
    };
    let on = |Tile { shape, slot }: Tile| [(SLOT, slot as u32), (FORM, form_of(shape))];
    match of {
        Step::WarpSync => with(step::WARP_SYNC, &[]),
        Step::GroupSync => with(step::GROUP_SYNC, &[]),
        Step::BlockSync => with(step::BLOCK_SYNC, &[]),
        Step::ClusterSync => with(step::CLUSTER_SYNC, &[]),
        Step::Fence => with(step::FENCE, &[]),
        Step::Wait { barrier, phase, cluster } => {
            let scope = if cluster { form::CLUSTER } else { form::BLOCK };
            with(step::WAIT, &[(BARRIER, barrier as u32), (COUNT, phase), (FORM, scope)])
        }
        Step::Arrive { barrier, ranks, times, by } => {
            let form = match by {
                Arrives::Elected => form::ELECTED,
                Arrives::Each => form::EACH,
                Arrives::HavingRead => form::HAVING_READ,
            };
            with(
                step::ARRIVE,
                &[(BARRIER, barrier as u32), (RANKS, ranks), (COUNT, times), (FORM, form)],
            )
        }
        Step::Expect { barrier, bytes, in_two } => {
            let form = if in_two { form::IN_TWO } else { form::AT_ONCE };
            with(step::EXPECT, &[(BARRIER, barrier as u32), (COUNT, bytes), (FORM, form)])
        }
        Step::ArriveToken { barrier } => with(step::ARRIVE_TOKEN, &[(BARRIER, barrier as u32)]),
        Step::WaitToken => with(step::WAIT_TOKEN, &[]),
        Step::Fill { tile, seed } => with(step::FILL, &[&on(tile)[..], &[(SEED, seed)]].concat()),
        Step::Read { tile } => with(step::READ, &on(tile)),
        Step::Load { tile, from, barrier, ranks } => {
            let more = [(OTHER, from as u32), (BARRIER, barrier as u32), (RANKS, ranks)];
            with(step::LOAD, &[&on(tile)[..], &more].concat())
        }
        Step::Store { tile, to } => {
            with(step::STORE, &[&on(tile)[..], &[(OTHER, to as u32)]].concat())
        }
        Step::Commit => with(step::COMMIT, &[]),
        Step::WaitStores { newest, written } => {
            let form = if written { form::WRITTEN } else { form::READ };
            with(step::WAIT_STORES, &[(COUNT, newest), (FORM, form)])
        }
        Step::CopyAsync { slot, from } => {
            with(step::COPY_ASYNC, &[(SLOT, slot as u32), (OTHER, from as u32)])
        }
        Step::ArriveWhenCopied { barrier } => {
            with(step::ARRIVE_WHEN_COPIED, &[(BARRIER, barrier as u32)])
        }
        Step::SetPeer { slot, seed, rank } => {
            with(step::SET_PEER, &[(SLOT, slot as u32), (SEED, seed), (RANKS, 1 << rank)])
        }
        Step::Send { slot, seed, barrier, rank } => {
            let released = [(BARRIER, barrier as u32), (RANKS, 1 << rank)];
            with(step::SEND, &[&[(SLOT, slot as u32), (SEED, seed)][..], &released].concat())
        }
        Step::CopyToPeer { slot, to, barrier, rank } => {
            let released = [(BARRIER, barrier as u32), (RANKS, 1 << rank)];
            with(
                step::COPY_TO_PEER,
                &[&[(SLOT, slot as u32), (OTHER, to as u32)][..], &released].concat(),
            )
        }
        Step::Multiply { a, b } => with(step::MULTIPLY, &[(SLOT, a as u32), (OTHER, b as u32)]),
        Step::WaitWgmmas { newest } => with(step::WAIT_WGMMAS, &[(COUNT, newest)]),
        Step::TakeAccumulators { newest, to } => {
            with(step::TAKE_ACCUMULATORS, &[(COUNT, newest), (OTHER, to as u32)])
        }
    }
}
