#![no_std]
mod tiles;
pub use tiles::*;
