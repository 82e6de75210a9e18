//! Only `unsafe` code may call such a function, and safe code launches kernels.
use ptx_matrix::prelude::*;

#[kernel(threads = 32)]
#[target_feature(enable = "avx512f")]
//~^ ERROR a kernel's features are those of its target
fn named(_: &Block) {}

#[kernel(threads = 32)]
#[cfg_attr(not(target_arch = "nvptx64"), target_feature(enable = "avx512f"))]
//~^ ERROR a kernel's features are those of its target
fn named_by_cfg(_: &Block) {}

fn main() {}
