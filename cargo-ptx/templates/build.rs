//! Compiles the kernels to PTX and machine code. The first run fetches the compiler for GPUs.

use ptx_matrix_build::Builder;
use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join("ptx");
    Builder::new("kernels").out_dir(&out).build()?;
    println!("cargo::rustc-env=PTX_FOLDER={}", out.display()); // For `src/main.rs`.
    Ok(())
}
