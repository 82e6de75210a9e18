#![cfg_attr(target_arch = "nvptx64", no_std)]
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90a"))]
pub mod swiglu;
