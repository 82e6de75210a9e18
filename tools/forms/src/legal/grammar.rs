//! The candidates: each family's qualifiers, in the order of PTX's syntax.
//!
//! A family is a list of slots, and a candidate has one word for each slot. A word that today's
//! ptxas does not know costs one question. Such words are here for a newer ptxas.

/// The families of `tests/forms/legal.csv`, in its order.
pub const FAMILIES: [&str; 6] =
    ["ldmatrix", "stmatrix", "movmatrix", "mma", "mma.sp", "mma.sp::ordered_metadata"];

/// The meaning of a slot's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Shape,
    /// The number of matrices, as in `x4`.
    Count,
    A,
    B,
    C,
    D,
    /// The elements of `ldmatrix`, `stmatrix` and `movmatrix`.
    Element,
    /// A qualifier that depends neither on the shape nor on the elements.
    Option,
}

/// A place in the mnemonic, and its possible words.
#[derive(Debug)]
pub struct Slot {
    pub role: Role,
    /// Qualifiers without the first dot. Words after `|` are at the end of the mnemonic. The first
    /// word of an option is its default.
    pub words: Vec<String>,
}

/// An instruction, and its slots.
#[derive(Debug)]
pub struct Family {
    pub name: &'static str,
    pub slots: Vec<Slot>,
}

/// For each slot, the index of its word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate(pub Vec<u8>);

const DEPTHS: [u32; 8] = [4, 8, 16, 32, 64, 128, 256, 512];
const OPERANDS: [&str; 19] = [
    "f16", "bf16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2", "e2m3", "e3m2",
    "e2m1", "f32", "s2", "u2", "e0m3", "e3m0",
];
const ACCUMULATORS: [&str; 5] = ["f16", "f32", "f64", "s32", "bf16"];
const KINDS: [&str; 8] = ["f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4", "i8", "f16", "tf32", "nvf4"];
const VECTORS: [&str; 5] = ["1X", "2X", "4X", "8X", "16X"];
const SCALES: [&str; 3] = ["ue8m0", "ue4m3", "ue5m3"];

impl Family {
    /// The family with a name of [`FAMILIES`].
    pub fn named(name: &str) -> Option<Self> {
        let name = FAMILIES.into_iter().find(|&family| family == name)?;
        let slots = match name {
            "ldmatrix" | "stmatrix" => vec![
                slot(
                    Role::Shape,
                    &["m8n8", "m8n16", "m16n8", "m16n16", "m16n32", "m32n16", "m32n32"],
                ),
                slot(Role::Count, &["x1", "x2", "x4", "x8", "x16"]),
                slot(Role::Option, &["", "trans"]),
                // The spelling without a state space and the one with `.shared::cta` are the same
                // form.
                slot(Role::Option, &["shared", "shared::cluster", "global", "local"]),
                slot(Role::Element, &elements()),
            ],
            "movmatrix" => vec![
                slot(Role::Shape, &["m8n8", "m8n16", "m16n8", "m16n16"]),
                slot(Role::Option, &["trans", ""]),
                slot(Role::Element, &elements()),
            ],
            _ => multiplication(),
        };
        Some(Self { name, slots })
    }

    /// The mnemonic.
    pub fn form(&self, candidate: &Candidate) -> String {
        let mut form = format!("{}.sync.aligned", self.name);
        let mut end = String::new();
        for word in self.words(candidate).filter(|word| !word.is_empty()) {
            let (here, behind) = word.split_once('|').unwrap_or((word, ""));
            form = form + "." + here;
            if !behind.is_empty() {
                end = end + "." + behind;
            }
        }
        form + &end
    }

    /// The word in the slot of a role.
    pub fn word(&self, candidate: &Candidate, role: Role) -> Option<&str> {
        let at = self.slots.iter().position(|slot| slot.role == role)?;
        self.words(candidate).nth(at)
    }

    fn words(&self, candidate: &Candidate) -> impl Iterator<Item = &str> {
        self.slots
            .iter()
            .zip(&candidate.0)
            .map(|(slot, &word)| slot.words[usize::from(word)].as_str())
    }

