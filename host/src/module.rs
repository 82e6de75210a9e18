//! Kernels that are loaded on a GPU.

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

/// Kernels that are loaded on a GPU, ready to be launched. Unloaded when dropped.
#[derive(Debug)]
pub struct Module {
    raw: CUmodule,
    ptx: Ptx,
    log: String,
    is_assembled: bool,
    /// Whether kernels without a fingerprint are launched, too.
    is_trusted: bool,
    /// Which of the entries each name is.
    numbers: HashMap<String, usize>,
    /// What the driver said of each entry, once it was asked: a launch should not have to ask
    /// again.
    found: Vec<OnceLock<Found>>,
    context: SharedContext,
}

// SAFETY: the driver's handle of a module may be used from any thread, and at the same time from
// several.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads kernels that are known by their fingerprints, or, if they are trusted to be the
    /// program's, any.
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
        // Of another PTX, or damaged, it is no longer what the text says.
        let cubin = code.cubin.filter(|cubin| {
            ptx.seal.as_ref().is_some_and(|seal| seal.is_whole && seal.is_of(cubin))
        });
        // Machine code for other GPUs, or from tools newer than the driver, the driver refuses at
        // once.
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
            Err(source) => Err(GpuError::Load {
                device: device.to_string(),
                driver: device.driver,
                log,
                source,
            }),
        }
    }

    /// The kernels of this module.
    pub fn kernels(&self) -> &[Entry] {
        &self.ptx.entries
    }

    /// Whether it has a kernel of this name.
    pub fn has_kernel(&self, name: &str) -> bool {
        self.numbers.contains_key(name)
    }

    /// What the driver's compiler printed, if it compiled the PTX; mostly nothing.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Whether the machine code was loaded, and nothing compiled.
    pub fn is_assembled(&self) -> bool {
        self.is_assembled
    }

    /// What the driver's compiler made of a kernel.
    pub fn resources(&self, kernel: &str) -> Result<KernelResources, GpuError> {
        self.context.enter()?;
        Ok(*self.kernel(kernel)?.resources())
    }

    /// The number of the device that it is loaded on.
    pub fn device(&self) -> u32 {
        self.context.index()
    }

    /// Whether the PTX's kernel is the one that the program launches.
    ///
    /// # Errors
    /// It takes something else, is launched in another way, or is of other sources.
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

    /// Finds a kernel. The caller has entered the module's context.
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
        // it is given.
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
        // SAFETY: the context is entered. Kernels of the module may still be in some stream.
        let _ = unsafe { cuCtxSynchronize() };
        // SAFETY: the module is loaded, and `Kernel` borrows it, so that nothing uses it any more.
        let _ = unsafe { cuModuleUnload(self.raw) };
    }
}

/// What the driver said of a kernel, and was told of it.
#[derive(Debug)]
pub(crate) struct Found {
    function: CUfunction,
    resources: KernelResources,
    /// The dynamic shared memory that launches may ask for, as the driver was told.
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

    /// What the driver's compiler made of it.
    pub(crate) fn resources(&self) -> &KernelResources {
        &self.found.resources
    }

    /// Lets a launch ask for this much dynamic shared memory.
    pub(crate) fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), DriverError> {
        let Found { function, dynamic_shared, .. } = self.found;
        let mut allowed = dynamic_shared.lock().unwrap_or_else(PoisonError::into_inner);
        if *allowed < bytes {
            let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let signed = bytes.try_into().unwrap_or(i32::MAX);
            // SAFETY: the function belongs to a module that is loaded.
            unsafe { cuFuncSetAttribute(*function, attribute, signed) }
                .during("allowing dynamic shared memory")?;
            *allowed = bytes;
        }
        Ok(())
    }
}

/// Asks the driver about a function of a loaded module.
fn resources(function: CUfunction) -> Result<KernelResources, DriverError> {
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: the function belongs to a module that is loaded, and the call sets the integer it
        // is given.
        unsafe { cuFuncGetAttribute(&raw mut value, attribute, function) }
            .during("asking what the kernel needs")?;
        Ok::<u32, DriverError>(value.try_into().unwrap_or_default())
    };
    Ok(KernelResources {
        max_threads: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        static_shared_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
        local_bytes: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
        registers: attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
    })
}

/// What the driver's compiler made of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// The most threads that a block can have on this device, for the registers that the kernel
    /// takes.
    pub max_threads: u32,
    /// Shared memory that the PTX declares, in bytes.
    pub static_shared_bytes: u32,
    /// Local memory of each thread in bytes: its stack and spilled registers.
    pub local_bytes: u32,
    /// Registers of each thread.
    pub registers: u32,
}
