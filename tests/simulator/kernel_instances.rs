//! Instances of generic kernels.

use ptx_matrix::launch;
use ptx_matrix::prelude::*;
use ptx_matrix::sim::Simulator;

/// The configuration of an instance.
trait Config {
    const THREADS: u32;
    const CLUSTER: usize;
    const ROWS: usize = Self::THREADS as usize / 32;
    type Value: Element + Into<f64>;
    type Tile: SharedLayout;

    fn put(block: &Block, tile: Self::Tile, value: f64, d: GlobalMut<f64>);
}

trait Named {
    const NUMBER: u32;
}

struct Small;
struct Large<const ROWS: usize>;

impl Config for Small {
    const THREADS: u32 = 32;
    const CLUSTER: usize = 1;
    type Value = f32;
    type Tile = SharedTile<f32, 1, 32>;

    fn put(block: &Block, tile: Self::Tile, value: f64, d: GlobalMut<f64>) {
        tile.fill(block, |_, _| value as f32);
        block.sync();
        block.warp().each(|lane| d.set(lane.id(), tile.get(lane, (0, lane.id())).into()));
    }
}

impl<const ROWS: usize> Config for Large<ROWS> {
    const THREADS: u32 = 32 * ROWS as u32;
    const CLUSTER: usize = 2;
    type Value = f64;
    type Tile = SharedTile<f64, ROWS, 32>;

    fn put(block: &Block, tile: Self::Tile, value: f64, d: GlobalMut<f64>) {
        tile.fill(block, |_, _| value);
        block.sync();
        let row = block.warp().index();
        let first = block.index().x as usize * 32 * ROWS + row * 32;
        block.warp().each(|lane| d.set(first + lane.id(), tile.get(lane, (row, lane.id()))));
    }
}

impl Named for Small {
    const NUMBER: u32 = 1;
}

impl<const ROWS: usize> Named for Large<ROWS> {
    const NUMBER: u32 = ROWS as u32;
}

#[kernel(threads = C::THREADS, cluster = C::CLUSTER, instances(
    /// One warp.
    fill_small = <Small>,
    fill_large = <Large<4>>,
    fill_alone(cluster = (1, 1), max_registers = 128) = <Large<{ 1 + 1 }>>,
))]
fn fill<'k, C: Config>(
    block: &Block,
    #[shared] tile: C::Tile,
    // A parameter with the instance's own type.
    value: Global<'k, C::Value>,
    d: GlobalMut<f64>,
) {
    C::put(block, tile, value.get(0).into(), d);
}

#[test]
fn each_instance_is_a_kernel_of_its_own() {
    let [small, large, alone] = fill::INSTANCES;
    let of = |of: launch::KernelInfo| (of.name, of.threads, of.cluster.x, of.shared_bytes);
    assert_eq!(of(small), ("fill_small", 32, 1, 128));
    assert_eq!(of(large), ("fill_large", 128, 2, 1024));
    assert_eq!(of(alone), ("fill_alone", 64, 1, 512));
    assert_eq!((alone.max_registers, large.max_registers), (128, 0));
    let start = "param value=Global<f64>; param d=GlobalMut<f64>; shared=1024 aligned to 16; \
        threads=128; cluster=2x1x1; module=simulator::kernel_instances; crate=";
    assert!(fill_large::INFO.fingerprint.starts_with(start), "{}", fill_large::INFO.fingerprint);

    let mut d = [0.0; 256];
    fill_small::simulate(1, &[2.0_f32], &mut d).unwrap();
    assert_eq!((d[31], d[32]), (2.0, 0.0));
    let report = fill_large::launch(&Simulator::default(), 2, &[3.0_f64], &mut d).unwrap();
    assert_eq!((report.warps, d), (8, [3.0; 256]));
    fill_alone::simulate(3, &[4.0], &mut d).unwrap();
    assert_eq!((d[191], d[192]), (4.0, 3.0));
}

#[derive(Clone, Copy, KernelArgs)]
struct Args<'k> {
    d: GlobalMut<'k, u32>,
    factor: u32,
}

const SIXTY_FOUR: u32 = 64;

/// A generic kernel with the same parameters in every instance.
#[kernel(threads = SIXTY_FOUR, cluster = BLOCKS, instances(
    count_1_by_1 = <1, Small>,
    count_2_by_4 = <2, Large<4>>,
    count_4_by_2(threads = 32 * ROWS_OF_TWO) = <4, Large<2>>,
))]
fn count<const BLOCKS: usize, C>(block: &ClusterBlock<BLOCKS>, args: Args)
where
    C: Config + Named,
{
    let warp = block.warp();
    let value = (BLOCKS as u32 * 100 + C::NUMBER) * args.factor;
    if block.cluster().rank() == 0 && warp.index() == 0 {
        warp.each(|lane| args.d.set(lane.id(), value));
    }
}

const ROWS_OF_TWO: usize = <Large<2> as Config>::ROWS;

#[test]
fn launches_instance_by_index() {
    let device = Simulator::default();
    let mut values = Vec::new();
    for (index, info) in count::INSTANCES.iter().enumerate() {
        let mut d = [0; 32];
        let blocks = info.cluster.x;
        let args = ArgsHost { d: &mut d[..], factor: 2 };
        let report = count::launch(index, &device, blocks, args).unwrap();
        assert_eq!((report.blocks, report.warps), (blocks.into(), u64::from(blocks * 2)));
        values.push(d[31]);
        count::simulate(index, blocks, ArgsHost { d: &mut d[..], factor: 1 }).unwrap();
        assert_eq!(d[0] * 2, values[index]);
    }
    assert_eq!(values, [202, 408, 804]);
}

#[test]
#[should_panic(expected = "the kernel `count` has 3 instances, and none has index 3")]
fn instance_beyond_the_table_panics() {
    let _ = count::simulate(3, 1, ArgsHost { d: &mut [][..], factor: 1 });
}

#[test]
fn kernel_may_have_lifetimes() {
    #[kernel(threads = 32)]
    fn copy<'a, 'b: 'a>(block: &'a Block<'b>, a: Global<'b, u32>, d: GlobalMut<'b, u32>) {
        block.warp().each(|lane| d.set(lane.id(), a.get(lane.id())));
    }

    let mut d = [0; 32];
    copy::simulate(1, &[5; 32], &mut d).unwrap();
    assert_eq!(d, [5; 32]);
}

#[test]
fn cfg_removes_all_parts_of_a_kernel() {
    #[kernel(threads = 32, instances(absent_u32 = <u32>))]
    #[cfg(any())]
    fn absent<T: Element>(_: &Block, _: GlobalMut<Missing<T>>) {}

    #[kernel(threads = 32)]
    #[cfg(not(target_arch = "nvptx64"))]
    fn present(_: &Block) {}

    assert_eq!(present::simulate(1).unwrap().warps, 1);
}
