//! The steps of random programs, and their encoding for the kernel.

use ptx_matrix_fuzz_kernels::script::{WARPS, WORDS, operand, step};
use std::fmt;

/// The place of each lane: `(first + lane * stride) % all`, if the lane is in the mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    pub first: usize,
    pub stride: usize,
    pub mask: u32,
}

impl Places {
    /// The lanes in the mask, and their places.
    pub fn of(self, all: usize) -> impl Iterator<Item = (usize, usize)> {
        let lanes = (0..32).filter(move |lane| self.mask >> lane & 1 == 1);
        lanes.map(move |lane| (lane, (self.first + lane * self.stride) % all))
    }
}

/// The threads that share the work of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    Warp,
    Block,
}

impl Threads {
    pub fn count(self) -> usize {
        match self {
            Threads::Warp => 32,
            Threads::Block => WARPS * 32,
        }
    }
}

/// A step of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    WarpSync,
    Set {
        part: usize,
        places: Places,
        seed: u32,
    },
    SetUniform {
        part: usize,
        element: usize,
        seed: u32,
    },
    Get {
        part: usize,
        places: Places,
    },
    Fill {
        part: usize,
        threads: Threads,
        seed: u32,
    },
    /// `ldmatrix`.
    Load {
        part: usize,
        places: Places,
        count: usize,
        trans: bool,
    },
    /// `stmatrix`.
    Store {
        part: usize,
        places: Places,
        count: usize,
        trans: bool,
        seed: u32,
    },
    /// `movmatrix`.
    Transpose,
    /// An `mma` of `a` and `b` into `d`. Each operand is a tile and the index of a 16x16 or 16x8
    /// block in it.
    Multiply {
        a: (usize, usize),
        b: (usize, usize),
        d: (usize, usize),
        stmatrix: bool,
    },
    /// An `mma.sp` of `a` and `b` into `d`. Each operand is a tile and the index of a 16x8 block in
    /// it. `a` has the kept elements.
    MultiplySparse {
        a: (usize, usize),
        b: (usize, usize),
        d: (usize, usize),
        selector: usize,
        seed: u32,
    },
    /// `ldmatrix` with one-byte elements.
    LoadBytes {
        part: usize,
        places: Places,
        count: usize,
    },
    /// `stmatrix` with one-byte elements.
    StoreBytes {
        part: usize,
        places: Places,
        count: usize,
        seed: u32,
    },
    /// A `cp.async` of `bytes` bytes by each lane. The source chunk is `shift` chunks after the
    /// lane's.
    Copy {
        part: usize,
        places: Places,
        bytes: usize,
        shift: usize,
        some: usize,
    },
    /// `cp.async` of a whole tile. The source has `some` elements of each 16 bytes.
    CopyTile {
        part: usize,
        threads: Threads,
        shift: usize,
        some: usize,
    },
    Commit,
    Wait {
        newest: usize,
    },
    GlobalSet {
        places: Places,
        seed: u32,
    },
    GlobalSetUniform {
        element: usize,
        seed: u32,
    },
    GlobalGet {
        places: Places,
    },
    /// Lanes arrive at an mbarrier, `times` times each.
    Arrive {
        signal: usize,
        mask: u32,
        times: u32,
    },
    /// Waits for an mbarrier.
    Await {
        signal: usize,
    },
}

/// An entry of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A step of this warp.
    Warp(usize, Step),
    /// A `block.sync` of all warps, possibly except for one.
    BlockSync { without: Option<usize> },
}

/// A program, in one of the orders in which its warps can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub blocks: u32,
    pub entries: Vec<Entry>,
}

impl Program {
    /// The program without one entry.
    pub fn without(&self, entry: usize) -> Program {
        let mut program = self.clone();
        program.entries.remove(entry);
        program
    }

    /// Encodes the program for the kernel.
    pub fn script(&self) -> Vec<u32> {
        let mut script = vec![0; WARPS];
        for warp in 0..WARPS {
            script[warp] = script.len() as u32;
            for entry in &self.entries {
                match *entry {
                    Entry::Warp(by, step) if by == warp => script.extend(words(step)),
                    Entry::BlockSync { without } if without != Some(warp) => {
                        script.extend(with(step::BLOCK_SYNC, &[]));
                    }
                    _ => {}
                }
            }
            script.extend(with(step::END, &[]));
        }
        script
    }
}

fn with(step: u32, operands: &[(usize, usize)]) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    words[0] = step;
    for &(operand, value) in operands {
        words[operand] = value as u32;
    }
    words
}

