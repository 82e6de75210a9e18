//! The mbarriers of the model.

use super::known::{Events, Known};

/// A misuse that ends the run.
#[derive(Debug, Clone, Copy)]
pub struct Trouble;

/// A copy in flight, or a pending arrival of one.
#[derive(Debug, Clone)]
pub struct Copy {
    /// The barrier that it completes on.
    pub barrier: usize,
    pub bytes: u32,
    pub arrivals: u32,
    /// The barrier's phase at its start.
    pub phase: i64,
    pub events: Vec<usize>,
    /// The events before its start.
    pub order: Events,
}

pub struct Barrier {
    count: u32,
    pending: u32,
    pub bytes: i64,
    /// Completed phases.
    pub phase: i64,
    released: Known,
    released_by_peers: Known,
    /// The events that are known by the completed phases: through arrivals of the own block, and
    /// of other blocks of the cluster.
    pub over: Known,
    pub over_of_peers: Known,
    /// The event of each phase's completion.
    pub completions: Vec<usize>,
    /// The known events at each completion.
    known_at: Vec<Known>,
    /// The phases that warps waited for, and the events of these waits.
    pub waits: Vec<(i64, usize)>,
}

impl Barrier {
    pub fn new(count: u32) -> Self {
        Barrier {
            count,
            pending: count,
            bytes: 0,
            phase: 0,
            released: Known::default(),
            released_by_peers: Known::default(),
            over: Known::default(),
            over_of_peers: Known::default(),
            completions: Vec::new(),
            known_at: Vec::new(),
            waits: Vec::new(),
        }
    }

    pub fn arrive(
        &mut self,
        released: &Known,
        of_peer: bool,
        count: u32,
        events: &mut usize,
    ) -> Result<(), Trouble> {
        if of_peer { &mut self.released_by_peers } else { &mut self.released }.join(released);
        self.count(count, events)
    }

    pub fn land(&mut self, copy: &Copy, events: &mut usize) -> Result<(), Trouble> {
        if copy.phase != self.phase {
            return Err(Trouble);
        }
        copy.events.iter().for_each(|&event| self.released.seen.insert(event));
        self.released.order.join(&copy.order);
        self.bytes -= i64::from(copy.bytes);
        self.count(copy.arrivals, events)
    }

    fn count(&mut self, arrivals: u32, events: &mut usize) -> Result<(), Trouble> {
        self.pending = self.pending.checked_sub(arrivals).ok_or(Trouble)?;
        if self.pending > 0 {
            return Ok(());
        }
        if self.bytes < 0 {
            return Err(Trouble);
        }
        if self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
            self.released.seen.insert(*events);
            self.completions.push(*events);
            *events += 1;
            self.over.join(&std::mem::take(&mut self.released));
            self.over_of_peers.join(&std::mem::take(&mut self.released_by_peers));
            let mut known = self.over.clone();
            known.join(&self.over_of_peers);
            self.known_at.push(known);
        }
        Ok(())
    }

    /// Whether a wait could, in another order, come only after the next phase is complete too.
    pub fn may_be_missed(&self) -> bool {
        self.waits.iter().any(|&(phase, event)| {
            let next = self.known_at.get((phase + 1) as usize);
            next.is_some_and(|known| !known.has_happened(event))
        })
    }
}
