//! Recorded results of a device, for comparison on machines without this device.

use super::Buffers;
use super::by_name::Digests;
use super::checks::Checked;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptx_matrix::sim::Arch;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One launch: the check, its inputs and its output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Record {
    /// The name of the check.
    pub check: String,
    /// The input buffers.
    #[serde(with = "packed")]
    pub inputs: Buffers,
    /// The output buffer.
    #[serde(with = "packed_one")]
    pub output: Vec<u8>,
}

/// The records of one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    /// The name of the device.
    pub device: String,
    /// The version of its driver.
    pub driver: String,
    /// The target of the PTX.
    pub target: String,
    /// The launches.
    pub records: Vec<Record>,
    /// Digests for the forms of `wgmma` that were executed by their names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_name: Option<Digests>,
}

impl Recording {
    /// Repeats the recorded launches on a device, and compares the device and the reference with
    /// the record. Forms that were executed by name are repeated on the simulator. Returns the
    /// differences.
    pub fn replay<D: Checked + Sync>(&self, device: &D) -> Vec<String> {
        let checks = D::checks(Arch::SM_90);
        let by_name: HashMap<&str, _> =
            checks.iter().map(|check| (check.name.as_str(), check)).collect();
        let differences = |Record { check: name, inputs, output }: &Record| {
            let Some(check) = by_name.get(name.as_str()) else {
                return vec![format!("{name}: recorded, but there is no such check any more")];
            };
            let again = match (check.run)(device, inputs) {
                Ok(again) => {
                    check.difference(inputs, output, &again).map(|why| format!("{name}: {why}"))
                }
                Err(error) => Some(format!("{name}: {error}")),
            };
            let reference = check.difference(inputs, output, &(check.reference)(inputs));
            again
                .into_iter()
                .chain(reference.map(|why| format!("{name}, by the reference: {why}")))
                .collect()
        };
        let by_name = self.by_name.iter().flat_map(Digests::replay);
        self.records
            .par_iter()
            .flat_map_iter(differences)
            .collect::<Vec<String>>()
            .into_iter()
            .chain(by_name)
            .collect()
    }

    /// The checks with records.
    pub fn recorded(&self) -> impl Iterator<Item = &str> {
        self.records.iter().map(|record| record.check.as_str())
    }

    /// The recorded forms of `wgmma` that were executed by their names.
    pub fn recorded_by_name(&self) -> impl Iterator<Item = &str> {
        self.by_name.iter().flat_map(|digests| digests.forms.keys()).map(String::as_str)
    }
}

/// Compresses bytes and encodes them in base64.
fn pack(bytes: &[u8]) -> String {
    STANDARD.encode(miniz_oxide::deflate::compress_to_vec(bytes, 9))
}

fn unpack<E: serde::de::Error>(text: &str) -> Result<Vec<u8>, E> {
    let compressed = STANDARD.decode(text).map_err(E::custom)?;
    miniz_oxide::inflate::decompress_to_vec(&compressed).map_err(E::custom)
}

mod packed_one {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::pack(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        super::unpack(&String::deserialize(from)?)
    }
}

mod packed {
    use super::Buffers;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(buffers: &Buffers, to: S) -> Result<S::Ok, S::Error> {
        buffers.iter().map(|bytes| super::pack(bytes)).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Buffers, D::Error> {
        Vec::<String>::deserialize(from)?.iter().map(|text| super::unpack(text)).collect()
    }
}
