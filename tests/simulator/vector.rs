//! Vectors: adjacent elements in one load or store.

use crate::assert_at;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Misuse, Simulator, mark_unwritten};

/// Lane 3 stores a vector at `to`, and lane 7 of warp `reader` loads one at `from`.
#[kernel(threads = 64)]
fn shared(
    block: &Block,
    #[shared] tile: SharedTile<u8, 4, 64, Swizzle64>,
    d: GlobalMut<u8>,
    to: [usize; 2],
    from: [usize; 2],
    reader: usize,
    syncs: bool,
) {
    let (to, from) = ((to[0], to[1]), (from[0], from[1]));
    let warp = block.warp();
    if warp.index() == 0 {
        warp.each(|lane| {
            if lane.id() == 3 {
                tile.set_vector(to, [1, 2, 3, 4, 5, 6, 7, 8]); // <- store of a vector
            }
        });
    }
    if syncs {
        block.sync();
    }
    if warp.index() == reader {
        warp.each(|lane| {
            if lane.id() == 7 {
                let vector: [u8; 4] = tile.get_vector(lane, from); // <- load of a vector
                d.set_vector(0, vector);
            }
        });
    }
}

#[test]
fn vector_has_the_elements_along_a_row() {
    let mut d = [0; 4];
    shared::simulate(1, &mut d, [2, 16], [2, 20], 1, true).check();
    assert_eq!(d, [5, 6, 7, 8]);
}

#[test]
fn misuses_of_vectors_in_shared_memory_are_found() {
    let run = |(to, from), reader, syncs| {
        shared::launch(&Simulator::new(0).schedules(8), 1, &mut [0; 4], to, from, reader, syncs)
            .unwrap_err()
    };
    let error = run(([2, 16], [2, 22]), 1, true);
    assert!(matches!(error.misuse, Misuse::TileMisaligned { at: (2, 22), .. }), "{error}");
    assert_at(&error, "load of a vector", (0, 0, 0), 1, Some(7));
    let text = error.to_string();
    assert!(text.contains("no matrix row or vector starts at (2, 22) of `tile`"), "{text}");
    let error = run(([2, 60], [2, 20]), 1, true);
    assert!(matches!(error.misuse, Misuse::TileOutOfBounds { at: (2, 60), .. }), "{error}");
    assert_at(&error, "store of a vector", (0, 0, 0), 0, Some(3));
    let error = run(([2, 16], [2, 24]), 1, true);
    assert!(matches!(error.misuse, Misuse::SharedUnwritten { bytes: 4, .. }), "{error}");
    let error = run(([2, 16], [2, 16]), 1, false);
    assert!(
        matches!(error.misuse, Misuse::Race { .. } | Misuse::SharedUnwritten { .. }),
        "{error}"
    );
}

/// Copies a column of a column-major tile by vectors of two numbers.
#[kernel(threads = 32)]
fn column(
    block: &Block,
    #[shared] tile: SharedTile<u64, 8, 4, Unswizzled, ColMajor>,
    d: GlobalMut<u64>,
) {
    let warp = block.warp();
    tile.fill(warp, |row, col| (row * 4 + col) as u64);
    block.sync();
    warp.each(|lane| {
        if lane.id() < 4 {
            d.set_vector::<2>(lane.id() * 2, tile.get_vector(lane, (lane.id() * 2, 3)));
        }
    });
}

#[test]
fn vector_lies_along_a_column_of_a_column_major_tile() {
    let mut d = [0; 8];
    column::simulate(1, &mut d).check();
    assert_eq!(d, [3, 7, 11, 15, 19, 23, 27, 31]);
}

/// Loads a vector at `from` beyond the first `skipped` elements, and stores it at `to`.
#[kernel(threads = 32)]
fn global(
    block: &Block,
    a: Global<f32>,
    d: GlobalMut<f32>,
    skipped: usize,
    from: usize,
    to: usize,
) {
    block.warp().each(|lane| {
        if lane.id() == 5 {
            let vector: [f32; 4] = a.skip(skipped).get_vector(from); // <- global load
            d.set_vector(to, vector); // <- global store
        }
    });
}

#[test]
fn misuses_of_vectors_in_global_memory_are_found() {
    let a: [f32; 16] = std::array::from_fn(|i| i as f32);
    let mut d = [0.0; 16];
    global::simulate(1, &a, &mut d, 4, 8, 4).check();
    assert_eq!(d[4..8], a[12..16]);
    let mut run =
        |skipped, (from, to)| global::simulate(1, &a, &mut d, skipped, from, to).unwrap_err();
    for (skipped, at, access, index, marker) in [
        (1, (4, 0), AccessKind::Read, 4, "global load"),
        (0, (6, 0), AccessKind::Read, 6, "global load"),
        (0, (4, 2), AccessKind::Write, 2, "global store"),
    ] {
        let error = run(skipped, at);
        let expected = Misuse::GlobalMisaligned {
            access,
            name: if access == AccessKind::Read { "a" } else { "d" },
            index,
            bytes: 16,
        };
        assert_eq!(error.misuse, expected);
        assert_at(&error, marker, (0, 0, 0), 0, Some(5));
        assert!(error.to_string().ends_with("the address must be a multiple of 16"), "{error}");
    }
    for (skipped, at, access, name) in [
        (0, (16, 0), AccessKind::Read, "a"),
        (4, (12, 0), AccessKind::Read, "a"),
        (0, (usize::MAX - 3, 0), AccessKind::Read, "a"),
        (0, (0, 16), AccessKind::Write, "d"),
    ] {
        let error = run(skipped, at);
        let Misuse::GlobalOutOfBounds { access: found, name: slice, .. } = error.misuse else {
            panic!("{error}");
        };
        assert_eq!((found, slice), (access, name));
    }
}

#[test]
fn unwritten_element_of_a_vector_is_named() {
    let mut a = [0.0; 16];
    mark_unwritten(&mut a[10..12]);
    let error = global::simulate(1, &a, &mut [0.0; 16], 0, 8, 0).unwrap_err();
    assert_eq!(error.misuse, Misuse::GlobalUnwritten { name: "a", index: 10 });
    assert_at(&error, "global load", (0, 0, 0), 0, Some(5));
}
