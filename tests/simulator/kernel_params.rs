//! Structs, arrays and `bool` as kernel parameters.

use crate::assert_at;
use ptx_matrix::launch::{ByValue, Dependent, KernelParam, Params, Tensor};
use ptx_matrix::prelude::*;
use ptx_matrix::sim::{AccessKind, Misuse, Simulator};

#[derive(Debug, Clone, Copy, PartialEq, KernelArgs)]
#[repr(C)]
struct Line {
    factor: f32,
    term: f64,
    is_negative: bool,
    shifts: [u16; 3],
}

const LINE: Line = Line { factor: 2.0, term: 0.5, is_negative: true, shifts: [1, 2, 3] };

#[derive(Clone, Copy, KernelArgs)]
#[repr(C)]
struct Pair<T>(T, T);

#[derive(Clone, Copy, KernelArgs)]
#[repr(C, align(32))]
struct Problem<const COUNT: usize> {
    line: Line,
    counts: Pair<u8>,
    lines: [Pair<bf16>; COUNT],
}

#[kernel(threads = 32)]
fn plain(_: &Block, problem: Problem<2>, factors: [f32; 2], is_doubled: bool, d: GlobalMut<f64>) {
    let Problem { line, counts: Pair(first, second), lines } = problem;
    let sign = if line.is_negative { -1.0 } else { 1.0 };
    d.set(0, sign * (f64::from(line.factor) + line.term));
    d.set(1, f64::from(line.shifts[2]) + f64::from(first) * f64::from(second));
    d.set(2, f64::from(lines[1].1.to_f32() * factors[1]) * if is_doubled { 2.0 } else { 1.0 });
}

fn problem() -> Problem<2> {
    let [one, two] = [1.0, 2.0].map(bf16::from_f32);
    Problem { line: LINE, counts: Pair(7, 9), lines: [Pair(one, one), Pair(one, two)] }
}

#[test]
fn plain_data_is_passed_by_value() {
    let mut d = [0.0; 3];
    plain::simulate(1, problem(), [0.0, 10.0], true, &mut d).unwrap();
    assert_eq!(d, [-2.5, 66.0, 40.0]);
    plain::launch(&Simulator::default(), 1, problem(), [0.0, 3.0], false, &mut d).unwrap();
    assert_eq!(d[2], 6.0);
}

fn bytes<P: KernelParam>(bound: P::In<'_>) -> Vec<u8> {
    let mut params = Params::new();
    P::values(bound, &mut params);
    let params: Vec<&[u8]> = params.iter().collect();
    assert_eq!((params.len(), P::PTX_PARAMS), (1, 1), "a struct is one parameter");
    params[0].to_vec()
}

#[test]
fn struct_bytes_have_zeros_as_padding() {
    let line = bytes::<Line>(LINE);
    let mut expected = [2.0_f32.to_le_bytes(), [0; 4]].concat();
    expected.extend(0.5_f64.to_le_bytes());
    expected.extend([1, 0, 1, 0, 2, 0, 3, 0]);
    assert_eq!(line, expected);
    assert_eq!(Line::BY_VALUE, Some(ByValue { bytes: 24, align: 8 }));

    let problem = bytes::<Problem<2>>(problem());
    assert_eq!(problem[..24], line);
    assert_eq!(problem[24..34], [7, 9, 0x80, 0x3f, 0x80, 0x3f, 0x80, 0x3f, 0, 0x40]);
    assert_eq!((problem[34..].iter().max(), problem.len()), (Some(&0), 64));
    assert_eq!(bytes::<[u32; 64]>([7; 64]), [7, 0, 0, 0].repeat(64), "more than 128 bytes");
}

#[test]
fn fingerprint_has_struct_fields_and_layout() {
    let line = "Line {factor: f32, term: f64, is_negative: bool, shifts: [u16 x 3]} \
        of 24 bytes aligned to 8";
    assert_eq!(Line::TYPE.to_string(), line);
    let problem = format!(
        "Problem {{line: {line}, counts: Pair {{0: u8, 1: u8}} of 2 bytes aligned to 1, \
         lines: [Pair {{0: bf16, 1: bf16}} of 4 bytes aligned to 2 x 2]}} of 64 bytes aligned to 32"
    );
    let fields: Vec<&str> = plain::INFO.fingerprint.split("; ").collect();
    assert_eq!(fields[0], format!("param problem={problem}"));
    assert_eq!(fields[1..3], ["param factors=[f32 x 2]", "param is_doubled=bool"]);
}

