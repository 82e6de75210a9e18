//! Loaded kernels.

use std::collections::HashMap;
use std::ffi::CString;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

use cust::sys::{
    CUfunction, CUfunction_attribute, CUmodule, cuCtxSynchronize, cuFuncGetAttribute,
    cuFuncSetAttribute, cuModuleGetFunction, cuModuleUnload,
};

use ptx_matrix::launch::KernelInfo;

use crate::code::Code;
use crate::context::SharedContext;
use crate::driver::{DriverError, During};
use crate::error::GpuError;
use crate::jit;
use crate::launch::{self, LaunchError};
use crate::ptx::{Entry, Ptx, PtxError};

/// Kernels loaded on a GPU, ready to launch. Dropping the module unloads them.
#[derive(Debug)]
pub struct Module {
    raw: CUmodule,
    ptx: Ptx,
    log: String,
    is_assembled: bool,
    /// Whether kernels without a fingerprint may be launched.
    is_trusted: bool,
    /// The index of each name's entry.
    numbers: HashMap<String, usize>,
    /// The driver's answer about each entry, cached so that a launch does not ask again.
    found: Vec<OnceLock<Found>>,
    context: SharedContext,
}

/// The version in the PTX's `.version` line.
fn version_of(ptx: &str) -> &str {
    let version = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".version "));
    version.map_or("?", str::trim)
}

// SAFETY: several threads may use the driver's handle of a module, even at the same time.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads kernels. Without `is_trusted`, they must have fingerprints.
    pub(crate) fn load(
        context: &SharedContext,
        code: Code<'_>,
        is_trusted: bool,
    ) -> Result<Self, GpuError> {
        let device = context.info();
        let ptx: Ptx = code.ptx.parse()?;
        if !is_trusted {
            ptx.check_seal()?;
        }
        if !ptx.target.runs_on(device.capability) {
            return Err(GpuError::WrongTarget { target: ptx.target, device: device.to_string() });
        }
        let text = CString::new(code.ptx).map_err(|_| PtxError::Nul)?;
        context.enter()?;
        // Damaged machine code, or that of other PTX, does not match the text.
        let cubin = code.cubin.filter(|cubin| {
            ptx.seal.as_ref().is_some_and(|seal| seal.is_whole && seal.is_of(cubin))
        });
        // The driver refuses machine code for other GPUs, or from newer tools, at once.
        let assembled = cubin.and_then(|cubin| jit::load(cubin).0.ok());
        let is_assembled = assembled.is_some();
        let (loaded, log) = assembled
            .map_or_else(|| jit::load(text.as_bytes_with_nul()), |raw| (Ok(raw), String::new()));
        match loaded {
            Ok(raw) => {
                let numbers = ptx
                    .entries
                    .iter()
                    .enumerate()
                    .map(|(index, entry)| (entry.name.clone(), index))
                    .collect();
                let found = ptx.entries.iter().map(|_| OnceLock::new()).collect();
                Ok(Self {
                    raw,
                    ptx,
                    log,
                    is_assembled,
                    is_trusted,
                    numbers,
                    found,
                    context: context.clone(),
                })
            }
            Err(source) if source.is_of_newer_ptx() => Err(GpuError::OldDriver {
                device: device.to_string(),
                driver: device.driver,
                version: version_of(code.ptx).to_owned(),
            }),
            Err(source) => Err(GpuError::Load {
                device: device.to_string(),
                driver: device.driver,
                log,
                source,
            }),
        }
    }

    /// Returns the module's kernels.
    pub fn kernels(&self) -> &[Entry] {
        &self.ptx.entries
    }

    /// Returns whether the module has a kernel of this name.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// Returns the output of the driver's compiler, if it compiled the PTX. It is usually empty.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns whether the driver loaded the machine code, and compiled nothing.
    pub fn is_assembled(&self) -> bool {
        self.is_assembled
    }

    /// Returns a kernel's resource usage, from the driver's compiler.
    ///
    /// # Errors
    /// The module has no such kernel, or an earlier kernel failed.
    pub fn resources(&self, kernel: &str) -> Result<KernelResources, GpuError> {
        self.context.enter()?;
        Ok(*self.kernel(kernel)?.resources())
    }

    /// Returns the number of the module's device.
    pub fn device(&self) -> u32 {
        self.context.index()
    }

    /// Checks that the PTX's kernel is the one that the program launches.
    ///
    /// # Errors
    /// They differ in parameters, launch bounds or sources.
    pub(crate) fn check_kernel(&self, kernel: &KernelInfo) -> Result<(), LaunchError> {
        let entry = &self.ptx.entries[self.index(kernel.name)?];
        let name = || kernel.name.to_owned();
        match &entry.fingerprint {
            Some(fingerprint) => {
                let differences = launch::differences(fingerprint, kernel.fingerprint);
                if differences.is_empty() {
                    Ok(())
                } else {
                    Err(LaunchError::OtherKernel { kernel: name(), differences })
                }
            }
            None if self.is_trusted => launch::check_cluster_of(kernel, entry),
            None => Err(LaunchError::NoFingerprint { kernel: name() }),
        }
    }

    /// Finds a kernel. The caller must have entered the module's context.
    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel<'_>, GpuError> {
        let index = self.index(name)?;
        let entry = &self.ptx.entries[index];
        let found = match self.found[index].get() {
            Some(found) => found,
            None => {
                let found = self.find(name)?;
                self.found[index].get_or_init(|| found)
            }
        };
        Ok(Kernel { entry, found })
    }

    fn find(&self, name: &str) -> Result<Found, GpuError> {
        let symbol = CString::new(name).map_err(|_| PtxError::Nul)?;
        let mut function: CUfunction = ptr::null_mut();
        // SAFETY: the module is loaded, the name ends with a nul, and the function sets the handle
        // behind its pointer.
        unsafe { cuModuleGetFunction(&raw mut function, self.raw, symbol.as_ptr()) }
            .during("finding the kernel")?;
        Ok(Found { function, resources: resources(function)?, dynamic_shared: Mutex::new(0) })
    }

    fn index(&self, name: &str) -> Result<usize, LaunchError> {
        self.numbers.get(name).copied().ok_or_else(|| LaunchError::NoSuchKernel {
            kernel: name.to_owned(),
            at_hand: self.ptx.entries.iter().map(|entry| entry.name.clone()).collect(),
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.context.enter_to_free();
        // SAFETY: the context is entered. Kernels of the module may still run in some stream.
        let waited = unsafe { cuCtxSynchronize() }.during("waiting for the GPU");
        // While a graph records a stream, nobody can wait. The module then stays loaded.
        if waited.is_ok() {
            // SAFETY: the module is loaded. `Kernel` borrows it, so nothing uses it any more.
            let _ = unsafe { cuModuleUnload(self.raw) };
        }
    }
}

/// The driver's answer about a kernel, and its settings.
#[derive(Debug)]
pub(crate) struct Found {
    function: CUfunction,
    resources: KernelResources,
    /// The maximum dynamic shared memory of launches, as set in the driver.
    dynamic_shared: Mutex<u32>,
}

/// A kernel of a loaded module.
#[derive(Debug)]
pub(crate) struct Kernel<'a> {
    pub(crate) entry: &'a Entry,
    found: &'a Found,
}

