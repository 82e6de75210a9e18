//! Launches on slices of buffers.

use ptx_matrix::kernel;
use ptx_matrix::memory::{Global, GlobalMut};
use ptx_matrix::scope::Block;
use ptx_matrix::sim::Simulator;
use ptx_matrix_gemm::kernels::{LaunchError, Launches};

/// A thread writes the element that it has read, or one that another thread reads.
#[kernel(threads = 64)]
fn increment(block: &Block, c: Global<u32>, d: GlobalMut<u32>, shift: u32) {
    let warp = block.warp();
    let first = warp.index() * 32;
    warp.each(|lane| {
        let index = first + lane.id();
        d.set((index + shift as usize) % 64, c.get(index) + 1);
    });
}

/// Runs `increment` in place and returns the elements.
fn increment_in_place(shift: u32) -> Result<Vec<u32>, String> {
    let (device, mut elements) = (Simulator::default().strict(), (0..64).collect::<Vec<u32>>());
    let launches = Launches::new(&device);
    let mut d = launches.write(&mut elements[..]);
    // SAFETY: the simulator checks it.
    let c = unsafe { d.in_place() };
    // SAFETY: both slices are of these launches, and `d` is from `write`.
    let on = unsafe { launches.on() };
    let launched = increment::launch(&on, 1, &c, &mut d, shift);
    let reports = launches.finish(launched.map_err(LaunchError::Device));
    assert_eq!(reports.map_err(|error| error.to_string())?.len(), 1);
    Ok(elements)
}

#[test]
fn each_element_is_read_before_it_is_written() {
    assert_eq!(increment_in_place(0), Ok((1..65).collect()));
    for shift in [1, 32, 63] {
        let error = increment_in_place(shift).expect_err("another thread reads what is written");
        assert!(error.contains("race") || error.contains("read"), "{error}");
    }
}