type Tile = SharedTile<f32, 8, 32, Swizzle128>;

/// Arguments with slices.
#[derive(Clone, Copy, KernelArgs)]
struct Args<'k, T: Element> {
    /// The source of the copy.
    a: Global<'k, T>,
    tile: Option<TensorMap<'k, Tile, 2>>,
    scale: Scale<'k>,
    d: GlobalMut<'k, T>,
}

#[derive(Clone, Copy, KernelArgs)]
struct Scale<'k> {
    factors: Global<'k, f32>,
    line: Line,
}

#[kernel(threads = 32)]
fn scaled(block: &Block, args: Args<f32>, first: u32) {
    let Args { a, scale, .. } = args;
    let first = first as usize;
    block.warp().each(|lane| {
        let i = first + lane.id();
        let factor = scale.factors.get(i % 2) * scale.line.factor;
        args.d.set(i, a.get(i) * factor); // <- written
    });
}

#[test]
fn structs_hold_global_memory() {
    let (a, factors, mut d) = ([3.0; 32], [1.0, 2.0], [0.0; 32]);
    let scale = ScaleHost { factors: &factors[..], line: LINE };
    let device = Simulator::default();
    let args = ArgsHost { a: &a[..], tile: None, scale, d: &mut d[..] };
    scaled::launch(&device, 1, args, 0).unwrap();
    assert_eq!(d, core::array::from_fn(|i| if i % 2 == 0 { 6.0 } else { 12.0 }));
    let line = Line::TYPE.to_string();
    let expected = format!(
        "param args=Args {{a: Global<f32>, tile: Option<TensorMap<SharedTile<f32, 8, 32, \
         Swizzle128, RowMajor>, 2, Tiled>>, scale: Scale {{factors: Global<f32>, line: {line}}} of \
         40 bytes aligned to 8, d: GlobalMut<f32>}} of 256 bytes aligned to 64; param first=u32; "
    );
    assert!(scaled::INFO.fingerprint.starts_with(&expected), "{}", scaled::INFO.fingerprint);
}

#[derive(Clone, Copy, KernelArgs)]
struct Table<'k> {
    numbers: &'k [u16; 4],
    d: GlobalMut<'k, u32>,
}

#[kernel(threads = 32)]
fn looked_up(block: &Block, table: Table, line: &Line) {
    let index = |lane: Lane| lane.id() + usize::from(line.shifts[lane.id() % 3]);
    block.warp().each(|lane| table.d.set(lane.id(), table.numbers[index(lane) % 4].into()));
}

#[test]
fn plain_data_is_passed_by_reference() {
    let (numbers, mut d) = ([10, 11, 12, 13], [0; 32]);
    looked_up::simulate(1, TableHost { numbers: &numbers, d: &mut d[..] }, &LINE).unwrap();
    assert_eq!(d[..4], [11, 13, 11, 10]);
    assert_eq!(bytes::<&Line>(&LINE), bytes::<Line>(LINE));
    let expected = format!(
        "param table=Table {{numbers: &[u16 x 4], d: GlobalMut<u32>}} of 24 bytes aligned to 8; \
         param line=&{}; ",
        Line::TYPE
    );
    assert!(looked_up::INFO.fingerprint.starts_with(&expected), "{}", looked_up::INFO.fingerprint);
}

#[test]
fn report_names_struct_field() {
    let scale = ScaleHost { factors: &[1.0, 2.0][..], line: LINE };
    let args = ArgsHost { a: &[1.0; 64][..], tile: None, scale, d: &mut [0.0; 40][..] };
    let error = scaled::simulate(1, args, 16).unwrap_err();
    let expected =
        Misuse::GlobalOutOfBounds { access: AccessKind::Write, name: "d", index: 40, len: 40 };
    assert_eq!(error.misuse, expected);
    assert_at(&error, "written", (0, 0, 0), 0, Some(24));
}

