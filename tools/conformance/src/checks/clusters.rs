//! Clusters of blocks.

use super::barriers::{Model, STEPS, draw};
use super::tensors::{Boxes, Place, right};
use super::{Check, upload, with_output};
use crate::data::{Rng, distinct};
use crate::{bytes, elements};
use bytemuck::Pod;
use ptx_matrix::copy::BoxTile;
use ptx_matrix::forms::Needs;
use ptx_matrix::launch::{Device, EncodedMap};
use ptx_matrix::target::{OnlyArch, Requirement};
use ptx_matrix_conformance_kernels::barriers::Step;
use ptx_matrix_conformance_kernels::cluster::{
    self as kernels, Both, BothLine, EXCHANGED, PLACES, WAYS,
};
use rand::RngExt;
use std::borrow::{Borrow, BorrowMut};

pub fn checks<D: Device + 'static>() -> Vec<Check<D>> {
    vec![
        places(),
        exchange::<D, u8>("8", |device, grid, a, out, marks| {
            kernels::cluster_exchange_8::launch(device, grid, a, out, marks)
        }),
        exchange::<D, u16>("16", |device, grid, a, out, marks| {
            kernels::cluster_exchange_16::launch(device, grid, a, out, marks)
        }),
        exchange::<D, u32>("32", |device, grid, a, out, marks| {
            kernels::cluster_exchange_32::launch(device, grid, a, out, marks)
        }),
        exchange::<D, u64>("64", |device, grid, a, out, marks| {
            kernels::cluster_exchange_64::launch(device, grid, a, out, marks)
        }),
        stages(),
        script("few arrivals", 12),
        script("many arrivals", (1 << 20) - 1),
        waits(),
        unaligned(),
        send(),
        multicast(),
        multicast_cached(),
        boxes::<D, BothLine, 1>("1d", [64], |device, from, at, out| {
            kernels::cluster_multicast_1d::launch(device, 2, from, at, out)
        }),
        boxes::<D, Both, 2>("2d", [64, 16], |device, from, at, out| {
            kernels::cluster_multicast_2d::launch(device, 2, from, at, out)
        }),
        boxes::<D, Both, 3>("3d", [64, 4, 4], |device, from, at, out| {
            kernels::cluster_multicast_3d::launch(device, 2, from, at, out)
        }),
        boxes::<D, Both, 4>("4d", [64, 4, 2, 2], |device, from, at, out| {
            kernels::cluster_multicast_4d::launch(device, 2, from, at, out)
        }),
        boxes::<D, Both, 5>("5d", [64, 2, 2, 2, 2], |device, from, at, out| {
            kernels::cluster_multicast_5d::launch(device, 2, from, at, out)
        }),
    ]
}

/// Clusters in a launch.
const CLUSTERS: usize = 5;

fn words(rng: &mut Rng, count: usize) -> Vec<u32> {
    (0..count).map(|_| rng.random::<u32>() >> 2).collect()
}

/// Input: the number of clusters along x and along z.
fn places<D: Device + 'static>() -> Check<D> {
    Check {
        name: "%cluster_ctarank and its like".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 8,
        element: 4,
        inputs: Box::new(|rng| vec![bytes(&[rng.random_range(1..=4u32), rng.random_range(1..=3)])]),
        run: Box::new(|device, inputs| {
            let [x, z] = elements::<u32>(&inputs[0])[..] else { panic!("two numbers") };
            with_output::<D, u32>(device, (x * z) as usize * 4 * PLACES, |out| {
                kernels::cluster_places::launch(device, (x * 2, 1, z * 2), out)
            })
        }),
        reference: Box::new(|inputs| {
            let [x, z] = elements::<u32>(&inputs[0])[..] else { panic!("two numbers") };
            let blocks = (0..z * 2).flat_map(|bz| (0..x * 2).map(move |bx| (bx, bz)));
            let places = blocks.flat_map(|(bx, bz)| {
                [bx % 2 + bz % 2 * 2, bx % 2, bz % 2, bx / 2, bz / 2, 212, x, z, 4, 1]
            });
            bytes(&places.collect::<Vec<u32>>())
        }),
    }
}

