//! Kernels as they are handed to a GPU: PTX, and what ptxas made of it for one kind of GPU.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

use crate::arch::Arch;
use crate::device_info::DeviceInfo;
use crate::error::GpuError;

/// Kernels to load: PTX, from a `&str`; and, from [`BuiltCode`], machine code too, which spares the driver compiling it (a minute and more
/// for hundreds of kernels). A GPU that the machine code is not for, or a driver older than it, is given the PTX.
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

/// The builder writes machine code after the PTX; where both have been copied, by something that does not keep times, it may be the other way.
const COPYING: Duration = Duration::from_secs(60);

/// The kernels of a crate for one target, read from the folder that `ptx-matrix-build` put them in: `FOLDER/TARGET/CRATE.ptx`, and
/// `CRATE.cubin` beside it.
#[derive(Clone, Debug)]
pub struct BuiltCode {
    /// The target.
    pub target: Arch,
    /// The PTX.
    pub ptx: String,
    /// What ptxas made of it. There is none if its file is a minute older than the PTX, which it then may not be of, or not whole.
    cubin: Option<Vec<u8>>,
}

impl BuiltCode {
    /// The kernels of a crate for the best of the targets that a folder has them for.
    ///
    /// ```no_run
    /// use ptx_matrix_host::{BuiltCode, Gpu, GpuDevice};
    ///
    /// let gpu = Gpu::open(0)?;
    /// let kernels = BuiltCode::best(gpu.info(), "target/ptx".as_ref(), "kernels")?;
    /// let device = GpuDevice::new(gpu, &kernels)?;
    /// # Ok::<(), ptx_matrix_host::GpuError>(())
    /// ```
    pub fn best(device: &DeviceInfo, folder: &Path, kernel_crate: &str) -> Result<Self, GpuError> {
        let file = format!("{kernel_crate}.ptx");
        let entries = fs::read_dir(folder).map_err(unreadable(folder))?;
        let with_kernels = entries.flatten().filter(|entry| entry.path().join(&file).exists());
        let targets: Vec<Arch> = with_kernels.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let target = device.best_arch(&targets)?;
        let ptx = folder.join(target.to_string()).join(file);
        let cubin = ptx.with_extension("cubin");
        let is_of_it = changed(&cubin).is_some_and(|assembled| Some(assembled + COPYING) >= changed(&ptx));
        let cubin = if is_of_it { Some(fs::read(&cubin).map_err(unreadable(&cubin))?) } else { None };
        let cubin = cubin.filter(|cubin| is_whole(cubin));
        Ok(Self { target, ptx: fs::read_to_string(&ptx).map_err(unreadable(&ptx))?, cubin })
    }
}

/// Whether the file goes as far as its headers, which the driver goes by, say.
fn is_whole(cubin: &[u8]) -> bool {
    let parsed = ElfFile64::<Endianness>::parse(cubin);
    parsed.is_ok_and(|file| file.sections().all(|section| section.data().is_ok()))
}

/// When a file was changed last.
fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).as_ref().ok().map(Metadata::modified)?.ok()
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> GpuError {
    let path: PathBuf = path.to_owned();
    |source| GpuError::Unreadable { path, source: Arc::new(source) }
}
