//! The stack of a lane or a warp: its depth, and the message if it overflows.
//!
//! A guard page lies below each stack. The system ends a program that touches it, without a word on
//! kernels. So a signal handler prints the kernel, the warp and the lane. It passes all other
//! faults to the previous handler.

use crate::engine::warps::block::BlockState;
use crate::lane::Grid;
use corosensei::stack::Stack;
use std::cell::Cell;

/// The largest local memory of a GPU thread, in bytes.
const LOCAL_MEMORY: usize = 512 << 10;

/// A stack, or none: nothing is known about the thread's own stack.
#[derive(Clone, Copy)]
pub(crate) struct StackOf {
    /// Its lowest address, where the guard page lies.
    limit: usize,
    /// Its highest address: it grows down from here.
    base: usize,
    is_lanes: bool,
}

/// The running kernel and warp, for the handler.
#[derive(Clone, Copy)]
pub(crate) struct Running {
    kernel: &'static str,
    block: Grid,
    warp: usize,
}

const NONE: StackOf = StackOf { limit: 0, base: 0, is_lanes: false };

std::thread_local! {
    static STACK: Cell<StackOf> = const { Cell::new(NONE) };
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
}

impl StackOf {
    pub(crate) fn lane(stack: &impl Stack) -> Self {
        StackOf { limit: stack.limit().get(), base: stack.base().get(), is_lanes: true }
    }

    pub(crate) fn warp(stack: &impl Stack) -> Self {
        StackOf { is_lanes: false, ..StackOf::lane(stack) }
    }
}

impl Running {
    pub(crate) fn of(kernel: &'static str, block: &BlockState) -> Self {
        Running { kernel, block: block.index, warp: block.running() }
    }
}

/// Records that the thread now runs on this stack. Returns the previous one.
pub(crate) fn run_on(stack: StackOf) -> StackOf {
    STACK.replace(stack)
}

/// The stack on which the thread runs.
pub(crate) fn current() -> StackOf {
    STACK.get()
}

/// Records the running kernel and warp. Returns the previous ones.
pub(crate) fn set_running(running: Option<Running>) -> Option<Running> {
    RUNNING.replace(running)
}

/// The bytes on the running lane's stack, if they exceed 1.5 times the local memory of a GPU
/// thread. The factor allows for the moves of unoptimised code.
#[inline]
pub(crate) fn local_memory() -> Option<usize> {
    let StackOf { base, is_lanes, .. } = STACK.get();
    let here = 0_u8;
    let bytes = base.wrapping_sub((&raw const here).addr());
    (is_lanes && bytes > LOCAL_MEMORY * 3 / 2).then_some(bytes)
}

#[cfg(unix)]
pub(crate) use handler::{install, prepare_thread};

#[cfg(not(unix))]
pub(crate) fn install() {}

#[cfg(not(unix))]
pub(crate) fn prepare_thread() {}

#[cfg(unix)]
mod handler {
    use super::{RUNNING, Running, STACK, StackOf};
    use crate::engine::warps::context::current_lane;
    use core::ffi::{c_int, c_void};
    use core::fmt::{self, Write};
    use std::cell::Cell;
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The signals of an access to a guard page.
    const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

    /// The previous handlers: each the address of a `sigaction` that is never freed.
    static BEFORE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

    std::thread_local! {
        static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
    }

    /// Installs the handler. Called once in a program.
    pub(crate) fn install() {
        for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
            // SAFETY: both are `sigaction`s, for which zeros are valid. The handler calls only
            // async-signal-safe functions.
            unsafe {
                let mut old: libc::sigaction = zeroed();
                if libc::sigaction(signal, std::ptr::null(), &raw mut old) != 0 {
                    continue;
                }
                before.store(
                    std::boxed::Box::into_raw(std::boxed::Box::new(old)).expose_provenance(),
                    Ordering::Release,
                );
                let mut new: libc::sigaction = zeroed();
                new.sa_sigaction = handle as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(signal, &raw const new, null_mut());
            }
        }
    }

    /// Gives this thread a signal stack if it has none. `std` gives one to its own threads.
    pub(crate) fn prepare_thread() {
        /// Room for the handler, and for the registers of any CPU that the system saves.
        const BYTES: usize = 64 << 10;
        if IS_PREPARED.replace(true) {
            return;
        }
        // SAFETY: zeros are a valid `stack_t`. The memory is never freed, as the thread uses it to
        // its end.
        unsafe {
            let mut there: libc::stack_t = zeroed();
            if libc::sigaltstack(std::ptr::null(), &raw mut there) == 0
                && there.ss_flags & libc::SS_DISABLE != 0
            {
                let memory = std::vec::Vec::<u8>::with_capacity(BYTES).leak().as_mut_ptr();
                let own = libc::stack_t { ss_sp: memory.cast(), ss_flags: 0, ss_size: BYTES };
                libc::sigaltstack(&raw const own, null_mut());
            }
        }
    }

    /// A text buffer. Text beyond its end is dropped.
    struct Text {
        bytes: [u8; 640],
        len: usize,
    }

    impl Write for Text {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let len = text.len().min(self.bytes.len() - self.len);
            self.bytes[self.len..self.len + len].copy_from_slice(&text.as_bytes()[..len]);
            self.len += len;
            Ok(())
        }
    }

    fn describe(text: &mut Text, is_lanes: bool) -> fmt::Result {
        let (who, most) =
            if is_lanes { ("lane", "512 KiB") } else { ("warp", "512 KiB for each lane") };
        write!(
            text,
            "\nerror: the stack of a {who} overflows: a recursion without end, or local variables \
             of more than a thread of a GPU has"
        )?;
        if let Some(Running { kernel, block, warp }) = RUNNING.get() {
            write!(text, "\n   = in kernel `{kernel}`, block {block}, warp {warp}")?;
            if let Some(lane) = current_lane().filter(|_| is_lanes) {
                write!(text, ", lane {lane}")?;
            }
        }
        writeln!(
            text,
            "\n   = help: end the recursion, or take shared or global memory for large arrays: a \
             GPU has at most {most}"
        )
    }

    /// Reports a stack overflow and ends the program. Passes other faults to the previous handler.
    extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        let StackOf { limit, base, is_lanes } = STACK.get();
        // SAFETY: the system passes a valid `info`.
        let address = unsafe { (*info).si_addr() }.addr();
        // SAFETY: `sysconf` only returns a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        if base != 0 && (limit..limit + page).contains(&address) {
            let mut text = Text { bytes: [0; 640], len: 0 };
            let _ = describe(&mut text, is_lanes);
            // SAFETY: the bytes belong to `text`.
            unsafe {
                libc::write(libc::STDERR_FILENO, text.bytes.as_ptr().cast(), text.len);
                libc::abort()
            }
        }
        let before = SIGNALS.iter().zip(&BEFORE).find(|(of, _)| **of == signal);
        let before = before.map_or(0, |(_, before)| before.load(Ordering::Acquire));
        // SAFETY: `install` stored a `sigaction` there, and its handler accepts such signals.
        unsafe {
            let Some(before) =
                std::ptr::with_exposed_provenance::<libc::sigaction>(before).as_ref()
            else {
                libc::signal(signal, libc::SIG_DFL);
                return;
            };
            match before.sa_sigaction {
                // On return the fault happens again, and the system handles it.
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::signal(signal, libc::SIG_DFL);
                }
                handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler: extern "C" fn(c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}
