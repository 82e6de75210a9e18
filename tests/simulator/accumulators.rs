//! Accumulators in shared memory: the order between the warpgroups that store and load them, also
//! across blocks.

use ptx_matrix::mma::{GroupAccumulator, SharedAccumulator};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Agent, Misuse, SimError, Simulator};

/// Each block of a pair loads the accumulators that the other has stored.
#[kernel(threads = 128, cluster = 2, target = "sm_90")]
fn exchange(
    block: &ClusterBlock<2>,
    #[shared] memory: SharedAccumulator<8, f32>,
    d: GlobalMut<f32>,
    how: u32,
) {
    let (group, cluster) = (block.warp_group(), block.cluster());
    let rank = cluster.rank();
    if how != 3 || rank == 0 {
        let acc = GroupAccumulator::<8, f32>::from_fn(group, |row, col| {
            (1000 * rank + 8 * row + col) as f32
        });
        memory.put(group, &acc);
    }
    if how == 1 {
        let arrival = cluster.arrive_relaxed();
        cluster.wait(arrival);
    } else {
        cluster.sync();
    }
    let acc = memory.of(cluster.peer(1 - rank)).get(group); // <- taken up
    acc.for_each(group, |row, col, sum| d.set(512 * rank + 8 * row + col, sum));
    if how != 2 {
        cluster.sync();
    }
}

#[test]
fn stored_accumulators_are_loaded_after_a_sync() {
    let mut d = [0.0; 1024];
    exchange::launch(&Simulator::new(0).schedules(16), 2, &mut d, 0).check();
    assert_eq!(
        d,
        core::array::from_fn(|i| if i < 512 { (1000 + i) as f32 } else { (i - 512) as f32 })
    );
}

#[test]
fn load_before_the_sync_or_from_an_ended_peer_is_an_error() {
    let find = |how: u32, is_it: fn(&SimError) -> bool| {
        for seed in 0..12 {
            let error = exchange::launch(&Simulator::new(seed), 2, &mut [0.0; 1024], how)
                .expect_err("something is wrong");
            assert!(is_it(&error), "{error}");
            assert_eq!(
                error.place.as_ref().expect("a place").line,
                crate::line_of("taken up").1,
                "{error}"
            );
        }
    };
    find(1, |error| {
        let Misuse::Race {
            access: AccessKind::Read, other_access: AccessKind::Write, other, ..
        } = error.misuse
        else {
            return false;
        };
        matches!(other, Agent::WarpOfPeer { .. })
    });
    find(2, |error| matches!(error.misuse, Misuse::PeerEnded { access: AccessKind::Read, .. }));
    find(3, |error| matches!(error.misuse, Misuse::SharedUnwritten { bytes: 16, .. }));
}

/// A warpgroup loads its own accumulators without waiting, because each thread loads its own
/// elements. It must wait for those of another group.
#[kernel(threads = 256, target = "sm_90")]
fn hand_over(
    block: &Block,
    #[shared] memory: SharedAccumulator<16, u32>,
    d: GlobalMut<u32>,
    waits: u32,
) {
    let group = block.warp_group();
    if group.index() == 0 {
        memory.put(group, &GroupAccumulator::from_fn(group, |row, col| (16 * row + col) as u32));
        let own = memory.get(group).columns::<8>(8);
        own.for_each(group, |row, col, element| d.set(8 * row + col, element));
    }
    if waits != 0 {
        block.sync();
    }
    if group.index() == 1 {
        let others = memory.get(group).columns::<8>(0);
        others.for_each(group, |row, col, element| d.set(512 + 8 * row + col, element));
    }
}

#[test]
fn exchange_between_warpgroups_needs_a_sync() {
    let mut d = [0; 1024];
    hand_over::launch(&Simulator::new(0).schedules(16), 1, &mut d, 1).check();
    let element = |i: usize, first: usize| (16 * (i / 8) + first + i % 8) as u32;
    assert_eq!(
        d,
        core::array::from_fn(|i| if i < 512 { element(i, 8) } else { element(i - 512, 0) })
    );
    for seed in 0..12 {
        let error = hand_over::launch(&Simulator::new(seed), 1, &mut [0; 1024], 0)
            .expect_err("nobody waits");
        assert!(
            matches!(error.misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. }),
            "{error}"
        );
    }
}

/// For each type of tile, a test that loads 24 of its columns, adds one, and stores them.
macro_rules! columns_in_place {
    ($($test:ident $tile:ty, $element:ty, $cols:literal;)*) => {$(
        #[test]
        fn $test() {
            #[kernel(threads = 128, target = "sm_90")]
            fn add(block: &Block, #[shared] tile: $tile, d: GlobalMut<$element>) {
                let group = block.warp_group();
                tile.fill(group, |row, col| (row * $cols + col) as $element);
                group.sync();
                let loaded = GroupAccumulator::<24, $element>::load(group, &tile, 8);
                let more = loaded.map(group, |_, _, element| element + 1);
                group.warp().sync();
                more.store_columns(group, &tile, 8);
                group.sync();
                tile.for_each(group, |row, col, value| d.set(row * $cols + col, value));
            }
            let mut d = [0; 64 * $cols];
            add::simulate(1, &mut d).check();
            for (i, element) in d.into_iter().enumerate() {
                let more = usize::from((8..32).contains(&(i % $cols)));
                assert_eq!(usize::from(element as u16), i + more, "element {i}");
            }
        }
    )*};
}
columns_in_place! {
    columns_of_16_bits SharedTile<u16, 64, 40>, u16, 40;
    columns_of_16_bits_column_major SharedTile<u16, 64, 40, Swizzle128, ColMajor>, u16, 40;
    columns_of_32_bits SharedTile<u32, 64, 32, Swizzle128>, u32, 32;
    columns_of_32_bits_column_major SharedTile<u32, 64, 40, Swizzle128, ColMajor>, u32, 40;
}
