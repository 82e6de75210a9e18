//! The gallery of `docs/SIMULATOR.md`: bugs of other people's kernels, each with its report. The
//! page shows the source between `// gallery: name` and `// end`, and the report of its run.

use ptx_matrix::launch::Tensor;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{SimError, Simulator};
use std::path::Path;

// gallery: scope
type Row = SharedTile<f32, 1, 32>;

/// Block 0 multiplies a row by scales, of which block 1 sends the second half.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn scaled(
    block: &ClusterBlock<2>,
    #[shared] (scales, more): (Row, Row),
    #[shared] (scales_full, more_full): (BarrierMemory, BarrierMemory),
    d: GlobalMut<f32>,
) {
    let (scales_full, more_full) = (scales_full.init(block, 1), more_full.init(block, 1));
    let (warp, cluster) = (block.warp(), block.cluster());
    cluster.sync();
    if cluster.rank() == 1 {
        let leader = cluster.peer(0);
        scales.fill(warp, |_, col| col as f32);
        warp.sync();
        // Bug 1: this releases at `.cta` scope. The other block may miss the fill.
        warp.elect(|lane| scales_full.of(leader).arrive_having_read(lane));
        more.fill(warp, |_, col| 32.0 + col as f32);
        warp.sync();
        warp.elect(|lane| more_full.of(leader).arrive(lane));
    } else {
        let (scales, more) = (scales.of(cluster.peer(1)), more.of(cluster.peer(1)));
        scales_full.wait_for_cluster(warp, Phase::FIRST);
        // Bug 2: nothing waits for `more_full`.
        warp.each(|lane| {
            d.set(lane.id(), scales.get(lane, (0, lane.id())) * more.get(lane, (0, lane.id())))
        });
    }
    cluster.sync();
}
// end

// gallery: store
type Strip = SharedTile<u32, 8, 32, Swizzle128>;

