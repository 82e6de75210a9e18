//! A `PerLane` does not print its values, since a branch could depend on the text.
use ptx_matrix::prelude::*;
use std::fmt::Write;

#[kernel(threads = 32)]
fn printed(block: &Block) {
    let id = block.warp().each(|lane| lane.id() as u32);
    let mut text = String::new();
    write!(text, "{id:?}").unwrap();
    //~^ ERROR `PerLane<u32>` doesn't implement `Debug`
    if text.len() == 1 {
        block.sync();
    }
}

fn main() {}