#[derive(Clone, Copy, KernelArgs)]
struct Boxes<'k> {
    from: TensorMap<'k, Tile, 2>,
    to: TensorMapMut<'k, Tile, 2>,
    origin: [i32; 2],
}

#[kernel(threads = 32, target = "sm_90")]
fn copy_box(block: &Block, #[shared] tile: Tile, #[shared] full: BarrierMemory, boxes: Boxes) {
    let (warp, full) = (block.warp(), full.init(block, 1));
    warp.elect(|lane| {
        full.arrive_expecting(lane, 1024);
        tile.load_tma(lane, boxes.from.at(boxes.origin), full);
    });
    full.wait(warp, Phase::FIRST);
    warp.elect(|lane| {
        tile.store_tma(lane, boxes.to.at(boxes.origin));
        BulkGroup::commit(lane);
        BulkGroup::wait_read::<0>(lane);
    });
}

#[test]
fn structs_hold_tensor_maps() {
    let (device, a, mut d) = (Simulator::default(), [7.0; 512], [0.0; 512]);
    let tensor = Tensor::<Tile, 2>::new([32, 16]);
    let from = tensor.map(&device, &a[..]).unwrap();
    let mut to = tensor.map_mut(&device, &mut d[..]).unwrap();
    let boxes = BoxesHost { from: &from, to: to.by_ref(), origin: [0, 8] };
    copy_box::launch(&device, 1, boxes).unwrap();
    assert_eq!((d[255], d[256], d[511]), (0.0, 7.0, 7.0));
}

#[derive(Clone, Copy, KernelArgs)]
struct Late<'k> {
    a: Dependent<Global<'k, f32>>,
    d: Dependent<GlobalMut<'k, f32>>,
    factor: f32,
}

#[kernel(threads = 32, dependent = true)]
fn late(block: &Block, args: Late) {
    let ended = block.wait_for_preceding_kernels();
    let (a, d) = (args.a.get(ended), args.d.get(ended));
    block.warp().each(|lane| d.set(lane.id(), a.get(lane.id()) * args.factor));
}

#[kernel(threads = 32, dependent = true)]
fn late_as_a_whole(block: &Block, args: Dependent<Scale>, d: Dependent<GlobalMut<f32>>) {
    let ended = block.wait_for_preceding_kernels();
    let (args, d) = (args.get(ended), d.get(ended));
    block.warp().each(|lane| d.set(lane.id(), args.factors.get(lane.id() % 2) * args.line.factor));
}

/// Writes when it is cloned.
#[derive(Copy, KernelArgs)]
struct Eager<'k> {
    d: GlobalMut<'k, u32>,
}

#[allow(clippy::non_canonical_clone_impl, reason = "the misuse under test")]
impl Clone for Eager<'_> {
    fn clone(&self) -> Self {
        self.d.set(0, 1);
        *self
    }
}

#[kernel(threads = 32, dependent = true)]
fn clones_before_the_wait(block: &Block, args: Dependent<Eager>) {
    #[allow(clippy::clone_on_copy, reason = "as above")]
    let _ = args.clone();
    block.wait_for_preceding_kernels();
}

#[test]
fn clone_of_dependent_memory_does_not_touch_it() {
    let mut d = [7];
    clones_before_the_wait::simulate(1, EagerHost { d: &mut d[..] }).unwrap();
    assert_eq!(d, [7]);
}

#[test]
fn struct_may_hold_dependent_memory() {
    let mut d = [0.0; 32];
    late::simulate(1, LateHost { a: &[2.0; 32][..], d: &mut d[..], factor: 4.0 }).unwrap();
    assert_eq!(d, [8.0; 32]);
    let args = ScaleHost { factors: &[1.0, 1.0][..], line: LINE };
    late_as_a_whole::simulate(1, args, &mut d).unwrap();
    assert_eq!(d, [2.0; 32]);
    let start = "param args=Late {a: Dependent<Global<f32>>, d: Dependent<GlobalMut<f32>>";
    assert!(late::INFO.fingerprint.starts_with(start));
}