    /// Parses a mnemonic.
    pub fn candidate(&self, form: &str) -> Option<Candidate> {
        let rest = form.strip_prefix(self.name)?.strip_prefix(".sync.aligned")?;
        let mut partial = vec![(rest.to_owned(), Vec::new())];
        for slot in &self.slots {
            let taken = partial.iter().flat_map(|(rest, words)| {
                slot.words.iter().zip(0u8..).filter_map(move |(word, number)| {
                    let (here, behind) = word.split_once('|').unwrap_or((word, ""));
                    let rest = if here.is_empty() {
                        rest
                    } else {
                        rest.strip_prefix('.')?.strip_prefix(here)?
                    };
                    let rest = if behind.is_empty() {
                        rest
                    } else {
                        rest.strip_suffix(behind)?.strip_suffix('.')?
                    };
                    Some((rest.to_owned(), [words.as_slice(), &[number]].concat()))
                })
            });
            partial = taken.collect();
        }
        let whole = partial
            .into_iter()
            .find(|(rest, words)| rest.is_empty() && words.len() == self.slots.len());
        whole.map(|(_, words)| Candidate(words)).filter(|candidate| self.form(candidate) == form)
    }

    /// The first word of each slot.
    pub fn defaults(&self) -> Candidate {
        Candidate(vec![0; self.slots.len()])
    }

    /// Each shape with all elements, and at most one option that is not the default.
    ///
    /// A form with more options is asked about only if one with one option fewer is legal: see
    /// [`with_one_more_option`](Self::with_one_more_option).
    pub fn simple(&self) -> Vec<Candidate> {
        let core: Vec<usize> = self.slots_where(|role| role != Role::Option);
        let mut departures = vec![self.defaults()];
        departures.extend(self.with_one_more_option(&self.defaults()));
        let product = |candidates: Vec<Candidate>, &slot: &usize| {
            let with = |candidate: Candidate| {
                (0..self.slots[slot].words.len()).map(move |word| candidate.with(slot, word as u8))
            };
            candidates.into_iter().flat_map(with).collect()
        };
        core.iter().fold(departures, product)
    }

    /// The candidates with one more option that is not the default.
    pub fn with_one_more_option(&self, candidate: &Candidate) -> Vec<Candidate> {
        let slots = self
            .slots_where(|role| role == Role::Option)
            .into_iter()
            .filter(|&slot| candidate.0[slot] == 0);
        let words = |slot: usize| {
            (1..self.slots[slot].words.len()).map(move |word| candidate.with(slot, word as u8))
        };
        slots.flat_map(words).collect()
    }

    /// The number of options that are not the default.
    pub fn options(&self, candidate: &Candidate) -> usize {
        self.slots_where(|role| role == Role::Option)
            .into_iter()
            .filter(|&slot| candidate.0[slot] != 0)
            .count()
    }

    fn slots_where(&self, takes: impl Fn(Role) -> bool) -> Vec<usize> {
        (0..self.slots.len()).filter(|&slot| takes(self.slots[slot].role)).collect()
    }

    /// Removes the words that `is_known` rejects, except for the defaults.
    pub fn retain(&mut self, is_known: impl Fn(&str) -> bool) {
        for slot in &mut self.slots {
            slot.words.retain(|word| {
                word.split(['.', '|']).all(|part| part.is_empty() || is_known(part))
            });
        }
    }
}

impl Candidate {
    pub fn with(&self, slot: usize, word: u8) -> Self {
        let mut words = self.0.clone();
        words[slot] = word;
        Self(words)
    }
}

fn slot(role: Role, words: &[impl AsRef<str>]) -> Slot {
    Slot { role, words: words.iter().map(|word| word.as_ref().to_owned()).collect() }
}

/// The elements of `ldmatrix`, `stmatrix` and `movmatrix`: plain, and unpacked from fewer bits.
fn elements() -> Vec<String> {
    let plain = ["b16", "b8", "b32", "b64", "b4", "b6"].map(str::to_owned);
    let unpacked = ["b4x16_p64", "b6x16_p32", "b2x16_p96", "b5x16_p48"]
        .map(|packed| format!("b8x16.{packed}"));
    plain.into_iter().chain(unpacked).collect()
}

fn multiplication() -> Vec<Slot> {
    let shapes = [(8, 8), (16, 8), (8, 16), (16, 16), (32, 8), (8, 32), (64, 8)];
    let shapes: Vec<String> = shapes
        .iter()
        .flat_map(|(m, n)| DEPTHS.iter().map(move |k| format!("m{m}n{n}k{k}")))
        .collect();
    // Without the number of scales, a form means the default number. Such spellings are no separate
    // forms.
    let mut kinds = vec![String::new()];
    for kind in KINDS {
        kinds.push(format!("kind::{kind}"));
        for vector in VECTORS {
            let scaled = |scale| format!("kind::{kind}.block_scale.scale_vec::{vector}|{scale}");
            kinds.extend(SCALES.map(scaled));
        }
    }
    vec![
        slot(Role::Shape, &shapes),
        slot(Role::Option, &["row", "col"]),
        slot(Role::Option, &["col", "row"]),
        slot(Role::Option, &["", "satfinite"]),
        slot(Role::Option, &kinds),
        slot(Role::D, &ACCUMULATORS),
        slot(Role::A, &OPERANDS),
        slot(Role::B, &OPERANDS),
        slot(Role::C, &ACCUMULATORS),
        slot(Role::Option, &["", "and.popc", "xor.popc", "or.popc"]),
        slot(Role::Option, &["", "rn", "rz", "rm", "rp"]),
    ]
}