/// Stores a strip of a matrix.
#[kernel(threads = 32, target = "sm_90")]
fn store(block: &Block, #[shared] strip: Strip, d: TensorMapMut<Strip, 2>) {
    let warp = block.warp();
    strip.fill(warp, |row, col| (row * 32 + col) as u32);
    warp.sync();
    warp.elect(|lane| {
        strip.store_tma(lane, d.at([0, 0]));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}
// end

// gallery: fence
/// Adds up `rounds` rows, and stores the sums.
#[kernel(threads = 32, target = "sm_90")]
fn row_sums(
    block: &Block,
    #[shared] sums: SharedTile<u32, 1, 32>,
    a: Global<u32>,
    d: GlobalMut<u32>,
    rounds: usize,
) {
    let warp = block.warp();
    warp.each(|lane| sums.set((0, lane.id()), 0));
    for round in 0..rounds {
        warp.each(|lane| {
            let sum = sums.get(lane, (0, lane.id())) + a.get(round * 32 + lane.id());
            sums.set((0, lane.id()), sum);
        });
        warp.fence_for_bulk();
    }
    warp.sync();
    warp.elect(|lane| {
        sums.store_tma(lane, d.bulk(0));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}
// end

// gallery: release
type TileA = SharedTile<bf16, 64, 64, Swizzle128>;
type TileB = SharedTile<bf16, 64, 32, Swizzle64>;

/// A producer warp loads stages of A and B, and a warpgroup multiplies them.
#[kernel(threads = 256, target = "sm_90a")]
fn gemm(
    block: &Block,
    #[shared] (tiles_a, tiles_b): (SharedRing<TileA, 2>, SharedRing<TileB, 2>),
    #[shared] (full, empty): (SharedRing<BarrierMemory, 2>, SharedRing<BarrierMemory, 2>),
    a: TensorMap<TileA, 2>,
    b: TensorMap<TileB, 2>,
    d: GlobalMut<f32>,
    steps: i32,
) {
    let (full, empty) = (full.init(block, 1), empty.init(block, 1));
    let (group, warp) = (block.warp_group(), block.warp());
    let mut state = PipelineState::FIRST;
    if group.index() == 0 {
        for step in 0..if warp.index() == 0 { steps } else { 0 } {
            let full = full.stage(state.index());
            empty.stage(state.index()).wait(warp, state.prev_phase());
            warp.elect(|lane| {
                full.arrive_expecting(lane, TileA::BOX_BYTES + TileB::BOX_BYTES);
                tiles_a.stage(state.index()).load_tma(lane, a.at([64 * step, 0]), full);
                tiles_b.stage(state.index()).load_tma(lane, b.at([0, 64 * step]), full);
            });
            state = state.next();
        }
        return;
    }
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    for _ in 0..steps {
        let (tile_a, tile_b) = (tiles_a.stage(state.index()), tiles_b.stage(state.index()));
        full.stage(state.index()).wait(warp, state.phase());
        Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
            for k in 0..4 {
                issue.accumulate(tile_a.matrix_a((0, k * 16)), tile_b.matrix_b((k * 16, 0)));
            }
        });
        // Here belongs `acc.wait::<0>(group)`.
        group.sync();
        if group.warp_rank() == 0 {
            warp.elect(|lane| _ = empty.stage(state.index()).arrive(lane));
        }
        state = state.next();
    }
    acc.finish(group).for_each(group, |row, col, value| d.set(row * 32 + col, value));
}
// end

// gallery: again
/// Doubles rows, each in a round of its own.
#[kernel(threads = 32, target = "sm_90")]
fn doubled(
    block: &Block,
    #[shared] row: SharedTile<u32, 1, 32>,
    #[shared] full: SharedRing<BarrierMemory, 1>,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let warp = block.warp();
    for round in 0..2 {
        let full = full.init(block, 1).part(0);
        warp.elect(|lane| {
            full.arrive_expecting(lane, 128);
            row.load_tma(lane, a.bulk(round * 32), full);
        });
        full.wait(warp, Phase::FIRST);
        warp.each(|lane| d.set(round * 32 + lane.id(), 2 * row.get(lane, (0, lane.id()))));
        warp.sync();
    }
}
// end

// gallery: early
/// Block 0 of a pair adds up what both have counted.
#[kernel(threads = 32, cluster = 2, target = "sm_90")]
fn count(
    block: &ClusterBlock<2>,
    #[shared] counts: SharedTile<u32, 1, 32>,
    a: Global<u32>,
    d: GlobalMut<u32>,
) {
    let (warp, cluster) = (block.warp(), block.cluster());
    let first = 32 * cluster.rank();
    warp.each(|lane| counts.set((0, lane.id()), a.get(first + lane.id())));
    cluster.sync();
    if cluster.rank() == 1 {
        return; // Its shared memory goes with it.
    }
    let other = counts.of(cluster.peer(1));
    warp.each(|lane| {
        d.set(lane.id(), counts.get(lane, (0, lane.id())) + other.get(lane, (0, lane.id())))
    });
}
// end

fn run(name: &str) -> Result<(), SimError> {
    let device = Simulator::default();
    let numbers: Vec<u32> = (0..64).collect();
    let report = match name {
        "scope" => scaled::simulate(2, &mut [0.0; 32]),
        "store" => {
            let mut d = [0; 256];
            let mut map = Tensor::<Strip, 2>::new([32, 8]).map_mut(&device, &mut d[..]).unwrap();
            store::launch(&device, 1, map.by_ref())
        }
        "fence" => {
            row_sums::simulate(1, &numbers, &mut [0; 32], 2).check();
            row_sums::simulate(1, &numbers, &mut [0; 32], 0)
        }
        "release" => {
            let (a, b) = (vec![bf16::ONE; 64 * 256], vec![bf16::ONE; 256 * 32]);
            let a = Tensor::<TileA, 2>::new([256, 64]).map(&device, &a[..]).unwrap();
            let b = Tensor::<TileB, 2>::new([32, 256]).map(&device, &b[..]).unwrap();
            gemm::launch(&device, 1, &a, &b, &mut vec![0.0; 64 * 32], 4)
        }
        "again" => doubled::simulate(1, &numbers, &mut [0; 64]),
        "early" => count::simulate(2, &numbers, &mut [0; 32]),
        _ => unreachable!("no entry {name}"),
    };
    report.and_then(|report| report.check()).map(drop)
}

const ENTRIES: [&str; 6] = ["scope", "store", "fence", "release", "again", "early"];

/// The source of an entry, and the number of its first line.
fn source(name: &str, file: &str) -> (String, u32) {
    let mark = format!("// gallery: {name}\n");
    let start = file.find(&mark).expect("the entry's source") + mark.len();
    let end = start + file[start..].find("// end\n").expect("its end");
    (file[start..end].trim_end().to_owned(), file[..start].lines().count() as u32 + 1)
}

/// The report of an entry. Its lines count from the entry's first line, in a file `src/kernels.rs`.
fn report(name: &str, first: u32) -> String {
    let report = run(name).expect_err(name).to_string();
    let mut parts = report.split(concat!(file!(), ":"));
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        let line: u32 = part[..digits].parse().expect("a line");
        text += &format!("src/kernels.rs:{}{}", line - first + 1, &part[digits..]);
    }
    text
}

#[test]
fn page_matches_kernels_and_reports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let file = std::fs::read_to_string(root.join(file!())).unwrap();
    let page = root.join(file!()).with_file_name("../../docs/SIMULATOR.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in ENTRIES {
        let (source, first) = source(name, &file);
        let report = format!("```text\n{}\n```", report(name, first));
        if std::env::var_os("SHOW_GALLERY").is_some() {
            println!("@@@ {name}\n```\n# use ptx_matrix::prelude::*;\n{source}\n```\n\n{report}\n");
            continue;
        }
        assert!(page.contains(&source), "{name}: the page has another kernel than\n{source}");
        assert!(page.contains(&report), "{name}: the page has another report than\n{report}");
    }
}
