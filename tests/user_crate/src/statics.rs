//! Kernels in which a lane stores its number in a static, and the block reads it as a uniform
//! value. Every build refuses them.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use ptx_matrix::prelude::*;

/// A kernel with a `sync` if a number is even that each lane has stored somewhere.
macro_rules! smuggles {
    ($($name:ident: |$lane:ident| $store:expr, $load:expr;)*) => {$(
        #[kernel(threads = 64)]
        pub fn $name(block: &Block, d: GlobalMut<u32>) {
            let warp = block.warp();
            warp.each(|lane| {
                let $lane = lane.id() as u32;
                $store;
            });
            if $load % 2 == 0 {
                block.sync();
            }
            warp.each(|lane| d.set(lane.id(), 1));
        }
    )*};
}

static PLAIN: AtomicU32 = AtomicU32::new(1);
static ARRAY: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

struct Two {
    number: AtomicU32,
    flag: AtomicBool,
}

static STRUCT: Two = Two { number: AtomicU32::new(0), flag: AtomicBool::new(false) };

#[unsafe(export_name = "my.counter")]
static EXPORTED: AtomicU32 = AtomicU32::new(0);

#[unsafe(no_mangle)]
static UNMANGLED: AtomicU32 = AtomicU32::new(0);

#[used]
static USED: AtomicU32 = AtomicU32::new(0);

static mut MUTABLE: u32 = 0;

static FIRST: AtomicU32 = AtomicU32::new(0);
static SECOND: AtomicU32 = AtomicU32::new(0);
/// The table itself is constant.
static TABLE: [&AtomicU32; 2] = [&FIRST, &SECOND];

struct Shared(UnsafeCell<u32>);

// SAFETY: None. This is the mistake.
unsafe impl Sync for Shared {}

static CELL: Shared = Shared(UnsafeCell::new(0));

fn in_a_function() -> &'static AtomicU32 {
    static LOCAL: AtomicU32 = AtomicU32::new(0);
    &LOCAL
}

trait Sink: Sync {
    fn put(&self, number: u32) -> u32;
}

impl Sink for AtomicU32 {
    fn put(&self, number: u32) -> u32 {
        self.swap(number, Relaxed)
    }
}

static BEHIND_DYN: AtomicU32 = AtomicU32::new(0);
static SINK: &dyn Sink = &BEHIND_DYN;

smuggles! {
    plain: |lane| PLAIN.store(lane, Relaxed), PLAIN.load(Relaxed);
    array: |lane| ARRAY[lane as usize % 4].store(lane, Relaxed), ARRAY[1].load(Relaxed);
    fields: |lane| STRUCT.number.store(lane, Relaxed), STRUCT.number.load(Relaxed);
    flag: |lane| STRUCT.flag.store(lane > 7, Relaxed), u32::from(STRUCT.flag.load(Relaxed));
    exported: |lane| EXPORTED.store(lane, Relaxed), EXPORTED.load(Relaxed);
    unmangled: |lane| UNMANGLED.store(lane, Relaxed), UNMANGLED.load(Relaxed);
    used: |lane| USED.store(lane, Relaxed), USED.load(Relaxed);
    mutable: |lane| unsafe { MUTABLE = lane }, unsafe { MUTABLE };
    table: |lane| TABLE[lane as usize % 2].store(lane, Relaxed), TABLE[0].load(Relaxed);
    cell: |lane| unsafe { *CELL.0.get() = lane }, unsafe { *CELL.0.get() };
    local: |lane| in_a_function().store(lane, Relaxed), in_a_function().load(Relaxed);
    behind_dyn: |lane| SINK.put(lane), SINK.put(0);
    of_a_dependency: |_lane| counters::count(), counters::count();
    of_a_dependency_by_name: |lane| unsafe { counters::PLAIN_COUNT = lane },
        unsafe { counters::PLAIN_COUNT };
}

/// A constant table is legal, and so is a static that no kernel uses.
static NUMBERS: [u32; 4] = [1, 2, 3, 4];
#[used]
static NOBODYS: AtomicU32 = AtomicU32::new(0);

#[kernel(threads = 32)]
pub fn by_constants(block: &Block, d: GlobalMut<u32>) {
    block.warp().each(|lane| d.set(lane.id(), NUMBERS[lane.id() % 4]));
}
