//! Steps of a kernel that are selected at run time: from a table, through `dyn`, or by a helper
//! that calls its argument. Each occurs once in the source, between two bounds checks of a lane.

use ptx_matrix::prelude::*;

fn one(block: &Block) {
    block.sync();
}

fn two(block: &Block) {
    block.sync();
    block.warp().sync();
}

static STEPS: [fn(&Block); 2] = [one, two];

type Product = fn(&Block, u32) -> u32;

fn multiplied(block: &Block, seed: u32) -> u32 {
    let warp = block.warp();
    let a = FragmentA::<M16N8K16, f16>::from_fn(warp, |row, col| {
        f16::from_f32((row * col) as f32 + seed as f32)
    });
    let b = FragmentB::<M16N8K16, f16>::from_fn(warp, |row, col| f16::from_f32((row + col) as f32));
    let mut acc = Accumulator::<M16N8K16, f32>::zero();
    Mma::<M16N8K16, f16, f16, f32>::accumulate(warp, &mut acc, &a, &b);
    warp.sync();
    seed + 1
}

fn waited(block: &Block, seed: u32) -> u32 {
    block.sync();
    seed
}

static PRODUCTS: [Product; 2] = [multiplied, waited];

trait Stage: Sync {
    fn run(&self, block: &Block);
}

struct Once;
struct Times(u32);

impl Stage for Once {
    fn run(&self, block: &Block) {
        block.sync();
    }
}

impl Stage for Times {
    fn run(&self, block: &Block) {
        for _ in 0..self.0 {
            block.sync();
        }
    }
}

static STAGES: [&dyn Stage; 2] = [&Once, &Times(3)];

struct Plan {
    step: fn(&Block),
    times: u32,
}

static PLANS: [Plan; 2] = [Plan { step: one, times: 1 }, Plan { step: two, times: 2 }];

#[inline(never)]
fn apply(step: fn(&Block), block: &Block) {
    step(block);
}

#[inline(never)]
fn apply_closure(block: &Block, step: &dyn Fn(&Block)) {
    step(block);
}

macro_rules! ragged {
    ($($name:ident: |$block:ident, $which:ident| $step:expr;)*) => {$(
        #[kernel(threads = 64)]
        pub fn $name($block: &Block, a: Global<u32>, $which: u32, d: GlobalMut<u32>) {
            let warp = $block.warp();
            let first = $block.index().x as usize * 64 + warp.index() * 32;
            let inside = warp.each(|lane| first + lane.id() < a.len());
            let read =
                warp.each(|lane| if lane.get(&inside) { a.get(first + lane.id()) } else { 0 });
            $step;
            warp.each(|lane| {
                if lane.get(&inside) {
                    d.set(first + lane.id(), lane.get(&read))
                }
            });
        }
    )*};
}

ragged! {
    table: |block, which| STEPS[which as usize % 2](block);
    products: |block, which| {
        PRODUCTS[which as usize % 2](block, which);
    };
    stages: |block, which| STAGES[which as usize % 2].run(block);
    applied: |block, which| apply(STEPS[which as usize % 2], block);
    closures: |block, which| apply_closure(block, &|block| STEPS[which as usize % 2](block));
    plans: |block, which| (PLANS[which as usize % 2].step)(block);
    chosen: |block, which| (if which > PLANS[0].times { one as fn(&Block) } else { two })(block);
}

/// The compiler may unroll the loop, and duplicate the code of each warp's round.
#[kernel(threads = 128)]
pub fn by_role(block: &Block, which: u32, d: GlobalMut<u32>) {
    let warp = block.warp();
    for role in 0..4 {
        if warp.index() == role {
            warp.sync();
            warp.each(|lane| d.set(role * 32 + lane.id(), role as u32));
        }
        if which as usize == role {
            block.sync();
        }
    }
}
