//! Sets of events.

/// A set of numbers.
#[derive(Debug, Clone, Default)]
pub struct Events(Vec<u64>);

impl Events {
    pub fn insert(&mut self, event: usize) {
        if self.0.len() <= event / 64 {
            self.0.resize(event / 64 + 1, 0);
        }
        self.0[event / 64] |= 1 << (event % 64);
    }

    pub fn has(&self, event: usize) -> bool {
        self.0.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    pub fn join(&mut self, other: &Events) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    pub fn without(mut self, other: &Events) -> Events {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
        self
    }

    pub fn both(mut self, other: &Events) -> Events {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
        self
    }
}

/// The events that every lane of an agent knows.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Events whose effects are visible.
    pub seen: Events,
    /// Stores among them that are followed by a proxy fence: of the storing warp, or of the warp
    /// that waited for an asynchronous store.
    pub fenced: Events,
    /// Stores among them that are followed by a proxy fence of another warp.
    pub fenced_by_others: Events,
    /// Events that have happened, although their writes need not be visible: those before the
    /// issue of a `wgmma` or a copy that was waited for.
    pub order: Events,
}

impl Known {
    pub fn join(&mut self, other: &Known) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
        self.fenced_by_others.join(&other.fenced_by_others);
        self.order.join(&other.order);
    }

    /// Whether an event is known to have happened.
    pub fn has_happened(&self, event: usize) -> bool {
        self.seen.has(event) || self.order.has(event)
    }

    /// The set without these events.
    pub fn without(self, events: &Events) -> Known {
        let Known { seen, fenced, fenced_by_others, order } = self;
        Known {
            order,
            seen: seen.without(events),
            fenced: fenced.without(events),
            fenced_by_others: fenced_by_others.without(events),
        }
    }
}
