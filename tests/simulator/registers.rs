//! `setmaxnreg`, and the misuses of it.

use ptx_matrix::sim::{Awaited, Misuse};
use ptx_matrix::*;

/// Three warpgroups, of 168 registers each: one misuse each, by number; 0 is none.
#[kernel(threads = 384, min_blocks = 1, target = "sm_90a")]
fn share(block: &Block, misuse: u32, raw: u32) {
    let group = block.warp_group();
    match (group.index(), misuse) {
        (0, 1) => group.give_registers::<64>(),
        (0, 2) => group.give_registers::<176>(),
        (0, _) if raw == 1 => {
            // SAFETY: all lanes of the four warps come here.
            group.warp().each(|_| unsafe { raw::setmaxnreg_dec_sync_aligned_u32::<40>() });
        }
        (0, _) => group.give_registers::<40>(),
        (_, 3) => group.take_registers::<160>(),
        (_, _) if raw == 1 => {
            // SAFETY: all lanes of the four warps come here.
            group.warp().each(|_| unsafe { raw::setmaxnreg_inc_sync_aligned_u32::<232>() });
        }
        (_, _) => group.take_registers::<232>(),
    }
}

fn misuse_of(number: u32) -> Misuse {
    share::simulate(1, number, 0).unwrap_err().findings()[0].misuse.clone()
}

#[test]
fn what_one_warpgroup_gives_back_the_others_take() {
    share::simulate(1, 0, 0).check();
    share::simulate(1, 0, 1).check();
}

#[test]
fn who_takes_more_than_there_are_waits_in_vain() {
    let Misuse::Deadlock { waiting, .. } = misuse_of(1) else { panic!("no deadlock") };
    // 104 registers of each lane of four warps, of which 64 go to each of six.
    assert_eq!(waiting.len(), 2);
    assert!(
        waiting.iter().all(|waiting| waiting.awaited == Awaited::Registers { count: 232, free: 32 }),
        "{waiting:?}"
    );
}

#[test]
fn registers_are_given_back_down_and_taken_up() {
    for (number, count) in [(2, 176), (3, 160)] {
        let Misuse::RegisterCount { count: wrong, held: 168, .. } = misuse_of(number) else { panic!("{number}") };
        assert_eq!(wrong, count);
    }
}
