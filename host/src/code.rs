//! Kernels as code for a GPU: PTX, and the machine code that ptxas made from it for one kind of
//! GPU.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::arch::Arch;
use crate::device_info::DeviceInfo;
use crate::error::GpuError;

/// Kernels to load: PTX from a `&str`, or PTX and machine code from [`BuiltCode`].
///
/// Machine code spares the driver the compilation, which takes a minute or more for hundreds of
/// kernels. The PTX is loaded instead if:
///
/// - the machine code is for another GPU;
/// - the driver is older than the machine code;
/// - the machine code was not made from this PTX.
#[derive(Clone, Copy, Debug)]
pub struct Code<'a> {
    pub(crate) ptx: &'a str,
    pub(crate) cubin: Option<&'a [u8]>,
}

impl<'a> From<&'a str> for Code<'a> {
    fn from(ptx: &'a str) -> Self {
        Self { ptx, cubin: None }
    }
}

impl<'a> From<&'a String> for Code<'a> {
    fn from(ptx: &'a String) -> Self {
        Self { ptx, cubin: None }
    }
}

impl<'a> From<&'a BuiltCode> for Code<'a> {
    fn from(built: &'a BuiltCode) -> Self {
        Self { ptx: &built.ptx, cubin: built.cubin.as_deref() }
    }
}

/// The kernels of a crate for one target, from the output folder of `ptx-matrix-build`:
/// `FOLDER/TARGET/CRATE.ptx`, and `CRATE.cubin` beside it.
#[derive(Clone, Debug)]
pub struct BuiltCode {
    /// The target.
    pub target: Arch,
    /// The PTX.
    pub ptx: String,
    /// The machine code. It is loaded only if the PTX names its hash.
    cubin: Option<Vec<u8>>,
}

impl BuiltCode {
    /// Reads the kernels of a crate for the best target in a folder.
    ///
    /// ```no_run
    /// use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
    ///
    /// let gpu = Gpu::open(0)?;
    /// let kernels = BuiltCode::best(gpu.info(), "target/ptx".as_ref(), "kernels")?;
    /// let device = GpuDevice::new(gpu, &kernels)?;
    /// # Ok::<(), ptx_matrix_host::GpuError>(())
    /// ```
    ///
    /// # Errors
    /// The folder cannot be read, has no kernels of this crate, or none for this GPU.
    pub fn best(device: &DeviceInfo, folder: &Path, kernel_crate: &str) -> Result<Self, GpuError> {
        let file = format!("{kernel_crate}.ptx");
        let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
        let folders = entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
        // Ordered by target, not by directory entry.
        let folders: BTreeMap<Arch, PathBuf> = folders.collect();
        let targets: Vec<Arch> = folders
            .iter()
            .filter(|(_, target)| target.join(&file).is_file())
            .map(|(&target, _)| target)
            .collect();
        if targets.is_empty() {
            return Err(GpuError::NoKernels {
                file,
                folder: folder.to_owned(),
                at_hand: at_hand(folder, &folders),
            });
        }
        let target = device.best_arch(&targets)?;
        let ptx = folder.join(target.to_string()).join(file);
        let cubin = ptx.with_extension("cubin");
        let cubin = if cubin.is_file() {
            Some(fs::read(&cubin).map_err(unreadable(&cubin))?)
        } else {
            None
        };
        Ok(Self { target, ptx: fs::read_to_string(&ptx).map_err(unreadable(&ptx))?, cubin })
    }
}

/// The PTX files in the targets' folders, and in the folder itself.
fn at_hand(folder: &Path, targets: &BTreeMap<Arch, PathBuf>) -> Vec<String> {
    let in_folder = |shown: &str, folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut files: Vec<_> = names
            .filter(|name| name.ends_with(".ptx"))
            .map(|name| format!("{shown}{name}"))
            .collect();
        files.sort();
        files
    };
    let of_targets =
        targets.iter().flat_map(|(target, folder)| in_folder(&format!("{target}/"), folder));
    of_targets.chain(in_folder("", folder)).collect()
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> GpuError {
    let path: PathBuf = path.to_owned();
    |source| GpuError::Unreadable { path, source: Arc::new(source) }
}