type Exchange<D, T> = for<'d> fn(
    &'d D,
    u32,
    &'d <D as Device>::Buffer<T>,
    &'d mut <D as Device>::Buffer<T>,
    &'d mut <D as Device>::Buffer<u32>,
) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: each block's elements. Output: the elements of the block two ranks further, and the marks
/// of the block one rank before.
fn exchange<D: Device + 'static, T: Pod>(width: &str, launch: Exchange<D, T>) -> Check<D> {
    let (element, count) = (size_of::<T>(), CLUSTERS * 4 * EXCHANGED);
    Check {
        name: format!("ld and st.shared::cluster, {width} bits"),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element,
        inputs: Box::new(move |rng| vec![(0..count * element).map(|_| rng.random()).collect()]),
        run: Box::new(move |device, inputs| {
            let a = upload::<D, T>(device, &inputs[0])?;
            let mut out = upload::<D, T>(device, &vec![0xff; count * element])?;
            let mut marks = upload::<D, u32>(device, &vec![0xff; count * 4])?;
            launch(device, CLUSTERS as u32 * 4, a.borrow(), out.borrow_mut(), marks.borrow_mut())?;
            let (out, marks) = (device.download(out.borrow())?, device.download(marks.borrow())?);
            Ok([bytes(&out), bytes(&marks)].concat())
        }),
        reference: Box::new(move |inputs| {
            // The block `further` ranks after `block` in the same cluster.
            let of = |block: usize, further: usize| block / 4 * 4 + (block + further) % 4;
            let read = (0..count).flat_map(|i| {
                let from = of(i / EXCHANGED, 2) * EXCHANGED + ((i % EXCHANGED) ^ 31);
                inputs[0][from * element..][..element].to_vec()
            });
            let marks: Vec<u32> = (0..count)
                .map(|i| (of(i / EXCHANGED, 3) * EXCHANGED + ((i % EXCHANGED) ^ 32 ^ 5)) as u32)
                .collect();
            [read.collect(), bytes(&marks)].concat()
        }),
    }
}

/// Input: the rows.
fn stages<D: Device + 'static>() -> Check<D> {
    const ROWS: usize = 20;
    Check {
        name: "mbarrier of another block, rows through stages".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| vec![bytes(&words(rng, CLUSTERS * ROWS * 32))]),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, CLUSTERS * ROWS * 32, |out| {
                kernels::cluster_stages::launch(device, CLUSTERS as u32 * 2, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            bytes(&(0..a.len()).map(|i| a[i ^ 9]).collect::<Vec<u32>>())
        }),
    }
}

/// Input: the barrier's count, and a valid script. Its steps often complete the current phase.
fn script<D: Device + 'static>(name: &str, most: u32) -> Check<D> {
    Check {
        name: format!("mbarrier of another block, every form, {name}"),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 32,
        element: 4,
        inputs: Box::new(move |rng| {
            let count = rng.random_range(most / 2..=most);
            let mut model = Model::new(count);
            let mut script = Vec::new();
            while script.len() < STEPS * 2 {
                let (step, operand) = draw(rng, model);
                if let Some(after) = model.after(step, operand) {
                    model = after;
                    // The scope is the block or the cluster.
                    script.extend([step as u32 + rng.random_range(0..2) * 8, operand]);
                }
            }
            vec![bytes(&script), bytes(&[count])]
        }),
        run: Box::new(|device, inputs| {
            let script = upload::<D, u32>(device, &inputs[0])?;
            let [count] = elements::<u32>(&inputs[1])[..] else { panic!("one count") };
            with_output::<D, u32>(device, STEPS, |out| {
                kernels::cluster_barrier_script::launch(device, 2, script.borrow(), count, out)
            })
        }),
        reference: Box::new(|inputs| {
            let mut model = Model::new(elements::<u32>(&inputs[1])[0]);
            let script = elements::<u32>(&inputs[0]);
            let output = script.chunks(2).map(|step| {
                model = model
                    .after(Step::ALL[step[0] as usize % 8], step[1])
                    .expect("a script that is right");
                if model.phase.is_multiple_of(2) { 2u32 } else { 1 }
            });
            bytes(&output.collect::<Vec<u32>>())
        }),
    }
}

/// Input: the rows.
fn waits<D: Device + 'static>() -> Check<D> {
    const ROWS: usize = CLUSTERS * WAYS * 3;
    Check {
        name: "mbarrier of another block, waited for in every way".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| vec![bytes(&words(rng, ROWS * 32))]),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, ROWS * 32, |out| {
                kernels::cluster_waits::launch(device, CLUSTERS as u32 * 2, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            bytes(&(0..a.len()).map(|i| a[i ^ 9]).collect::<Vec<u32>>())
        }),
    }
}

/// Input: the rows.
fn unaligned<D: Device + 'static>() -> Check<D> {
    Check {
        name: "barrier.cluster, mapa and getctarank, of lanes".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 4,
        inputs: Box::new(|rng| vec![bytes(&words(rng, CLUSTERS * 128))]),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u32>(device, &inputs[0])?;
            with_output::<D, u32>(device, CLUSTERS * 128, |out| {
                kernels::cluster_raw::launch(device, CLUSTERS as u32 * 2, a.borrow(), out)
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u32>(&inputs[0]);
            // The kernel adds two ranks, both of which are 1.
            bytes(&(0..a.len()).map(|i| a[i ^ 1] + 2).collect::<Vec<u32>>())
        }),
    }
}

/// Elements of a tile.
const TILE: usize = 8 * 32;

