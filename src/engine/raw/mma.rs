//! `mma` in one lane.
//!
//! There are hundreds of forms. A lane passes its registers as words, and a [`MmaDescription`]
//! computes the results of all lanes. So nothing here is compiled for each form.

use crate::engine::{
    arithmetic::{MmaDescription, MmaOperands, Words},
    findings::Misuse,
    warps::{context::fail, lanes::collective_of_words},
};
use crate::fragment::Registers;
use crate::isa::Selectors;
use crate::lane::{LANES, PerLane, Site};
use bytemuck::Pod;
use std::vec::Vec;

/// Executes a form of `mma`. The words are the lane's registers, in the order of the form's
/// kernel. Returns no words while a failed run is unwound.
#[track_caller]
pub(crate) fn in_lane(
    form: &'static str,
    description: &'static MmaDescription,
    selectors: Selectors,
    mut words: Vec<u32>,
) -> Vec<u32> {
    // In `raw`, lanes may have different selectors of metadata: then that is the finding.
    words.push(selectors.metadata);
    collective_of_words(Site::here(), form, words, move |site, lanes| {
        execute(site, form, description, selectors, &mut LaneWords { lanes, taken: 0 })
    })
}

/// The same with the operands as words of registers. Returns zeros while a failed run is unwound.
#[track_caller]
pub(crate) fn multiply<R: Registers>(
    form: &'static str,
    description: &'static MmaDescription,
    selectors: Selectors,
    operands: &[&[u32]],
) -> R {
    let results = in_lane(form, description, selectors, operands.concat());
    let mut registers = R::zeroed();
    let to: &mut [u32] = bytemuck::must_cast_slice_mut(core::slice::from_mut(&mut registers));
    if !results.is_empty() {
        to.copy_from_slice(&results);
    }
    registers
}

/// The words of a register operand.
pub(crate) fn words<T: Pod>(registers: &T) -> &[u32] {
    bytemuck::must_cast_slice(core::slice::from_ref(registers))
}

/// Computes each lane's words of D.
fn execute(
    site: Site,
    form: &'static str,
    description: &MmaDescription,
    mut selectors: Selectors,
    lanes: &mut LaneWords,
) -> Vec<Vec<u32>> {
    let MmaDescription { a, b, c, d, sparsity, is_scaled, .. } = description;
    let (a, b, c) = (lanes.take(a.words), lanes.take(b.words), lanes.take(c.words));
    let mut operands = MmaOperands::new(&a, &b, &c);
    if sparsity.is_some() {
        selectors.metadata = lanes.selector(site, form);
        operands.metadata = lanes.word();
    }
    if *is_scaled {
        operands.scales_a = lanes.word();
        operands.scales_b = lanes.word();
    }
    operands.selectors = selectors;
    let results = description.execute(site, form, &operands);
    results.chunks(d.words).map(Vec::from).collect()
}

/// The operands of all lanes.
struct LaneWords {
    /// Each lane's words.
    lanes: Vec<Vec<u32>>,
    /// The number of words that have been taken.
    taken: usize,
}

impl LaneWords {
    /// Takes the next words of each lane.
    fn take(&mut self, per_lane: usize) -> Words {
        let mut words = Words::new(per_lane);
        for (words, lane) in words.chunks_mut(per_lane).zip(&self.lanes) {
            words.copy_from_slice(&lane[self.taken..][..per_lane]);
        }
        self.taken += per_lane;
        words
    }

    /// Takes the next word of each lane.
    fn word(&mut self) -> PerLane<u32> {
        let words = self.take(1);
        PerLane::from_array(core::array::from_fn::<u32, LANES, _>(|lane| words[lane]))
    }

    /// The selector of the metadata, which is the last word of each lane.
    fn selector(&self, site: Site, form: &'static str) -> u32 {
        let selectors = || self.lanes.iter().filter_map(|words| words.last().copied());
        let first = selectors().next().unwrap_or_default();
        if let Some(other) = selectors().find(|&other| other != first) {
            fail(site, Misuse::SelectorsDiffer { form, first, other });
        }
        first
    }
}
