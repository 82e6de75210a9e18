//! A kernel for each target that takes the addresses of functions of `raw`. `tests/raw.rs` writes
//! the included files.
#![cfg_attr(target_arch = "nvptx64", no_std)]

#[cfg(target_feature = "sm_90a")]
include!("../written/sm_90a.inc");
#[cfg(target_feature = "sm_100a")]
include!("../written/sm_100a.inc");
#[cfg(target_feature = "sm_120a")]
include!("../written/sm_120a.inc");