/// Input: the tiles; the number of blocks between the sender and the receiver.
fn send<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk, to another block".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| {
            vec![bytes(&distinct(rng, CLUSTERS * 4 * TILE)), bytes(&[rng.random_range(0..4u32)])]
        }),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u16>(device, &inputs[0])?;
            let [by] = elements::<u32>(&inputs[1])[..] else { panic!("one number") };
            with_output::<D, u16>(device, CLUSTERS * 4 * TILE, |out| {
                kernels::cluster_send::launch(device, CLUSTERS as u32 * 4, a.borrow(), by, out)
            })
        }),
        reference: Box::new(|inputs| {
            let (a, by) = (elements::<u16>(&inputs[0]), elements::<u32>(&inputs[1])[0] as usize);
            let from = |block: usize| block / 4 * 4 + (block + 7 - by) % 4;
            bytes(&(0..a.len()).map(|i| a[from(i / TILE) * TILE + i % TILE]).collect::<Vec<u16>>())
        }),
    }
}

/// Input: a tile for each cluster; whether it goes to all blocks.
fn multicast<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk, to several blocks".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| {
            vec![bytes(&distinct(rng, CLUSTERS * TILE)), bytes(&[rng.random_range(0..2u32)])]
        }),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u16>(device, &inputs[0])?;
            let [all] = elements::<u32>(&inputs[1])[..] else { panic!("one number") };
            with_output::<D, u16>(device, CLUSTERS * 4 * TILE, |out| {
                kernels::cluster_multicast::launch(
                    device,
                    CLUSTERS as u32 * 4,
                    a.borrow(),
                    all,
                    out,
                )
            })
        }),
        reference: Box::new(|inputs| {
            let (a, all) = (elements::<u16>(&inputs[0]), elements::<u32>(&inputs[1])[0] != 0);
            let element = |i: usize| {
                let (block, element) = (i / TILE, i % TILE);
                if all || matches!(block % 4, 1 | 2) { a[block / 4 * TILE + element] } else { 1 }
            };
            bytes(&(0..CLUSTERS * 4 * TILE).map(element).collect::<Vec<u16>>())
        }),
    }
}

/// Input: a tile for each pair of blocks.
fn multicast_cached<D: Device + 'static>() -> Check<D> {
    Check {
        name: "cp.async.bulk.L2::cache_hint, to several blocks".into(),
        needs: Needs::at_least(90),
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(|rng| vec![bytes(&distinct(rng, CLUSTERS * TILE))]),
        run: Box::new(|device, inputs| {
            let a = upload::<D, u16>(device, &inputs[0])?;
            with_output::<D, u16>(device, CLUSTERS * 2 * TILE, |out| {
                kernels::cluster_multicast_cached::launch(
                    device,
                    CLUSTERS as u32 * 2,
                    a.borrow(),
                    out,
                )
            })
        }),
        reference: Box::new(|inputs| {
            let a = elements::<u16>(&inputs[0]);
            let element = |i: usize| a[i / TILE / 2 * TILE + i % TILE];
            bytes(&(0..CLUSTERS * 2 * TILE).map(element).collect::<Vec<u16>>())
        }),
    }
}

type Multicast<D, Tile, const RANK: usize> =
    for<'d> fn(
        &'d D,
        &'d EncodedMap<'d, D, Tile, RANK>,
        &'d <D as Device>::Buffer<i32>,
        &'d mut <D as Device>::Buffer<u16>,
    ) -> Result<<D as Device>::Report, <D as Device>::Error>;

/// Input: the tensor's layout, and two coordinates; the source. Output: both boxes, in each block.
fn boxes<D: Device + 'static, Tile: BoxTile<Element = u16>, const RANK: usize>(
    dims: &str,
    sizes: [usize; RANK],
    launch: Multicast<D, Tile, RANK>,
) -> Check<D> {
    let boxes = Boxes { sizes, steps: [1; RANK], row_major: true };
    let elements_of_box = sizes.iter().product::<usize>();
    Check {
        name: format!("cp.async.bulk.tensor.{dims}, to several blocks"),
        needs: <OnlyArch<90> as Requirement>::NEEDS,
        arithmetic: None,
        labels: None,
        rounds: 16,
        element: 2,
        inputs: Box::new(move |rng| {
            let place = boxes.draw(rng, 2, &[true, true]);
            let [layout, at] = place.bytes();
            vec![layout, at, (0..place.len() * 2).map(|_| rng.random()).collect()]
        }),
        run: Box::new(move |device, inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = upload::<D, u16>(device, &inputs[2])?;
            let at = upload::<D, i32>(device, &inputs[1])?;
            let from = right(place.tensor::<Tile>(&boxes).map(device, source.borrow()));
            with_output::<D, u16>(device, elements_of_box * 4, |out| {
                launch(device, &from, at.borrow(), out)
            })
        }),
        reference: Box::new(move |inputs| {
            let place = Place::<RANK>::of(&inputs[0], &inputs[1]);
            let source = elements::<u16>(&inputs[2]);
            let both = (0..2)
                .flat_map(|at| boxes.indices(&place, at))
                .map(|from| from.map_or(0, |from| source[from]));
            let both: Vec<u16> = both.collect();
            bytes(&[&both[..], &both[..]].concat())
        }),
    }
}
