//! `check`, with which a test asserts that there are no findings.

use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;
use std::panic::catch_unwind;

/// Lanes read elements that their neighbours wrote. There is no finding, a warning without `sync`,
/// or an error beyond the end.
#[kernel(threads = 32)]
fn neighbours(block: &Block, #[shared] tile: SharedTile<u32, 1, 32>, d: GlobalMut<u32>, sync: u32) {
    let warp = block.warp();
    warp.each(|lane| tile.set((0, lane.id()), lane.id() as u32));
    if sync == 1 {
        warp.sync();
    }
    warp.each(|lane| d.set(lane.id(), tile.get(lane, (0, 31 - lane.id()))));
}

#[test]
fn clean_run_returns_its_report() {
    let mut d = [0; 32];
    assert_eq!(neighbours::simulate(1, &mut d, 1).check().blocks, 1);
    assert_eq!(d[0], 31);
}

/// The output of a failing test shows the line of the test, not one of the library.
#[test]
fn check_panics_at_the_callers_line() {
    use std::sync::Mutex;
    static PLACES: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().expect("a place");
        PLACES.lock().unwrap().push((place.file().to_owned(), place.line()));
        before(info);
    }));
    let _ = catch_unwind(|| {
        neighbours::simulate(1, &mut [0; 31], 1).check(); // <- checked
    });
    let checked = crate::line_of("checked");
    assert!(PLACES.lock().unwrap().contains(&checked), "{checked:?}");
}

#[test]
fn warning_or_error_panics_with_its_text() {
    let message = |len: usize, sync: u32| {
        let panicked = catch_unwind(|| {
            neighbours::launch(&Simulator::default(), 1, &mut vec![0; len], sync).check()
        });
        *panicked.unwrap_err().downcast::<String>().unwrap()
    };
    let warning = message(32, 0);
    assert!(warning.starts_with("\nerror: race: read of `tile row 0, column 31`"), "{warning}");
    let error = message(31, 1);
    assert!(
        error.starts_with(
            "\nerror: write out of bounds: element 31 of `d`, which has 31\n  --> tests/"
        ),
        "{error}"
    );
}
