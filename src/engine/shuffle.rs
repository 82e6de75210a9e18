//! `shfl.sync`: the source lane of each lane (PTX ISA 9.7.9.6).

/// The mode of a shuffle: how a lane finds its source lane.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    Up,
    Down,
    Butterfly,
    Index,
}

impl Mode {
    /// The source lane of `lane`, and whether it is within the segment. If not, the source is
    /// `lane` itself.
    pub(crate) fn source(self, lane: usize, b: u32, c: u32) -> (usize, bool) {
        let (lane, b, clamp, segment) = (lane as u32, b % 32, c % 32, c >> 8 & 31);
        let last = lane & segment | clamp & !segment;
        let (source, within) = match self {
            Mode::Up => {
                (lane.wrapping_sub(b), lane.checked_sub(b).is_some_and(|source| source >= last))
            }
            Mode::Down => (lane + b, lane + b <= last),
            Mode::Butterfly => (lane ^ b, lane ^ b <= last),
            Mode::Index => {
                let source = lane & segment | b & !segment;
                (source, source <= last)
            }
        };
        (if within { source } else { lane } as usize, within)
    }
}