fn words(step: Step) -> [u32; WORDS] {
    use operand::{COUNT, FIRST, FORM, MASK, PART, SEED, STRIDE};
    let to = |places: Places| {
        [(FIRST, places.first), (STRIDE, places.stride), (MASK, places.mask as usize)]
    };
    let with_places = |step, places, more: &[_]| with(step, &[&to(places), more].concat());
    match step {
        Step::WarpSync => with(step::WARP_SYNC, &[]),
        Step::Set { part, places, seed } => {
            with_places(step::SET, places, &[(PART, part), (SEED, seed as usize)])
        }
        Step::SetUniform { part, element, seed } => {
            with(step::SET_UNIFORM, &[(PART, part), (FIRST, element), (SEED, seed as usize)])
        }
        Step::Get { part, places } => with_places(step::GET, places, &[(PART, part)]),
        Step::Fill { part, threads, seed } => {
            with(step::FILL, &[(PART, part), (COUNT, threads.count()), (SEED, seed as usize)])
        }
        Step::Load { part, places, count, trans } => {
            with_places(step::LOAD, places, &[(PART, part), (COUNT, count), (FORM, trans.into())])
        }
        Step::Store { part, places, count, trans, seed } => {
            let more = [(PART, part), (COUNT, count), (FORM, trans.into()), (SEED, seed as usize)];
            with_places(step::STORE, places, &more)
        }
        Step::Transpose => with(step::TRANSPOSE, &[]),
        Step::Multiply { a, b, d, stmatrix } => {
            let form = d.1 * 2 + usize::from(stmatrix);
            with(
                step::MULTIPLY,
                &[(PART, a.0), (FIRST, a.1 * 4 + b.1), (STRIDE, b.0), (MASK, d.0), (FORM, form)],
            )
        }
        Step::MultiplySparse { a, b, d, selector, seed } => with(
            step::MULTIPLY_SPARSE,
            &[
                (PART, a.0),
                (FIRST, a.1 * 4 + b.1),
                (STRIDE, b.0),
                (MASK, d.0),
                (FORM, d.1 * 4 + selector),
                (SEED, seed as usize),
            ],
        ),
        Step::LoadBytes { part, places, count } => {
            with_places(step::LOAD_BYTES, places, &[(PART, part), (COUNT, count)])
        }
        Step::StoreBytes { part, places, count, seed } => with_places(
            step::STORE_BYTES,
            places,
            &[(PART, part), (COUNT, count), (SEED, seed as usize)],
        ),
        Step::Copy { part, places, bytes, shift, some } => {
            let more = [(PART, part), (COUNT, bytes), (SEED, shift), (FORM, some)];
            with_places(step::COPY, places, &more)
        }
        Step::CopyTile { part, threads, shift, some } => {
            // Full copies, and copies by one warp, have a form of their own.
            let form = if some == 8 { 0 } else { some };
            with(
                step::COPY_TILE,
                &[(PART, part), (COUNT, threads.count()), (SEED, shift), (FORM, form)],
            )
        }
        Step::Commit => with(step::COMMIT, &[]),
        Step::Wait { newest } => with(step::WAIT, &[(COUNT, newest)]),
        Step::GlobalSet { places, seed } => {
            with_places(step::GLOBAL_SET, places, &[(SEED, seed as usize)])
        }
        Step::GlobalSetUniform { element, seed } => {
            with(step::GLOBAL_SET_UNIFORM, &[(FIRST, element), (SEED, seed as usize)])
        }
        Step::GlobalGet { places } => with_places(step::GLOBAL_GET, places, &[]),
        Step::Arrive { signal, mask, times } => {
            with(step::ARRIVE, &[(SEED, signal), (MASK, mask as usize), (COUNT, times as usize)])
        }
        Step::Await { signal } => with(step::AWAIT, &[(SEED, signal)]),
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} blocks of {WARPS} warps", self.blocks)?;
        for (number, entry) in self.entries.iter().enumerate() {
            match entry {
                Entry::Warp(warp, step) => writeln!(f, "{number:3}  warp {warp}: {step:?}")?,
                Entry::BlockSync { without: None } => writeln!(f, "{number:3}  block.sync")?,
                Entry::BlockSync { without: Some(warp) } => {
                    writeln!(f, "{number:3}  block.sync, not by warp {warp}")?
                }
            }
        }
        Ok(())
    }
}
