//! Bank conflicts of accesses to shared memory.

use crate::line_of;
use ptx_matrix::fragment::M16N8K8Pairs;
use ptx_matrix::memory::Swizzle;
use ptx_matrix::mma::{B16, LdMatrix, Trans, X2};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{Profile, SHARED_BASE, SharedSite, Simulator};

/// The accesses of the marked line.
#[track_caller]
fn at(profile: &Profile, marker: &str) -> SharedSite {
    let (file, line) = line_of(marker);
    let mut sites =
        profile.shared.iter().filter(|site| (&site.place.file, site.place.line) == (&file, line));
    let site = sites.next().expect("the line accesses shared memory").clone();
    assert!(sites.next().is_none(), "one instruction a line");
    site
}

/// Loads and stores the matrices at each place in a tile.
#[inline]
fn matrices<const COLS: usize, S: Swizzle>(block: &Block, tile: SharedTile<bf16, 32, COLS, S>) {
    let warp = block.warp();
    tile.fill(warp, |_, _| bf16::ONE);
    for row in [0, 16] {
        for col in (0..COLS / 16).map(|place| place * 16) {
            let a = FragmentA::<M16N8K16, bf16>::load(warp, &tile, (row, col)); // <- load
            let rows = FragmentA::<M16N8K16, bf16>::rows(warp, &tile, (row, col));
            let lines = warp.each(|lane| tile.row((row + lane.id() % 8, col)));
            LdMatrix::<X2, Trans, B16>::load(warp, lines); // <- load the same twice
            FragmentA::<M16N8K16, bf16>::load_rows(warp, rows); // <- load rows
            a.map(warp, |_, _, value| value).store_matrix(warp, &tile, (row, col)); // <- store
        }
    }
}

/// A row for each kind of tile: the kernel, its columns, its swizzle, and the ways of the bank
/// conflict.
macro_rules! tiles {
    ($($kernel:ident $cols:literal $swizzle:ident $ways:literal;)*) => {
        $(
            #[kernel(threads = 32, target = "sm_90")]
            fn $kernel(block: &Block, #[shared] tile: SharedTile<bf16, 32, $cols, $swizzle>) {
                matrices(block, tile);
            }
        )*

        #[test]
        fn matrices_of_swizzled_tiles() {
            $({
                let profile =
                    $kernel::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
                let places = 2 * ($cols / 16);
                for (marker, matrices) in
                    [("load", 4), ("load rows", 4), ("load the same twice", 2), ("store", 4)]
                {
                    let site = at(&profile, marker);
                    assert_eq!(
                        (site.accesses, site.phases),
                        (places, places * matrices),
                        "{site:?}"
                    );
                    assert_eq!(site.worst_ways, $ways, "{} {site:?}", stringify!($kernel));
                    assert_eq!(site.wavefronts, site.phases * $ways, "each of them");
                    assert_eq!(site.average_ways(), f64::from($ways));
                }
                let free = profile.worst_conflict().is_none();
                assert_eq!(free, $ways == 1);
            })*
        }
    };
}
tiles! {
    rows_of_32_bytes 16 Unswizzled 2;
    rows_of_64_bytes 32 Unswizzled 4;
    rows_of_128_bytes 64 Unswizzled 8;
    rows_of_512_bytes 256 Unswizzled 8;
    rows_of_144_bytes 72 Unswizzled 1;
    rows_of_32_bytes_swizzled 16 Swizzle32 1;
    rows_of_64_bytes_swizzled 32 Swizzle64 1;
    rows_of_128_bytes_swizzled 64 Swizzle128 1;
    rows_of_512_bytes_swizzled 256 Swizzle128 1;
    rows_of_128_bytes_swizzled_for_64 64 Swizzle64 2;
}

/// The element at a place in the tiles of `pairs`.
fn number(row: usize, col: usize) -> f64 {
    (row * 16 + col) as f64
}

/// Loads f64 fragments from tiles as TMA fills them; by pairs if a lane's elements are adjacent.
#[kernel(threads = 32, target = "sm_90")]
fn pairs(
    block: &Block,
    #[shared] cols: SharedTile<f64, 16, 32, Swizzle128, ColMajor>,
    #[shared] rows: SharedTile<f64, 32, 16, Swizzle128>,
) {
    let warp = block.warp();
    cols.fill(warp, number);
    rows.fill(warp, number);
    for k in [0, 8] {
        let below = |row, col, value| assert_eq!(value, number(row, k + col));
        let [a, next] = FragmentA::<M16N8K8Pairs, f64>::load_run(warp, &rows, (0, k));
        a.for_each(warp, below);
        next.for_each(warp, |row, col, value| assert_eq!(value, number(16 + row, k + col)));
        let [a] = FragmentA::<M16N8K8Pairs, f64>::load_run(warp, &cols, (0, k)); // <- A by pairs
        a.for_each(warp, below);
        let right = |row, col, value| assert_eq!(value, number(k + row, 8 + col));
        let [b] = FragmentB::<M16N8K8Pairs, f64>::load_run(warp, &rows, (k, 8));
        b.for_each(warp, right);
        let [[b, next]] = FragmentB::<M16N8K8Pairs, f64>::load_pairs(warp, &cols, (k, 8));
        // <- B by pairs
        b.for_each(warp, right);
        next.for_each(warp, |row, col, value| assert_eq!(value, number(k + row, 16 + col)));
        let [c] = Accumulator::<M16N8K8Pairs, f64>::load_run(warp, &cols, (0, k));
        c.for_each(warp, below);
        let [c] = Accumulator::<M16N8K8, f64>::load_run(warp, &rows, (0, k));
        c.for_each(warp, below);
    }
}