/// The reason why a form is not in the list although ptxas accepts it.
pub fn left_out(form: &str) -> Option<&'static str> {
    let has = |word: &str| form.split('.').any(|part| part == word);
    LEFT_OUT.iter().find(|(_, is)| is(&has)).map(|&(why, _)| why)
}

type Words<'a> = &'a dyn Fn(&str) -> bool;

/// Whether a form belongs to an entry of [`LEFT_OUT`].
type Rule = fn(Words<'_>) -> bool;

/// Forms that ptxas accepts and the grammar of PTX does not have, with the reason. With 8-bit
/// floats, ptxas 13.5 accepts any kind.
const LEFT_OUT: &[(&str, Rule)] = &[
    ("bit operations are for b1 alone", |has| has("popc") && !has("b1")),
    ("these kinds belong to tcgen05", |has| {
        has("kind::f16") || has("kind::tf32") || has("kind::i8")
    }),
    ("these kinds have block scaling", |has| {
        (has("kind::mxf8f6f4") || has("kind::mxf4") || has("kind::mxf4nvf4")) && !has("block_scale")
    }),
    ("a dense kind::f8f6f4 has k32", |has| has("kind::f8f6f4") && has("m16n8k16")),
    ("sparse 8-bit floats accumulate in f16 with kind::f8f6f4 alone", |has| {
        has("m16n8k64") && (has("e4m3") || has("e5m2")) && has("f16") && !has("kind::f8f6f4")
    }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_row_of_the_list_is_a_candidate_that_is_asked_about() {
        let list = crate::legal_forms::read().unwrap();
        assert!(list.len() >= 384);
        for name in FAMILIES {
            let family = Family::named(name).unwrap();
            let rows: BTreeSet<Candidate> = list
                .iter()
                .filter(|row| row.family == name)
                .map(|row| {
                    family
                        .candidate(&row.form)
                        .unwrap_or_else(|| panic!("{} is no candidate", row.form))
                })
                .collect();
            // A row is reachable if it has at most one option, or if it is a row too with an option
            // fewer.
            let fewer = |row: &Candidate| {
                let options = family.slots_where(|role| role == Role::Option);
                let departs: Vec<usize> =
                    options.into_iter().filter(|&slot| row.0[slot] != 0).collect();
                departs.len() <= 1 || departs.iter().any(|&slot| rows.contains(&row.with(slot, 0)))
            };
            for row in &rows {
                assert!(fewer(row), "{} is not asked about", family.form(row));
                assert_eq!(left_out(&family.form(row)), None, "{}", family.form(row));
            }
        }
    }

    #[test]
    fn forms_outside_of_the_grammar_are_left_out() {
        for (form, reason) in [
            ("mma.sync.aligned.m16n8k32.row.col.kind::tf32.f32.e4m3.e4m3.f32", "tcgen05"),
            ("mma.sync.aligned.m16n8k32.row.col.kind::mxf4.f32.e4m3.e4m3.f32", "block scaling"),
            ("mma.sync.aligned.m16n8k16.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", "k32"),
            (
                "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f16.e4m3.e5m2.f16",
                "kind::f8f6f4 alone",
            ),
        ] {
            let why = left_out(form).unwrap_or_default();
            assert!(why.contains(reason), "{form}: {why}");
        }
    }

    #[test]
    fn names_and_candidates_are_inverse() {
        for name in FAMILIES {
            let mut family = Family::named(name).unwrap();
            if family.slots.len() > 5 {
                family.slots[0].words.truncate(3);
                family.slots[6].words.truncate(4);
                family.slots[7].words.truncate(4);
            }
            let candidates = family.simple();
            let forms: BTreeSet<String> =
                candidates.iter().map(|candidate| family.form(candidate)).collect();
            assert_eq!(forms.len(), candidates.len(), "{name}");
            for candidate in candidates.iter().step_by(7) {
                assert_eq!(family.candidate(&family.form(candidate)).as_ref(), Some(candidate));
            }
        }
        let family = Family::named("mma").unwrap();
        assert_eq!(family.candidate("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16"), None);
        assert_eq!(family.candidate("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16.rq"), None);
    }
}
