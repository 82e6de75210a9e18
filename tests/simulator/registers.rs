//! `setmaxnreg` and its misuses.

use crate::line_of;
use ptx_matrix::mma::{GroupAccumulator, Wgmma};
use ptx_matrix::prelude::*;
use ptx_matrix::raw;
use ptx_matrix::sim::{Awaited, Misuse, Simulator};

/// Three warpgroups with 168 registers each. `misuse` selects one misuse; 0 is none.
#[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
fn move_registers(block: &Block, misuse: u32, raw: u32) {
    let group = block.warp_group();
    match (group.index(), misuse) {
        (0, 1) => group.give_registers::<64>(),
        (0, 2) => group.give_registers::<176>(),
        (0, _) if raw == 1 => {
            // SAFETY: All lanes of the four warps reach this.
            group.warp().each(|_| unsafe { raw::setmaxnreg_dec_sync_aligned_u32::<40>() });
        }
        (0, _) => group.give_registers::<40>(),
        (_, 3) => group.take_registers::<160>(),
        (_, _) if raw == 1 => {
            // SAFETY: All lanes of the four warps reach this.
            group.warp().each(|_| unsafe { raw::setmaxnreg_inc_sync_aligned_u32::<232>() });
        }
        (_, _) => group.take_registers::<232>(),
    }
}

fn misuse_of(number: u32) -> Misuse {
    move_registers::simulate(1, number, 0).unwrap_err().findings()[0].misuse.clone()
}

#[test]
fn released_registers_go_to_the_other_warpgroups() {
    move_registers::simulate(1, 0, 0).check();
    move_registers::simulate(1, 0, 1).check();
}

#[test]
fn request_for_too_many_registers_is_a_deadlock() {
    let Misuse::Deadlock { waiting, .. } = misuse_of(1) else { panic!("no deadlock") };
    // Four warps have released 104 registers of each lane, and six warps take 64 of each lane.
    assert_eq!(waiting.len(), 2);
    assert!(
        waiting.iter().all(|waiting| matches!(
            waiting.awaited,
            Awaited::Registers { count: 232, free: 32, .. }
        )),
        "{waiting:?}"
    );
}

#[test]
fn register_count_in_the_wrong_direction_is_an_error() {
    for (number, count) in [(2, 176), (3, 160)] {
        let Misuse::RegisterCount { count: wrong, held: 168, .. } = misuse_of(number) else {
            panic!("{number}")
        };
        assert_eq!(wrong, count);
    }
}

/// Two warpgroups. The first releases registers, and takes some again. `how` selects a mistake; 0
/// is none.
#[kernel(threads = 256, min_blocks = 1, target = "sm_90a")]
fn set_registers(block: &Block, #[shared] arrived: BarrierMemory, how: u32) {
    let arrived = arrived.init(block, 4);
    let group = block.warp_group();
    let (warp, rank) = (group.warp(), group.warp_rank());
    if group.index() == 1 {
        return;
    }
    match how {
        1 if rank != 0 => return,
        2 if rank == 3 => group.give_registers::<48>(), // <- another count
        3 if rank == 3 => group.give_registers::<40>(), // <- another line
        _ => group.give_registers::<40>(),              // <- given
    }
    match how {
        0 => group.sync(),
        4 => warp.sync(),
        // All four warps arrive, and wait for all four.
        5 => {
            warp.elect(|lane| {
                arrived.arrive(lane);
            });
            arrived.wait(warp, Phase::FIRST);
        }
        // All warps arrive, but only warp 0 waits.
        6 => {
            warp.elect(|lane| {
                arrived.arrive(lane);
            });
            if rank == 0 {
                arrived.wait(warp, Phase::FIRST);
            }
        }
        _ => return,
    }
    group.take_registers::<80>(); // <- taken
}

#[test]
fn different_setmaxnreg_in_one_warpgroup_is_an_error() {
    let find = |seed, how| set_registers::launch(&Simulator::new(seed), 1, how).unwrap_err();
    for seed in 0..8 {
        for (how, markers) in [
            (1, ["given", "given"]),
            (2, ["given", "another count"]),
            (3, ["given", "another line"]),
        ] {
            let error = find(seed, how);
            for finding in error.findings() {
                let Misuse::RegistersDiverge {
                    form: "setmaxnreg.dec.sync.aligned.u32",
                    warp,
                    ref other,
                } = finding.misuse
                else {
                    panic!("{error}")
                };
                assert_eq!(other.is_none(), how == 1, "{error}");
                assert!(warp < 4 && finding.warp != Some(warp), "{error}");
                let line = finding.place.as_ref().unwrap().line;
                assert!(markers.iter().any(|marker| line_of(marker).1 == line), "{error}");
            }
        }
    }
    let text = find(0, 1).to_string();
    assert!(
        text.contains(
            " does not come to this `setmaxnreg.dec.sync.aligned.u32` with its warpgroup"
        ),
        "{text}"
    );
    assert!(text.contains("= help: all four warps of a warpgroup must come to the same"), "{text}");
}

#[test]
fn two_setmaxnreg_without_a_sync_are_an_error() {
    for how in [0, 5] {
        set_registers::launch(&Simulator::new(0).schedules(16), 1, how).check();
    }
    for seed in 0..16 {
        for how in [4, 6] {
            let error = set_registers::launch(&Simulator::new(seed), 1, how).unwrap_err();
            let is_it = |misuse: &Misuse| {
                matches!(
                    misuse,
                    Misuse::RegistersUnsynced {
                        form: "setmaxnreg.inc.sync.aligned.u32",
                        warp: 0..4
                    }
                )
            };
            assert!(error.findings().iter().all(|finding| is_it(&finding.misuse)), "{error}");
            assert_eq!(error.findings()[0].place.as_ref().unwrap().line, line_of("taken").1);
        }
    }
}

#[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
fn take_and_multiply(
    block: &Block,
    #[shared] b: SharedTile<bf16, 16, 32, Swizzle64>,
    d: GlobalMut<f32>,
) {
    b.fill(block, |_, _| bf16::ONE);
    block.warp().fence_for_bulk();
    block.sync();
    let group = block.warp_group();
    if group.index() == 0 {
        return group.give_registers::<40>();
    }
    group.take_registers::<240>();
    let a = GroupAccumulator::<16, bf16>::from_fn(group, |_, _| bf16::ONE);
    let mut acc = GroupAccumulator::<32, f32>::zero().begin(group);
    Wgmma::<32, bf16, bf16, f32>::issue(group, &mut acc, |issue| {
        issue.accumulate_registers(&a.operand_a(0), b.matrix_b((0, 0)));
    });
    let first = (group.index() - 1) * 64;
    acc.finish(group).for_each(group, |row, col, sum| d.set((first + row) * 32 + col, sum));
}

/// Warps that wait at a `wgmma` for a warp without registers are no cause.
#[test]
fn wait_for_registers_comes_before_waits_for_the_warpgroup() {
    let mut d = vec![0.0; 2 * 64 * 32];
    for seed in 0..8 {
        let of = Simulator::new(seed);
        let error = take_and_multiply::launch(&of, 1, &mut d).unwrap_err().to_string();
        let title = error.lines().next().unwrap();
        assert!(title.contains("waits for registers that no other warp releases"), "{error}");
        assert!(error.contains("help: registers come from warps that give some"), "{error}");
    }
}