#[test]
fn pairs_of_f64() {
    let profile = pairs::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
    for (marker, accesses) in [("A by pairs", 4), ("B by pairs", 4)] {
        let site = at(&profile, marker);
        assert_eq!((site.accesses, site.worst_ways), (accesses, 1), "{site:?}");
    }
}

#[kernel(threads = 32)]
fn lanes(
    block: &Block,
    #[shared] words: SharedTile<u32, 32, 32>,
    #[shared] doubles: SharedTile<u64, 32, 16>,
) {
    let warp = block.warp();
    words.fill(warp, |_, _| 1); // <- in a row
    doubles.fill(warp, |_, _| 1); // <- doubles in a row
    warp.each(|lane| words.get(lane, (lane.id(), 3))); // <- in a column
    warp.each(|lane| words.get(lane, (lane.id() % 4, 3))); // <- in a short column
    warp.each(|lane| words.get(lane, (lane.id(), lane.id()))); // <- in a diagonal
    warp.each(|_| words.set((9, 9), 1)); // <- at one place
    warp.each(|lane| doubles.get(lane, (lane.id(), 3))); // <- doubles in a column
    warp.each(|lane| {
        for log in 0..5 {
            let index = lane.id() << log;
            words.get(lane, (index / 32, index % 32)); // <- in strides
        }
    });
}

#[test]
fn accesses_by_lanes() {
    let profile = lanes::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
    let of = |marker| {
        let SharedSite { accesses, phases, wavefronts, worst_ways, .. } = at(&profile, marker);
        (accesses, phases, wavefronts, worst_ways)
    };
    assert_eq!(of("in a row"), (32, 32, 32, 1));
    assert_eq!(of("doubles in a row"), (16, 32, 32, 1));
    assert_eq!(of("in a column"), (1, 1, 32, 32));
    assert_eq!(of("in a short column"), (1, 1, 4, 4));
    assert_eq!(of("in a diagonal"), (1, 1, 1, 1));
    assert_eq!(of("at one place"), (1, 1, 1, 1));
    assert_eq!(of("doubles in a column"), (1, 2, 32, 16));
    assert_eq!(of("in strides"), (5, 5, 1 + 2 + 4 + 8 + 16, 16));
    assert_eq!(at(&profile, "in strides").average_ways(), 6.2);
    let worst = profile.worst_conflict().unwrap();
    assert_eq!(*worst, at(&profile, "in a column"), "31 turns lost, as much as nowhere else");
}

#[test]
fn profile_shows_worst_addresses() {
    let profile = lanes::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
    let column: Vec<_> =
        (0..32).map(|lane| (lane as usize, SHARED_BASE + lane * 128 + 12)).collect();
    assert_eq!(at(&profile, "in a column").worst, column);
    let doubles = SHARED_BASE + 32 * 32 * 4;
    let half: Vec<_> = (0..16).map(|lane| (lane as usize, doubles + lane * 128 + 24)).collect();
    assert_eq!(at(&profile, "doubles in a column").worst, half, "the first half of the warp");
    let strides: Vec<_> =
        (0..32).map(|lane| (lane as usize, SHARED_BASE + (lane << 4) * 4)).collect();
    assert_eq!(at(&profile, "in strides").worst, strides);

    let profile =
        rows_of_128_bytes::launch(&Simulator::new(0).profiled(), 1).unwrap().profile.unwrap();
    let rows: Vec<_> = (0..8).map(|lane| (lane as usize, SHARED_BASE + lane * 128)).collect();
    assert_eq!(at(&profile, "load").worst, rows, "the first matrix");
}

/// The lanes of two warps, each in its own closure.
#[kernel(threads = 64)]
fn one_lane_at_a_time(block: &Block, #[shared] tile: SharedTile<u32, 64, 32>) {
    let warp = block.warp();
    let first = warp.index() * 32;
    for turn in 0..32 {
        warp.each(|lane| {
            if lane.id() == turn {
                tile.set((first + turn, 0), 1); // <- one lane
            }
        });
    }
    block.sync();
}

#[test]
fn lanes_in_different_closures_have_no_conflicts() {
    for seed in 0..4 {
        let profile = one_lane_at_a_time::launch(&Simulator::new(seed).profiled(), 2)
            .unwrap()
            .profile
            .unwrap();
        let site = at(&profile, "one lane");
        assert_eq!((site.accesses, site.wavefronts, site.worst_ways), (2 * 64, 2 * 64, 1));
    }
}
