//! The kernel of the examples.

#![cfg_attr(target_arch = "nvptx64", no_std)]

use ptx_matrix::prelude::*;

/// The threads of a block, and the elements that it computes.
pub const THREADS: u32 = 128;

/// y = a x + y: an element for each thread.
#[kernel(threads = THREADS)]
pub fn axpy(block: &Block, a: f32, x: Global<f32>, y: GlobalMut<f32>) {
    let first = block.index().x as usize * block.threads();
    block.each_thread(|lane, thread| {
        let i = first + thread;
        if i < x.len() {
            y.set(i, a * x.get(i) + y.get(lane, i));
        }
    });
}