impl Kernel<'_> {
    /// The driver's handle.
    pub(crate) fn function(&self) -> CUfunction {
        self.found.function
    }

    /// The resource usage, from the driver's compiler.
    pub(crate) fn resources(&self) -> &KernelResources {
        &self.found.resources
    }

    /// Allows launches to request this much dynamic shared memory.
    pub(crate) fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let Found { function, dynamic_shared, .. } = self.found;
        let mut allowed = dynamic_shared.lock().unwrap_or_else(PoisonError::into_inner);
        if *allowed < bytes {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let signed = bytes.try_into().unwrap_or(i32::MAX);
            // SAFETY: the function belongs to a loaded module.
            unsafe { cuFuncSetAttribute(*function, attribute, signed) }
                .during("allowing dynamic shared memory")?;
            *allowed = bytes;
        }
        Ok(())
    }
}

/// Reads a function's resource usage from the driver.
fn resources(function: CUfunction) -> Result<KernelResources, DriverError> {
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: the function belongs to a loaded module, and the call sets the integer behind its
        // pointer.
        unsafe { cuFuncGetAttribute(&raw mut value, attribute, function) }
            .during("reading the kernel's attributes")?;
        Ok::<u32, DriverError>(value.try_into().unwrap_or_default())
    };
    Ok(KernelResources {
        max_threads: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        static_shared_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
    })
}

/// A kernel's resource usage, from the driver's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// The maximum number of threads in a block on this device, given the kernel's registers.
    pub max_threads: u32,
    /// Static shared memory in bytes, declared in the PTX.
    pub static_shared_bytes: u32,
    /// Local memory per thread in bytes: stack and spilled registers.
    pub local_bytes: u32,
    /// Registers per thread.
    pub registers: u32,
}
