//! GEMM with SwiGLU: D = alpha silu(A x G) * (A x U). B has 128 columns of G, then 128 of U, and so
//! on. `TmaStore` applies alpha, after silu.

use ptx_matrix::mma::GroupAccumulator;
use ptx_matrix::prelude::*;
use ptx_matrix_gemm::kernels::sm90_wgmma::{self, Accumulate, Config, Shared};
use ptx_matrix_gemm::parts::*;

type TileA = SharedRing<SharedTile<bf16, 128, 64, Swizzle128>, 1>;
type TileB = SharedRing<SharedTile<bf16, 64, 256, Swizzle128, ColMajor>, 1>;
type TileD = SharedTile<bf16, 64, 64, Swizzle128>;
type TilesD = SharedRing<TileD, 2>;

/// The operand tiles, the mainloop and the tile shape.
struct SwigluConfig;

impl Config for SwigluConfig {
    type A = TileA;
    type B = TileB;
    type Mainloop = Accumulate<1, 256, f32>;
    type Staging = TilesD;
    const TILE: TileShape = TileShape { m: 128, n: 256, k: 64 };
}

struct Swiglu<'k>(TmaStore<'k, TileD, 32>); // Epilogue sub-tiles of 32 columns.
impl EpilogueStore<TilesD, [GroupAccumulator<256, f32>; 1]> for Swiglu<'_> {
    #[inline]
    fn store(
        &self,
        group: WarpGroup<'_>,
        staging: &mut Staging<TilesD>,
        tile: &WorkTile,
        at: MatrixCoord,
        [accumulator]: &[GroupAccumulator<256, f32>; 1],
    ) {
        let (gate, up) = (accumulator.columns::<128>(0), accumulator.columns::<128>(128));
        // From column 0 of `gate` on.
        let gated = gate.zip(group, 0, &up, |gate, up| gate.activate(Activation::Silu) * up);
        self.0.store(group, staging, tile, MatrixCoord { col: at.col / 2, ..at }, &[gated]);
    }
}

/// The problem shape is that of A and B. D has half the columns.
#[kernel(threads = 384, min_blocks = 1, cluster = 1, dependent = true, target = "sm_90a")]
pub fn swiglu(
    block: &ClusterBlock<1>,
    #[shared] stages: SharedRing<(TileA, TileB), 4>,
    #[shared] staging: SharedRing<TilesD, 2>,
    #[shared] full: SharedRing<BarrierMemory, 4>,
    #[shared] empty: SharedRing<BarrierMemory, 4>,
    #[shared] c_full: SharedRing<BarrierMemory, 2>,
    args: TmaArgs<TileA, TileB, TileD>,
) {
    let shared = Shared { stages, staging, full, empty, c_full };
    let (operands, shape, store) = args.split();
    sm90_wgmma::gemm::<SwigluConfig, _, _, _, _>(block, shared, operands, shape, |ended| {
        let store = store(ended);
        Swiglu(TmaStore { n: shape.n / 2, ..store })
    });
}
