//! Compiles the kernels to PTX and machine code. The first run fetches the compiler for GPUs.

use ptx_matrix_build::{Arch, Builder};
use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?).join("ptx");
    let archs = {{archs}};
    let kernels = Builder::new("kernels").archs(archs);
    kernels.out_dir(&out).build()?;
    println!("cargo::rustc-env=PTX_FOLDER={}", out.display()); // For `src/main.rs`.
    Ok(())
}
